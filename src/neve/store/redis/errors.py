"""What a server answers, or does not answer, in Neve's words."""

from __future__ import annotations

from redis import exceptions

from neve.model.errors import StoreError

#: By the first word of the answer, or of the answer inside a script's: what is wrong, what to do.
REFUSALS = {
    "READONLY": (
        "is a replica and takes no changes",
        "Point state.url at the primary; after a failover, at the new one.",
    ),
    "OOM": (
        "is out of memory and takes no changes",
        "Raise maxmemory there, or give Neve a server of its own.",
    ),
    "MISCONF": (
        "cannot write to its disk and takes no changes",
        "Look into the server's log, and free disk space there.",
    ),
    "NOREPLICAS": (
        "has too few replicas and takes no changes",
        "Bring its replicas back, or lower min-replicas-to-write.",
    ),
    "NOPERM": (
        "does not allow its user what Neve needs",
        "Allow that user all commands on keys that begin with the prefix in braces.",
    ),
    "MOVED": (
        "is a node of a cluster that holds other keys",
        "Point state.url at the node that owns the slot of the prefix.",
    ),
    "CLUSTERDOWN": ("belongs to a cluster that is down", "Bring the cluster back."),
}


def is_transient(error: Exception) -> bool:
    """Whether asking again may help: no connection, no answer in time, still loading."""
    if isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError):
        return False
    return isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError)


def explain(error: exceptions.RedisError, address: str) -> StoreError:
    """One sentence about what is wrong, and one about what to do."""
    about, next_step = _explanation(error)
    return StoreError(f"The Redis server {address} {about}.", next_step=next_step)


def _explanation(error: exceptions.RedisError) -> tuple[str, str]:
    if isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError):
        return "refuses user or password", "Check the user and the password in state.url."
    if isinstance(error, exceptions.BusyLoadingError):
        return "is still loading its data", "Wait until it has, and try again."
    if isinstance(error, exceptions.TimeoutError):
        return "did not answer in time", "Check that it is up and reachable, and try again."
    if isinstance(error, exceptions.ConnectionError):
        return "cannot be reached", "Check that it is up, and check host and port in state.url."
    for word, explanation in REFUSALS.items():
        if _begins_with(error, word):
            return explanation
    return f"refused a command: {error}", "Look into the server's log."


def _begins_with(error: exceptions.RedisError, word: str) -> bool:
    kinds = {
        "READONLY": exceptions.ReadOnlyError,
        "OOM": exceptions.OutOfMemoryError,
        "NOPERM": exceptions.NoPermissionError,
        "MOVED": exceptions.MovedError,
        "CLUSTERDOWN": exceptions.ClusterDownError,
    }
    told = str(error)
    if word == "NOPERM" and "ACL failure in script" in told:
        return True
    # Older servers wrap what a command inside a script answered.
    return isinstance(error, kinds.get(word, ())) or f"-{word} " in f"-{told}"
