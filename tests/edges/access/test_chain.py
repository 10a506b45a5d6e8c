"""The audit log: whatever is done to it afterwards is found."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.access.chain import AuditEntry, AuditHead, seal
from neve.model.errors import StoreError
from neve.service.auditing import AuditTrail, Evidence
from neve.store.sqlite import SqliteStore
from neve.testing.access import MemoryAudit
from neve.testing.facts import NOW

pytestmark = pytest.mark.promise(57)
ENTRY = AuditEntry(NOW, "ann", "compact", "202", "acme", "lake.db.t")


def chain(length=6, key=""):
    audit = MemoryAudit()
    trail = AuditTrail(audit, key)
    for number in range(length):
        trail.record(replace(ENTRY, job_id=f"j{number}"))
    return audit, trail


def changed(rows, place):
    other = json.loads(rows[place].text) | {"who": "eve"}
    rows[place] = replace(rows[place], text=json.dumps(other, sort_keys=True))


def cut(rows, place):
    del rows[place]


def swapped(rows, place):
    other = (place + 1) % len(rows)
    rows[place], rows[other] = rows[other], rows[place]


def renumbered(rows, place):
    """Swapped, with the numbers of the places."""
    other = (place + 1) % len(rows)
    one, two = rows[place], rows[other]
    rows[place] = replace(two, number=one.number)
    rows[other] = replace(one, number=two.number)


def doubled(rows, place):
    rows.insert(place, rows[place])


def spoilt(rows, place):
    rows[place] = replace(rows[place], text="no JSON")


def resealed(rows, place):
    """Everything from there on made anew, as somebody would who can write to the store."""
    head = AuditHead(place, rows[place].previous)
    for number in range(place, len(rows)):
        rows[number] = seal(replace(rows[number].entry, who="eve"), head)
        head = AuditHead(rows[number].number, rows[number].digest)


@given(
    st.sampled_from([changed, cut, swapped, renumbered, doubled, spoilt, resealed]),
    st.integers(0, 5),
)
def test_every_change_of_a_row_is_found(spoil, place):
    audit, trail = chain()
    assert trail.verify() == (audit.kept_head, None)
    spoil(audit.kept, place)
    assert trail.verify()[1] is not None


@given(st.integers(1, 6))
def test_a_tail_that_was_cut_is_found_by_the_head(count):
    audit, trail = chain()
    noted = audit.head()
    del audit.kept[-count:]
    assert "cut off" in trail.verify()[1]
    # With the head cut as well, what was noted elsewhere finds it.
    last = audit.kept[-1] if audit.kept else None
    audit.kept_head = AuditHead(last.number, last.digest) if last else AuditHead()
    assert trail.verify()[1] is None
    assert "was noted" in trail.verify([noted])[1]


def test_a_row_behind_the_head_is_found():
    audit, trail = chain()
    audit.kept.append(seal(ENTRY, audit.kept_head))
    assert trail.verify()[1] == "Row 7 was added after the head."


def test_a_chain_made_anew_is_found_by_its_key_or_by_a_noted_head():
    audit, trail = chain(key="k" * 16)
    noted = audit.head()
    resealed(audit.kept, 2)
    audit.kept_head = AuditHead(6, audit.kept[-1].digest)
    assert trail.verify()[1] == "Row 3 was changed."
    assert AuditTrail(audit, "").verify()[1] is not None

    audit, trail = chain()
    noted = audit.head()
    resealed(audit.kept, 2)
    audit.kept_head = AuditHead(6, audit.kept[-1].digest)
    assert trail.verify()[1] is None
    assert trail.verify([noted])[1] == "Row 6 is not the one that was noted."


def test_a_file_that_was_edited_is_found():
    store = SqliteStore(Path("state.db"))
    trail = AuditTrail(store.audit)
    for _ in range(3):
        trail.record(ENTRY)
    with closing(sqlite3.connect("state.db")) as db:
        with pytest.raises(sqlite3.IntegrityError, match="not changed"):
            db.execute("UPDATE audit SET document = '{}'")
        with pytest.raises(sqlite3.IntegrityError, match="not cut"):
            db.execute("DELETE FROM audit")
        db.execute("DROP TRIGGER audit_is_not_cut")
        db.execute("DELETE FROM audit WHERE number = 3")
        db.commit()
    assert "cut off" in trail.verify()[1]


def test_secrets_and_novels_do_not_get_into_the_log():
    audit = MemoryAudit()
    AuditTrail(audit, secrets=["hunter2hunter2"]).record(
        replace(ENTRY, detail="It is hunter2hunter2. " + "x" * 5000)
    )
    assert "hunter2" not in audit.kept[0].text
    assert len(audit.kept[0].text) < 1500


class Busy(MemoryAudit):
    def append(self, row):
        return False


def test_a_log_that_cannot_be_written_is_an_error():
    waits = []
    with pytest.raises(StoreError, match="audit log"):
        AuditTrail(Busy(), sleep=waits.append).record(ENTRY)
    assert len(waits) > 10


def test_evidence_is_the_same_for_the_same_files():
    one, two, none = Evidence(), Evidence(), Evidence()
    one.files(["b", "a"])
    two.files(["a"])
    two.files(["b", "a"])
    assert one.files_digest == two.files_digest != ""
    two.files(["c"])
    assert one.files_digest != two.files_digest
    assert (none.files_digest, none.plan_digest) == ("", "")
