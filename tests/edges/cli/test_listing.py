"""Rows for a terminal: no word is broken, and what there is nothing to say about is left out."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from neve.cli.listing import INDENT, NOTHING, Listing

WORDS = st.text("ab-", min_size=20, max_size=60)
NAMES = st.text("ab-", min_size=1, max_size=16)
SENTENCES = st.lists(WORDS, min_size=2, max_size=6).map(" ".join)
CELLS = st.one_of(NAMES, SENTENCES)


def shown(listing, width):
    console = Console(file=StringIO(), width=width)
    console.print(listing)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
@given(rows=st.lists(st.tuples(NAMES, NAMES, CELLS, SENTENCES), min_size=1, max_size=4))
def test_no_word_is_broken_that_fits_a_line(width, rows):
    words = set(shown(Listing(("one", "two", "three", "four"), rows), width).split())

    assert words >= {word for row in rows for cell in row for word in cell.split()}


def test_why_a_snapshot_stays_stands_below_it_where_a_tag_would_be_broken():
    tag = "neve-undo-bb458172-feec-45cc-84e5-bc65d57c8c6a"
    row = ("1260058261292968094", "2026-03-01 12:00:00", f"tag {tag} points to it")
    listing = Listing(("stays although old", "committed", "because"), [row])

    assert f"\n{' ' * INDENT}tag {tag} points to it\n" in shown(listing, 80)


def test_what_there_is_nothing_to_say_about_takes_no_line():
    name = "n" * 70
    rows = [(name, NOTHING, "", "told" * 5), (name, NOTHING, "", NOTHING)]

    text = shown(Listing(("name", "dashes", "blanks", "words"), rows), 80)
    assert text.splitlines() == ["name", name, f"    words {'told' * 5}", name]
