"""What a request says about who sends it: one key or token, and never in its address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neve.access.keys import prefix_of
from neve.model.errors import NotAuthenticated

#: What somebody might send a key as. An address stands in logs and histories.
KEY_PARAMETERS = frozenset(
    ("access_token", "api-key", "api_key", "apikey", "authorization", "bearer", "token")
)
#: How the log names whoever a server did not ask.
LOCAL_NAME = "local"


def bearer_of(sent: Sequence[str]) -> str:
    """The key or token of the headers Authorization; NotAuthenticated unless there is one."""
    scheme, _, value = sent[0].strip().partition(" ") if len(sent) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not value.strip():
        raise NotAuthenticated(
            "This server asks who you are.",
            next_step="Send one header Authorization: Bearer with your key: neve keys create.",
        )
    return value.strip()


def names_a_key(parameters: Iterable[tuple[str, str]]) -> bool:
    """Whether parameters of an address hold a key, which is in logs and histories by now."""
    return any(name.lower() in KEY_PARAMETERS or prefix_of(value) for name, value in parameters)
