"""A plan cut down to a number of files. What is left out is found by the next plan."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace

from neve.model.groups import FileGroup
from neve.model.plan import CompactionPlan
from neve.model.steps import RewriteDataFiles


def cut_plan(plan: CompactionPlan, max_files: int) -> CompactionPlan:
    """The same plan with at most so many input files; the groups with the most gain come first."""
    groups = [(step, group) for step in plan.steps for group in step.groups]
    if sum(len(group.files) for _, group in groups) <= max_files:
        return plan
    kept: dict[int, FileGroup] = {}
    left = max_files
    for step, group in sorted(groups, key=lambda pair: -pair[1].gain):
        fitting = group if len(group.files) <= left else _shortened(step, group, left)
        if fitting is not None:
            kept[group.group_id] = fitting
            left -= len(fitting.files)
    steps = [
        replace(step, groups=tuple(kept[g.group_id] for g in step.groups if g.group_id in kept))
        for step in plan.steps
    ]
    return replace(
        plan,
        plan_id=_id_of(plan, kept),
        steps=tuple(step for step in steps if step.groups),
        gain=math.fsum(group.gain for group in kept.values()),
    )


def _shortened(step: RewriteDataFiles, group: FileGroup, max_files: int) -> FileGroup | None:
    """Fewer files of the group; whole partitions are ordered or left."""
    if max_files < 2 or step.strategy.orders_rows or group.delete_files:
        return None
    files = sorted(group.files, key=lambda file: file.size_bytes)[:max_files]
    size = sum(file.size_bytes for file in files)
    outputs = max(1, math.ceil(size / step.target_file_size_bytes))
    if outputs >= len(files):
        return None
    return replace(
        group,
        files=tuple(files),
        input_bytes=size,
        records=sum(file.record_count for file in files),
        expected_output_files=outputs,
        gain=float(len(files) - outputs),
    )


def _id_of(plan: CompactionPlan, kept: dict[int, FileGroup]) -> str:
    paths = sorted(file.path for group in kept.values() for file in group.files)
    return hashlib.sha256("\n".join([plan.plan_id, *paths]).encode()).hexdigest()[:32]
