"""Plans on disk: readable JSON, sealed with a digest, refused when changed by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neve.documents import canonical_text, from_document, to_document, with_text_ids
from neve.model.errors import InputError, PlanFileError
from neve.model.plan import CompactionPlan

FORMAT_VERSION = "1.1"
PLAN_AGAIN = "Make a plan with neve plan … --out plan.json."


def plan_document(plans: Sequence[CompactionPlan]) -> dict[str, Any]:
    """The document of a plan file."""
    made = [with_text_ids(to_document(plan)) for plan in plans]
    body = {"format_version": FORMAT_VERSION, "plans": made}
    return {**body, "digest": _digest(body)}


def write_plan_file(path: Path, plans: Sequence[CompactionPlan]) -> None:
    text = json.dumps(plan_document(plans), indent=2, allow_nan=False)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"The plan cannot be written to {path}: {error.strerror}.") from error


def read_plan_file(path: Path) -> list[CompactionPlan]:
    """The plans of a file, if it is as Neve wrote it."""
    document = _read(path)
    if document.get("format_version") != FORMAT_VERSION:
        raise PlanFileError(
            f"{path} has the format version {document.get('format_version')!r}; "
            f"this Neve reads {FORMAT_VERSION}.",
            next_step="Plan again with this version.",
        )
    body = {key: value for key, value in document.items() if key != "digest"}
    if document.get("digest") != _digest(body):
        raise PlanFileError(
            f"{path} was changed after the plan was made.",
            next_step="Plan again: a plan is applied as it was made, or not at all.",
        )
    plans = body.get("plans")
    if not isinstance(plans, list):
        raise PlanFileError(f"{path} is not a plan of this version of Neve.", next_step=PLAN_AGAIN)
    return [plan_of_document(plan, str(path)) for plan in plans]


def plan_of_document(document: object, source: str = "The request") -> CompactionPlan:
    """One plan, as far as its shape goes; whether it may be run is asked from the table."""
    try:
        return from_document(CompactionPlan, document)
    except (ValueError, TypeError, KeyError) as error:
        raise PlanFileError(
            f"{source} is not a plan of this version of Neve.", next_step=PLAN_AGAIN
        ) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        # JSON can spell characters that no name, path or catalog may hold.
        json.dumps(document, ensure_ascii=False).encode()
    except OSError as error:
        raise PlanFileError(
            f"The plan file {path} cannot be read: {error.strerror}.", next_step=PLAN_AGAIN
        ) from error
    except (ValueError, RecursionError) as error:
        raise PlanFileError(f"{path} is not JSON.", next_step=PLAN_AGAIN) from error
    if not isinstance(document, dict):
        raise PlanFileError(f"{path} is not a plan.", next_step=PLAN_AGAIN)
    return document


def _digest(body: Any) -> str:
    return "sha256:" + hashlib.sha256(canonical_text(body).encode()).hexdigest()
