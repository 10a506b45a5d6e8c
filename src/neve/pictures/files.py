"""Pictures of a table's files: their sizes, their partitions, the deletes on them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import plotly.graph_objects as go

from neve.model.facts import DataFileFacts, TableFacts
from neve.model.sizes import format_size
from neve.pictures.look import AFTER, BEFORE, ILL, MARK, figure, nothing, plain

MB = 1024 * 1024
#: Files of about the target's size, as Iceberg judges them: they are left alone.
SMALLEST_GOOD, LARGEST_GOOD = 0.75, 1.8
#: Partitions that are drawn one by one; the others are drawn together.
MAX_PARTITIONS = 400


def file_sizes(
    now: TableFacts, *, target_bytes: int, before: TableFacts | None = None
) -> go.Figure:
    """How many files have which size, with the band in which they are left alone."""
    title = f"Data files of {now.table} by size"
    if not now.data_files and not (before and before.data_files):
        return nothing(title, "The table has no data files.")
    made = figure(title, y="files", barmode="group")
    drawn = ((before, "before", BEFORE), (now, "now", AFTER))
    tops = size_steps(target_bytes)
    labels = [f"up to {format_size(top)}" for top in tops] + ["larger"]
    for facts, name, colour in drawn:
        if facts is not None:
            heights = counts_by_size(facts.data_files, tops)
            made.add_bar(x=labels, y=heights, name=name, marker_color=colour)
    good = [
        index
        for index, top in enumerate(tops)
        if target_bytes * SMALLEST_GOOD <= top <= target_bytes * LARGEST_GOOD
    ]
    made.add_vrect(
        x0=good[0] - 0.5,
        x1=good[-1] + 0.5,
        fillcolor=MARK,
        opacity=0.12,
        line_width=0,
        annotation_text=f"target {format_size(target_bytes)}",
    )
    return made


def size_steps(target_bytes: int) -> list[int]:
    """Upper ends of the bars: powers of two up to the target, and the end of the band."""
    steps = [target_bytes]
    while steps[0] > MB // 8 and len(steps) < 14:
        steps.insert(0, steps[0] // 2)
    return [*steps, int(target_bytes * LARGEST_GOOD)]


def counts_by_size(files: Sequence[DataFileFacts], tops: Sequence[int]) -> list[int]:
    """Files for each bar, the last one for those that are larger than all."""
    found = Counter(
        next((i for i, top in enumerate(tops) if file.size_bytes <= top), len(tops))
        for file in files
    )
    return [found[index] for index in range(len(tops) + 1)]


def partitions(facts: TableFacts, *, small_bytes: int) -> go.Figure:
    """Partitions as areas of their bytes, coloured by their share of small files."""
    title = f"Partitions of {facts.table}: area is bytes, colour the share of small files"
    by_name: dict[str, list[int]] = defaultdict(list)
    for file in facts.data_files:
        by_name[facts.partition_name(file.partition)].append(file.size_bytes)
    if not by_name:
        return nothing(title, "The table has no data files.")
    largest = sorted(by_name.items(), key=lambda item: -sum(item[1]))
    rest = [size for _, sizes in largest[MAX_PARTITIONS:] for size in sizes]
    shown = largest[:MAX_PARTITIONS] + (
        [(f"{len(largest) - MAX_PARTITIONS} others", rest)] if rest else []
    )
    shares = [sum(size < small_bytes for size in sizes) / len(sizes) for _, sizes in shown]
    made = figure(title)
    made.add_treemap(
        labels=[plain(name) for name, _ in shown],
        parents=[""] * len(shown),
        values=[sum(sizes) for _, sizes in shown],
        marker={
            "colors": shares,
            "colorscale": [[0, MARK], [1, ILL]],
            "cmin": 0,
            "cmax": 1,
            "showscale": True,
        },
        text=[f"{len(sizes)} files, {format_size(sum(sizes))}" for _, sizes in shown],
        hovertemplate="%{label}<br>%{text}<br>%{color:.0%} small<extra></extra>",
    )
    return made


def delete_debt(facts: TableFacts) -> go.Figure:
    """Delete files by kind: how many there are, and how many rows they speak of."""
    title = f"Deletes that readers of {facts.table} apply"
    if not facts.delete_files:
        return nothing(title, "The table has no delete files.")
    files: Counter[str] = Counter(file.kind.value for file in facts.delete_files)
    records: Counter[str] = Counter()
    for file in facts.delete_files:
        records[file.kind.value] += file.record_count
    kinds = sorted(files)
    made = figure(title, y="files")
    made.add_bar(
        x=[kind.replace("_", " ") for kind in kinds],
        y=[files[kind] for kind in kinds],
        text=[f"{records[kind]:,} records" for kind in kinds],
        marker_color=ILL,
    )
    return made
