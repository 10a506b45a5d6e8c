"""Proof from metadata: what a commit took away and what it added must hold the same rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from neve.model.facts import DataFileFacts, DeleteFileFacts, PartitionKey, TableFacts
from neve.model.outcome import PartitionProof, Proof
from neve.planning.deletes import DeleteIndex, FileDeletes, dangling_deletes, scope


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between two snapshots, one made directly on the other."""

    before: TableFacts
    after: TableFacts
    removed: tuple[DataFileFacts, ...]
    added: tuple[DataFileFacts, ...]
    #: Deletes that applied to each removed file.
    deletes: Mapping[str, FileDeletes]
    #: Deletes that apply to each added file: those that followed its rows.
    own_deletes: Mapping[str, FileDeletes]
    #: Delete files that the commit dropped although files that stay still need them.
    lost_deletes: tuple[DeleteFileFacts, ...]

    @property
    def paths_to_scan(self) -> list[str]:
        """Removed files whose deleted rows only reading can count."""
        return [path for path, deletes in self.deletes.items() if deletes.needs_scan]

    @property
    def added_paths_to_scan(self) -> list[str]:
        """The same of added files."""
        return [path for path, deletes in self.own_deletes.items() if deletes.needs_scan]


def find_change(before: TableFacts, after: TableFacts) -> Change:
    """What one snapshot changed."""
    old = {file.path for file in before.data_files}
    new = {file.path for file in after.data_files}
    removed = tuple(file for file in before.data_files if file.path not in new)
    added = tuple(file for file in after.data_files if file.path not in old)
    index = DeleteIndex(before.delete_files, dict(before.specs))
    own = DeleteIndex(after.delete_files, dict(after.specs))
    return Change(
        before=before,
        after=after,
        removed=removed,
        added=added,
        deletes={file.path: index.applying_to(file) for file in removed},
        own_deletes={file.path: own.applying_to(file) for file in added},
        lost_deletes=_lost_deletes(before, after, new),
    )


def _lost_deletes(
    before: TableFacts, after: TableFacts, new: set[str]
) -> tuple[DeleteFileFacts, ...]:
    # A deletion vector shares its file with others, so the path alone does not name it.
    kept = {(delete.path, delete.referenced_path) for delete in after.delete_files}
    gone = [d for d in before.delete_files if (d.path, d.referenced_path) not in kept]
    if not gone:
        return ()
    staying = [file for file in before.data_files if file.path in new]
    dangling = set(dangling_deletes(gone, staying, before.specs))
    return tuple(delete for delete in gone if delete not in dangling)


def prove(
    change: Change,
    live_rows: Mapping[str, int] | None,
    added_live_rows: Mapping[str, int] | None = None,
) -> Proof:
    """Compare rows of what went with rows of what came, partition by partition.

    `live_rows` has the rows that readers saw in the files of `paths_to_scan`, and
    `added_live_rows` those that they see in the files of `added_paths_to_scan`. Where it is None,
    nobody counted again: then deletes explain as many rows as the files have, and no more.
    """
    rows_in: dict[PartitionKey, int] = defaultdict(int)
    deleted: dict[PartitionKey, int] = defaultdict(int)
    uncounted: dict[PartitionKey, int] = defaultdict(int)
    rows_out: dict[PartitionKey, int] = defaultdict(int)
    for file in change.removed:
        # Iceberg's own action makes one partition of all NaNs.
        partition = scope(file.partition)
        rows_in[partition] += file.record_count
        if live_rows is None and change.deletes[file.path].needs_scan:
            uncounted[partition] += file.record_count
        else:
            deleted[partition] += _deleted(file, change.deletes[file.path], live_rows or {})
    for file in change.added:
        gone = _deleted(file, change.own_deletes[file.path], added_live_rows or {})
        rows_out[scope(file.partition)] += file.record_count - gone
    # Files of an old spec come back in partitions of the current one: only the sums compare.
    moved = {key[0] for key in rows_in} != {key[0] for key in rows_out} and bool(rows_out)
    keys = () if moved else sorted(rows_in.keys() | rows_out.keys(), key=str)
    for key, most in uncounted.items():
        missing = rows_in[key] - rows_out[key] - deleted[key]
        if moved:
            missing = sum(rows_in.values()) - sum(rows_out.values()) - sum(deleted.values())
        deleted[key] += min(max(missing, 0), most)
    return Proof(
        level="metadata",
        rows_in=sum(rows_in.values()),
        rows_deleted=sum(deleted.values()),
        rows_out=sum(rows_out.values()),
        deletes_counted_by=_counted_by(change, is_counted=live_rows is not None),
        partitions=tuple(
            PartitionProof(
                change.after.partition_name(key), rows_in[key], deleted[key], rows_out[key]
            )
            for key in keys
        ),
    )


def _counted_by(change: Change, *, is_counted: bool) -> str:
    if not (change.paths_to_scan or change.added_paths_to_scan):
        return "metadata"
    return "scan" if is_counted else "rewrite"


def _deleted(file: DataFileFacts, deletes: FileDeletes, live_rows: Mapping[str, int]) -> int:
    if deletes.needs_scan:
        return file.record_count - live_rows[file.path]
    return deletes.vector_records


def merge_proofs(proofs: list[Proof]) -> Proof:
    """One proof for several commits of one run."""
    return Proof(
        level="metadata",
        rows_in=sum(proof.rows_in for proof in proofs),
        rows_deleted=sum(proof.rows_deleted for proof in proofs),
        rows_out=sum(proof.rows_out for proof in proofs),
        deletes_counted_by=max((proof.deletes_counted_by for proof in proofs), default="metadata"),
        partitions=tuple(part for proof in proofs for part in proof.partitions),
    )
