"""Run by Superset's own Python: brings its database up to date, and the dashboard in, and serves.

Its settings and the login of its one user are in the environment.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(host: str, port: str, bundle: str) -> None:
    import superset
    from flask_migrate import upgrade
    from superset.app import create_app

    app = create_app()
    user, password = os.environ["SUPERSET_USER"], os.environ["SUPERSET_PASSWORD"]
    with app.app_context():
        upgrade(directory=str(Path(superset.__file__).parent / "migrations"))
        app.appbuilder.add_permissions(update_perms=True)
        security = app.appbuilder.sm
        security.sync_role_definitions()
        if security.find_user(user) is None:
            role = security.find_role("Admin")
            security.add_user(user, "Neve", "Stack", "neve@example.com", role, password=password)
    with app.test_client() as client:
        login = {"username": user, "password": password, "provider": "db", "refresh": False}
        token = client.post("/api/v1/security/login", json=login).get_json()["access_token"]
        _bring_in(client, {"Authorization": f"Bearer {token}"}, bundle)
    app.run(host=host, port=int(port), threaded=True)


def _bring_in(client, headers, bundle: str) -> None:
    # A browser is asked for it, too: it comes with the session.
    token = client.get("/api/v1/security/csrf_token/", headers=headers).get_json()["result"]
    with Path(bundle).open("rb") as archive:
        answer = client.post(
            "/api/v1/dashboard/import/",
            data={"formData": (archive, "neve.zip"), "overwrite": "true"},
            headers={**headers, "X-CSRFToken": token, "Referer": "http://localhost/"},
        )
    if answer.status_code != 200:
        sys.exit(f"the dashboard was refused: {answer.get_data(as_text=True)[:500]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
