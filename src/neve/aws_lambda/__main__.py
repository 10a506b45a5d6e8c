"""python -m neve.aws_lambda: the function on this machine, as Lambda's runtime serves it."""

from __future__ import annotations

import argparse
from contextlib import suppress

from neve.aws_lambda.function import handler
from neve.aws_lambda.runner import INVOCATIONS, Runner


def main(arguments: list[str] | None = None) -> None:
    """Serve until Ctrl-C. It asks nobody who they are, so that it is for this machine."""
    parser = argparse.ArgumentParser(prog="python -m neve.aws_lambda", description=main.__doc__)
    parser.add_argument("--port", type=int, default=8080)
    port = parser.parse_args(arguments).port
    try:
        made = Runner(handler, port=port)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        parser.exit(1, f"Error: Port {port} of this machine cannot be used: {why}.\n")
    with made as runner:
        print(f"http://127.0.0.1:{runner.server_port}{INVOCATIONS}", flush=True)  # noqa: T201
        with suppress(KeyboardInterrupt):
            runner.serve_forever()
    handler.close()


if __name__ == "__main__":
    main()
