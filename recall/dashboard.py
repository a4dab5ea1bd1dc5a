"""The dashboard: server-rendered pages with one small script.

The script makes changes through REST, with the login cookie. Reading works without it.
"""

import math
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from contract import MemoryPluginError
from postgres.errors import StoreUnavailable
from recall.access import COOKIE, bearer_of, same
from recall.configuration import Configuration
from recall.errors import Denied, Invalid
from recall.gate import SESSION_SECONDS, Sessions, is_same_origin
from recall.listing import Listing
from recall.memory import MEMORY_TYPES, SHARED, is_owner
from recall.selection import Selection
from recall.worker import Worker

PAGE_SIZE = 20
_MEMORY_PAGE = "/dashboard/memory"
_SETTINGS_PAGE = "/dashboard/settings"
SHARED_CHOICE = "(shared)"
"""The shared owner in the owner filter, where "" means everybody."""
_MAX_OWNERS_SHOWN = 500
_MAX_TEXT = 1000
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
# In the usual spelling; the types of Starlette know it in lower case only.
_SAME_SITE: Any = "Strict"
_STATIC = {
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
}


def dashboard_routes(worker: Worker) -> list[Route]:
    """The routes."""
    pages = Dashboard(worker)
    return [
        Route("/", pages.home, methods=["GET"]),
        Route("/dashboard", pages.home, methods=["GET"]),
        Route("/dashboard/", pages.home, methods=["GET"]),
        Route("/dashboard/login", pages.login_form, methods=["GET"]),
        Route("/dashboard/login", pages.login, methods=["POST"]),
        Route("/dashboard/logout", pages.logout, methods=["POST"]),
        Route(_MEMORY_PAGE, pages.memory, methods=["GET"]),
        Route(_SETTINGS_PAGE, pages.settings, methods=["GET"]),
        Route("/dashboard/static/{name}", pages.static, methods=["GET"]),
    ]


