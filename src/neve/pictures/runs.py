"""Pictures of runs: how long they took, and what was predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from neve.model.outcome import Outcome
from neve.pictures.look import AFTER, BEFORE, figure, nothing, plain


def timings(seconds: Mapping[str, tuple[float, float]], title: str = "Queries") -> go.Figure:
    """Seconds of each query before and after."""
    if not seconds:
        return nothing(title, "Nothing was timed.")
    names = [plain(name) for name in seconds]
    made = figure(title, y="seconds", barmode="group")
    made.add_bar(
        x=names, y=[pair[0] for pair in seconds.values()], name="before", marker_color=BEFORE
    )
    made.add_bar(
        x=names, y=[pair[1] for pair in seconds.values()], name="after", marker_color=AFTER
    )
    return made


def costs(outcomes: Sequence[Outcome]) -> go.Figure:
    """Seconds that were predicted, with their interval, beside those that it took."""
    title = "Seconds, predicted and taken"
    known = [each for each in outcomes if each.estimated_cost is not None]
    if not known:
        return nothing(title, "No run with a prediction is in the history.")
    known.sort(key=lambda each: each.started_at)
    names = [f"{each.started_at:%m-%d %H:%M} {plain(each.operation)}" for each in known]
    told = [each.estimated_cost.seconds for each in known if each.estimated_cost is not None]
    made = figure(title, y="seconds", barmode="group")
    made.add_bar(
        x=names,
        y=[each.expected for each in told],
        name="predicted",
        marker_color=BEFORE,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [each.high - each.expected for each in told],
            "arrayminus": [each.expected - each.low for each in told],
        },
    )
    made.add_bar(x=names, y=[each.seconds for each in known], name="taken", marker_color=AFTER)
    return made
