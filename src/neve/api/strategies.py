"""What a compaction is asked for, as the strongest layer of the table's policy."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from neve.api.values import Body, LongText, Name
from neve.model.errors import InputError
from neve.model.policy import Strategy
from neve.model.sizes import parse_size

StrategyName = Literal["small_files", "delete_files", "time_series", "sort", "zorder", "auto"]


class CompactOptions(Body):
    """How to compact; what is left out is as the table's policy says."""

    target_file_size: Annotated[
        str | StrictInt | None,
        Field(description="Size of the files to make: 1GB, 512MB, or bytes.", examples=["1GB"]),
    ] = None
    max_cost: Annotated[
        float | None, Field(ge=0, description="Budget in USD; the best gain per dollar first.")
    ] = None
    partition_filter: Annotated[
        LongText | None,
        Field(
            description="Only files that may hold matching rows.",
            examples=["date >= current_date - 7"],
        ),
    ] = None
    sort_columns: Annotated[
        tuple[Name, ...], Field(max_length=32, description="For the strategies sort and zorder.")
    ] = ()
    engine: Literal["auto", "spark"] | None = None
    verify: Annotated[
        Literal["full", "metadata", "off"] | None,
        Field(description="What new files are held against before they are committed."),
    ] = None

    def overrides(self, strategy: StrategyName | None) -> dict[str, object]:
        """The policy keys that this sets, with their values."""
        values = {
            "rewrite_data_files.where": self.partition_filter,
            "rewrite_data_files.options.target-file-size-bytes": self._target(),
            "budget.max_cost_usd": self.max_cost,
            "rewrite_data_files.engine": self.engine,
            "rewrite_data_files.verify": self.verify,
            **self._order(Strategy(strategy) if strategy else None),
        }
        return {key: value for key, value in values.items() if value is not None}

    def _target(self) -> str | None:
        if self.target_file_size is None:
            return None
        # Read here, so that a size that makes no sense is refused under its own name.
        return str(parse_size(str(self.target_file_size)))

    def _order(self, strategy: Strategy | None) -> dict[str, object]:
        columns = ", ".join(self.sort_columns)
        if columns and not (strategy and strategy.orders_rows):
            raise InputError(
                f"The strategy {strategy or Strategy.AUTO} does not order rows, so it takes no "
                "sort_columns.",
                next_step="Say the strategy sort or zorder, or leave sort_columns out.",
            )
        if strategy is Strategy.ZORDER and not columns:
            raise InputError(
                "The strategy zorder needs columns.",
                next_step='Add them, for example "options": {"sort_columns": ["a", "b"]}.',
            )
        if strategy is None:
            return {}
        # A policy knows z-order as a way to sort.
        by_z = strategy is Strategy.ZORDER
        order = (f"zorder({columns})" if by_z else columns) or None
        return {
            "rewrite_data_files.strategy": str(Strategy.SORT if by_z else strategy),
            "rewrite_data_files.sort_order": order,
        }
