"""A picture of a table's snapshots over time."""

from __future__ import annotations

import plotly.graph_objects as go

from neve.model.facts import SnapshotFacts, TableFacts
from neve.pictures.look import AFTER, MARK, figure, nothing, plain


def snapshot_timeline(facts: TableFacts) -> go.Figure:
    """Data files after every snapshot, with the operation of each and branches and tags on them."""
    title = f"Snapshots of {facts.table}"
    snapshots = sorted(facts.snapshots, key=lambda each: each.committed_at)
    if not snapshots:
        return nothing(title, "The table was never written.")
    names: dict[int, list[str]] = {}
    for ref in facts.refs:
        names.setdefault(ref.snapshot_id, []).append(ref.name)
    made = figure(title, y="data files")
    for ours, name, colour in ((False, "writers", AFTER), (True, "Neve", MARK)):
        some = [each for each in snapshots if (each.job_id is not None) is ours]
        made.add_scatter(
            x=[each.committed_at for each in some],
            y=[_files_after(each) for each in some],
            mode="markers",
            name=name,
            marker={"color": colour, "size": 12 if ours else 8},
            text=[_said(each, names.get(each.snapshot_id, ())) for each in some],
            hovertemplate="%{text}<extra></extra>",
        )
    for each in snapshots:
        if found := names.get(each.snapshot_id):
            made.add_annotation(
                x=each.committed_at,
                y=_files_after(each) or 0,
                text=plain(", ".join(sorted(found)[:3]) + (" …" if len(found) > 3 else "")),
                arrowhead=2,
            )
    return made


def _files_after(snapshot: SnapshotFacts) -> int | None:
    """What the summary counts; writers may leave it out, or write what is no number."""
    text = snapshot.summary.get("total-data-files", "")
    return int(text) if text.isascii() and text.isdigit() else None


def _said(snapshot: SnapshotFacts, refs: list[str] | tuple[str, ...]) -> str:
    parts = [f"{snapshot.snapshot_id}: {snapshot.operation}"]
    if snapshot.job_id is not None:
        parts.append(f"job {snapshot.job_id}")
    if refs:
        parts.append(", ".join(refs))
    return "<br>".join(plain(part) for part in parts)
