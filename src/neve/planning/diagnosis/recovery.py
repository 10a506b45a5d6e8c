"""The way back to a table whose current metadata cannot be used, for a person to follow."""

from __future__ import annotations

from collections.abc import Mapping

from neve.model.diagnosis import Recovery
from neve.model.integrity import MetadataFile, MetadataHistory
from neve.model.table import TableRef
from neve.planning.diagnosis.statements import register_table
from neve.planning.sql_names import full_name

RECOVERED = "_recovered"
#: Settings of a catalog that tell no secret, so that they may be shown.
SHOWN_SETTINGS = ("type", "uri", "warehouse")
WHERE_TO_LOOK = {
    "glue": "aws glue get-table --database-name {namespace} --name {name} "
    "--query Table.Parameters.metadata_location",
    "hive": "the table parameter metadata_location in the Hive metastore",
}
TAKE_OUT = {
    "rest": "with the catalog's own interface: DELETE of the table with purgeRequested=false",
    "glue": "aws glue delete-table",
    "hive": "with the metastore's client and deleteData=false",
    "sql": "by deleting its row from iceberg_tables",
}


def plan_recovery(
    table: TableRef, history: MetadataHistory, settings: Mapping[str, str]
) -> Recovery:
    """Which metadata file to register, and how."""
    best = _best(history)
    if best is None:
        return Recovery(history.files, None, None, advice=_no_way(table, history, settings))
    recovered = table.sibling(table.name + RECOVERED)
    return Recovery(
        candidates=history.files,
        recommended=best.location,
        registered_as=str(recovered),
        statements=(
            register_table(recovered, best.location),
            f"SELECT count(*) FROM {full_name(recovered)}",
        ),
        python=_python(recovered, best.location, settings),
        python_swap=_python_swap(table, recovered, settings),
        advice=_advice(table, recovered, history, best, settings),
    )


def _best(history: MetadataHistory) -> MetadataFile | None:
    """What surely came before the current metadata, or else the newest that can be read."""
    usable = [file for file in history.files if file.problem is None]
    if history.table_uuid is not None:
        usable = [file for file in usable if file.table_uuid == history.table_uuid]
    certain = [file for file in usable if file.is_predecessor]
    if certain:
        return certain[0]
    # Two tables in one folder: which of them is meant is not for us to guess.
    if len({file.table_uuid for file in usable}) > 1:
        return None
    return usable[0] if usable else None


def _advice(
    table: TableRef,
    recovered: TableRef,
    history: MetadataHistory,
    best: MetadataFile,
    settings: Mapping[str, str],
) -> tuple[str, ...]:
    advice = [
        "Stop all writers of the table, and keep a copy of the metadata folder "
        f"{history.folder} before anything else.",
        "Registering changes nothing about the broken table: look at the rows under the new name "
        "first. Rows written after that metadata file are not among them.",
    ]
    if not best.is_predecessor:
        advice.append(
            "Nothing proves that the commit of this metadata file succeeded: a commit that failed "
            "leaves such a file, too. Compare its snapshot and time with what you know."
        )
    if not _is_embedded(settings):
        take_out = TAKE_OUT.get(settings.get("type", ""), TAKE_OUT["rest"])
        advice.append(
            f"When the rows are right, take the broken name {table} out of the catalog without "
            f"deleting files ({take_out}); engines refuse to drop a table that they cannot load. "
            f"Then: ALTER TABLE {full_name(recovered)} RENAME TO {full_name(table)}"
        )
    return tuple(advice)


def _no_way(
    table: TableRef, history: MetadataHistory, settings: Mapping[str, str]
) -> tuple[str, ...]:
    if history.folder is None:
        where = WHERE_TO_LOOK.get(settings.get("type", ""), "the log of the catalog's server")
        where = where.format(namespace=".".join(table.namespace), name=table.name)
        return (
            "This catalog does not say where the metadata of a table lies that it cannot load. "
            f"Find it ({where}), then run neve doctor {table.typed} --metadata-folder LOCATION.",
        )
    if history.problem:
        return (f"The metadata folder {history.folder} cannot be listed: {history.problem}.",)
    if len({file.table_uuid for file in history.files if file.problem is None}) > 1:
        return (
            "The metadata folder holds files of several tables; compare their table-uuid, and "
            "register the newest one of yours under a new name.",
        )
    return (
        "No metadata file beside the current one can be read: bring one back from a backup or "
        "from the storage's own versions.",
    )


def _is_embedded(settings: Mapping[str, str]) -> bool:
    return settings.get("uri", "").startswith("sqlite:")


def _python(recovered: TableRef, location: str, settings: Mapping[str, str]) -> str | None:
    if not _is_embedded(settings):
        return None
    shown = {key: settings[key] for key in SHOWN_SETTINGS if key in settings}
    return "\n".join(
        (
            "from pyiceberg.catalog import load_catalog",
            f"catalog = load_catalog({recovered.catalog!r}, **{shown!r})",
            f"catalog.register_table({_identifier(recovered)!r}, {location!r})",
        )
    )


def _python_swap(table: TableRef, recovered: TableRef, settings: Mapping[str, str]) -> str | None:
    if not _is_embedded(settings):
        return None
    return "\n".join(
        (
            f"catalog.drop_table({_identifier(table)!r})  # only the name; no file is deleted",
            f"catalog.rename_table({_identifier(recovered)!r}, {_identifier(table)!r})",
        )
    )


def _identifier(table: TableRef) -> tuple[str, ...]:
    return (*table.namespace, table.name)
