"""With --deep, what tasks could not judge is looked up, and what was left out is said."""

from __future__ import annotations

import pytest
from tests.edges.diagnosis.damage import codes, local

from neve.catalog.inspect import CatalogInspector
from neve.model.errors import ExecutionError
from neve.model.integrity import FooterProblem, FooterReport
from neve.service.diagnose import Examination, diagnose
from neve.testing.lake import SilentReporter
from neve.testing.local_lake import Manifest

pytestmark = pytest.mark.promise(36)


class Opener:
    """Answers with a report, or fails."""

    def __init__(self, answer):
        self.answer = answer
        self.claims = []

    def open_files(self, table, claims, columns, reporter):
        self.claims += claims
        if isinstance(self.answer, ExecutionError):
            raise self.answer
        return self.answer


@pytest.fixture
def look(catalogs):
    def examine(answer, **how):
        opener = Opener(answer)
        table = catalogs.parse("db.events")
        how = Examination(deep=True, **how)
        found = diagnose(CatalogInspector(catalogs), lambda: opener, table, how, SilentReporter())
        return found, opener

    return examine


@pytest.fixture
def gone(lake, table, put):
    """Four files, the last of which is missing."""
    files = [put(f"f{i}") for i in range(4)]
    lake.commit(table, Manifest(files))
    local(files[-1].path).unlink()
    return files[-1].path


def test_what_tasks_found_is_told(look, gone):
    problems = (FooterProblem("missing", gone, "it is not in storage"),)

    found, opener = look(FooterReport(4, {}, {"missing": 1}, problems))

    assert codes(found) == {"data_file_missing"}
    assert (len(opener.claims), found.coverage.opened_files) == (4, 4)
    assert found.coverage.not_checked == ()


def test_files_that_no_task_could_open_are_looked_up(look, gone):
    found, _ = look(FooterReport(0, {"files in gs: are not opened": 4}))

    assert codes(found) == {"data_file_missing"}
    assert found.coverage.files_in_storage == 4
    assert found.coverage.not_checked == ("4 files: files in gs: are not opened.",)


def test_an_engine_that_fails_makes_no_sound_table(look, gone):
    found, _ = look(ExecutionError("Spark is gone."))

    assert codes(found) == {"files_not_opened", "data_file_missing"}


def test_a_sample_is_opened_alone(look, gone):
    found, opener = look(FooterReport(2), sample=2)

    assert len(opener.claims) == 2
    assert found.coverage.not_checked == ("2 of 4 files are not in the sample.",)
