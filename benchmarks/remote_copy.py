"""Compaction inside an S3-compatible store beside Iceberg's own procedure, on one server.

    make stack-up && python benchmarks/remote_copy.py [--small] [--json]

Needs the S3 server and the REST catalog of the stack. A table of 6–32 MB files is compacted by
`UploadPartCopy`, its twin by Iceberg's procedure. With `--small` the files have 1 MB, so that they
are rewritten in tasks. Client CPU-seconds are those of this process tree (driver, JVM, tasks), not
of the server.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Any

from compaction import TARGET_BYTES
from neve.app import App, build_app
from neve.model.facts import PROOF_PROPERTY
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.planning.cost import CostModel
from neve.settings import Settings
from neve.spark.engine import SparkEngine
from neve.spark.session import build_session
from neve.testing.lake import SilentReporter
from process_tree import measured
from report import add_options, tell

ROWS_PER_MB = 19_000
#: Twelve columns as event tables have them, each drawn by a hash of its own.
DRAWN = "pmod(xxhash64(id, {n}, {file}), {limit})"
KINDS = (
    ("BIGINT", DRAWN.replace("{limit}", "1099511627776")),
    ("DOUBLE", DRAWN.replace("{limit}", "1048576") + " / 100"),
    ("STRING", "concat('name-', " + DRAWN.replace("{limit}", "1024") + ")"),
    (
        "TIMESTAMP_NTZ",
        "cast(timestamp_seconds(1700000000 + "
        + DRAWN.replace("{limit}", "131072")
        + ") AS timestamp_ntz)",
    ),
    ("INT", "cast(" + DRAWN.replace("{limit}", "65536") + " AS int)"),
    ("STRING", "concat('name-', " + DRAWN.replace("{limit}", "16777216") + ")"),
)
COLUMNS = [(f"c{number}", *KINDS[number % len(KINDS)]) for number in range(12)]


def connect(folder: Path) -> App:
    home = Path(os.environ.get("NEVE_STACK_HOME", ".neve/stack"))
    facts = json.loads((home / "stack.json").read_text(encoding="utf-8"))
    storage = facts["s3"]
    catalogs = {
        "lake": {
            "type": "rest",
            "uri": facts["rest"]["uri"],
            "s3.endpoint": storage["endpoint"],
            "s3.access-key-id": storage["access_key"],
            "s3.secret-access-key": storage["secret_key"],
            "s3.region": storage["region"],
        }
    }
    state = {"url": f"sqlite:///{folder}/state.db"}
    app = build_app(Settings(catalogs=catalogs, state=state), SilentReporter())
    session = build_session(catalogs, master="local[2]", conf={}, reporter=print)
    app.engine.use(SparkEngine(lambda: session))
    return app


def make_table(app: App, name: str, megabytes: int, *, small: bool) -> int:
    """Files of 6–32 MB, one commit each, as a busy writer leaves them; or of 1 MB, by one."""
    session, sizes = app.spark.session, random.Random(0)
    columns = ", ".join(f"{column} {of}" for column, of, _ in COLUMNS)
    session.sql(
        f"CREATE TABLE lake.{name} ({columns}) USING iceberg TBLPROPERTIES "
        "('write.parquet.compression-codec' = 'zstd', 'write.distribution-mode' = 'none')"
    )
    if small:
        append(app, name, 0, megabytes, files=megabytes)
        return megabytes
    left, files = megabytes, 0
    while left > 0:
        size = min(sizes.randint(6, 32), max(6, left))
        append(app, name, files, size, files=1)
        left -= size
        files += 1
    return files


def append(app: App, name: str, seed: int, megabytes: int, *, files: int) -> None:
    """Rows that no other seed has."""
    rows = app.spark.session.range(0, megabytes * ROWS_PER_MB, 1, files)
    rows.selectExpr(
        *(
            f"{expression.format(n=number, file=seed)} AS {column}"
            for number, (column, _, expression) in enumerate(COLUMNS)
        )
    ).writeTo(f"lake.{name}").append()


def by_neve(app: App, name: str, target_bytes: int) -> dict[str, Any]:
    table = app.catalogs.parse(f"lake.{name}")
    with measured() as usage:
        outcome = app.maintenance.compact(
            table, RewriteDataFilesArguments(), policy=CompactionPolicy(target_bytes)
        )
    head = app.maintenance.surveyor.survey(table).ancestry()[0]
    proof = json.loads(head.summary[PROOF_PROPERTY])
    return {**asdict(usage), "engines": outcome.engines, "status": outcome.status, **proof}


def by_iceberg(app: App, name: str, target_bytes: int) -> dict[str, Any]:
    with measured() as usage:
        app.spark.session.sql(
            "CALL lake.system.rewrite_data_files(table => :table, options => map("
            "'target-file-size-bytes', :target, 'min-input-files', '2'))",
            args={"table": name, "target": str(target_bytes)},
        ).collect()
    return asdict(usage)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--small", action="store_true", help="files of 1 MB")
    arguments = parser.parse_args()
    namespace = f"bench_{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory() as folder:
        app = connect(Path(folder))
        app.spark.session.sql(f"CREATE NAMESPACE lake.{namespace}")
        for kind, megabytes in (("warm", 80), ("full", arguments.megabytes)):
            ours, theirs = f"{namespace}.{kind}_neve", f"{namespace}.{kind}_iceberg"
            files = make_table(app, ours, megabytes, small=arguments.small)
            make_table(app, theirs, megabytes, small=arguments.small)
            # The small one makes several files, so that every core's worker has run once.
            target = TARGET_BYTES if kind == "full" else TARGET_BYTES // 4
            neve, iceberg = by_neve(app, ours, target), by_iceberg(app, theirs, target)
        app.spark.stop()
    gigabytes = neve["bytes"] / 2**30
    # Copies and uploads are priced as PUT; reads are a small part of the requests.
    usd_per_gb = neve["requests"] * CostModel().put_usd_per_1000 / 1000 / gigabytes
    result = {
        "files": files,
        "bytes": neve["bytes"],
        "neve": neve,
        "iceberg": iceberg,
        "cpu_ratio": iceberg["cpu_s"] / neve["cpu_s"],
        "share_through_tasks": neve["bytes_through_tasks"] / neve["bytes"],
        "requests_per_gb": neve["requests"] / gigabytes,
        "usd_per_gb_at_most": usd_per_gb,
    }
    tell(
        arguments,
        result,
        f"{gigabytes:.2f} GB in {files} files, engines {neve['engines']}, proof {neve['level']}\n"
        f"  neve    {neve['cpu_s']:6.1f} client CPU-s {neve['wall_s']:6.1f} s wall\n"
        f"  iceberg {iceberg['cpu_s']:6.1f} client CPU-s {iceberg['wall_s']:6.1f} s wall\n"
        f"  {result['cpu_ratio']:.1f}× fewer client CPU-seconds, "
        f"{result['share_through_tasks']:.2%} of the data bytes through Spark, "
        f"{result['requests_per_gb']:.0f} requests and at most ${usd_per_gb:.5f} per GB",
    )


if __name__ == "__main__":
    main()
