"""The comparison of a sweep for tables with few files: the same rules, without a job of Spark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from neve.model.orphans import FileTotals, KeptReason, ListedFile, ReachableFiles, Sweep
from neve.planning.locations import store_of
from neve.planning.table_signs import foreign_folders, is_unclear
from neve.spark.list_files import Row, key_of

MAX_ELSEWHERE = 10
Judged = tuple[ListedFile, KeptReason | None]


def sweep_few(rows: Sequence[Row], reachable: ReachableFiles, watched: Collection[str]) -> Sweep:
    """Why each file is kept, and which are candidates. Being reachable comes before all else."""
    stores: dict[bytes, set[str]] = defaultdict(set)
    for path in reachable.paths:
        stores[key_of(path)].add(store_of(path))
    names = Counter(row[0] for row in rows)
    foreign = foreign_folders((row[-1], row[0] in stores) for row in rows)
    judged: list[Judged] = []
    elsewhere: list[str] = []
    for row in rows:
        key, store, path, size_bytes, modified_ms, etag, kept, _ = row
        keep = KeptReason(kept) if kept else None
        if store in stores.get(key, ()):
            keep = KeptReason.REACHABLE
        elif key in stores:
            # The sweep stops for these; nothing about them may be decided.
            elsewhere.append(path)
            keep = KeptReason.AMBIGUOUS
        elif keep is None and names[key] > 1:
            keep = KeptReason.AMBIGUOUS
        elif keep is None and path.startswith(foreign):
            keep = KeptReason.OTHER_TABLE
        judged.append((ListedFile(path, size_bytes, modified_ms, etag), keep))
    unsure = set(elsewhere)
    totals = _totals([item for item in judged if item[0].path not in unsure])
    wanted = set(watched)
    return Sweep(
        reachable=reachable,
        listed=_total([file for file, _ in judged]),
        orphans=totals.get(None, FileTotals()),
        kept={keep: total for keep, total in totals.items() if keep is not None},
        candidates=tuple(
            sorted((file for file, keep in judged if keep is None), key=lambda file: file.path)
        ),
        watched={file.path: (file, keep) for file, keep in judged if file.path in wanted},
        elsewhere=tuple(sorted(elsewhere)[:MAX_ELSEWHERE]),
        metadata_files=tuple(
            sorted(file.path for file, keep in judged if is_unclear(file.path, keep))
        ),
    )


def _totals(judged: Sequence[Judged]) -> dict[KeptReason | None, FileTotals]:
    groups: dict[KeptReason | None, list[ListedFile]] = defaultdict(list)
    for file, keep in judged:
        groups[keep].append(file)
    return {keep: _total(files) for keep, files in groups.items()}


def _total(files: Sequence[ListedFile]) -> FileTotals:
    return FileTotals(len(files), sum(file.size_bytes for file in files))
