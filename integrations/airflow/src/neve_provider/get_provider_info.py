"""What Airflow is told about this package when it looks for providers."""

from __future__ import annotations

from typing import Any

from neve_provider import __version__

NAME = "Neve"
HOOK = "neve_provider.hooks.neve"


def get_provider_info() -> dict[str, Any]:
    return {
        "package-name": "airflow-provider-neve",
        "name": NAME,
        "description": "Maintenance of Apache Iceberg tables by a Neve server.",
        "versions": [__version__],
        "integrations": [
            {
                "integration-name": NAME,
                "external-doc-url": "https://iceberg.apache.org/docs/latest/maintenance/",
                "tags": ["service"],
            }
        ],
        "operators": _modules("neve_provider.operators.neve"),
        "hooks": _modules(HOOK),
        "triggers": _modules("neve_provider.triggers.neve"),
        "extra-links": ["neve_provider.links.NeveJobLink"],
        "connection-types": [
            {
                "hook-class-name": f"{HOOK}.NeveHook",
                "hook-name": NAME,
                "connection-type": "neve",
                "ui-field-behaviour": UI_FIELDS,
            }
        ],
    }


def _modules(name: str) -> list[dict[str, Any]]:
    return [{"integration-name": NAME, "python-modules": [name]}]


#: What the form of a connection shows.
UI_FIELDS = {
    "hidden-fields": ["login"],
    "relabeling": {"schema": "Scheme", "password": "Key"},
    "placeholders": {
        "host": "neve.example.com",
        "port": "8080",
        "schema": "https",
        "password": "what neve keys create printed; empty where the server asks nobody",
        "extra": '{"timeout_seconds": 30, "verify": true, "job_page": "/api/v1/jobs/{job_id}"}',
    },
}
