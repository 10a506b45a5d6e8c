"""A process that serves: the API, a worker and a scheduler, or some of them.

On SIGTERM or SIGINT the scheduler ends, the worker drains while the API still answers, and the API
ends last. A second signal, a second later or more, ends everything at once; what was under way is
settled by others.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from neve.loopback import is_loopback, is_loopback_address
from neve.model.counts import many
from neve.model.errors import ConfigError, EnvironmentProblem, ExecutionError, NeveError
from neve.neve import Neve
from neve.serve_address import listening

if TYPE_CHECKING:
    import uvicorn

AWAY_SECONDS = 10.0
MakeConfig = Callable[[Neve, str, int], "uvicorn.Config"]
Say = Callable[[str], None]


class Role(StrEnum):
    """What a process does."""

    API = "api"
    WORKER = "worker"
    SCHEDULER = "scheduler"


ALL_ROLES = tuple(Role)
#: A signal may reach any thread, and then waits until the main one is at Python code again.
WAKE_SECONDS = 0.5
#: Wrappers send a signal to the process and to its group: that is one wish, and not two.
SAME_SIGNAL_SECONDS = 1.0
#: How often it is asked whether the digest of yesterday is due.
DIGEST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """How a process serves."""

    roles: Sequence[Role] = ALL_ROLES
    host: str = "127.0.0.1"
    port: int = 8080
    concurrency: int = 1
    #: How long running jobs may go on after the signal, and then until their next boundary.
    grace_seconds: float = 30.0
    tick_seconds: float = 1.0


class Part(Protocol):
    """One role at work."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


def run(
    neve: Neve,
    settings: ServeSettings | None = None,
    *,
    make_config: MakeConfig | None = None,
    say: Say = lambda text: None,
    stop: threading.Event | None = None,
) -> None:
    """Serve until a signal comes, or until `stop` is set; raises where a part ended by itself."""
    settings, stop = settings or ServeSettings(), stop or threading.Event()
    fallen = Fallen(stop)
    parts = _parts(neve, settings, make_config or api_config, say, fallen)
    with _signals(stop), ExitStack() as started:
        for part in parts:
            part.start()
            started.callback(_awake, part.stop)
        is_both = {Role.API, Role.WORKER} <= set(settings.roles)
        # A command has no key to hand its job over with.
        if is_both and not neve.access.settings.enabled:
            # What commands of this machine hand over must be run by somebody.
            started.enter_context(neve.announce(settings.host, _port(parts)))
        say(f"Serving: {', '.join(settings.roles)}.")
        while not stop.wait(WAKE_SECONDS):
            pass
    fallen.tell()


def _port(parts: Sequence[Part]) -> int:
    return next(part.port for part in parts if isinstance(part, ApiPart))


def api_config(neve: Neve, host: str, port: int) -> uvicorn.Config:
    """The API under the configuration that it wants to be served with."""
    try:
        app = import_module("neve.api.app").create_app(neve)
        config: uvicorn.Config = import_module("neve.api.server").server_config(app, host, port)
    except ImportError as error:
        raise EnvironmentProblem(
            f"The API needs the package {error.name}, which is not installed.",
            next_step="pip install 'neve[server]', or leave the API out: --role worker.",
        ) from error
    return config


