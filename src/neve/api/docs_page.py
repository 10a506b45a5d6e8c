"""/docs: the OpenAPI document as one page, without scripts and without any other host."""

from __future__ import annotations

import json
from html import escape
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
summary { cursor: pointer; padding: .4rem 0 }
details { border-bottom: 1px solid #ccc }
code, pre { font: 14px/1.4 ui-monospace, monospace }
pre { background: #f4f4f4; overflow: auto; padding: .6rem }
.method { display: inline-block; font-weight: bold; width: 5rem }
td, th { padding: .1rem 1rem .1rem 0; text-align: left; vertical-align: top }
@media (prefers-color-scheme: dark) {
  body { background: #111; color: #ddd } a { color: #8cf } pre { background: #222 }
}
"""


def docs_page(document: dict[str, Any]) -> str:
    """All operations of the document, by tag."""
    by_tag: dict[str, list[str]] = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if operation := item.get(method):
                tag = (operation.get("tags") or ["other"])[0]
                by_tag.setdefault(tag, []).append(_operation(document, path, method, operation))
    sections = "".join(f"<h2>{escape(tag)}</h2>{''.join(parts)}" for tag, parts in by_tag.items())
    title = escape(document["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width">'
        '<link rel="stylesheet" href="docs.css"></head><body>'
        f"<h1>{title}</h1><p>{escape(document['info'].get('description', ''))}</p>"
        '<p>For programs: <a href="openapi.json">openapi.json</a></p>'
        f"{sections}</body></html>"
    )


def _operation(document: Any, path: str, method: str, operation: dict[str, Any]) -> str:
    summary = f'<span class="method">{method.upper()}</span><code>{escape(path)}</code>'
    described = f"<p>{escape(operation.get('description', ''))}</p>"
    parts = [_parameters(operation), _body(document, operation), _curl(document, path, method)]
    return f"<details><summary>{summary}</summary>{described}{''.join(parts)}</details>"


def _parameters(operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(p['name'])}</code></td><td>{escape(p['in'])}</td>"
        f"<td>{escape(p.get('description', ''))}</td></tr>"
        for p in operation.get("parameters", ())
    )
    return f"<table><tr><th>parameter</th><th>in</th><th></th></tr>{rows}</table>" if rows else ""


def _schema_of_body(document: Any, operation: dict[str, Any]) -> dict[str, Any] | None:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    return resolved(document, content["schema"]) if content else None


def _body(document: Any, operation: dict[str, Any]) -> str:
    schema = _schema_of_body(document, operation)
    if schema is None:
        return ""
    return f"<p>Body:</p><pre>{escape(json.dumps(schema, indent=2))}</pre>"


def _curl(document: Any, path: str, method: str) -> str:
    has_body = _schema_of_body(document, document["paths"][path][method]) is not None
    body = " -H 'Content-Type: application/json' -d '{}'" if has_body else ""
    return f"<pre>curl -X {method.upper()} localhost:8080{escape(path)}{escape(body)}</pre>"


def resolved(document: Any, part: Any, inside: tuple[str, ...] = ()) -> Any:
    """The part with its references replaced by what they mean; not again inside of themselves."""
    if isinstance(part, list):
        return [resolved(document, item, inside) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        if name in inside:
            return {"as": name}
        return resolved(document, document["components"]["schemas"][name], (*inside, name))
    return {key: resolved(document, value, inside) for key, value in part.items()}
