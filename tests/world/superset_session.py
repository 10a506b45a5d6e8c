"""Run by Superset's own Python: a fresh Superset, the bundle imported twice, every chart asked.

Writes result.json: what was imported, and the rows that each chart got.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

CONFIG = """
SECRET_KEY = "a key for one test"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db?check_same_thread=false"
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
"""
ADMIN = {"username": "admin", "password": "admin"}


def main(folder: str, bundle: str) -> None:
    settings = Path(folder, "superset_config.py")
    settings.write_text(CONFIG.format(folder=folder))
    os.environ["SUPERSET_CONFIG_PATH"] = str(settings)
    os.environ["SUPERSET_HOME"] = folder
    from superset.app import create_app

    app = create_app()
    with app.app_context():
        prepare(app)
    with app.test_client() as client:
        answer = client.post("/api/v1/security/login", json={**ADMIN, "provider": "db"})
        token = answer.get_json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        imported = [bring_in(client, headers, bundle) for _ in range(2)]
        found = client.get("/api/v1/chart/", headers=headers).get_json()["result"]
        charts = {chart["slice_name"]: ask(client, headers, chart["id"]) for chart in found}
        dashboard = client.get("/api/v1/dashboard/neve-maintenance/charts", headers=headers)
    shown = [chart["slice_name"] for chart in dashboard.get_json()["result"]]
    result = {"imported": imported, "charts": charts, "shown": shown}
    Path(folder, "result.json").write_text(json.dumps(result))


def prepare(app) -> None:
    """What `superset db upgrade`, `superset init` and `fab create-admin` do, in one process."""
    import superset
    from flask_migrate import upgrade

    upgrade(directory=str(Path(superset.__file__).parent / "migrations"))
    app.appbuilder.add_permissions(update_perms=True)
    security = app.appbuilder.sm
    security.sync_role_definitions()
    role = security.find_role("Admin")
    security.add_user("admin", "a", "b", "admin@example.com", role, password="admin")


def bring_in(client, headers, bundle):
    with open(bundle, "rb") as archive:
        form = {"formData": (archive, "neve.zip"), "overwrite": "true"}
        answer = client.post("/api/v1/dashboard/import/", data=form, headers=headers)
    return [answer.status_code, answer.get_json()]


def ask(client, headers, chart_id):
    answer = client.get(f"/api/v1/chart/{chart_id}/data/", headers=headers)
    document = answer.get_json()
    rows = [row for part in document.get("result", ()) for row in part.get("data", ())]
    return {"status": answer.status_code, "rows": rows, "said": "" if rows else document}


if __name__ == "__main__":
    main(*sys.argv[1:])
