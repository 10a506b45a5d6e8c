"""A thousand WRITEs at once over HTTP: none is lost, none counts twice, few commits hold them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from tests.edges.api.conftest import served
from tests.edges.database.lake import open_neve

pytestmark = [pytest.mark.promise(53), pytest.mark.timeout(900)]

WRITES, AT_ONCE = 1000, 40
PLACE = {"tenant_id": "acme", "namespace": "default", "table": "users"}
CREATE = {
    "operation": "CREATE_TABLE",
    **PLACE,
    "schema": {"fields": {"number": {"type": "integer", "required": True}}},
}
COUNT = {
    "operation": "QUERY",
    **PLACE,
    "sql": "SELECT count(*) AS n, count(DISTINCT number) AS numbers FROM users",
}


def test_a_thousand_writes_at_once_are_there_once_each(tmp_path):
    with (
        open_neve(tmp_path, compaction={"opportunistic_check_interval": 100}) as neve,
        served(neve) as url,
        httpx2.Client(base_url=url, timeout=120) as http,
    ):

        def post(body, **headers):
            answer = http.post("/api/v1/database", json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            return answer.json()

        def write(number):
            body = {"operation": "WRITE", **PLACE, "records": [{"number": number}]}
            return post(body, **{"Idempotency-Key": f"k{number}"})

        post(CREATE)
        # Every fifth is sent twice, as by a client whose answer was lost.
        numbers = [*range(WRITES), *range(0, WRITES, 5)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(write, numbers))

        assert sum(answer["repeated"] for answer in answers) == len(numbers) - WRITES
        assert post(COUNT)["records"] == [{"n": WRITES, "numbers": WRITES}]
        table = neve._app.catalogs.load(neve.table("lake.t_acme__default.users"))
        assert len(table.metadata.snapshots) < WRITES / 5
        # Each of them was counted, and every hundredth looked at the table's files.
        assert neve._services.store.writes.record(str(table.metadata.table_uuid), []) == WRITES
        assert sum(answer["compaction_recommended"] for answer in answers) >= 1
