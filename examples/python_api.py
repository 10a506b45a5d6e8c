"""Looks at all tables, and compacts those that gain from it: python python_api.py [PATTERN]"""

from __future__ import annotations

import sys

from neve import Neve


def main(pattern: str = "*") -> int:
    with Neve.open() as neve:
        for table in neve.tables(pattern):
            plan = neve.plan(table)
            print(table, neve.health(table).score, plan.reason)
            if not plan.is_empty:
                outcome = neve.apply(plan)
                print(table, outcome.status, outcome.reason)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
