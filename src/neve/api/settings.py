"""What an operator may say about the REST edge."""

from __future__ import annotations

from dataclasses import dataclass

from neve.model.json_depth import MAX_DEPTH

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Limits of one API process."""

    max_body_bytes: int = MB
    #: Of all bodies of one tenant that are worked on at once; parsed, they take ten times as much.
    max_body_bytes_of_tenant: int = 8 * MB
    #: How long further ones wait to be read.
    body_wait_seconds: float = 60.0
    #: Requests of one tenant that ask catalogs at once; each keeps one of the server's 40 threads.
    max_asking_of_tenant: int = 12
    #: How long further ones wait for their turn.
    asking_wait_seconds: float = 30.0
    #: A request's headers, and then its body, must arrive within this time.
    patience_seconds: float = 10.0
    #: What is in a body may lie in so many lists and objects.
    max_json_depth: int = MAX_DEPTH
    #: An answer must begin within this time.
    answer_seconds: float = 300.0
    #: Readiness is told within this time; what did not answer by then is not ready.
    ready_seconds: float = 10.0
    #: Streams of events that are open at once.
    max_streams: int = 64
    #: Of those, so many of one tenant.
    max_streams_of_tenant: int = 32
    #: How often a stream of events looks for new ones.
    poll_seconds: float = 0.5
    #: Whether a plan is applied only after somebody approved it.
    plans_need_approval: bool = False
    #: Tables that have gauges of their own in /metrics; those with the newest jobs.
    max_table_gauges: int = 100
