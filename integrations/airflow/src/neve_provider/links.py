"""From a task to the page of its job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseOperatorLink
from airflow.sdk.execution_time.xcom import XCom

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

#: Under which the operator leaves the address.
PAGE = "neve_job_page"


class NeveJobLink(BaseOperatorLink):
    """The job that the task waits for; the first one where there are several."""

    name = "Neve job"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        return XCom.get_value(ti_key=ti_key, key=PAGE) or ""