class Fallen:
    """Parts that ended without being told to: a process without one must not seem to serve."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._names: list[str] = []

    def thread(self, name: str, do: Callable[[], None]) -> threading.Thread:
        """A thread for work that ends only when it is told to."""

        def work() -> None:
            is_whole = False
            try:
                do()
                is_whole = True
            finally:
                # What it raised is printed by the thread itself.
                if not (is_whole and self._stop.is_set()):
                    self._names.append(name)
                    self._stop.set()

        return threading.Thread(target=work, name=name, daemon=True)

    def tell(self) -> None:
        if self._names:
            raise ExecutionError(
                f"{self._names[0]} ended by itself, and so the whole process ended.",
                next_step="What was printed before says why. Start it again: no job is lost.",
            )


def _parts(
    neve: Neve, settings: ServeSettings, make_config: MakeConfig, say: Say, fallen: Fallen
) -> list[Part]:
    """In the order in which they begin; they end the other way round."""
    made: dict[Role, Callable[[], Part]] = {
        Role.API: lambda: ApiPart(neve, settings, make_config, say, fallen),
        Role.WORKER: lambda: WorkerPart(neve, settings, say, fallen),
        Role.SCHEDULER: lambda: SchedulerPart(neve, settings, say, fallen),
    }
    return [made[role]() for role in Role if role in settings.roles]


class ApiPart:
    """The API, in a thread of its own, on a socket that is bound before anything begins."""

    def __init__(
        self,
        neve: Neve,
        settings: ServeSettings,
        make_config: MakeConfig,
        say: Say,
        fallen: Fallen,
    ) -> None:
        self._neve, self._settings, self._make_config = neve, settings, make_config
        self._say, self._fallen = say, fallen

    def start(self) -> None:
        host, port = self._settings.host, self._settings.port
        is_known = self._neve.access.settings.enabled
        if not is_known and not is_loopback(host):
            raise _open_to_all(host)
        # It says which package is missing, where one is.
        config = self._make_config(self._neve, host, port)
        import uvicorn

        self._socket = listening(host, port)
        # A name may mean something else by now: what counts is what was bound.
        if not is_known and not is_loopback_address(self._socket.getsockname()[0]):
            self._socket.close()
            raise _open_to_all(host)
        self._server = uvicorn.Server(config)
        self._thread = self._fallen.thread("neve-api", self._serve)
        self._thread.start()
        self._say(f"Listening on http://{host}:{self.port}")

    @property
    def port(self) -> int:
        """Where it listens; the one that was chosen, where any would do."""
        port: int = self._socket.getsockname()[1]
        return port

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])


class WorkerPart:
    """A worker; the engine starts at once, so that the first job need not wait for it."""

    def __init__(self, neve: Neve, settings: ServeSettings, say: Say, fallen: Fallen) -> None:
        self._neve, self._say, self._grace = neve, say, settings.grace_seconds
        self._fallen = fallen
        self._worker = neve.worker(neve.worker_settings(settings.concurrency), say)

    def start(self) -> None:
        self._neve.warm_up()
        self._thread = self._fallen.thread("neve-worker", self._worker.run)
        self._thread.start()

    def stop(self) -> None:
        if running := self._worker.running:
            self._say(f"Waiting for {many(len(running), 'running job')}.")
        if not self._worker.drain(self._grace):
            self._say("Some jobs did not stop in time; other workers settle them.")
        self._thread.join()


class SchedulerPart:
    """A scheduler: one thread looks at tables, one at the clock, and one sends digests."""

    def __init__(self, neve: Neve, settings: ServeSettings, say: Say, fallen: Fallen) -> None:
        self._neve, self._say, self._tick_seconds = neve, say, settings.tick_seconds
        self._turns = neve.scheduler()
        self._stop = threading.Event()
        self._threads = [
            fallen.thread("neve-watch", self._watch),
            fallen.thread("neve-scheduler", self._tick),
            fallen.thread("neve-digest", self._digest),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        # A catalog may take its time; nothing is lost with a look at tables.
        self._threads[1].join()

    def _watch(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            has_more = self._told(self._turns.refresh)
            # A catalog that is away is not asked again at once.
            pause = AWAY_SECONDS if has_more is None else 0.0 if has_more else self._tick_seconds

    def _tick(self) -> None:
        while not self._stop.wait(self._tick_seconds):
            self._told(lambda: self._turns.tick(self._turns.now()))

    def _digest(self) -> None:
        while not self._stop.wait(DIGEST_SECONDS):
            self._told(lambda: self._neve.send_due_digest(self._turns.now()))

    def _told(self, do: Callable[[], object]) -> object:
        """A catalog or a store that is away may come back."""
        try:
            return do()
        except NeveError as error:
            self._say(error.message)
            return None


def _awake(do: Callable[[], None]) -> None:
    """Let it be done in a thread beside, so that this one hears of a second signal."""
    doing = threading.Thread(target=do, name="neve-ending", daemon=True)
    doing.start()
    while doing.is_alive():
        doing.join(WAKE_SECONDS)


def _open_to_all(host: str) -> ConfigError:
    return ConfigError(
        f"The API asks nobody who they are, and {host!r} can be reached from other machines.",
        next_step="Set access.enabled and make keys (neve keys create), or listen on 127.0.0.1.",
    )


@contextmanager
def _signals(
    stop: threading.Event, monotonic: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Let signals end the process in good order, where this thread is told of them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    asked_at: list[float] = []

    def ask(_: int, __: FrameType | None) -> None:
        if not asked_at:
            asked_at.append(monotonic())
            stop.set()
        elif monotonic() - asked_at[0] >= SAME_SIGNAL_SECONDS:
            raise KeyboardInterrupt

    wanted = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        # A closed terminal; with nohup it goes on.
        wanted.append(signal.SIGHUP)
    before = {number: signal.signal(number, ask) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
