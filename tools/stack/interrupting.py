"""Run a command that ends well only on Ctrl-C, in a world that sends SIGTERM.

python tools/stack/interrupting.py COMMAND …
"""

from __future__ import annotations

import signal
import subprocess
import sys


def main(command: list[str]) -> int:
    child = subprocess.Popen(command)

    def interrupt(*_: object) -> None:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
