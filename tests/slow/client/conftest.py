from __future__ import annotations

import pytest
from tests.edges.api.conftest import (  # noqa: F401 - the same server
    address,
    events,
    lake,
    neve,
    queued,
    run_next,
    shared_neve,
    state,
    store,
)

from neve.client import NeveClient


@pytest.fixture
def client(address):  # noqa: F811
    with NeveClient(address, sleep=lambda seconds: None) as opened:
        yield opened
