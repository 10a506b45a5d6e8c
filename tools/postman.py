"""Write the Postman collection and its environments from the OpenAPI document.

python tools/postman.py docs/postman
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from neve.api.app import create_app

COLLECTION_SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
METHODS = ("get", "post", "put", "patch", "delete")
#: Path parameters, by the variables of the collection that fill them.
VARIABLES = {"table": "table_ref", "name": "policy"}
TABLE = {"catalog": "{{catalog}}", "namespace": "{{namespace}}", "table": "{{table}}"}
USERS = {"tenant_id": "test-tenant", "namespace": "default", "table": "users"}
FIELDS = {
    "name": {"type": "string", "required": True},
    "email": {"type": "string", "required": False},
    "age": {"type": "integer", "required": False},
}
#: What is sent to a function, in order: its path, its method and its body.
EVENTS: tuple[tuple[str, str, str, dict[str, Any] | None], ...] = (
    ("Health check", "GET", "/health", None),
    (
        "CREATE TABLE",
        "POST",
        "/database",
        {
            "operation": "CREATE_TABLE",
            **USERS,
            "schema": {"fields": FIELDS},
            "if_not_exists": True,
        },
    ),
    *(
        (
            f"WRITE {number}",
            "POST",
            "/database",
            {
                "operation": "WRITE",
                **USERS,
                "records": [
                    {
                        "name": f"User-{number}",
                        "email": f"u{number}@example.com",
                        "age": 20 + number,
                    }
                ],
            },
        )
        for number in range(1, 6)
    ),
    (
        "COMPACT",
        "POST",
        "/database",
        {"operation": "COMPACT", **USERS, "force": True, "expire_snapshots": False},
    ),
    (
        "QUERY",
        "POST",
        "/database",
        {"operation": "QUERY", **USERS, "sql": "SELECT name, age FROM users ORDER BY name"},
    ),
)
INVOCATIONS = "/2015-03-31/functions/function/invocations"
#: Bodies of requests that need more than an empty one.
BODIES: dict[str, dict[str, Any]] = {
    "POST /api/v1/compact": {
        **TABLE,
        "strategy": "small_files",
        "options": {"target_file_size": "1GB", "max_cost": 10.0},
    },
    "POST /api/v1/plans": {**TABLE, "options": {"target_file_size": "512MB"}},
    "POST /api/v1/plans/{plan_id}/approve": {"approved_by": "{{user}}"},
    "POST /api/v1/tables/{table}/maintain": {"operations": ["rewrite_manifests"], "dry_run": True},
    "POST /api/v1/tables/{table}/rollback": {"job_id": "{{job_id}}"},
    "PUT /api/v1/policies/{name}": {
        "match": {"tables": ["{{catalog}}.{{namespace}}.*"]},
        "schedule": "0 3 * * *",
    },
    "PUT /api/v1/set-aside/{table}": {"reason": "Tried out with Postman."},
    "POST /api/v1/database": {**USERS, "operation": "QUERY", "sql": "SELECT 1 AS one"},
}
#: Headers of requests that need them.
HEADERS = {
    "PUT /api/v1/policies/{name}": {"If-None-Match": "*"},
    "DELETE /api/v1/policies/{name}": {"If-Match": "*"},
}
IDS = ("job_id", "plan_id", "approval_id", "turn_id")
#: What answers give to later requests.
CAPTURED = {
    "POST /api/v1/compact": "job_id",
    "POST /api/v1/plans": "plan_id",
    "POST /api/v1/schedules/{table}/trigger": "turn_id",
}
#: Requests that depend on what was there before may be refused, too.
MAY_BE_REFUSED = {
    "POST /api/v1/jobs/{job_id}/retry": [404, 409],
    "DELETE /api/v1/jobs/{job_id}": [409],
    "GET /api/v1/policies/{name}": [404],
    "POST /api/v1/tables/{table}/rollback": [409, 422],
    "POST /api/v1/turns/{turn_id}/rollback": [404, 409, 422],
    "POST /api/v1/tables/{table}/expire": [409],
    "POST /api/v1/plans/{plan_id}/apply": [409],
    "GET /api/v1/ready": [503],
    "GET /api/v1/approvals/{approval_id}": [404],
    "POST /api/v1/approvals/{approval_id}/approve": [404],
    "POST /api/v1/approvals/{approval_id}/reject": [404],
}
ENVIRONMENTS = {
    "local": {"base_url": "http://localhost:8080", "catalog": "lake", "namespace": "demo"},
    "production": {
        "base_url": "https://neve.example.com",
        "catalog": "production",
        "namespace": "analytics",
    },
}


def collection(document: dict[str, Any]) -> dict[str, Any]:
    """One folder for each tag, one request for each operation, in the document's order."""
    folders: dict[str, list[dict[str, Any]]] = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if operation := item.get(method):
                folders.setdefault(operation["tags"][0], []).append(
                    _request(method.upper(), path, operation)
                )
    return {
        "info": {"name": document["info"]["title"], "schema": COLLECTION_SCHEMA},
        "item": [{"name": name, "item": requests} for name, requests in folders.items()],
        "variable": [{"key": name, "value": "none"} for name in IDS],
    }


