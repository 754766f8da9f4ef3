"""The mode of `callers`: access to a service that another program mounts."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocketDisconnect

from spanwise import Agent, ConfigurationError, Service, Workflow
from spanwise.http.grpc.services import ROUTES as GRPC_TABLE
from spanwise.http.routing.table import OTLP_TABLE, TABLE
from spanwise.http.websocket.protocol import PATHS, POLICY_VIOLATION
from spanwise.settings import Settings
from support.clients.tokens import signing_key

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spanwise.http.core.route import Route
    from spanwise.settings import Callers

NO_IDENTITY: list[dict[str, Any]] = [
    {},
    {"user_id": None},
    {"user_id": ""},
    {"session_id": "s1"},
    {"claims": {"sub": "alice"}},
    {"scopes": ["agent_os:admin"]},
    {"identity": "alice", "user": "alice", "is_known": True},
]
"""States without information about the user."""
FORGED = {"Authorization": "Bearer x.y.z", "X-User-Id": "alice", "Cookie": "user_id=alice"}
GUARDED = [row for row in TABLE if not row.is_public]


class Stating:
    """A surrounding program that reports the same caller for every request."""

    def __init__(self, app: ASGIApp, state: MutableMapping[str, Any]) -> None:
        self.app = app
        self.state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {}).update(self.state)
        await self.app(scope, receive, send)


def service_in(folder: Path, **options: Any) -> Service:
    return Service(
        agents=[Agent(str.upper, id="upper")],
        workflows=[Workflow([str.upper], id="upper")],
        settings={"data_dir": str(folder)},
        **options,
    )


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[tuple[TestClient, dict[str, Any]]]:
    """A service with the default mode, and the state that the program sets on each request."""
    state: dict[str, Any] = {}
    with TestClient(Stating(service_in(tmp_path).app, state), base_url="http://elsewhere.example") as client:
        yield client, state


def path_of(row: Route) -> str:
    return row.path.replace("{component_id}", "upper").replace("{", "").replace("}", "")


@pytest.mark.parametrize("state", NO_IDENTITY, ids=str)
def test_without_a_user_every_route_is_401(mounted: tuple[TestClient, dict[str, Any]], state: dict[str, Any]) -> None:
    client, stated = mounted
    stated.update(state)
    for row in GUARDED:
        response = client.request(row.method, path_of(row), headers=FORGED, content=b"{")
        assert response.status_code == 401, f"{row.method} {row.path}"
        assert row.operation.is_otlp or response.json()["error_code"] == "UNAUTHENTICATED"
    for method, path in (("GET", "/nope"), ("BREW", "/traces"), ("GET", "/traces/"), ("OPTIONS", "/agents")):
        assert client.request(method, path, headers=FORGED).status_code == 401


@pytest.mark.parametrize("state", NO_IDENTITY, ids=str)
@pytest.mark.parametrize("path", PATHS)
def test_without_a_user_every_socket_is_401(
    mounted: tuple[TestClient, dict[str, Any]], state: dict[str, Any], path: str
) -> None:
    client, stated = mounted
    stated.update(state)
    with (
        pytest.raises(WebSocketDenialResponse) as denied,
        client.websocket_connect(path.replace("{component_id}", "upper"), headers=FORGED),
    ):
        pass
    assert denied.value.status_code == 401
    assert denied.value.json()["error_code"] == "UNAUTHENTICATED"


def test_a_server_that_cannot_send_the_401_closes_the_socket(tmp_path: Path) -> None:
    app = service_in(tmp_path).app

    async def basic(scope: Scope, receive: Receive, send: Send) -> None:
        scope.pop("extensions", None)
        await app(scope, receive, send)

    with TestClient(basic) as client, pytest.raises(WebSocketDisconnect) as closed:
        client.websocket_connect(PATHS[0]).__enter__()
    assert closed.value.code == POLICY_VIOLATION


def test_public_routes_stay_public(mounted: tuple[TestClient, dict[str, Any]]) -> None:
    client, stated = mounted
    for row in TABLE:
        if row.is_public:
            assert client.request(row.method, row.path, follow_redirects=False).status_code == 200, row.path
    assert client.get("/ui").status_code == 200
    info = client.get("/info").json()
    assert (info["auth_mode"], info["callers"], info["authenticated"]) == ("none", "verified", False)
    stated["user_id"] = "alice"
    assert client.get("/info").json()["authenticated"] is True


def test_the_apps_of_the_ports_for_otlp_reject_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        service = service_in(tmp_path)
        for app, rows in ((service.otlp_app, OTLP_TABLE), (service.grpc_app, GRPC_TABLE)):
            for row in rows:
                assert (await status_of(app, row) == 401) is not row.is_public, row.path
        await service.close()

    asyncio.run(scenario())


async def status_of(app: ASGIApp, row: Route) -> int:
    """Returns the HTTP status of a response. A gRPC status is translated."""
    sent: list[Message] = []
    kind = b"application/grpc" if row in GRPC_TABLE else b"application/json"
    headers = [(b"content-type", kind), (b"host", b"localhost")]
    scope = {"type": "http", "method": row.method, "path": row.path, "query_string": b"", "headers": headers}

    async def receive() -> Message:
        return {"type": "http.request", "body": b"\0\0\0\0\0", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app({**scope, "http_version": "2", "client": ("127.0.0.1", 1), "state": {}}, receive, send)
    status: int = sent[0]["status"]
    return 401 if (b"grpc-status", b"16") in sent[0]["headers"] else status


def test_the_mode_is_not_learned_from_requests(mounted: tuple[TestClient, dict[str, Any]]) -> None:
    client, stated = mounted
    for user, status in (("", 401), ("alice", 200), ("", 401), ("bob", 200), ("", 401)):
        stated["user_id"] = user
        assert client.get("/sessions").status_code == status
        assert client.post("/traces/search", json={}).status_code == status


def test_a_user_sees_its_own_and_an_administrator_everything(mounted: tuple[TestClient, dict[str, Any]]) -> None:
    client, stated = mounted
    for user in ("alice", "bob"):
        stated["user_id"] = user
        assert client.post("/agents/upper/runs", data={"message": "m", "stream": "false"}).status_code == 200
        assert client.get("/sessions").json()["meta"]["total_count"] == 1
    stated["scopes"] = ["agent_os:admin"]
    assert client.get("/sessions").json()["meta"]["total_count"] == 2


def test_open_lets_everybody_in_if_it_is_written(tmp_path: Path) -> None:
    for options in ({"callers": "open"}, {"callers": "open", "authorization": False}):
        with TestClient(service_in(tmp_path, **options).app, base_url="http://localhost") as client:
            assert client.get("/sessions").status_code == 200
            with client.websocket_connect(PATHS[0], headers={"Host": "localhost"}) as socket:
                assert socket.receive_json()["requires_auth"] is False
                socket.send_bytes(b"ends it")
                with pytest.raises(WebSocketDisconnect):
                    socket.receive_json()


@pytest.mark.parametrize(
    ("options", "mounted", "served"),
    [
        ({}, "verified", "open"),
        ({"authorization": False}, "verified", "open"),
        ({"authorization": True}, "tokens", "tokens"),
        ({"callers": "open"}, "open", "open"),
        ({"callers": "verified"}, "verified", "verified"),
        ({"callers": "tokens"}, "tokens", "tokens"),
        ({"callers": "tokens", "authorization": True}, "tokens", "tokens"),
    ],
)
def test_the_mode_of_a_service(options: dict[str, Any], mounted: Callers, served: Callers) -> None:
    assert Service(**options).settings.callers == mounted
    own = Service(**options)
    own.configure({}, None)
    assert own.settings.callers == served
    assert own.settings.authorization is (served == "tokens")


@pytest.mark.parametrize("callers", ["open", "verified"])
def test_authorization_and_another_mode_than_tokens_contradict(callers: Callers) -> None:
    with pytest.raises(ConfigurationError, match=f"`callers` is `{callers}`, but `authorization` is on"):
        _ = Service(authorization=True, callers=callers).app
    with pytest.raises(ConfigurationError, match="remove one of the two"):
        Settings(authorization=True, callers=callers).callers_or()


def test_an_application_that_a_module_built_is_built_again_for_the_own_server() -> None:
    service = Service()
    before = service.app
    assert service.settings.callers == "verified"
    service.configure({"port": "8080"}, None)
    assert (service.settings.callers, service.settings.port) == ("open", 8080)
    assert service.app is not before


@pytest.mark.parametrize("callers", ["open", "verified", "tokens"])
def test_the_log_names_the_mode(tmp_path: Path, caplog: pytest.LogCaptureFixture, callers: Callers) -> None:
    async def scenario() -> dict[str, Any]:
        options = {"data_dir": str(tmp_path), "jwt_verification_key": signing_key().public_text}
        service = Service(callers=callers, settings=options)
        await service.open()
        shown: dict[str, Any] = dict(service._app_state.settings)  # noqa: SLF001  # the values of `/settings`
        await service.close()
        return shown

    with caplog.at_level(logging.INFO, "spanwise"):
        shown = asyncio.run(scenario())
    assert [text for text in caplog.messages if text.startswith(f"callers: {callers}: ")]
    assert (shown["callers"], shown["authorization"]) == (callers, callers == "tokens")


def test_an_own_server_that_nothing_surrounds_is_warned_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        service = Service(callers="verified", settings={"data_dir": str(tmp_path)})
        service.configure({}, None)
        await service.open()
        await service.close()

    asyncio.run(scenario())
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert any("no program mounts this service" in text for text in warnings)


@pytest.mark.parametrize(
    ("path", "raw_path", "status"),
    [
        ("/health/", b"/ai/health", 200),
        ("/health", b"/ai/health", 200),
        ("/", b"/ai", 200),
        ("/health/", b"/ai/health/", 401),
        ("/health/", b"/ai/health%2F", 401),
        ("/health/", b"/ai/health%2f", 401),
        ("/health//", b"/ai/health/", 401),
        ("/health/", b"", 401),
        ("/health/", None, 401),
    ],
)
def test_a_slash_that_the_program_appended_is_removed(
    tmp_path: Path, path: str, raw_path: bytes | None, status: int
) -> None:
    app = service_in(tmp_path).app

    async def program(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "path": path, "raw_path": raw_path}
        await app(scope, receive, send)

    with TestClient(program) as client:
        assert client.get("/").status_code == status
