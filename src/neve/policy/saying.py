"""A compaction that was asked for by values, said by the keys of a policy.

What a job is told is kept as such keys, so that it can be run again from its arguments alone.
"""

from __future__ import annotations

from neve.model.errors import InputError
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Strategy
from neve.policy.keys import KEYS, MIN_SIZE_BYTES, SORT_ORDER, STRATEGY, VERIFY
from neve.policy.resolve import check_overrides


def say_compaction(
    policy: CompactionPolicy, arguments: RewriteDataFilesArguments, max_cost_usd: float | None
) -> dict[str, object]:
    """Every key that makes this policy and these arguments out of any other policy.

    What no key can say is refused: it would be forgotten by the next attempt at the job.
    """
    default = CompactionPolicy()
    if (policy.weights, policy.fragment_size_ratio) != (
        default.weights,
        default.fragment_size_ratio,
    ):
        raise InputError("No policy can say how scores are weighted.")
    said: dict[str, object] = {
        key.name: getattr(policy, key.field)
        for key in KEYS.values()
        if key.part == "compaction" and key.name != MIN_SIZE_BYTES
    }
    said["undo_window"] = f"{policy.undo_window_seconds}s"
    said["guards.hot_partition_seconds"] = policy.hot_partition_seconds
    said["rewrite_data_files.engine"] = str(arguments.engine)
    if arguments.verify is not None:
        said[VERIFY] = str(arguments.verify)
    said |= _order(arguments)
    if max_cost_usd is not None:
        said["budget.max_cost_usd"] = max_cost_usd
    if arguments.where is not None:
        said["rewrite_data_files.where"] = arguments.where
    check_overrides(said)
    return said


def _order(arguments: RewriteDataFilesArguments) -> dict[str, object]:
    if not arguments.strategy.orders_rows:
        return {STRATEGY: str(arguments.strategy)}
    columns = ", ".join("`" + column.replace("`", "``") + "`" for column in arguments.sort_columns)
    if arguments.strategy is Strategy.ZORDER:
        columns = f"zorder({columns})"
    order: dict[str, object] = {SORT_ORDER: columns} if arguments.sort_columns else {}
    return {STRATEGY: "sort", **order}
