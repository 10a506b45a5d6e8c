"""How all pictures look."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

BEFORE, AFTER, MARK, ILL = "#c8ccd4", "#2f6fde", "#1f9d6b", "#d9534f"
HEIGHT = 380
#: Texts come from tables: a picture shows them and runs nothing of them.
MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def plain(text: str) -> str:
    """A text of the table's, as it is: Plotly would read some of it as markup."""
    return text.translate(MARKUP)


def figure(title: str, *, x: str = "", y: str = "", **more: Any) -> go.Figure:
    """An empty figure with its title and axes."""
    made = go.Figure()
    made.update_layout(
        title=plain(title),
        template="plotly_white",
        height=HEIGHT,
        margin={"l": 60, "r": 20, "t": 60, "b": 50},
        xaxis_title=x,
        yaxis_title=y,
        **more,
    )
    return made


def nothing(title: str, sentence: str) -> go.Figure:
    """A picture that says why there is none."""
    made = figure(title)
    made.add_annotation(text=plain(sentence), showarrow=False, font={"size": 15})
    made.update_xaxes(visible=False)
    made.update_yaxes(visible=False)
    return made
