"""Asks a server to compact a table, and follows the job: python rest_client.py URL TABLE

Where the server asks who is there, NEVE_API_KEY holds a key of `neve keys create`.
"""

from __future__ import annotations

import os
import sys

from neve.client import NeveClient


def main(url: str, table: str) -> int:
    key = os.environ.get("NEVE_API_KEY")
    with NeveClient(url, headers={"Authorization": f"Bearer {key}"} if key else None) as client:
        queued = client.compact(table, strategy="small_files")
        job = client.wait(queued.job_id)
    print(job.job_id, job.state, job.reason)
    return 0 if job.state == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
