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
#: A Python that ends before it answers; as Spark 4.1 says it, shortened.
ENDED = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: org.apache.spark."
    "SparkException: \nError from python worker:\n  Traceback (most recent call last):\n"
    '    File "py4j/compat.py", line 15, in <module>\n'
    "  AttributeError: 'tuple' object has no attribute 'major'\nPYTHONPATH was:\n  pyspark.zip\n"
    "org.apache.spark.SparkException: EOFException occurred while reading the port number\n"
)
#: The bridge's own words, a cause, and a cause of that.
TRACE = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: Job aborted\n\tat a.b(c.scala:1)\n"
    "Caused by: java.io.IOException: outer\n\tat a.b(c.scala:2)\nCaused by: inner\n"
)
NO_PYTHON = 'java.io.IOException: Cannot run program "/opt/python": error=2, No such file'


@pytest.mark.parametrize(
    ("said", "message", "next_step"),
    [
        (OTHER_PYTHON, "Executors run Python 3.12, and Neve runs on 3.11", "spark.pyspark.python"),
        (NO_PYTHON, "Executors have no program '/opt/python'", "spark.pyspark.python"),
        ("Lost all of it\n  at java", "Executors do not run Python (python3): Lost all", "docs/"),
        (ENDED, "(python3): AttributeError: 'tuple' object has no attribute", "docs/"),
        (TRACE, "(python3): inner", "docs/"),
        (TRACE.partition("Caused")[0], "(python3): org.apache.spark.SparkException", "docs/"),
        ("", "no reason was given", "docs/"),
    ],
    ids=["another version", "no Python", "something else", "ended", "cause", "no cause", "nothing"],
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
