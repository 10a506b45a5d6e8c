"""Executors that cannot run Neve's tasks: each reason in one sentence."""

from __future__ import annotations

import pickle
import platform
import sys

import pytest
from pyspark.cloudpickle import dumps

from neve.spark.executors import Executor, _question, _refusal
from neve.spark.own_code import own_digest

#: As pyspark and the JVM say it.
OTHER_PYTHON = (
    "Job aborted due to stage failure: [PYTHON_VERSION_MISMATCH] Python in worker has different "
    "version: 3.12 than that in driver: 3.11, PySpark cannot run with different minor versions."
)
#: What a machine says that is too busy to start Python in time.
TOO_LATE = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure\n"
    "\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2935)\n"
    "Caused by: org.apache.spark.SparkException: Python worker failed to connect back.\n"
    "\tat org.apache.spark.api.python.PythonWorkerFactory.create(PythonWorkerFactory.scala:252)\n"
    "Caused by: java.net.SocketTimeoutException: Timed out\n"
)
NO_PYTHON = 'java.io.IOException: Cannot run program "/opt/python": error=2, No such file'


@pytest.mark.parametrize(
    ("said", "message", "next_step"),
    [
        (OTHER_PYTHON, "Executors run Python 3.12, and Neve runs on 3.11", "spark.pyspark.python"),
        (NO_PYTHON, "Executors have no program '/opt/python'", "spark.pyspark.python"),
        ("Lost all of it\n  at java", "Executors do not run Python (python3): Lost all", "docs/"),
        (TOO_LATE, "(python3): java.net.SocketTimeoutException: Timed out", "docs/"),
        (
            TOO_LATE.partition("Caused")[0],
            "(python3): org.apache.spark.SparkException: Job",
            "docs/",
        ),
        ("", "no reason was given", "docs/"),
    ],
    ids=["another version", "no Python", "something else", "cause", "no cause", "nothing"],
)
def test_why_executors_do_not_answer(said, message, next_step):
    error = _refusal(said, "python3")

    assert message in error.message
    assert next_step in str(error.next_step)


@pytest.mark.parametrize(
    ("lacking", "trouble"),
    [
        ((), None),
        (("neve.spark.own_code",), "ModuleNotFoundError: "),
        (("pyarrow",), "Mod"),
    ],
)
def test_the_question_is_understood_where_there_is_no_neve(monkeypatch, lacking, trouble):
    sent = dumps(_question())
    for name in ("neve.spark.executors", *lacking):
        monkeypatch.setitem(sys.modules, name, None)

    answer = pickle.loads(sent)(0)

    assert answer["python"] == platform.python_version()
    assert answer["digest"] == (None if lacking else own_digest())
    assert str(answer["trouble"]).startswith(str(trouble))


@pytest.mark.parametrize(
    ("digest", "trouble", "is_ready"),
    [(None, "ImportError: no", False), ("other", None, False), ("own", "late", False)],
)
def test_only_the_same_code_is_ready(digest, trouble, is_ready):
    own = own_digest() if digest == "own" else digest

    assert Executor("3.11.7", own, trouble).is_ready is is_ready
    assert Executor("3.11.7", own_digest(), None).is_ready
