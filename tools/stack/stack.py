"""Run the real services that the system tests talk to, on loopback and without containers.

    python tools/stack/stack.py up [part …]       start parts and what they need; without names,
                                                  the S3 server, the REST catalog and Trino
    python tools/stack/stack.py down [part …]     stop parts; without names, end the whole stack
    python tools/stack/stack.py status            what runs, and where

NEVE_CACHE holds the downloads, NEVE_STACK_HOME everything of one running stack, and
NEVE_S3_PORT (NEVE_REST_PORT, …) fixes a port; NEVE_STACK_TIMEOUT and NEVE_STACK_STOP_TIMEOUT are
the seconds of patience with a part that starts or stops. Stopping named parts keeps their data
and ports; ending the stack drops the data. neve.yaml in NEVE_STACK_HOME tells Neve of the parts.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from layout import Stack, StackError, cache_folder, locked, open_stack, stack_home
from neve_yaml import how_to_use, write_neve_yaml
from parts import DEFAULT, PARTS, with_needs
from processes import await_ready, refuse_taken, running_pid, spawn, stop

READY_SECONDS = 300.0
STOP_SECONDS = 30.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="stack", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=["up", "down", "status"])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.parts if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    try:
        home = stack_home()
        if asked.verb == "status":
            return status(open_stack(home), asked.parts)
        with locked(home / "lock"):
            stack = open_stack(home)
            return up(stack, asked.parts) if asked.verb == "up" else down(stack, asked.parts)
    except StackError as error:
        print(f"stack: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stack: interrupted", file=sys.stderr)
        return 130


def up(stack: Stack, names: list[str]) -> int:
    for name in with_needs(names or DEFAULT):
        if running_pid(stack.pid_path(name)) is not None:
            if name in stack.facts:
                print(f"{name}: already running.", flush=True)
                continue
            # Whoever started it was killed before it was ready: nobody knows its port.
            stop(stack.pid_path(name), STOP_SECONDS)
        try:
            _bring_up(stack, name)
        except StackError as error:
            raise StackError(f"{name}: {error}") from error
    print(f"Endpoints and test credentials: {stack.json_path}")
    print(how_to_use(write_neve_yaml(stack)))
    return 0


def _bring_up(stack: Stack, name: str) -> None:
    part = PARTS[name]
    installed = part.fetch(cache_folder())
    print(f"{name}: starting.", flush=True)
    begun = time.monotonic()
    patience = _seconds("NEVE_STACK_TIMEOUT", READY_SECONDS)
    launch = part.start(stack, installed)
    refuse_taken(name, launch.facts["port"])
    log, pid_path = stack.log_path(name), stack.pid_path(name)
    process = spawn(launch, log, pid_path)
    try:
        await_ready(process, lambda: part.ready(launch.facts), log, patience)
        stack.facts[name] = launch.facts
        stack.save()
    except BaseException:
        # Also on Ctrl-C: a part that never became ready is not left behind.
        stop(pid_path, 5)
        raise
    where = launch.facts.get("uri") or launch.facts.get("endpoint")
    print(f"{name}: ready at {where} after {time.monotonic() - begun:.1f} s.", flush=True)


def _seconds(variable: str, default: float) -> float:
    given = os.environ.get(variable)
    try:
        return float(given) if given else default
    except ValueError:
        raise StackError(f"{variable} is {given!r}, not a number of seconds.") from None


def down(stack: Stack, names: list[str]) -> int:
    patience = _seconds("NEVE_STACK_STOP_TIMEOUT", STOP_SECONDS)
    for name in reversed(PARTS):
        is_meant = name in names if names else name in DEFAULT or name in stack.facts
        if not is_meant and (names or running_pid(stack.pid_path(name)) is None):
            continue
        stopped = stop(stack.pid_path(name), patience)
        print(f"{name}: {'stopped' if stopped else 'was not running'}.", flush=True)
    if not names:
        stack.forget()
    return 0


def status(stack: Stack, names: list[str]) -> int:
    for name in names or PARTS:
        pid = running_pid(stack.pid_path(name))
        facts = stack.facts.get(name, {})
        where = facts.get("uri") or facts.get("endpoint")
        if pid is None:
            print(f"{name}: not running")
        elif not facts:
            print(f"{name}: starting, pid {pid}")
        else:
            answers = "answers" if PARTS[name].ready(facts) else "does not answer"
            print(f"{name}: pid {pid}, {where}, {answers}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
