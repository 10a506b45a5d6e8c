"""Every key of a policy, and every argument of Iceberg's that is refused."""

from __future__ import annotations

from page_parts import code, table

from neve.model.policies import PolicyBook, Setting
from neve.model.table import TableRef
from neve.policy import resolve
from neve.policy.effective import show_value
from neve.policy.keys import KEYS, REFUSED

INTRODUCTION = """\
# Policies

Keys of `policies:` in neve.yaml, of table properties (`neve.` before the key), of `--set` and of
`overrides` in Python. Operations have the names of Iceberg's procedures, and their arguments, too.
`neve policy explain TABLE` says which value a table has, and where it comes from.
"""
#: What a reader of values takes, by its name in the code.
KINDS = {
    "flag": "true or false",
    "count": "integer",
    "amount": "number",
    "text": "text",
    "words": "list of names",
    "choice": "one of `auto`, `spark`",
    "verify": "one of `full`, `metadata`, `off`",
    "duration": "duration, as `7d`",
    "duration_from": "duration, as `2d`",
    "size": "size, as `256MB`",
    "clock": "time of day, as `22:00`",
    "weekdays": "list of days, as `[mon, tue]`",
    "timezone": "time zone, as `Europe/Berlin`",
    "cron": "cron expression, or `rate(6 hours)`",
    "sort_order": "columns, or `zorder(a, b)`",
    "strategy": "strategy, as `binpack` or `sort`",
}


def page() -> str:
    return "\n".join((INTRODUCTION, "## Keys\n", _keys(), "## Refused\n", _refused()))


def _keys() -> str:
    policy = resolve.resolve(PolicyBook(), TableRef("lake", ("db",), "t"), {})
    defaults = {setting.key: setting for setting in policy.settings}
    rows = []
    for name, key in KEYS.items():
        kind = KINDS[key.read.__qualname__.partition(".")[0]]
        rows.append((code(name), kind, _shown(defaults.get(name))))
    return table(("key", "value", "default"), rows)


def _shown(setting: Setting | None) -> str:
    return "" if setting is None or setting.value is None else code(show_value(setting))


def _refused() -> str:
    told = "Iceberg takes these; Neve says why it does not, instead of ignoring them.\n\n"
    rows = [(code(name), f"{why[0].upper()}{why[1:]}.") for name, why in sorted(REFUSED.items())]
    return told + table(("argument", "why"), rows)
