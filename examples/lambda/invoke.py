"""Makes a table, writes to it and compacts it, through the function's handler: invoke.py"""

from __future__ import annotations

import json
import sys
from typing import Any

from neve.aws_lambda import handler

PLACE = {"tenant_id": "acme", "namespace": "default", "table": "users"}


def call(**body: Any) -> dict[str, Any]:
    """What the function answers to a request, as its address or a rule would send it."""
    event = {"httpMethod": "POST", "path": "/database", "body": json.dumps({**PLACE, **body})}
    answer = handler(event, None)
    print(answer["statusCode"], answer["body"])
    document: dict[str, Any] = json.loads(answer["body"])
    return document


def main() -> int:
    fields = {"name": {"type": "string"}, "age": {"type": "integer"}}
    call(operation="CREATE_TABLE", schema={"fields": fields}, if_not_exists=True)
    for number in range(5):
        call(operation="WRITE", records=[{"name": f"user {number}", "age": 20 + number}])
    answer = call(operation="COMPACT", force=True, expire_snapshots=False)
    call(operation="QUERY", sql="SELECT count(*) AS people FROM users")
    handler.close()
    return 0 if answer.get("compacted") else 1


if __name__ == "__main__":
    sys.exit(main())
