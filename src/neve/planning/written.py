"""What must hold of new files before they are committed."""

from __future__ import annotations

from neve.model.errors import ProofFailed
from neve.model.groups import FileGroup
from neve.model.policy import Verify
from neve.model.rewrite import (
    BytesCompared,
    FileProof,
    FooterRead,
    RowFingerprints,
    RowsCounted,
    StoreDigests,
    TaskResult,
    WrittenFile,
)
from neve.planning.engines import row_of

#: Proofs, the weakest first.
STRENGTH: tuple[type[FileProof], ...] = (
    RowsCounted,
    FooterRead,
    StoreDigests,
    RowFingerprints,
    BytesCompared,
)
LEVELS = tuple(proof.level for proof in STRENGTH)
#: What is enough where less than a full check was asked for.
LESS: dict[Verify, tuple[type[FileProof], ...]] = {
    Verify.FULL: (),
    Verify.METADATA: (FooterRead,),
    Verify.OFF: (FooterRead, RowsCounted),
}


def check_result(group: FileGroup, result: TaskResult, verify: Verify = Verify.FULL) -> None:
    """Raise unless the files hold the group's rows, less the deleted ones, each file proven."""
    rows_in = [file.record_count for file in group.files]
    for file in result.files:
        _check_rows(group, file)
        _check_proof(file, verify)
        _check_ranges(group, file)
        if file.metrics is None or file.unmeasured:
            _check_whole_inputs(rows_in, file)
    told = sum(file.rows_in for file in result.files)
    if told != group.records:
        raise ProofFailed(
            f"Group {group.group_id} of {group.partition} holds {group.records} rows, "
            f"and its new files account for {told}."
        )
    used = {number for file in result.files for number in file.inputs}
    if used != set(range(len(rows_in))):
        raise ProofFailed(
            f"Group {group.group_id} of {group.partition} has {len(rows_in)} files, "
            f"and its new files are made of others."
        )


def _check_rows(group: FileGroup, file: WrittenFile) -> None:
    if min(file.rows_in, file.rows_deleted, file.rows_out) < 0:
        raise ProofFailed(f"{file.path} counts fewer rows than none.")
    if not file.inputs:
        raise ProofFailed(f"{file.path} was made of no file.")
    if file.rows_out == file.rows_in - file.rows_deleted:
        return
    raise ProofFailed(
        f"{file.path}, of group {group.group_id} of {group.partition}, was made of "
        f"{file.rows_in} rows, {file.rows_deleted} of them deleted, and holds {file.rows_out}."
    )


def _check_ranges(group: FileGroup, file: WrittenFile) -> None:
    """Hold the account of where rows come from, where there is one, against the rows."""
    if not file.ranges:
        return
    paths = {group.files[number].path for number in file.inputs if number < len(group.files)}
    if {one.path for one in file.ranges} != paths:
        raise ProofFailed(f"{file.path} accounts for rows of other files than it is made of.")
    if min(min(one.first_row, one.rows) for one in file.ranges) < 0:
        raise ProofFailed(f"{file.path} accounts for rows that no file has.")
    if (told := sum(one.rows for one in file.ranges)) != file.rows_in:
        raise ProofFailed(f"{file.path} was made of {file.rows_in} rows and accounts for {told}.")


def _check_whole_inputs(rows_in: list[int], file: WrittenFile) -> None:
    """Statistics are merged only where the file holds whole inputs, and all their rows."""
    known = [rows_in[number] for number in file.inputs if 0 <= number < len(rows_in)]
    if file.rows_deleted or len(set(file.inputs)) != len(known) or sum(known) != file.rows_in:
        raise ProofFailed(
            f"{file.path} was made of {file.rows_in} rows of files that hold {sum(known)}."
        )


def _check_proof(file: WrittenFile, verify: Verify) -> None:
    if not file.segments or any(size < 0 for size in file.segments.values()):
        raise ProofFailed(f"{file.path} does not tell who wrote it.")
    for engine in file.segments:
        if not isinstance(file.proof, (*row_of(engine).proofs, *LESS[verify])):
            raise ProofFailed(
                f"{file.path} has bytes by {engine}, which {file.proof.level} cannot prove."
            )
    if problem := file.proof.problem:
        raise ProofFailed(f"{file.path} {problem}.")
    if list(file.split_offsets) != sorted(set(file.split_offsets)):
        raise ProofFailed(f"{file.path} has row groups out of order.")
    if file.size_bytes < sum(file.segments.values()):
        raise ProofFailed(f"{file.path} is smaller than what was written into it.")
