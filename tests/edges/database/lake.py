"""A Neve over tables of tenants on this disk, as a server has it."""

from __future__ import annotations

import yaml

from neve import Neve
from neve.database.bodies import REQUEST
from neve.testing.local_lake import LocalLake

FIELDS = {"name": {"type": "string", "required": True}, "age": {"type": "integer"}}


def open_neve(folder, access=None, **database):
    """The catalog's database is made as those of other tests are, which is quicker."""
    lake = LocalLake(folder / "lake")
    settings = {
        "catalogs": {"lake": lake.properties},
        "state": {"url": f"sqlite:///{folder / 'state.db'}"},
        "database": database,
        **({"access": access} if access else {}),
    }
    path = folder / "neve.yaml"
    path.write_text(yaml.safe_dump(settings))
    return Neve.open(path)


def ask(operation, tenant="a", table="users", namespace="default", **more):
    place = {"tenant_id": tenant, "namespace": namespace, "table": table}
    return REQUEST.validate_python({"operation": operation, **place, **more})


def create(database, tenant="a", table="users", fields=FIELDS, **more):
    request = ask("CREATE_TABLE", tenant, table, schema={"fields": fields}, **more)
    return database.create_table(request)


def write(database, *records, key=None, **more):
    return database.write(ask("WRITE", records=list(records), **more), key)


def query(database, sql=None, **more):
    return database.query(ask("QUERY", sql=sql, **more))


def rows(database, sql=None, **more):
    return query(database, sql, **more).records
