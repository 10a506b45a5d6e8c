"""Byte sizes as people write them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from neve.model.errors import InputError

UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", start=1):
    for _suffix in (_letter, _letter + "B", _letter + "IB"):
        UNITS[_suffix] = 1024**_power
MAX_SIZE_BYTES = 16 * 1024**4
SIZE = re.compile(r"\s*([0-9.eE+-]+?)\s*([A-Za-z]*)\s*")


def parse_size(text: str) -> int:
    """The bytes in `128MB`, `1.5 GiB` or `1048576`; a unit is a power of 1024."""
    found = SIZE.fullmatch(text)
    unit = UNITS.get(found.group(2).upper()) if found else None
    if found is None or unit is None:
        raise _bad_size(text, "it is not a size")
    try:
        amount = Decimal(found.group(1))
    except InvalidOperation:
        raise _bad_size(text, "it is not a size") from None
    if not amount > 0:
        raise _bad_size(text, "a size must be greater than zero")
    if amount * unit > MAX_SIZE_BYTES:
        raise _bad_size(text, f"the largest size is {format_size(MAX_SIZE_BYTES)}")
    size_bytes = int(amount * unit)
    if size_bytes == 0:
        raise _bad_size(text, "a size must be one byte at least")
    return size_bytes


def format_size(size_bytes: float) -> str:
    """`134217728` as `128.0 MB`."""
    amount = float(size_bytes)
    for unit in ("B", "KB", "MB", "GB"):
        if abs(amount) < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TB"


def _bad_size(text: str, why: str) -> InputError:
    return InputError(
        f"{text!r} cannot be used as a size: {why}.", next_step="Write for example 128MB or 1GB."
    )