def _request(method: str, path: str, operation: dict[str, Any]) -> dict[str, Any]:
    name = f"{method} {path}"
    filled = re.sub(r"\{(\w+)\}", lambda f: "{{" + VARIABLES.get(f[1], f[1]) + "}}", path)
    request: dict[str, Any] = {
        "method": method,
        "description": operation.get("description", ""),
        "header": [{"key": key, "value": value} for key, value in HEADERS.get(name, {}).items()],
        "url": {"raw": "{{base_url}}" + filled, "host": ["{{base_url}}"], "path": _parts(filled)},
    }
    if "requestBody" in operation:
        request["header"].append({"key": "Content-Type", "value": "application/json"})
        text = json.dumps(BODIES.get(name, {}), indent=2)
        request["body"] = {"mode": "raw", "raw": text}
    return {"name": name, "request": request, "event": [_test(name, operation)]}


def function_collection() -> dict[str, Any]:
    """The database operations, as events to the interface of Lambda's runtime."""
    items = []
    for name, method, path, body in EVENTS:
        event = {"httpMethod": method, "path": path}
        if body is not None:
            event["body"] = json.dumps(body)
        operation = {"requestBody": {}, "responses": {"200": {}}, "description": name}
        item = _request("POST", INVOCATIONS, operation)
        item["name"] = name
        item["request"]["body"]["raw"] = json.dumps(event, indent=2)
        items.append(item)
    info = {"name": "Neve database operations", "schema": COLLECTION_SCHEMA}
    return {"info": info, "item": items, "variable": []}


def _parts(path: str) -> list[str]:
    return path.strip("/").split("/")


def _test(name: str, operation: dict[str, Any]) -> dict[str, Any]:
    good = sorted(int(code) for code in operation["responses"] if code.startswith("2"))
    # A dry run answers 200 where the work itself would be accepted.
    expected = [*good, 200, *MAY_BE_REFUSED.get(name, ())]
    codes = ", ".join(str(code) for code in dict.fromkeys(expected))
    lines = [
        'pm.test("status", function () {',
        f"    pm.expect(pm.response.code).to.be.oneOf([{codes}]);",
        "});",
    ]
    if captured := CAPTURED.get(name):
        lines.append(f'pm.collectionVariables.set("{captured}", pm.response.json().{captured});')
    return {"listen": "test", "script": {"type": "text/javascript", "exec": lines}}


def environment(name: str, values: dict[str, str]) -> dict[str, Any]:
    table_ref = "{{catalog}}.{{namespace}}.{{table}}"
    said = {**values, "table": "events", "table_ref": table_ref, "policy": "none", "user": "ann"}
    return {
        "name": f"Neve {name}",
        "values": [{"key": key, "value": value, "enabled": True} for key, value in said.items()],
    }


def files() -> dict[str, str]:
    """Every file by its name."""
    # The document does not depend on what is behind the routes.
    document = create_app(None).openapi()  # type: ignore[arg-type]
    made = {
        "neve.postman_collection.json": collection(document),
        "database.postman_collection.json": function_collection(),
    }
    for name, values in ENVIRONMENTS.items():
        made[f"{name}.postman_environment.json"] = environment(name, values)
    return {name: json.dumps(content, indent=2) + "\n" for name, content in made.items()}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")
