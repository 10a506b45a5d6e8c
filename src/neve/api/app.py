"""The application: a configured `Neve` behind REST routes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import HTMLResponse, Response

from neve.access.rights import Right
from neve.api import problems
from neve.api.access import check_routes, needs, open_paths
from neve.api.audited import Audited
from neve.api.authenticated import Authenticated
from neve.api.docs_page import STYLE, docs_page
from neve.api.limits import AnswerInTime, RequestLimits, SafeHeaders
from neve.api.looks import Looks
from neve.api.paths import SlashesInNames
from neve.api.rates import Rates
from neve.api.routes import (
    approvals,
    audit,
    compact,
    database,
    jobs,
    operations,
    plans,
    policies,
    schedules,
    service,
    set_aside,
    tables,
    turns,
)
from neve.api.settings import ApiSettings
from neve.api.shares import Shares
from neve.api.submitting import API
from neve.api.traces import trace
from neve.database.service import QUERIES_OF_A_TENANT
from neve.model.errors import CatalogError
from neve.model.problem_kinds import KINDS
from neve.neve import Neve

ROUTERS = (
    compact,
    jobs,
    plans,
    tables,
    operations,
    policies,
    schedules,
    turns,
    set_aside,
    approvals,
    audit,
    database,
    service,
)
PROBLEM = {"schema": {"$ref": "#/components/schemas/Problem"}}
REFUSED: dict[int | str, dict[str, Any]] = {
    KINDS[CatalogError][0]: {
        "description": "A catalog, or the storage behind it, did not answer as it should.",
        "content": {problems.MEDIA_TYPE: PROBLEM},
    },
    "4XX": {"description": "Refused.", "content": {problems.MEDIA_TYPE: PROBLEM}},
    "5XX": {"description": "Not possible now.", "content": {problems.MEDIA_TYPE: PROBLEM}},
}
ABOUT = (
    "Keeps Apache Iceberg tables fast and cheap. Work is queued as jobs (202 and Location); "
    "errors are problem documents (RFC 9457) whose type is stable and whose next_step says what "
    "to do."
)


def create_app(neve: Neve | None, *, settings: ApiSettings | None = None) -> FastAPI:
    """The routes over this Neve, which stays the caller's to close."""
    settings = settings or ApiSettings()
    app = FastAPI(
        title="Neve",
        version="1",
        description=ABOUT,
        # The pages that come with FastAPI load their scripts from another host.
        docs_url=None,
        redoc_url=None,
        # To the name that the sender gave this server, without TLS where a proxy adds that.
        redirect_slashes=False,
        responses=REFUSED,
    )
    app.state.neve = neve
    app.state.settings = settings
    app.state.is_ending = False
    app.state.looks = Looks(settings.ready_seconds)
    app.state.streams = Counter()
    app.state.queries = Shares(QUERIES_OF_A_TENANT)
    app.state.asking = Shares(settings.max_asking_of_tenant)
    problems.install(app)
    api = APIRouter(prefix=API)
    for module in ROUTERS:
        api.include_router(module.router)
    app.include_router(api)
    app.include_router(service.router, include_in_schema=False)
    _add_docs(app)
    check_routes(app)
    # The last one that is added is the first that a request meets.
    app.add_middleware(SlashesInNames)
    app.add_middleware(RequestLimits, settings=settings)
    app.add_middleware(AnswerInTime, settings=settings)
    _ask_who(app, neve)
    app.add_middleware(SafeHeaders)
    trace(app)
    return app


def _ask_who(app: FastAPI, neve: Neve | None) -> None:
    """Let every request be somebody's. Without a Neve there is nothing but the document."""
    if neve is None:
        return
    access = neve.access
    app.state.hide = access.hide
    rates = Rates(access.settings.requests_per_minute)
    paths = open_paths(app)
    app.add_middleware(Authenticated, neve=neve, rates=rates, open_paths=paths)
    app.add_middleware(Audited, access=access)


def _add_docs(app: FastAPI) -> None:
    make_document = app.openapi

    def document() -> dict[str, Any]:
        made = make_document()
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        for kind in (problems.Problem, problems.FieldProblem):
            schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
            schema.pop("$defs", None)
            schemas.setdefault(kind.__name__, schema)
        return made

    app.openapi = document  # type: ignore[method-assign]

    @app.get(
        "/docs", include_in_schema=False, dependencies=[needs(Right.OPEN, asks_catalogs=False)]
    )
    def docs() -> HTMLResponse:
        return HTMLResponse(docs_page(document()))

    @app.get(
        "/docs.css", include_in_schema=False, dependencies=[needs(Right.OPEN, asks_catalogs=False)]
    )
    def style() -> Response:
        return Response(STYLE, media_type="text/css")
