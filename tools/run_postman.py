"""Run a Postman collection against a server, as far as `tools/postman.py` writes one.

python tools/run_postman.py COLLECTION ENVIRONMENT [NAME=VALUE ...]

Of scripts it understands the two lines that are generated: the expected statuses, and the value
that an answer gives to later requests.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2

EXPECTED = re.compile(r"to\.be\.oneOf\(\[([\d, ]+)\]\)")
CAPTURE = re.compile(r'pm\.collectionVariables\.set\("(\w+)", pm\.response\.json\(\)\.(\w+)\);')
VARIABLE = re.compile(r"\{\{(\w+)\}\}")
MAX_NESTING = 5


def run(
    collection: Mapping[str, Any], environment: Mapping[str, Any], **more: str
) -> Iterator[tuple[str, int, bool]]:
    """Each request's name, its status, and whether that was expected."""
    variables = {item["key"]: item["value"] for item in collection["variable"]}
    variables |= {item["key"]: item["value"] for item in environment["values"]}
    variables |= more
    with httpx2.Client(timeout=30) as http:
        for item in _requests(collection["item"]):
            response = _send(http, item["request"], variables)
            lines = [line for event in item["event"] for line in event["script"]["exec"]]
            expected = _expected(lines)
            if response.is_success:
                variables |= _captured(lines, response)
            yield item["name"], response.status_code, response.status_code in expected


def _requests(items: list[Any]) -> Iterator[Any]:
    for item in items:
        if "item" in item:
            yield from _requests(item["item"])
        else:
            yield item


def _send(http: httpx2.Client, request: Any, variables: Mapping[str, str]) -> httpx2.Response:
    headers = {header["key"]: header["value"] for header in request["header"]}
    body = filled(request["body"]["raw"], variables) if "body" in request else None
    url = filled(request["url"]["raw"], variables)
    return http.request(request["method"], url, headers=headers, content=body)


def filled(text: str, variables: Mapping[str, str]) -> str:
    """The text with its variables replaced; a value may name others."""
    for _ in range(MAX_NESTING):
        text = VARIABLE.sub(lambda found: variables[found[1]], text)
    return text


def _expected(lines: list[str]) -> set[int]:
    listed = [codes for line in lines for codes in EXPECTED.findall(line)]
    return {int(code) for codes in listed for code in codes.split(",")}


def _captured(lines: list[str], response: httpx2.Response) -> dict[str, str]:
    found = [pair for line in lines for pair in CAPTURE.findall(line)]
    return {name: response.json()[key] for name, key in found}


def main(collection: str, environment: str, *more: str) -> int:
    said = dict(pair.split("=", 1) for pair in more)
    read = [json.loads(Path(name).read_text("utf-8")) for name in (collection, environment)]
    failed = 0
    for name, status, is_expected in run(*read, **said):
        print(f"{'ok  ' if is_expected else 'FAIL'} {status} {name}")
        failed += not is_expected
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
