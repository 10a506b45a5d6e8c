"""A server that answers as it is told, and what Airflow would hand to a task."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from types import SimpleNamespace
from typing import Any


@dataclass
class ScriptedServer:
    """Speaks Neve's REST on loopback: answers come in turn, and the last one stays."""

    answers: dict[tuple[str, str], list[tuple[int, Any]]] = field(default_factory=dict)
    #: Method, path, body and key of each request.
    seen: list[tuple[str, str, Any, str | None]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    address: str = ""

    def tell(self, method: str, path: str, *answers: Any) -> None:
        coded = [item if isinstance(item, tuple) else (200, item) for item in answers]
        self.answers[method, "/api/v1" + path] = coded

    def job(self, job_id: str, *states: str, **more: Any) -> None:
        """A job that is asked for as often as it has states."""
        self.tell("GET", f"/jobs/{job_id}", *(job_document(job_id, s, **more) for s in states))
        self.tell("DELETE", f"/jobs/{job_id}", (202, job_document(job_id, "cancelled")))

    def asked(self, method: str) -> list[str]:
        return [path for seen, path, _, _ in self.seen if seen == method]

    def keys(self) -> list[str | None]:
        return [key for method, _, _, key in self.seen if method == "POST"]

    def answer(self, method: str, path: str) -> tuple[int, Any]:
        told = self.answers.get((method, path))
        if not told:
            return 404, problem("There is no such thing.", "not-found", 404)
        return told.pop(0) if len(told) > 1 else told[0]


def job_document(job_id: str, status: str, **more: Any) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "status": status,
        "table": "lake.db.events",
        "operation": "rewrite_data_files",
        "reason": f"It {status}.",
        "outcome": None,
        **more,
    }


def problem(detail: str, kind: str, status: int, **more: Any) -> dict[str, Any]:
    return {"type": f"urn:neve:problem:{kind}", "status": status, "detail": detail, **more}


class Handler(BaseHTTPRequestHandler):
    def _serve(self) -> None:
        told: ScriptedServer = self.server.told  # type: ignore[attr-defined]
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        told.seen.append((self.command, self.path, body, self.headers.get("Idempotency-Key")))
        told.headers.append(dict(self.headers))
        status, answer = told.answer(self.command, self.path)
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _serve

    def log_message(self, *_: object) -> None:
        pass


class StateStore:
    """What Airflow keeps for a task over its tries."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(key, default)

    def set(self, key: str, value: Any) -> None:
        self.values[key] = json.loads(json.dumps(value))

    def delete(self, key: str) -> None:
        self.values.pop(key, None)


class Worker:
    """What a task finds around it; one for all tries of a task."""

    def __init__(self) -> None:
        self.store = StateStore()
        self.xcoms: dict[str, Any] = {}
        self.outlet_events: dict[Any, Any] = {}

    def context(self) -> Any:
        ti = SimpleNamespace(dag_id="night", task_id="compact", xcom_push=self._push)
        return {
            "ti": ti,
            "task_state_store": self.store,
            "outlet_events": self.outlet_events,
        }

    def _push(self, key: str, value: Any) -> None:
        self.xcoms[key] = value
