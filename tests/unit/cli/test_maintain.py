from __future__ import annotations

import pytest

from neve.model.errors import InputError
from neve.model.maintenance import MaintainRequest
from neve.model.policy import Verify


@pytest.fixture
def statuses(run_json):
    """What `neve maintain` says of each operation on the one table there is."""

    def ask(*words):
        document, _ = run_json("maintain", *words)
        (table,) = document["tables"]
        return {item["operation"]: item["status"] for item in table["operations"]}

    return ask


def test_a_dry_run_says_what_would_be_done_without_an_engine(only_looking, statuses):
    found = statuses("db.events", "--dry-run")

    assert found["rewrite_data_files"] == "planned"
    assert found["rewrite_manifests"] == "nothing_to_do"


def test_what_deletes_needs_a_policy_or_the_word(only_looking, statuses):
    deleting = ("expire_snapshots", "remove_orphan_files")

    assert [statuses("--dry-run")[name] for name in deleting] == ["skipped", "skipped"]
    asked = statuses("--dry-run", "--apply")
    assert [asked[name] for name in deleting] == ["nothing_to_do", "planned"]


def test_a_policy_enables_and_disables(
    events, run_json, statuses, tmp_path, monkeypatch, no_engine
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "neve.yaml").write_text(
        "catalogs: {lake: {type: sql, uri: 'sqlite:///.neve/catalog.db', "
        "warehouse: .neve/warehouse}}\n"
        "policies:\n"
        "  - name: all\n"
        "    operations: {remove_orphan_files: {}, expire_snapshots: {enabled: false}}\n"
    )
    found = statuses("--dry-run", "--apply")

    assert found["remove_orphan_files"] == "planned"
    # What a policy turned off stays off, whatever the command line says.
    assert found["expire_snapshots"] == "skipped"


def test_people_see_a_table_for_each_table(only_looking, run):
    result = run("maintain", "--dry-run")

    assert result.exit_code == 0
    assert "lake.db.events" in result.stdout
    assert "rewrite_data_files" in result.stdout


def test_no_table_is_an_error(only_looking, run_json):
    document, code = run_json("maintain", "nothing.*", "--dry-run")

    assert code == 1
    assert "nothing.*" in document["error"]["message"]


@pytest.mark.parametrize(("verify", "level"), [((), "metadata"), (("--verify", "off"), "counts")])
def test_what_is_verified_can_be_said_for_all_tables(events, engine, run_json, verify, level):
    with events.transaction() as change:
        change.set_properties({"neve.rewrite_data_files.engine": "spark"})

    document, _ = run_json("maintain", "db.events", *verify)

    done = document["tables"][0]["operations"][0]
    assert (done["operation"], done["status"]) == ("rewrite_data_files", "succeeded")
    assert done["outcome"]["proof"]["level"] == level


def test_nothing_that_trino_writes_can_be_verified_before():
    with pytest.raises(InputError, match="Trino commits by itself"):
        MaintainRequest(verify=Verify.METADATA).check("trino")
