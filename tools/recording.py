"""A picture of a command in a terminal, for the README.

    python tools/recording.py docs/images/demo.svg -- neve demo

The command runs in a terminal of 80 columns, with colours; what stands on the screen at its end is
drawn as SVG. Nothing is loaded from elsewhere by it.
"""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 80
#: Rich's own picture, without the fonts that it would load from another host.
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" \
xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "Fira Code", Menlo, Consolas, "DejaVu Sans Mono", monospace; \
font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: arial, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" \
height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def record(command: list[str]) -> str:
    """What the command writes to a terminal, until it ends well."""
    heard = io.BytesIO()

    def read(descriptor: int) -> bytes:
        got = os.read(descriptor, 65536)
        heard.write(got)
        return got

    size = {"COLUMNS": str(COLUMNS), "LINES": "50", "TERM": "xterm-256color", "FORCE_COLOR": "1"}
    os.environ.update(size)
    status = os.waitstatus_to_exitcode(pty.spawn(command, read))
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with {status}.")
    return heard.getvalue().decode("utf-8", "replace")


def on_screen(written: str) -> list[str]:
    """The lines that stay: those that were drawn over or wiped are left out."""
    lines: list[str] = [""]
    row = 0
    for part in re.split(r"(\r\n|\n|\r|\x1b\[\d*[AKJ]|\x1b\[\?\d+[hl])", written):
        move = re.fullmatch(r"\x1b\[(\d*)([AKJ])", part)
        if part in ("\n", "\r\n"):
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            lines[row] = ""
        elif move and move[2] == "A":
            row = max(0, row - int(move[1] or 1))
        elif move:
            lines[row] = ""
        elif not part.startswith("\x1b[?"):
            lines[row] += part
    return lines


def picture(lines: list[str], title: str) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("\n".join(lines).strip("\n")), soft_wrap=False)
    return console.export_svg(title=title, code_format=FORMAT, unique_id="neve")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    screen = on_screen(record(options.command))
    options.file.parent.mkdir(parents=True, exist_ok=True)
    options.file.write_text(picture(screen, "$ " + " ".join(options.command)), encoding="utf-8")
    print(f"{options.file}: {len(screen)} lines", file=sys.stderr)


if __name__ == "__main__":
    main()
