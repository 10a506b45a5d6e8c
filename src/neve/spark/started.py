"""One session of Spark: started early or when it is needed, and again where its JVM has died."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyspark.sql import SparkSession

from neve.model.errors import NeveError
from neve.model.job import SPARK
from neve.model.workers import EngineReport, EngineState
from neve.spark import tables
from neve.spark.jvm import abandon, has_ended, is_dead, kill
from neve.spark.launch import kill_starting


class StartedSession:
    """A session, and how it is."""

    def __init__(self, make_session: Callable[[], SparkSession]) -> None:
        self._make_session = make_session
        self._session: SparkSession | None = None
        self._making = threading.Lock()
        self._known = threading.local()
        self._early: threading.Thread | None = None
        #: What went wrong with a start that nobody waited for.
        self._kept: NeveError | None = None

    def start_soon(self) -> None:
        """Start while something else is done. What goes wrong is told to whoever asks first."""
        is_starting = self._early is not None and self._early.is_alive()
        if not is_starting and not self._is_there(self._session):
            self._early = threading.Thread(target=self._start, name="neve-start", daemon=True)
            self._early.start()

    def _start(self) -> None:
        with self._making:
            if self._session is not None and not self._is_there(self._session):
                self._leave_behind(self._session)
            if self._session is None:
                try:
                    self._session = self._make_session()
                except NeveError as error:
                    self._kept = error

    @staticmethod
    def _is_there(session: SparkSession | None) -> bool:
        return session is not None and not has_ended(session)

    def revive(self) -> None:
        """Start again where the JVM has died, before a job needs it."""
        if self._session is not None and not self._is_there(self._session):
            self.start_soon()

    def report(self) -> EngineReport:
        """How the session is; waits for nobody."""
        session, kept = self._session, self._kept
        if self._is_there(session):
            return EngineReport(SPARK, EngineState.READY)
        if self._making.locked():
            return EngineReport(SPARK, EngineState.STARTING)
        if kept is not None:
            return EngineReport(SPARK, EngineState.FAILED, kept.message)
        if session is not None:
            return EngineReport(SPARK, EngineState.FAILED, "Its JVM has ended.")
        return EngineReport(SPARK, EngineState.ABSENT)

    @property
    def session(self) -> SparkSession:
        with self._making:
            kept, self._kept = self._kept, None
            if kept is not None:
                raise kept
            if self._session is not None and has_ended(self._session):
                self._leave_behind(self._session)
            if self._session is None:
                self._session = self._make_session()
            session = self._session
        if getattr(self._known, "session", None) is not session:
            # Iceberg's actions ask for the session of their thread, and a new thread has none.
            tables.activate(session)
            self._known.session = session
        return session

    def abandon(self) -> None:
        """End the process at once, also one that is being started. No lock is waited for."""
        kill_starting()
        if (session := self._session) is not None:
            kill(session)

    def _is_lost(self, session: SparkSession) -> bool:
        with self._making:
            if self._session is session and is_dead(session):
                self._leave_behind(session)
            return self._session is not session

    def _leave_behind(self, session: SparkSession) -> None:
        self._session = None
        abandon(session)
