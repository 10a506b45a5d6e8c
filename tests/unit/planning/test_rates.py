from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.documents import from_document, to_document
from neve.model.groups import Interval
from neve.model.outcome import CompactionStats, EngineUse, Outcome, Proof, Status
from neve.model.policy import Engine
from neve.model.table import TableRef
from neve.planning.cost import CostModel, actual_usd, estimate, total
from neve.planning.engines import COPY_SPEED, SPARK_SPEED
from neve.planning.rates import learn_rates
from neve.testing.facts import MB, NOW, TABLE


def outcome(
    megabytes,
    seconds,
    *,
    saved=0.0,
    table=TABLE,
    deleted=0,
    status=Status.SUCCEEDED,
    engine="spark",
    uses=(),
    files=0,
):
    return Outcome(
        job_id="j",
        table=table,
        operation="rewrite_data_files",
        status=status,
        reason="",
        started_at=NOW,
        finished_at=NOW + timedelta(seconds=seconds),
        stats=CompactionStats(bytes_saved=int(saved * megabytes * MB), files_compacted=files),
        engine_use=tuple(EngineUse(name, n, int(mb * MB), took) for name, n, mb, took in uses),
        bytes_rewritten=int(megabytes * MB),
        engines={engine: 1},
        proof=Proof("metadata", 100, deleted, 100 - deleted, "metadata"),
    )


def speed(rates, engine=Engine.SPARK):
    return rates.speed_of(engine).bytes_per_second


def test_nothing_learned_means_defaults():
    rates = learn_rates([outcome(100, 10), outcome(100, 10, status=Status.FAILED)], TABLE)

    assert (speed(rates), rates.samples) == (SPARK_SPEED, 0)


def test_speed_and_overhead_are_learned():
    runs = [outcome(0.1, 2), outcome(100, 12), outcome(200, 22), outcome(300, 32)]

    rates = learn_rates(runs, TABLE)

    assert rates.overhead_seconds == 2
    assert speed(rates) == Interval(10 * MB, 10 * MB, 10 * MB)
    assert rates.samples == 4


def test_runs_that_started_an_engine_stay_in_the_interval_beside_those_that_found_one():
    def run(seconds):
        return outcome(1, seconds, engine="rewrite", uses=[("rewrite", 10, 1, 0.5)])

    rates = learn_rates([run(14.5), run(3.5), run(15.5), run(3.0)], TABLE)

    assert rates.overhead_seen == Interval(3.0, 9.0, 15.5)
    plan = total(
        [estimate(CostModel(), rates, file_sizes=[], delete_files=0, output_files=0)],
        CostModel(),
        rates,
    )
    assert plan.seconds == Interval(3.0, 9.0, 18.0)


def test_small_runs_say_nothing_about_speed():
    rates = learn_rates([outcome(0.1, 3), outcome(0.2, 4), outcome(0.3, 5)], TABLE)

    assert (speed(rates), rates.overhead_seconds) == (SPARK_SPEED, 3)


def test_compression_is_learned_from_the_table_itself():
    other = TableRef("lake", ("db",), "other")

    assert learn_rates([outcome(100, 10, saved=0.4)], TABLE).compression_ratio == 0.6
    assert learn_rates([outcome(100, 10, saved=0.4)], other).compression_ratio == 1.0


def test_what_deletes_removed_is_not_compression():
    assert learn_rates([outcome(100, 10, saved=0.4, deleted=40)], TABLE).compression_ratio == 1.0


def test_one_strange_run_is_bounded():
    assert learn_rates([outcome(100, 10, saved=0.99)], TABLE).compression_ratio == 0.5


def test_the_price_of_a_run():
    rates = learn_rates([], TABLE)
    cost = estimate(CostModel(), rates, file_sizes=[10 * MB] * 5, delete_files=2, output_files=1)

    assert (cost.get_requests, cost.put_requests) == (5 * 3 + 2, 4)
    requests_usd = 17 * 0.0000004 + 4 * 0.000005
    assert actual_usd(CostModel(), cost, 10) == requests_usd + 2 * 0.0000166667 * 10


def test_copying_and_encoding_have_speeds_of_their_own():
    encoded = [outcome(0.1, 2), *(outcome(100, 12) for _ in range(3))]
    copied = [outcome(1000, 4, engine="remote_copy", saved=0.0) for _ in range(3)]

    rates = learn_rates([*encoded, *copied], TABLE)

    assert speed(rates).expected == 10 * MB
    assert speed(rates, Engine.REMOTE_COPY).expected == 500 * MB


def test_a_copy_tells_nothing_of_compression():
    runs = [outcome(100, 10, saved=0.4), outcome(100, 1, engine="copy")]

    assert learn_rates(runs, TABLE).compression_ratio == 0.6


