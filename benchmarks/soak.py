"""Compaction of a table whose every file is written to all the time, beside Iceberg's procedure.

    python benchmarks/soak.py [--seconds 90] [--pace 1.0] [--every 2.0] [--copy] [--json]

A writer in a process of its own deletes rows of every file and updates others of every file, once
in each pace. Wanted: every compaction with work gets through, no row is wrong, and the writer has
to try again at most a tenth as often as beside Iceberg's procedure. Ends with 1 where that fails.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from busy_writer import line, parse_arguments, run
from report import tell

WANTED_SHARE = 1.0
#: Of the writes that had to be tried again beside Iceberg's procedure.
WANTED_RETRIES = 0.1


def missed(result: dict[str, Any]) -> list[str]:
    """What is not as it should be, in sentences."""
    ours, theirs = result["neve"], result["iceberg"]
    share = ours["share_through"]
    found = []
    if share is None:
        found.append("No compaction had work, so that nothing is shown.")
    elif share < WANTED_SHARE:
        found.append(f"{share:.0%} of the compactions got through, and all should.")
    found += [
        f"Rows are wrong beside {side}."
        for side in ("neve", "iceberg")
        if not result[side]["rows_exact"]
    ]
    mine, other = (side["writer_retries"] / max(1, side["writes"]) for side in (ours, theirs))
    if mine > WANTED_RETRIES * other:
        found.append(
            f"The writer tried {mine:.0%} of its writes again beside Neve, {other:.0%} beside "
            "Iceberg's procedure: more than a tenth of that."
        )
    return found


def main() -> int:
    arguments = parse_arguments(__doc__)
    with tempfile.TemporaryDirectory(prefix="neve-soak-") as name:
        result = run(Path(name), arguments, "everywhere")
    result["missed"] = missed(result)
    lines = [f"A writer in every file, every {arguments.pace:g} s, for {arguments.seconds:g} s"]
    lines += [line(side, result[side]) for side in ("neve", "iceberg")]
    lines += [f"  missed: {sentence}" for sentence in result["missed"]]
    tell(arguments, result, "\n".join(lines))
    return 1 if result["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
