"""Tasks of a rewrite without Spark: what fails there fails the job as it does on Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from neve import in_process
from neve.model.errors import ExecutionError, ParquetError
from neve.model.policy import Engine
from neve.model.rewrite import RewriteTask, SpliceRequirements
from neve.model.table import TableRef
from neve.testing.lake import SilentReporter


def test_a_task_that_fails_is_told_as_a_failed_execution(monkeypatch) -> None:
    """Whoever runs the step remembers the names of all its tasks for the sweeper then."""
    loaded = SimpleNamespace(io=SimpleNamespace(properties={}))
    engine = in_process.InProcessEngine(SimpleNamespace(load=lambda _: loaded))
    task = RewriteTask(0, (), (), (("s3://b/new",),), (Engine.REWRITE,))
    wanted = SpliceRequirements((), None, False, 1)

    def fail(*_: object) -> None:
        raise ParquetError("The upload was refused.", next_step="Look at the store.")

    monkeypatch.setattr(in_process, "run_task", fail)

    with pytest.raises(ExecutionError, match="The upload was refused") as caught:
        engine.run_tasks(TableRef("lake", ("db",), "t"), [task], wanted, SilentReporter())

    assert caught.value.next_step == "Look at the store."
