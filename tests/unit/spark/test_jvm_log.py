"""What Spark's JVM writes is handed on, and leaves no file behind."""

from __future__ import annotations

import threading

from neve.spark import jvm_log
from neve.spark.jvm_log import JvmLog, LogLine


def test_events_are_handed_on_and_everything_else_is_not():
    told: list[LogLine] = []
    log = JvmLog(told.append)
    log.file.write(b"NOTE: something\nspark-log WARN Utils: full: \xe2\x82\xac\\n\nspark-log ERR")
    log.file.flush()
    log.close()

    assert told == [LogLine("WARN", "Utils", "full: €\\n")]


def test_they_come_while_the_jvm_lives_and_once_each(monkeypatch):
    monkeypatch.setattr(jvm_log, "POLL_SECONDS", 0.001)
    told: list[LogLine] = []
    first, is_over = threading.Event(), threading.Event()

    def take(line: LogLine) -> None:
        told.append(line)
        first.set()

    log = JvmLog(take)
    log.follow(is_over.is_set)
    log.file.write(b"spark-log WARN A: half")
    log.file.flush()
    log.file.write(b" and half\n")
    log.file.flush()
    assert first.wait(30)
    is_over.set()
    log.close()

    assert [line.message for line in told] == ["half and half"]


def test_its_end_is_told():
    log = JvmLog()
    assert log.tail() == "nothing"
    log.file.write(b"one\n\n two\nthree\nfour\n")
    log.file.flush()

    assert log.tail() == "two / three / four"
    log.close()


def test_it_has_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    log = JvmLog()

    assert list(tmp_path.iterdir()) == []
    log.close()
