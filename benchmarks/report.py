"""How every benchmark tells its result: a text for people, JSON for programs, or both."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="Print JSON instead of text.")
    parser.add_argument("--json-file", type=Path, help="Also write the JSON to this file.")


def tell(arguments: argparse.Namespace, result: Any, text: str) -> None:
    """Print the result, and write it where that was asked for."""
    document = json.dumps(result, indent=2)
    if arguments.json_file is not None:
        arguments.json_file.parent.mkdir(parents=True, exist_ok=True)
        arguments.json_file.write_text(document + "\n", encoding="utf-8")
    print(document if arguments.json else text)
