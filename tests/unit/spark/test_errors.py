from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException

from neve.model.errors import CommitConflict, CommitUnknown, EngineDied, ExecutionError
from neve.spark.errors import engine_errors, translate

ICEBERG = "org.apache.iceberg.exceptions."


class Throwable:
    """A Java exception as py4j shows it; causes come from the outermost to the innermost."""

    _target_id = "o1"

    def __init__(self, *chain):
        (self._name, self._message), *rest = chain
        self._cause = Throwable(*rest) if rest else None

    def getClass(self):
        return self

    def getName(self):
        return self._name

    def getMessage(self):
        return self._message

    def getCause(self):
        return self._cause


class JavaError(Py4JJavaError):
    """What py4j raises, without a gateway behind it."""

    def __init__(self, *chain):
        Exception.__init__(self, "An error occurred")
        self.java_exception = Throwable(*chain)

    def __str__(self):
        return "An error occurred while calling o1.execute"


@pytest.mark.parametrize(
    ("chain", "kind", "message"),
    [
        ([("java.lang.RuntimeException", "boom")], ExecutionError, "boom"),
        (
            [("java.lang.RuntimeException", "outer"), ("java.io.IOException", "disk full")],
            ExecutionError,
            "disk full",
        ),
        (
            [("java.lang.RuntimeException", "outer"), ("java.lang.NullPointerException", None)],
            ExecutionError,
            "outer",
        ),
        ([(f"{ICEBERG}CommitFailedException", "stale")], CommitConflict, "stale"),
        (
            [
                ("java.lang.RuntimeException", ""),
                (f"{ICEBERG}ValidationException", "changed\nby x"),
            ],
            CommitConflict,
            "changed",
        ),
        ([(f"{ICEBERG}CommitStateUnknownException", "?")], CommitUnknown, "?"),
        (
            [
                (f"{ICEBERG}CommitStateUnknownException", "?"),
                (f"{ICEBERG}ValidationException", "v"),
            ],
            CommitUnknown,
            "v",
        ),
        (
            [("java.lang.RuntimeException", None)],
            ExecutionError,
            "An error occurred while calling o1.execute",
        ),
        ([("java.lang.RuntimeException", "x" * 600)], ExecutionError, "x" * 500),
    ],
)
def test_the_causes_decide_what_an_error_is(chain, kind, message):
    error = translate("Compacting table t", JavaError(*chain))

    assert (type(error), error.message) == (kind, f"Compacting table t failed: {message}")


@pytest.mark.parametrize(
    ("name", "next_step"),
    [
        ("CommitFailedException", "Run the command again: it plans again."),
        ("CommitStateUnknownException", "The snapshot log decides: run neve history in a moment."),
    ],
)
def test_a_commit_that_did_not_work_comes_with_a_next_step(name, next_step):
    assert translate("x", JavaError((ICEBERG + name, "m"))).next_step == next_step


JAVA = (
    "GenericDataFile{content=data, file_path=file:/t/data/day=mon/a.parquet, file_format=PARQUET, "
    "partition=PartitionData{day=mon}, lower_bounds={1=java.nio.HeapByteBuffer[pos=0 lim=8]}}"
)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            f"Cannot commit, found new delete for replaced data file: {JAVA}",
            "a writer deleted rows of file:/t/data/day=mon/a.parquet meanwhile.",
        ),
        (
            f"Cannot commit, found new position delete for replaced data file: {JAVA}",
            "a writer deleted rows of file:/t/data/day=mon/a.parquet meanwhile.",
        ),
        (
            "Missing required files to delete: file:/t/a.parquet",
            "a writer replaced or removed file:/t/a.parquet meanwhile.",
        ),
        (
            "Missing required files to delete: file:/t/a.parquet,file:/t/b.parquet",
            "a writer replaced or removed file:/t/a.parquet and 1 more meanwhile.",
        ),
        (
            "Cannot commit, missing data files: [file:/t/a.parquet]",
            "a writer replaced or removed file:/t/a.parquet meanwhile.",
        ),
        (
            # As a text that was cut.
            f"found new delete for replaced data file: {JAVA.split(', file_format')[0]}",
            "a writer deleted rows of file:/t/data/day=mon/a.parquet meanwhile.",
        ),
        (f"Found something new: {JAVA}", "Found something new: file:/t/data/day=mon/a.parquet"),
        ("Cannot commit: stale table metadata", "Cannot commit: stale table metadata"),
    ],
)
def test_a_conflict_names_files_and_not_all_that_iceberg_knows_of_them(said, told):
    error = translate("Committing", JavaError((f"{ICEBERG}ValidationException", said)))

    assert (type(error), error.message) == (CommitConflict, f"Committing failed: {told}")
    assert "Generic" not in error.message


def test_a_chain_of_causes_without_end_is_cut():
    endless = JavaError(("a.B", "m"))
    endless.java_exception._cause = endless.java_exception

    assert translate("x", endless).message == "x failed: m"


def test_errors_that_pyspark_renamed_keep_their_origin():
    error = AnalysisException("renamed")
    error._origin = Throwable((f"{ICEBERG}ValidationException", "conflict"))

    assert type(translate("x", error)) is CommitConflict


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o57.collect"),
        ConnectionRefusedError("Connection refused"),
        ConnectionResetError("reset"),
        BrokenPipeError("pipe"),
        EOFError("no more"),
    ],
)
def test_a_call_without_an_answer_means_that_the_jvm_is_gone(error):
    with pytest.raises(EngineDied, match="x failed: Spark's process has ended") as caught:  # noqa: SIM117
        with engine_errors("x"):
            raise error

    assert caught.value.__cause__ is error


def test_a_refusal_of_py4j_itself_is_an_answer():
    error = Py4JError("An error occurred while calling o1.f. Trace:\nno such method")

    assert type(translate("x", error)) is ExecutionError


def test_a_jvm_that_ends_before_it_explains_itself_is_gone():
    class Gone(JavaError):
        def __init__(self):
            Exception.__init__(self, "An error occurred")

        @property
        def java_exception(self):
            raise Py4JNetworkError("Answer from Java side is empty")

    assert type(translate("x", Gone())) is EngineDied


def test_errors_of_our_own_pass_through():
    with pytest.raises(ZeroDivisionError), engine_errors("x"):
        raise ZeroDivisionError