def test_the_store_copies_in_few_requests():
    sizes = [20 * MB] * 10
    spark = estimate(
        CostModel(), learn_rates([], TABLE), file_sizes=sizes, delete_files=0, output_files=2
    )
    remote = estimate(
        CostModel(),
        learn_rates([], TABLE),
        file_sizes=sizes,
        delete_files=0,
        output_files=2,
        engine=Engine.REMOTE_COPY,
    )

    assert (remote.get_requests, remote.put_requests) == (30, 16)
    assert remote.seconds.expected < spark.seconds.expected


def test_a_mixed_run_teaches_each_engine_its_own_speed():
    mixed = [
        outcome(1100, 15, uses=[("spark", 5, 100, 10), ("copy", 9, 1000, 2)], engine="copy")
        for _ in range(3)
    ]

    rates = learn_rates(mixed, TABLE)

    assert (speed(rates).expected, speed(rates, Engine.COPY).expected) == (10 * MB, 500 * MB)
    assert rates.overhead_seconds == 3


def test_few_large_files_of_one_engine_do_not_teach_the_many_small_ones_of_another():
    """By a majority of files this run would be one that copies."""
    runs = [
        outcome(1010, 50, uses=[("spark", 1, 1000, 40), ("copy", 99, 10, 1)], engine="copy")
        for _ in range(3)
    ]

    rates = learn_rates(runs, TABLE)

    assert (speed(rates).expected, speed(rates, Engine.COPY).expected) == (25 * MB, 10 * MB)


def test_an_engine_without_runs_is_as_fast_as_the_one_that_it_falls_back_to():
    copied = [outcome(100, 4, uses=[("copy", 1, 100, 1)], engine="copy") for _ in range(3)]

    rates = learn_rates(copied, TABLE)

    assert speed(rates, Engine.REMOTE_COPY).expected == 100 * MB
    assert speed(rates) == SPARK_SPEED
    stored = [outcome(100, 4, uses=[("remote_copy", 1, 100, 1)]) for _ in range(3)]
    assert speed(learn_rates(stored, TABLE), Engine.COPY) == COPY_SPEED


def test_old_runs_of_several_engines_teach_no_speed():
    runs = [outcome(100, 10 + n) for n in range(3)]
    runs = [replace(run, engines={"spark": 2, "copy": 2}) for run in runs]

    assert learn_rates(runs, TABLE).speeds == {}


def test_what_next_to_nothing_takes_is_no_time_of_bytes():
    small = outcome(0.1, 5, uses=[("copy", 2, 0.1, 1)], engine="copy")
    large = [outcome(200, 7, uses=[("copy", 2, 200, 3)], engine="copy") for _ in range(3)]

    rates = learn_rates([small, *large], TABLE)

    assert (speed(rates, Engine.COPY).expected, rates.overhead_seconds) == (100 * MB, 5)


def test_files_take_time_of_their_own():
    """A hundredth of a second for each file, and 50 MB in a second."""
    shapes = [(10, 100), (1000, 100), (10, 400), (500, 50), (100, 1000)]
    runs = [
        outcome(mb, 100, uses=[("spark", files, mb, files * 0.01 + mb / 50)])
        for files, mb in shapes
    ]

    rates = learn_rates(runs, TABLE)

    found = rates.speed_of(Engine.SPARK)
    assert found.seconds_per_file == pytest.approx(0.01)
    assert found.bytes_per_second.expected == pytest.approx(50 * MB)
    sizes = [MB] * 1000
    cost = estimate(CostModel(), rates, file_sizes=sizes, delete_files=0, output_files=1)
    assert cost.seconds.expected == pytest.approx(30)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*Engine, "transcode"]),
            st.integers(0, 10**6),
            st.integers(0, 2**45),
            st.floats(0, 1e6),
        ),
        max_size=12,
    )
)
def test_no_history_makes_a_speed_that_cannot_be(samples):
    runs = [
        replace(outcome(100, 10), engine_use=(EngineUse(str(name), files, size, took),))
        for name, files, size, took in samples
    ]

    rates = learn_rates(runs, TABLE)

    assert rates.overhead_seconds >= 0
    for engine in Engine:
        found = rates.speed_of(engine)
        low, high = found.bytes_per_second.low, found.bytes_per_second.high
        assert 0 < low <= found.bytes_per_second.expected <= high < math.inf
        assert 0 <= found.seconds_per_file < math.inf


def test_only_what_was_encoded_tells_of_compression_in_a_mixed_run():
    run = outcome(1000, 20, saved=0.02, uses=[("spark", 5, 100, 10), ("copy", 9, 900, 2)])

    assert learn_rates([run], TABLE).compression_ratio == pytest.approx(0.8)


def test_outcomes_of_before_engines_were_measured_still_load_and_teach():
    old = [to_document(outcome(mb, mb / 10 + 2)) for mb in (0.1, 100, 200, 300)]
    for document in old:
        del document["engine_use"]

    runs = [from_document(Outcome, document) for document in old]

    assert {run.engine_use for run in runs} == {()}
    assert speed(learn_rates(runs, TABLE)).expected == pytest.approx(10 * MB, rel=0.01)
