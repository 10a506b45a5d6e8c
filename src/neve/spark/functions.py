"""Java functions made in the JVM, so that nothing there has to call back or loop through py4j."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from neve.spark.once import once_per_session

FUNCTION = "org.apache.iceberg.relocated.com.google.common.base.Function"
CONTENT_FILE = "org.apache.iceberg.ContentFile"
JSON_NODE = "org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode"


@once_per_session
def location_of_task(session: SparkSession) -> Any:
    """From a scan task to the path of its data file."""
    invoke = _invoke(session)
    to_file = invoke.MethodType.methodType(_class(session, CONTENT_FILE))
    to_path = invoke.MethodType.methodType(_class(session, "java.lang.String"))
    return _function(
        session,
        invoke.MethodHandles.filterReturnValue(
            _method(session, "org.apache.iceberg.ContentScanTask", "file", to_file),
            _method(session, CONTENT_FILE, "location", to_path),
        ),
    )


@once_per_session
def location_of_file(session: SparkSession) -> Any:
    """From a data or delete file to its path."""
    to_path = _invoke(session).MethodType.methodType(_class(session, "java.lang.String"))
    return _function(session, _method(session, CONTENT_FILE, "location", to_path))


def value_in(session: SparkSession, mapping: Any) -> Any:
    """From a key to its value in a Java map."""
    get = _invoke(session).MethodType.genericMethodType(1)
    return _function(session, _method(session, "java.util.Map", "get", get).bindTo(mapping))


def content_file_from_json(session: SparkSession, specs: Any) -> Any:
    """From the JSON of a data or delete file to the file; `specs` are a table's, by id."""
    invoke = _invoke(session)
    jvm: Any = session._jvm
    gateway: Any = session.sparkContext._gateway
    kinds = gateway.new_array(jvm.java.lang.Class, 2)
    kinds[0], kinds[1] = _class(session, JSON_NODE), _class(session, "java.util.Map")
    parse = invoke.MethodHandles.publicLookup().findStatic(
        _class(session, "org.apache.iceberg.ContentFileParser"),
        "fromJson",
        invoke.MethodType.methodType(_class(session, CONTENT_FILE), kinds),
    )
    known = gateway.new_array(jvm.java.lang.Object, 1)
    known[0] = specs
    return _function(session, invoke.MethodHandles.insertArguments(parse, 1, known))


@once_per_session
def table_cache(session: SparkSession) -> Any:
    """Iceberg's cache of tables that are being rewritten.

    It has a static `get` and another one, and py4j takes whichever Java names first.
    """
    gateway: Any = session.sparkContext._gateway
    jvm: Any = session._jvm
    get = _class(session, "org.apache.iceberg.spark.SparkTableCache").getMethod(
        "get", gateway.new_array(jvm.java.lang.Class, 0)
    )
    return get.invoke(None, gateway.new_array(jvm.java.lang.Object, 0))


def _function(session: SparkSession, handle: Any) -> Any:
    invoke = _invoke(session)
    any_to_any = invoke.MethodType.genericMethodType(1)
    return invoke.MethodHandleProxies.asInterfaceInstance(
        _class(session, FUNCTION), invoke.MethodHandles.explicitCastArguments(handle, any_to_any)
    )


def _method(session: SparkSession, owner: str, name: str, kind: Any) -> Any:
    lookup = _invoke(session).MethodHandles.publicLookup()
    return lookup.findVirtual(_class(session, owner), name, kind)


def _class(session: SparkSession, name: str) -> Any:
    jvm: Any = session._jvm
    # Iceberg's jars are known to the loader of the thread, not to that of py4j.
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return jvm.java.lang.Class.forName(name, True, loader)


def _invoke(session: SparkSession) -> Any:
    jvm: Any = session._jvm
    return jvm.java.lang.invoke
