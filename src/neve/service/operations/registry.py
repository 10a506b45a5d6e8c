"""Every operation that a job can run. A new one is a line in here."""

from __future__ import annotations

import json
from collections.abc import Mapping

from neve.model.errors import InputError
from neve.model.job import (
    ENGINE,
    OVERRIDES,
    RUN_ID,
    SPARK,
    TRINO,
    TURN,
    WHOLE,
    JobRequest,
)
from neve.model.operation import Operation
from neve.policy.resolve import check_overrides
from neve.service.context import overrides_of
from neve.service.operations.compute_partition_stats import ComputePartitionStatsOperation
from neve.service.operations.compute_table_stats import ComputeTableStatsOperation
from neve.service.operations.expire_snapshots import ExpireSnapshotsOperation
from neve.service.operations.handler import Handler, PlannedHandler
from neve.service.operations.procedure import ProcedureHandler
from neve.service.operations.remove_dangling_deletes import RemoveDanglingDeletesOperation
from neve.service.operations.remove_orphan_files import OrphansHandler
from neve.service.operations.rewrite_data_files import CompactionHandler
from neve.service.operations.rewrite_manifests import RewriteManifestsOperation
from neve.service.operations.rewrite_position_delete_files import (
    RewritePositionDeleteFilesOperation,
)
from neve.service.operations.rollback import RollbackHandler
from neve.service.operations.table_operation import TableOperationHandler

#: What a policy can ask for, in the order in which it is run.
PLANNED: tuple[PlannedHandler, ...] = (
    CompactionHandler(),
    TableOperationHandler(
        RewritePositionDeleteFilesOperation.operation, RewritePositionDeleteFilesOperation.of
    ),
    TableOperationHandler(
        RemoveDanglingDeletesOperation.operation, RemoveDanglingDeletesOperation.of
    ),
    TableOperationHandler(RewriteManifestsOperation.operation, RewriteManifestsOperation.of),
    TableOperationHandler(ComputeTableStatsOperation.operation, ComputeTableStatsOperation.of),
    TableOperationHandler(
        ComputePartitionStatsOperation.operation, ComputePartitionStatsOperation.of
    ),
    TableOperationHandler(ExpireSnapshotsOperation.operation, ExpireSnapshotsOperation.of),
    OrphansHandler(),
)
ALL: tuple[Handler, ...] = (*PLANNED, RollbackHandler())
HANDLERS: Mapping[str, Handler] = {handler.name: handler for handler in ALL}
#: What Trino runs by procedures of its own.
FOR_TRINO: Mapping[str, Handler] = {
    operation.value: ProcedureHandler(operation)
    for operation in (
        Operation.REWRITE_DATA_FILES,
        Operation.EXPIRE_SNAPSHOTS,
        Operation.REMOVE_ORPHAN_FILES,
    )
}


def handler_of(request: JobRequest) -> Handler:
    """The handler of what is asked for, by its engine and the operation's name."""
    engine = request.arguments.get(ENGINE, SPARK)
    if engine not in (SPARK, TRINO):
        raise InputError(f"There is no engine {engine!r}.", next_step="Leave it out, or say trino.")
    handlers = FOR_TRINO if request.is_for_trino else HANDLERS
    try:
        return handlers[request.operation]
    except KeyError:
        where = " on Trino" if request.is_for_trino else ""
        raise InputError(
            f"There is no operation {request.operation!r}{where}.",
            next_step=f"Choose from: {', '.join(sorted(handlers))}.",
        ) from None


def handler_for(request: JobRequest) -> Handler:
    """The handler of a request; refuses arguments that it would pass over."""
    handler = handler_of(request)
    known = {*handler.arguments, OVERRIDES, ENGINE, TURN, WHOLE, RUN_ID}
    if unknown := sorted(request.arguments.keys() - known):
        raise InputError(
            f"{request.operation} knows no argument {unknown[0]!r}.",
            next_step=f"Choose from: {', '.join(sorted(known))}.",
        )
    said = overrides_of(request)
    if said and request.is_for_trino:
        raise InputError("Trino runs procedures of its own: a policy has no say there.")
    check_overrides(said)
    try:
        json.dumps(dict(request.arguments), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"The arguments of a job are kept as JSON: {error}.") from error
    return handler


def planned_handler(operation: Operation) -> PlannedHandler:
    return next(handler for handler in PLANNED if handler.operation is operation)