class Dashboard:
    """The pages."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._sessions = Sessions(worker.settings.token or "")
        self._templates = Environment(
            loader=PackageLoader("recall", "templates"),
            autoescape=select_autoescape(default=True),
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {"number": _number, "day": _day}

    async def home(self, _request: Request) -> Response:
        return _redirect(_MEMORY_PAGE)

    async def login_form(self, request: Request) -> Response:
        wanted = _own_page(request.query_params.get("next", ""))
        if self._is_let_in(request):
            return _redirect(wanted)
        return self._page("login.html", failed=False, wanted=wanted)

    async def login(self, request: Request) -> Response:
        body = (await request.body()).decode("utf-8", "replace")
        try:
            given = dict(parse_qsl(body, max_num_fields=10))
        except ValueError:
            raise Invalid("the form has too many fields: log in on the login page") from None
        wanted = _own_page(given.get("next", ""))
        if not same(given.get("token", "").strip(), self._worker.settings.token):
            return self._page("login.html", status=401, failed=True, wanted=wanted)
        answer = _redirect(wanted)
        answer.set_cookie(
            COOKIE,
            self._sessions.make(),
            max_age=SESSION_SECONDS,
            path="/",
            httponly=True,
            samesite=_SAME_SITE,
            secure=request.url.scheme == "https",
        )
        return answer

    async def logout(self, request: Request) -> Response:
        if not is_same_origin(request):
            raise Denied("log out on the dashboard itself")
        answer = _redirect("/dashboard/login")
        answer.delete_cookie(COOKIE, path="/", httponly=True, samesite=_SAME_SITE)
        return answer

    async def memory(self, request: Request) -> Response:
        if not self._is_let_in(request):
            return _to_login(request)
        asked = _asked(request)
        trouble = listing = None
        owners: list[str] = []
        runs: list[dict[str, Any]] = []
        try:
            owners = list(await self._worker.store.owners())
            runs = await self._worker.runs.shown(asked["owner"])
            listing = await self._listing(asked)
            if asked["page"] > listing.pages > 0:
                # Past the end, for example because the last memories of the page were deleted.
                asked["page"] = listing.pages
                listing = await self._listing(asked)
        except StoreUnavailable:
            trouble = "The database is unavailable."
        except MemoryPluginError:
            trouble = "The memory plugin is unavailable."
        return self._page(
            "memory.html",
            here="memory",
            asked=asked,
            trouble=trouble,
            listing=listing,
            owners=[owner for owner in owners if owner != SHARED][:_MAX_OWNERS_SHOWN],
            shared_choice=SHARED_CHOICE,
            types=MEMORY_TYPES,
            runs=runs,
            bars=_bars(listing),
            links=_links(asked, listing),
        )

    async def _listing(self, asked: dict[str, Any]) -> Listing:
        return await self._worker.listing(
            asked["owner"],
            Selection(type=asked["type"], text=asked["q"] or None),
            limit=PAGE_SIZE,
            offset=(asked["page"] - 1) * PAGE_SIZE,
        )

    async def settings(self, request: Request) -> Response:
        if not self._is_let_in(request):
            return _to_login(request)
        trouble = None
        configuration = Configuration()
        keys: list[dict[str, Any]] = []
        try:
            configuration = await self._worker.configuration()
            keys = await self._worker.keys.all()
        except StoreUnavailable:
            trouble = "The database is unavailable."
        try:
            engine = await self._worker.engine.status()
        except StoreUnavailable:
            engine = None
        return self._page(
            "settings.html",
            here="settings",
            trouble=trouble,
            settings=configuration,
            keys=keys,
            engine=engine,
        )

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            return Response(status_code=404, headers=_HEADERS)
        headers = _HEADERS | {"cache-control": "no-cache"}
        return Response(_file(name), media_type=_STATIC[name], headers=headers)

    def _is_let_in(self, request: Request) -> bool:
        token = bearer_of(request.scope["headers"])
        if token is not None:
            return same(token, self._worker.settings.token)
        return self._sessions.is_open(request)

    def _page(self, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        html = self._templates.get_template(name).render(**values)
        return HTMLResponse(html, status, _HEADERS)


def _redirect(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303, _HEADERS)


def _to_login(request: Request) -> RedirectResponse:
    """Redirect to the login, which leads back to exactly this page."""
    query = quote(request.scope["query_string"], safe="%!$&'()*+,/:;=?@[]~")
    page = f"{request.url.path}?{query}" if query else request.url.path
    login = "/dashboard/login"
    return _redirect(login if page == _MEMORY_PAGE else f"{login}?{urlencode({'next': page})}")


def _own_page(wanted: str) -> str:
    """The page to open after the login; only our own, so that a link cannot redirect elsewhere."""
    path, _, query = wanted.partition("?")
    if path not in (_MEMORY_PAGE, _SETTINGS_PAGE):
        return _MEMORY_PAGE
    return f"{path}?{query}" if query else path


@cache
def _file(name: str) -> bytes:
    return (resources.files("recall") / "static" / name).read_bytes()


def _asked(request: Request) -> dict[str, Any]:
    """The query of the URL. Invalid values are ignored, because links may be outdated."""
    given = dict(request.query_params)
    chosen = given.get("apiKeyId", "")
    if not is_owner(chosen):
        chosen = ""
    page = given.get("page", "")
    return {
        "q": given.get("q", "").replace("\x00", "")[:_MAX_TEXT],
        "type": given.get("type") if given.get("type") in MEMORY_TYPES else None,
        "chosen": chosen,
        "owner": None if not chosen else SHARED if chosen == SHARED_CHOICE else chosen,
        "page": max(int(page[:9]), 1) if page.isascii() and page.isdigit() else 1,
    }


def _links(asked: dict[str, Any], listing: Listing | None) -> dict[str, str | None]:
    def to(page: int) -> str:
        given = {"q": asked["q"], "type": asked["type"], "apiKeyId": asked["chosen"], "page": page}
        return "?" + urlencode({name: value for name, value in given.items() if value})

    page, pages = asked["page"], listing.pages if listing is not None else 1
    return {
        "previous": to(page - 1) if page > 1 else None,
        "next": to(page + 1) if page < pages else None,
    }


def _bars(listing: Listing | None) -> list[tuple[str, int, int]]:
    """The segments of the bar of types: name, start, width."""
    place, bars = 0, []
    for name, count in (listing.stats["byType"] if listing is not None else {}).items():
        if count:
            bars.append((name, place, count))
            place += count
    return bars


def _number(value: float) -> str:
    return f"{math.floor(value):,}"


def _day(text: str) -> str:
    """A time for people; the exact one is in an attribute."""
    return text[:16].replace("T", " ")
