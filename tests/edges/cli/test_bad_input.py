"""Bad input: one clear sentence, exit code 1, nothing changed."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from neve.testing.local_lake import FileEntry, Manifest

SPARK = ("--engine", "spark")
LAKE = "catalogs: {lake: {type: sql, uri: 'sqlite:///c.db'}}\n"


def files_below(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def refused(run):
    """Run a command that must fail and change nothing; returns its error."""

    def check(*words):
        before = files_below(Path(".neve"))
        plain, formal = run(*words), run(*words, "-o", "json")
        assert (plain.exit_code, plain.stdout, formal.exit_code) == (1, "", 1)
        error = json.loads(formal.stdout)["error"]
        assert plain.stderr.startswith(f"Error: {error['message']}\n")
        assert files_below(Path(".neve")) == before
        return error

    return check


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (["health", "db.nothing"], "TableNotFound", "There is no table lake.db.nothing."),
        (["plan", "db.nothing"], "TableNotFound", "There is no table lake.db.nothing."),
        (["compact", "x.events"], "TableNotFound", "There is no table lake.x.events."),
        (
            ["rollback", "db.nothing", "--to-snapshot", "1"],
            "TableNotFound",
            "There is no table lake.db.nothing.",
        ),
        (["plan", "nothing.*"], "InputError", "No table matches nothing.*."),
        (["health", "events"], "InputError", "'events' is not a table name."),
        (["health", "prod.db.events"], "InputError", "There is no catalog named 'prod'"),
        (["health", "db.events; DROP TABLE x"], "InputError", "'db.events; DROP TABLE x' is not a"),
        (["compact", "db.`it's; --`"], "TableNotFound", "There is no table lake.db.`it's; --`."),
        (["compact", 'db."quo""ted"'], "TableNotFound", 'There is no table lake.db.`quo"ted`.'),
        (["history", "db.[/]"], "InputError", "'db.[/]' is not a table name"),
        (["compact", "db.*"], "InputError", "'db.*' is not a table name: it has wildcards"),
        (["tables", "a.b.c.d"], "InputError", "There is no catalog named 'a'"),
    ],
)
def test_tables_that_are_not_there(only_looking, refused, words, kind, message):
    error = refused(*words)

    assert (error["type"], error["message"][: len(message)]) == (kind, message)


@pytest.mark.parametrize(
    ("name", "next_step"),
    [
        ("db.event", "Did you mean lake.db.events?"),
        ("dbs.events", "Did you mean lake.db.events?"),
        ("db.nothing", "List tables: neve tables 'lake.*'"),
    ],
)
def test_a_mistyped_name_gets_a_guess(only_looking, refused, name, next_step):
    for words in (["health", name], ["compact", name], ["expire", name]):
        assert refused(*words)["next_step"] == next_step


@pytest.mark.parametrize("command", ["plan", "compact"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--where", "kin = 'x'"], "There is no column 'kin' (character 1 of the filter)."),
        (["--where", "id = 'x'"], "Column 'id' is a long and cannot be compared with x"),
        (["--where", r"id = '\[/x]'"], r"Column 'id' is a long and cannot be compared with \[/x]"),
        (["--where", ""], "The filter is empty."),
        (["--where", "id = 1; DROP TABLE x"], "The filter 'id = 1; DROP TABLE x' is refused"),
        (["--target-size", "0"], "'0' cannot be used as a size: a size must be greater than zero."),
        (["--target-size", "-5MB"], "'-5MB' cannot be used as a size"),
        (["--target-size", "1e99GB"], "'1e99GB' cannot be used as a size: the largest size is"),
        (["--target-size", "big"], "'big' cannot be used as a size: it is not a size."),
        (["--max-cost", "-1"], "--max-cost must not be negative."),
        (["--max-cost", "nan"], "--max-cost must not be negative."),
        (["--strategy", "sort"], "Strategy sort needs columns"),
        (["--strategy", "zorder", "--sort-by", "no"], "Table lake.db.events has no column 'no'."),
        (["--sort-by", "id"], "Strategy auto does not order rows"),
    ],
)
def test_options_that_make_no_sense(only_looking, refused, command, options, message):
    assert refused(command, "db.events", *options)["message"].startswith(message)


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "db.events", "--strategy", "nonsense"],
        ["plan", "db.events", "--max-cost", "much"],
        ["plan", "db.events", "--no-such-option"],
        ["plan"],
        ["nonsense"],
        ["rollback", "db.events", "--to-snapshot", "first"],
        ["history", "--limit", "0"],
    ],
)
def test_a_typing_error_is_no_work_found(run, run_json, words):
    plain = run(*words)
    document, code = run_json(*words)

    assert (plain.exit_code, plain.stdout, code) == (1, "", 1)
    assert document["error"]["type"] == "InputError"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Say where to go back to, in one way."),
        (["--to-snapshot", "1", "--job", "x"], "Say where to go back to, in one way."),
        (["--to-snapshot", "99"], "Snapshot 99 is not in the history"),
        (["--to-snapshot", "1"], "Snapshot 1 is the current one"),
        (["--to-time", "noon"], "'noon' is not a time."),
        (["--to-time", "1999-01-01"], "Table lake.db.events keeps no snapshot from 1999-01-01"),
        (["--job", "nobody"], "Table lake.db.events has no tag neve-undo-nobody"),
    ],
)
def test_going_back_to_nowhere(only_looking, refused, options, message):
    assert refused("rollback", "db.events", *options)["message"].startswith(message)


def test_a_table_that_was_never_written_has_nothing_to_do(run_json, lake, events, engine):
    lake.create("db.empty", events.schema())

    document, code = run_json("plan", "db.empty")
    outcome, compacted = run_json("compact", "db.empty")

    assert (code, document["plans"][0]["reasons"][0]["code"]) == (0, "no_snapshot")
    assert (compacted, outcome["status"]) == (0, "nothing_to_do")
    assert run_json("health", "db.empty")[0]["data_files"] == 0
    assert run_json("rollback", "db.empty", "--to-snapshot", "1")[1] == 1


def test_a_table_without_files_has_nothing_to_do(run_json, lake, events, no_engine):
    lake.commit(events, keeps=False, operation="delete")

    document, code = run_json("plan", "db.events")

    assert (code, document["plans"][0]["reasons"][0]["code"]) == (0, "no_data_files")


def test_a_table_of_version_1_is_planned(run_json, lake, events, no_engine):
    table = lake.create("db.old", events.schema(), format_version=1)
    lake.commit(table, Manifest([FileEntry(f"file:///{i}") for i in range(5)]))

    assert run_json("plan", "db.old")[1] == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "plan.json is not JSON."),
        ("[]", "plan.json is not a plan."),
        ('{"format_version": "0.1"}', "plan.json has the format version '0.1'"),
        ('{"format_version": "1.1", "plans": []}', "plan.json was changed after the plan"),
    ],
)
def test_a_file_that_is_no_plan(refused, content, message):
    Path("plan.json").write_text(content)

    error = refused("apply", "plan.json")

    assert (error["type"], error["message"][: len(message)]) == ("PlanFileError", message)


def test_a_plan_that_was_edited_by_hand(run, refused, events, no_engine):
    run("plan", "db.events", "--out", "plan.json")
    text = Path("plan.json").read_text()
    Path("plan.json").write_text(text.replace("file:///c0", "file:///other"))

    assert refused("apply", "plan.json")["message"].startswith("plan.json was changed after")


def test_a_plan_file_that_is_missing(refused):
    error = refused("apply", "nowhere.json")

    assert error["message"] == (
        "The plan file nowhere.json cannot be read: No such file or directory."
    )


def test_a_file_name_that_is_no_text_is_still_one_document(run_json):
    document, code = run_json("apply", "odd\udcff.json")

    assert (code, document["error"]["type"]) == (1, "PlanFileError")


def test_a_plan_of_another_table(run, run_json, lake, events, no_engine):
    run("plan", "db.events", "--out", "plan.json")
    schema = events.schema()
    lake.catalog.drop_table("db.events")
    lake.create("db.events", schema)

    document, code = run_json("apply", "plan.json")

    assert (code, document["outcomes"]) == (1, [])
    assert [r["type"] for r in document["refused"]] == ["PlanStale"]
    assert "dropped and made again" in document["refused"][0]["reason"]


def test_a_plan_of_another_catalog(run, run_json, lake, events, no_engine):
    run("plan", "db.events", "--out", "plan.json")
    uri = lake.properties["uri"]
    Path("other.yaml").write_text(f"catalogs: {{other: {{type: sql, uri: '{uri}'}}}}")

    document, code = run_json("apply", "plan.json", "--config", "other.yaml")

    assert (code, document["outcomes"]) == (1, [])
    assert "There is no catalog named 'lake'" in document["refused"][0]["reason"]


def test_a_plan_that_cannot_be_written(run, run_json, events, no_engine):
    Path("file").touch()

    document, code = run_json("plan", "db.events", "--out", "file/plan.json")

    assert code == 1
    assert document["error"]["message"].startswith("The plan cannot be written to file/plan.json")


def damage_metadata(lake, table):
    Path(urlsplit(table.metadata_location).path).write_text("{")


def remove_warehouse(lake, table):
    shutil.rmtree(lake.folder / "warehouse")


@pytest.mark.parametrize("damage", [damage_metadata, remove_warehouse])
@pytest.mark.parametrize("words", [["health"], ["plan"], ["compact"], ["tables"]], ids=str)
def test_a_table_that_cannot_be_read(refused, lake, events, no_engine, damage, words):
    damage(lake, events)

    error = refused(*words, "db.events")

    assert error["type"] == "TableUnreadable"
    assert error["message"].startswith("The metadata of table lake.db.events cannot be read: ")
    assert error["next_step"]


@pytest.mark.parametrize("url", ["file/state.db", "x" * 300, "."])
def test_a_state_that_cannot_be_kept(run_json, events, engine, url):
    Path("file").touch()
    Path("neve.yaml").write_text(
        f"{LAKE.replace('c.db', '.neve/catalog.db')}state: {{url: 'sqlite:///{url}'}}"
    )

    document, code = run_json("compact", "db.events", *SPARK)

    assert (code, document["error"]["type"]) == (1, "StoreError")
    assert "cannot be used" in document["error"]["message"]
    events.refresh()
    assert len(events.metadata.snapshots) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("catalogs: [", "is not YAML"),
        ("1: 2", "has an unknown key: 1"),
        ("sparc: {}", "has an unknown key: sparc"),
        (
            f"{LAKE}state: {{url: 'mysql://u:canary@x'}}",
            "state.url has mysql, which is not supported.",
        ),
        ("catalogs: {lake: {type: sql, uri: '${NOWHERE_SET}'}}", "needs the environment variable"),
        (f"{LAKE}compaction: {{min_file_size_ratio: 7}}", "File size ratios must lie between 0"),
        ("catalogs: {}", "No catalog is configured."),
        ("state: {url: 'sqlite:///~nosuchuser/x.db'}", "~nosuchuser"),
    ],
)
def test_a_configuration_that_is_wrong(run_json, text, message):
    Path("neve.yaml").write_text(text)

    document, code = run_json("tables")

    assert (code, message in document["error"]["message"]) == (1, True)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("catalogz", "catalogs"),
        ("Catalogs", "catalogs"),
        ("Access", "access"),
        ("ENGINE", "engine"),
        ("polices", "policies"),
        ("stat", "state"),
        ("schedular", "scheduler"),
    ],
)
def test_a_key_that_is_mistyped_is_guessed(run, written, meant):
    Path("neve.yaml").write_text(f"{LAKE}{written}: {{}}")

    assert run("tables").stderr.endswith(f"→ Did you mean {meant}?\n")


def test_a_file_in_another_encoding_is_said(run):
    Path("neve.yaml").write_bytes("catalogs: {ä: 1}".encode("latin-1"))

    assert "neve.yaml is not text in UTF-8." in run("tables").stderr
    assert f"{Path.cwd()} is a folder." in run("tables", "-c", Path.cwd()).stderr


def test_a_state_without_room_is_one_sentence_and_changes_nothing(run, run_json, events, engine):
    run("keys", "create", "x", "--role", "viewer")
    full = "SELECT RAISE(FAIL, 'database or disk is full')"
    with closing(sqlite3.connect(".neve/state.db")) as state:
        state.execute(f"CREATE TRIGGER full BEFORE INSERT ON jobs BEGIN {full}; END")
    document, code = run_json("compact", "db.events", *SPARK)

    assert (code, document["error"]["type"]) == (1, "StoreError")
    assert "disk is full" in document["error"]["message"]
    assert "has room" in document["error"]["next_step"]
    assert len(events.refresh().metadata.snapshots) == 1


@pytest.mark.parametrize("command", ["policy", "keys", "audit"])
def test_a_group_without_a_command_shows_its_help_alone(lake, run, command):
    result = run(command)

    assert (result.exit_code, result.stderr) == (0, "")
    assert f"Usage: neve {command}" in result.stdout


def test_an_option_without_its_value_names_the_command(lake, run):
    assert run("rollback", "db.events", "--job").stderr.endswith("See neve rollback --help.\n")


@pytest.mark.parametrize(
    ("command", "said"), [("keys", "No keys."), ("audit", "The audit log is empty; ")]
)
def test_an_empty_list_is_a_sentence(lake, run, run_json, command, said):
    assert run(command, "list").stdout.startswith(said)
    assert run_json(command, "list") == ([], 0)


@pytest.mark.parametrize("value", ["not json", "[1]"])
def test_a_variable_that_is_wrong(run_json, monkeypatch, value):
    monkeypatch.setenv("NEVE_SPARK", value)

    document, code = run_json("tables")

    assert (code, document["error"]["type"]) == (1, "ConfigError")


def test_a_catalog_that_is_not_there_yet(run_json):
    document, code = run_json("tables")

    assert code == 1
    assert "does not exist" in document["error"]["message"]
    assert not Path(".neve").exists()


def test_an_alias_bomb_is_refused_with_a_sentence(run, tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (tmp_path / "neve.yaml").write_text("\n".join(lines), encoding="utf-8")

    for words in (["tables"], ["policy", "import", "neve.yaml"]):
        result = run(*words)
        assert result.exit_code == 1
        assert "stands for more than 100,000 values, with its aliases." in result.stderr


def test_a_mistyped_command_is_guessed(run):
    assert "No such command 'heatlh'. Did you mean health?" in run("heatlh").stderr
    assert run("nothing-like-it").stderr.startswith("Error: No such command 'nothing-like-it'.\n")


def test_what_checks_a_value_is_not_quoted(run):
    refusal = run("plan", "db.events", "--strategy", "foo").stderr

    assert refusal.startswith("Error: Invalid value for '--strategy': 'foo' is not one of 'auto'")


def test_wildcards_for_one_table_come_with_what_takes_them(refused, events):
    assert refused("compact", "db.e*")["next_step"] == (
        "neve tables 'db.e*' lists what it is for; neve plan and neve maintain take all of them "
        "at once."
    )
