"""One gate for the process, since Spark has one session in it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping

from neve.spark.gate.conf import gated, is_gated, upstream_of
from neve.spark.gate.server import CommitGate

_gate: CommitGate | None = None
_changing = threading.Lock()


def through_the_gate(
    settings: Mapping[str, str],
    names: Iterable[str],
    *,
    is_local: bool,
    chosen: Collection[str] = (),
) -> dict[str, str]:
    """A session's settings in which these catalogs, if they are REST ones, are behind the gate.

    Keys that the user has chosen stay: who gives Spark a catalog's address means that address.
    """
    result = dict(settings)
    for name in names:
        prefix = f"spark.sql.catalog.{name}."
        if f"{prefix}uri" in chosen:
            continue
        values = {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)}
        if not is_gated(values):
            continue
        upstream = upstream_of(name, values)
        uri = _open_gate(is_local).open(upstream)
        for key in values:
            result.pop(prefix + key)
        result |= {prefix + k: v for k, v in gated(values, upstream, uri).items()}
    return result


def close_gate() -> None:
    """End the gate; to be called when the session has ended."""
    global _gate
    with _changing:
        if _gate is not None:
            _gate.close()
        _gate = None


def _open_gate(is_local: bool) -> CommitGate:
    global _gate
    with _changing:
        if _gate is None:
            _gate = CommitGate(has_distant_executors=not is_local)
        return _gate
