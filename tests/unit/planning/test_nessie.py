"""A branch of Nessie is part of the address that clients use, and never left out."""

from __future__ import annotations

import pytest

from neve.catalog.connect import Catalogs, pyiceberg_properties
from neve.model.errors import ConfigError
from neve.planning.nessie import rest_properties
from neve.spark.conf import catalog_conf


@pytest.mark.parametrize(
    ("uri", "ref", "expected"),
    [
        ("http://c", None, "http://c/iceberg"),
        ("http://c:19120/", "dev", "http://c:19120/iceberg/dev"),
        ("http://c/iceberg", "dev", "http://c/iceberg/dev"),
        ("http://c/iceberg/", "main", "http://c/iceberg/main"),
        ("http://c/iceberg/dev", None, "http://c/iceberg/dev"),
        ("http://c/iceberg/dev", "dev", "http://c/iceberg/dev"),
        ("http://c/behind/a/proxy", "dev", "http://c/behind/a/proxy/iceberg/dev"),
        ("http://iceberg.acme:1", "dev", "http://iceberg.acme:1/iceberg/dev"),
        ("http://c/my-iceberg", "dev", "http://c/my-iceberg/iceberg/dev"),
        ("http://iceberg", None, "http://iceberg/iceberg"),
        ("http://c", "feature/one", "http://c/iceberg/feature%2Fone"),
        ("http://c/iceberg/feature%2Fone", "feature/one", "http://c/iceberg/feature%2Fone"),
    ],
)
def test_the_branch_is_the_end_of_the_address(uri, ref, expected):
    properties = {"type": "nessie", "uri": uri, **({"ref": ref} if ref else {})}

    assert rest_properties("n", properties) == {"type": "rest", "uri": expected}
    assert pyiceberg_properties(properties, "n") == {"type": "rest", "uri": expected}
    spark = catalog_conf("n", properties)
    assert spark["spark.sql.catalog.n.uri"] == expected
    assert "spark.sql.catalog.n.ref" not in spark


def test_two_branches_at_once_are_refused():
    properties = {"type": "nessie", "uri": "http://c/iceberg/main", "ref": "dev"}

    for make in (pyiceberg_properties, lambda values: catalog_conf("n", values)):
        with pytest.raises(ConfigError, match=r"has the ref 'dev', and its uri names 'main'"):
            make(properties)


@pytest.mark.parametrize("kind", [{"type": "rest"}, {"type": "glue"}, {}])
def test_a_branch_that_nobody_would_take_is_refused(kind):
    properties = {**kind, "uri": "http://c", "ref": "dev"}

    with pytest.raises(ConfigError, match="only catalogs of the type nessie"):
        catalog_conf("n", properties)
    with pytest.raises(ConfigError, match="only catalogs of the type nessie"):
        Catalogs({"n": properties}).catalog("n")


def test_two_branches_are_two_catalogs():
    one = {"type": "nessie", "uri": "http://c"}
    catalogs = Catalogs({"main": one, "dev": {**one, "ref": "dev"}, "same": dict(one)})

    assert not catalogs.are_same("main", "dev")
    assert catalogs.are_same("main", "same")
