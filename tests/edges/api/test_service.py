"""Alive, ready, figures and documentation."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.edges.api.conftest import served

from neve.api.looks import MAX_LOOKS
from neve.api.metrics import exposition
from neve.api.settings import ApiSettings
from neve.model.errors import StoreError
from neve.model.figures import Figures
from neve.model.outcome import Status
from neve.model.workers import AnnouncedWorker, EngineReport, EngineState


@pytest.mark.parametrize("prefix", ["", "/api/v1"])
def test_the_server_is_alive_whatever_else_is_not(api, prefix, monkeypatch):
    monkeypatch.setattr("neve.store.sqlite.SqliteStore.job", lambda *_: 1 / 0)
    assert api.get(f"{prefix}/health").json() == {"status": "ok"}


def announce(store, name, state, detail="", engine="spark"):
    report = EngineReport(engine, state, detail)
    store.workers.announce(AnnouncedWorker(name, "host-1", 7, report), 60)


def checks(response):
    return {check["name"]: check for check in response.json()["checks"]}


@pytest.mark.promise(52)
def test_ready_says_what_is_ready(api, store):
    announce(store, "a", EngineState.FAILED, "There is no Java.")
    announce(store, "b", EngineState.READY)
    response = api.get("/ready")
    assert response.status_code == 200
    assert response.json()["status"] == "ready"
    assert list(checks(response)) == ["store", "catalog production", "spark"]
    told = checks(response)["spark"]["detail"]
    assert "host-1, process 7: ready" in told
    assert "failed (There is no Java.)" in told


@pytest.mark.promise(52)
@pytest.mark.parametrize("how", [s for s in EngineState if s is not EngineState.READY])
def test_an_engine_that_has_not_started_is_not_ready(api, store, how):
    announce(store, "a", how, "why")
    response = api.get("/ready")
    assert (response.status_code, response.json()["status"]) == (503, "not ready")
    check = checks(response)["spark"]
    assert (check["is_ready"], check["detail"]) == (False, f"host-1, process 7: {how} (why)")


def test_a_server_without_workers_is_not_ready_and_its_api_is(api, store):
    store.workers.announce(
        AnnouncedWorker("gone", "host-1", 7, EngineReport("spark", EngineState.READY)), -1
    )
    announce(store, "other", EngineState.READY, engine="trino")
    response = api.get("/api/v1/ready")
    assert response.status_code == 503
    assert checks(response)["spark"]["detail"] == "No worker is there."

    alone = api.get("/ready?role=api")
    assert alone.status_code == 200
    assert list(checks(alone)) == ["store", "catalog production"]


def test_workers_are_counted(api, store):
    announce(store, "a", EngineState.STARTING)
    announce(store, "b", EngineState.READY)
    text = api.get("/metrics").text
    assert "neve_workers 2.0" in text
    assert "neve_workers_ready 1.0" in text


def test_a_store_that_is_gone_is_not_ready(api, monkeypatch):
    def gone(*_):
        raise StoreError("The state is gone.", next_step="Bring it back.")

    monkeypatch.setattr("neve.store.sqlite.SqliteStore.set_aside_tables", gone)
    response = api.get("/api/v1/ready")
    assert response.status_code == 503
    check = response.json()["checks"][0]
    assert (check["is_ready"], check["next_step"]) == (False, "Bring it back.")


def test_a_store_that_is_gone_is_waited_for_once(api, monkeypatch):
    asked = []

    def gone(*_):
        asked.append(1)
        raise StoreError("The state is gone.")

    monkeypatch.setattr("neve.store.sqlite.SqliteStore.set_aside_tables", gone)
    monkeypatch.setattr("neve.store.workers.SqliteWorkers.all", gone)
    answer = api.get("/ready").json()
    assert [check["is_ready"] for check in answer["checks"]] == [False, True, False]
    assert asked == [1]


@pytest.mark.promise(52, 60)
def test_probes_of_a_catalog_that_hangs_take_no_threads_from_others(neve, monkeypatch):
    """Each look holds a thread for as long as a catalog lets it wait, and nobody is asked."""
    is_back, began = threading.Event(), []

    def hang(*_):
        began.append(1)
        is_back.wait(30)
        return []

    monkeypatch.setattr("neve.catalog.connect.Catalogs.namespaces", hang)
    settings = ApiSettings(ready_seconds=0.2)
    with served(neve, settings) as address, ThreadPoolExecutor(60) as pool:
        ready = f"{address}/ready?role=api"
        probes = [pool.submit(httpx2.get, ready, timeout=30) for _ in range(60)]
        answers = [probe.result() for probe in probes]
        jobs = httpx2.get(f"{address}/api/v1/jobs", timeout=10)
        looked = len(began)
        is_back.set()
        again = httpx2.get(ready, timeout=10)
    assert {answer.status_code for answer in answers} == {503}
    assert answers[0].json()["checks"][0]["detail"].endswith("did not answer in time.")
    assert (jobs.status_code, again.status_code) == (200, 200)
    assert looked <= MAX_LOOKS


def test_figures_have_the_documented_names(api, queued, run_next):
    for number, seconds in enumerate((42, 250, 250)):
        queued(f"j{number}")
        run_next(seconds=seconds)
    queued("j4")
    run_next(Status.FAILED, seconds=1000)

    text = api.get("/metrics").text

    assert text == api.get("/api/v1/metrics").text
    lines = text.splitlines()
    assert "# HELP compaction_jobs_total Total number of compaction jobs" in lines
    assert "# TYPE compaction_jobs_total counter" in lines
    assert 'compaction_jobs_total{status="success"} 3.0' in lines
    assert 'compaction_jobs_total{status="failed"} 1.0' in lines
    assert "# HELP compaction_duration_seconds Compaction job duration" in lines
    assert "# TYPE compaction_duration_seconds histogram" in lines
    assert 'compaction_duration_seconds_bucket{le="60"} 1.0' in lines
    assert 'compaction_duration_seconds_bucket{le="300"} 3.0' in lines
    assert 'compaction_duration_seconds_bucket{le="600"} 3.0' in lines
    assert 'compaction_duration_seconds_bucket{le="+Inf"} 4.0' in lines
    assert "compaction_duration_seconds_sum 1542.0" in lines
    assert "files_compacted_total 24.0" in lines


def test_figures_are_those_of_the_state_and_not_of_the_process(api, neve, queued, run_next):
    queued()
    run_next()
    assert exposition(neve.figures(100)) == api.get("/metrics").content


def test_every_figure_can_be_read_and_is_named_by_convention(api, queued, run_next):
    queued()
    run_next()
    queued("waits")
    families = {f.name: f for f in text_string_to_metric_families(api.get("/metrics").text)}
    assert families["neve_jobs_queued"].samples[0].value == 1
    (gauge,) = families["neve_table_data_files"].samples
    assert (gauge.labels, gauge.value) == ({"table": "production.analytics.events"}, 1)
    for name in families:
        assert re.fullmatch(r"(compaction|files_compacted|neve)[a-z_]*", name)


def test_tables_with_gauges_of_their_own_are_capped(neve, store, queued, run_next):
    for number in range(5):
        queued(f"j{number}")
        run_next()
    assert len(neve.figures(3).tables) == 1
    assert neve.figures(0).tables == ()


def test_an_empty_state_has_all_figures_at_zero(api):
    text = api.get("/metrics").text
    assert 'compaction_jobs_total{status="success"} 0.0' in text
    assert "files_compacted_total 0.0" in text


def test_figures_of_nothing():
    none = Figures({}, {}, 0, 0, 0, 0, 0, 0)
    assert b'compaction_duration_seconds_bucket{le="+Inf"} 0.0' in exposition(none)


def test_the_documentation_asks_no_other_host(api):
    page = api.get("/docs").text
    assert "POST" in page
    assert "/api/v1/compact" in page
    assert not re.search(r"(src|href)=\"?(https?:)?//", page)
    assert "<script" not in page
    for link in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert api.get(f"/{link}").status_code == 200


def test_every_route_of_the_document_says_how_it_refuses(api):
    document = api.get("/openapi.json").json()
    assert "/api/v1/compact" in document["paths"]
    for path, item in document["paths"].items():
        for operation in item.values():
            assert operation["description"], path
            refused = operation["responses"]["4XX"]["content"]
            assert list(refused) == ["application/problem+json"], path
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_answers_tell_browsers_to_be_careful(api):
    headers = api.get("/health").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
