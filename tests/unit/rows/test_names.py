"""How columns are called in files."""

from __future__ import annotations

import pytest

from neve.rows.names import in_files

#: As Iceberg's own writer in Java spells them.
SPELLED = {
    "plain_1": "plain_1",
    "_id": "_id",
    "größe": "größe",
    "a.b": "a_x2Eb",
    "s t": "s_x20t",
    "0a": "_0a",
    "-": "_x2D",
    "a🧊": "a_xD83E_xDDCA",
    "𝒜": "_xD835_xDC9C",
    "a𝟎": "a_xD835_xDFCE",
    "": "",
}


@pytest.mark.promise(1)
@pytest.mark.parametrize(("name", "spelled"), SPELLED.items())
def test_names_are_spelled_as_icebergs_writers_do(name, spelled):
    assert in_files([name]) == [spelled]


@pytest.mark.promise(1)
def test_no_two_columns_get_one_name():
    assert in_files(["a.b", "a_x2Eb", "c d"]) == ["a.b", "a_x2Eb", "c d"]
