"""A service with authorization: the callers it accepts, their permissions, and the data they see."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from google.rpc.status_pb2 import Status

from spanwise.auth.minting import new_signing_key
from spanwise.http.routing.table import TABLE
from support.clients.forged_tokens import forge, segment
from support.clients.otlp import export_request
from support.clients.tokens import as_admin, as_caller, bearer, claims, jwks_file, signing_key
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from spanwise.auth.minting import SigningKey
    from spanwise.http.core.route import Route

JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
READ = "traces:read"
TRACE = "/traces/{trace_id}"
GUARDED = [row for row in TABLE if not row.is_public]
HOSTING = ("/agents", "/teams", "/workflows", "/sessions", "/approvals", "/config", "/settings", "/models")
OF_TRACES = [row for row in GUARDED if not row.path.startswith(HOSTING)]
PUBLIC = [row for row in TABLE if row.is_public]
OWN, FOREIGN, NOBODYS, ABSENT = "a" * 32, "b" * 32, "c" * 32, "d" * 32
SPAN = "e" * 16


def name_of(row: Route) -> str:
    return f"{row.method} {row.path}"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("guarded")
    with RunningService(folder / "data", "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as service:
        for trace_id, user in ((OWN, "alice"), (FOREIGN, "bob"), (NOBODYS, "")):
            given = {"user.id": user, "session.id": f"session of {user}"}
            body = export_request(trace_id, SPAN, **given)
            sent = service.http.post("/v1/traces", content=body, headers=JSON | as_caller("collector", "traces:write"))
            sent.raise_for_status()
        yield service
        assert service.stop() == 0


def ask(service: RunningService, row: Route, headers: dict[str, str]) -> httpx.Response:
    """Sends a valid request to a route and returns the response. The body of an endless response is not read."""
    path = row.path.replace("{trace_id}", OWN)
    search = b'{"filter":{},"dry_run":true,"fields":["name"],"measures":[{"name":"n","op":"COUNT"}]}'
    content = {"search": search, "ingest": b'{"resourceSpans":[]}'}.get(row.body or "")
    sent = {**(JSON if content else {}), **headers}
    with service.http.stream(row.method, path, content=content, headers=sent) as response:
        if not response.headers["content-type"].startswith("text/event-stream"):
            response.read()
        return response


def assert_unauthenticated(response: httpx.Response) -> str:
    assert response.status_code == 401, response.text
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.headers["cache-control"] == "no-store"
    body = response.json()
    if "code" in body:
        assert body["code"] == 16
        return str(body["message"])
    assert body.keys() == {"detail", "error_code"}
    assert body["error_code"] == "UNAUTHENTICATED"
    return str(body["detail"])


@pytest.mark.parametrize("row", GUARDED, ids=name_of)
def test_without_a_token_it_is_401(guarded: RunningService, row: Route) -> None:
    assert assert_unauthenticated(ask(guarded, row, {})) == "Authorization header missing"


@pytest.mark.parametrize("row", PUBLIC, ids=name_of)
def test_a_public_page_needs_no_token_and_reveals_no_secret(guarded: RunningService, row: Route) -> None:
    for headers in ({}, bearer("nonsense"), {"Authorization": "Basic x"}):
        response = ask(guarded, row, headers)
        assert response.status_code == 200
        page_head = response.text.partition("<script>")[0]
        assert not any(word in page_head for word in ("alice", "jwks.json", str(guarded.data_dir)))


def test_the_service_describes_its_authentication(guarded: RunningService) -> None:
    assert guarded.http.get("/info").json()["auth_mode"] == "jwt"
    for headers, is_known in (({}, False), (bearer("nonsense"), False), (as_caller("ann"), True)):
        assert guarded.http.get("/info", headers=headers).json()["authenticated"] is is_known


@pytest.mark.parametrize("path", ["/nope", "/health/", "/health%0A", "/INFO", "//health", "/openapi"])
def test_only_an_authenticated_caller_learns_what_does_not_exist(guarded: RunningService, path: str) -> None:
    assert_unauthenticated(guarded.http.get(guarded.url + path))
    response = guarded.http.get(guarded.url + path, headers=as_caller("alice"))
    assert (response.status_code, response.json()["error_code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_another_method_does_not_bypass_authorization(guarded: RunningService, method: str) -> None:
    for path in ("/traces/search", "/health"):
        assert_unauthenticated(guarded.http.request(method, path))
        assert guarded.http.request(method, path, headers=as_admin()).status_code == 405


@pytest.mark.parametrize("path", ["/health", "/traces", f"/traces/{OWN}", "/traces/search", "/nope"])
def test_a_head_is_answered_as_its_get_is(guarded: RunningService, path: str) -> None:
    """Fixed paths bypass the route table, which does not list HEAD."""
    for headers in ({}, as_admin()):
        requests, head = (guarded.http.request(method, path, headers=headers) for method in ("GET", "HEAD"))
        assert (head.status_code, head.content) == (requests.status_code, b"")


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix"])
def test_no_header_bypasses_authorization(guarded: RunningService, header: str) -> None:
    assert_unauthenticated(guarded.http.get("/traces", headers={header: "/health"}))


SCOPES = [
    "",
    "traces:read",
    "traces:*:read",
    "traces:x:read",
    f"traces:{OWN}:read",
    "traces:write",
    "traces:delete",
    "traces:*",
    "*:read",
    "*",
    "traces:Read",
    "agents:read",
    "metrics:read",
    "agent_os:admin",
    "agent_os:*:admin",
]
GRANTED = {
    "traces:read": {"traces:read", "traces:*:read", "agent_os:admin"},
    "traces:write": {"traces:write", "agent_os:admin"},
    "traces:delete": {"traces:delete", "agent_os:admin"},
    "metrics:read": {"metrics:read", "agent_os:admin"},
}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("row", OF_TRACES, ids=name_of)
def test_a_scope_opens_the_routes_of_the_published_table_and_no_other(
    guarded: RunningService, row: Route, scope: str
) -> None:
    response = ask(guarded, row, as_caller("alice", *filter(None, [scope])))
    if scope in GRANTED[str(row.need)]:
        assert response.status_code == 200
        return
    assert response.status_code == 403
    detail = response.json().get("detail") or response.json()["message"]
    assert detail == f"Insufficient permissions. Required scope(s): {row.need}"
    assert "www-authenticate" not in response.headers


def test_a_rejected_export_is_a_status_in_its_own_encoding(guarded: RunningService) -> None:
    for headers, status, code in (({}, 401, 16), (as_caller("alice", READ), 403, 7)):
        response = guarded.http.post("/v1/traces", content=b"", headers=PROTOBUF | headers)
        assert (response.status_code, Status.FromString(response.content).code) == (status, code)


def token(payload: dict[str, object] | None = None, signing: SigningKey | None = None, **header: object) -> str:
    """Returns a token with any header and a genuine signature."""
    signing = signing or signing_key()
    named = {"alg": signing.algorithm, "typ": "JWT", "kid": (signing_key().jwk or {})["kid"], **header}
    return forge({name: value for name, value in named.items() if value is not None}, payload or ALICE, signing)


def with_secret(text: str) -> str:
    """Returns a token signed with the shared secret `text`."""
    message = token(alg="HS256").rpartition(".")[0]
    return f"{message}.{segment(jwt.get_algorithm_by_name('HS256').sign(message.encode(), text.encode()))}"


ALICE = claims("alice", READ)
NOW = int(time.time())
STRANGER = new_signing_key("RS256")
PEM = (signing_key().public_text or "").strip()
MESSAGE, _, SIGNATURE = token().rpartition(".")
REJECTED = {
    **{f"alg {alg}": token(alg=alg) for alg in ("none", "None", "nOnE", "RS512", "PS256", "ES256", "", 1, None)},
    "no signature": f"{MESSAGE}.",
    "a random signature": f"{MESSAGE}.{segment(b'x' * 256)}",
    "the signature of another token": f"{MESSAGE}.{token(claims('bob', READ)).rpartition('.')[2]}",
    "a flipped bit": f"{MESSAGE}.{'B' if SIGNATURE[0] == 'A' else 'A'}{SIGNATURE[1:]}",
    "another key": token(signing=STRANGER),
    "another key, embedded": token(signing=STRANGER, jwk=STRANGER.jwk),
    "another key, at an address": token(signing=STRANGER, jku="http://169.254.169.254/jwks.json"),
    "another key, in a file": token(signing=STRANGER, x5u="file:///etc/passwd"),
    "the public key as secret": with_secret(PEM),
    "the public key as secret, LF": with_secret(f"{PEM}\n"),
    "the public key as secret, CRLF": with_secret(PEM.replace("\n", "\r\n")),
    **{
        f"kid {kid!r:.20}": token(signing=STRANGER, kid=kid)
        for kid in ("../../dev/null", "/proc/self/environ", "' OR 1=1--", "$(id)", "\0", 1, ["x"], "x" * 4000)
    },
    "crit": token(crit=["x"], x=1),
    "empty crit": token(crit=[]),
    "b64": token(b64=False),
    "a logout token": token(typ="logout+jwt"),
    "a DPoP proof": token(typ="dpop+jwt"),
    "no exp": token({name: value for name, value in ALICE.items() if name != "exp"}),
    "exp a minute ago": token({**ALICE, "exp": NOW - 60}),
    "exp a text": token({**ALICE, "exp": str(NOW + 600)}),
    **{f"exp {exp}": token({**ALICE, "exp": exp}) for exp in (10**18, -1, True)},
    "nbf to come": token({**ALICE, "nbf": NOW + 600}),
    "iat to come": token({**ALICE, "iat": NOW + 600}),
    "no sub": token({name: value for name, value in ALICE.items() if name != "sub"}),
    **{
        f"sub {sub!r}": token({**ALICE, "sub": sub}) for sub in ("", " ", 1, ["alice"], "sa:x", "__scheduler__", "a\nb")
    },
    "scopes that are a number": token({**ALICE, "scopes": 1}),
    "claims that are a list": forge({"alg": "RS256"}, [ALICE], signing_key()),
    "too long": token({**ALICE, "x": "x" * 8192}),
    "not a token": "nonsense",
    "two segments": "a.b",
    "with padding": f"{token()}=",
    "two tokens": f"{token()},{token()}",
}


@pytest.mark.parametrize("attack", REJECTED)
def test_a_bad_token_is_401_and_none_of_it_comes_back(guarded: RunningService, attack: str) -> None:
    response = guarded.http.post("/traces/search", json={}, headers=bearer(REJECTED[attack]))
    detail = assert_unauthenticated(response)
    assert not any(part in detail for part in REJECTED[attack].split(".") if len(part) > 8)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_good_token_is_accepted(guarded: RunningService, algorithm: str) -> None:
    good = bearer(signing_key(algorithm).sign(ALICE))
    for headers in (good, {"authorization": good["Authorization"].replace("Bearer", "bEARER ")}):
        assert guarded.http.post("/traces/search", json={}, headers=headers).status_code == 200


def test_a_token_is_accepted_in_one_header_only(guarded: RunningService) -> None:
    good = token()
    for query, headers in (
        ({"access_token": good}, {}),
        ({"token": good}, {}),
        ({}, {"Cookie": f"access_token={good}"}),
        ({}, {"X-Authorization": f"Bearer {good}"}),
        ({}, {"Authorization": good}),
        ({}, {"Authorization": f"Basic {good}"}),
    ):
        assert_unauthenticated(guarded.http.get("/traces", params=query, headers=headers))
    twice = [("Authorization", f"Bearer {good}"), ("Authorization", "Bearer x")]
    assert_unauthenticated(guarded.http.get("/traces", headers=twice))
    log = guarded.log.read_text()
    assert not any(part in log for part in good.split("."))


def read(service: RunningService, path: str, headers: dict[str, str], /, **query: str) -> httpx.Response:
    response = service.http.get(path, params=query, headers=headers)
    del response.headers["x-request-id"], response.headers["date"]
    return response


def test_traces_of_others_are_as_if_they_did_not_exist(guarded: RunningService) -> None:
    alice = as_caller("alice", READ)
    assert read(guarded, f"/traces/{OWN}", alice).status_code == 200
    assert read(guarded, f"/traces/{OWN}", alice, span_id=SPAN).status_code == 200
    value = {"span_id": SPAN, "path": "/name"}
    for query in ({}, {"detail": "skeleton"}, {"span_id": SPAN}, {"span_id": SPAN, "max_bytes": "64"}, value):
        absent = read(guarded, f"/traces/{ABSENT}", alice, **query)
        for trace_id in (FOREIGN, NOBODYS):
            foreign = read(guarded, f"/traces/{trace_id}", alice, **query)
            assert (foreign.status_code, foreign.content, foreign.headers) == (404, absent.content, absent.headers)


def test_no_request_widens_what_a_caller_sees(guarded: RunningService) -> None:
    alice = as_caller("alice", READ)
    everyone: list[dict[str, Any]] = [
        {},
        {"filter": {"op": "NOT", "condition": {"op": "EQ", "key": "user_id", "value": "alice"}}},
        {"filter": {"op": "OR", "conditions": [{"op": "EXISTS", "key": "name"}] * 2}},
        {"filter": {"op": "EQ", "key": "user_id", "value": "bob"}},
        {"filter": {"op": "EQ", "key": "trace_id", "value": FOREIGN}},
        {"filter": {"op": "NOT", "condition": {"op": "EXISTS", "key": "user_id"}}},
        {"user_id": "bob", "is_admin": True, "scopes": ["agent_os:admin"], "tenant": "x"},
    ]
    for body in everyone:
        for group_by, key, own in (("run", "trace_id", OWN), ("session", "session_id", "session of alice")):
            response = guarded.http.post("/traces/search", json={**body, "group_by": group_by}, headers=alice).json()
            assert {item[key] for item in response["data"]} <= {own}
            assert response["meta"]["total_count"] == len(response["data"])
    for query in ({}, {"user_id": "bob"}, {"session_id": "session of bob"}):
        for path in ("/traces", "/trace_session_stats"):
            response = guarded.http.get(path, params=query, headers=alice).json()
            assert all(item["user_id"] == "alice" for item in response["data"])
            assert response["meta"]["total_count"] == len(response["data"]) <= 1


def test_two_callers_with_one_request_never_get_the_others_response(guarded: RunningService) -> None:
    callers = {"alice": OWN, "bob": FOREIGN}
    asking = [(trace_id, as_caller(user, READ)) for user, trace_id in callers.items()] * 100
    with ThreadPoolExecutor(8) as crowd:
        responses = crowd.map(
            lambda requests: guarded.http.post("/traces/search", json={}, headers=requests[1]), asking
        )
        for (trace_id, _), response in zip(asking, responses, strict=True):
            assert [item["trace_id"] for item in response.json()["data"]] == [trace_id]
            assert response.headers["cache-control"] == "no-store"


def test_an_admin_sees_everything(guarded: RunningService) -> None:
    found = guarded.http.post("/traces/search", json={}, headers=as_admin()).json()
    assert {item["trace_id"] for item in found["data"]} == {OWN, FOREIGN, NOBODYS}
    assert guarded.http.get(f"/traces/{NOBODYS}", headers=as_admin()).status_code == 200


def audited(service: RunningService) -> dict[str, dict[str, Any]]:
    return {event["request_id"]: event for event in service.events() if event["logger"] == "spanwise.auth.audit"}


def test_every_decision_is_one_line_of_the_audit_log(guarded: RunningService) -> None:
    requests = {
        "audit-1": ({}, None, "unauthenticated", "Authorization header missing"),
        "audit-2": (as_caller("eve\u202e", READ), None, "unauthenticated", "Invalid token subject"),
        "audit-3": (as_caller("eve"), "eve", "forbidden", "Insufficient permissions. Required scope(s): traces:read"),
        "audit-4": (as_caller("eve", READ), "eve", "allowed", None),
    }
    for request_id, (headers, *_) in requests.items():
        guarded.http.get(f"/traces/{FOREIGN}", headers=headers | {"X-Request-ID": request_id})
    decisions = audited(guarded)
    for request_id, (_, sub, verdict, reason) in requests.items():
        decision = decisions[request_id]
        payload = (decision["decision"], decision.get("sub"), decision.get("reason"), decision["resource"])
        assert payload == (verdict, sub, reason, FOREIGN)
        assert (decision["method"], decision["route"]) == ("GET", TRACE)
