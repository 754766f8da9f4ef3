"""Programs in separate processes send their spans to a real service by `configure`."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from support.clients.tokens import claims, jwks_file, signing_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.services.process import RunningService


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def traces_of(service: RunningService, session: str) -> list[dict[str, Any]]:
    return service.items(detail="summary", filter={"op": "EQ", "key": "session_id", "value": session})


def test_spans_have_the_session_and_the_user_that_they_start_in(service: RunningService) -> None:
    session = uuid4().hex
    sent = run(
        """
        import asyncio, sys, spanwise
        from concurrent.futures import ThreadPoolExecutor
        from contextvars import copy_context
        from opentelemetry import trace

        url, session = sys.argv[1:]
        provider = spanwise.configure(url, service_name="travel")
        assert provider is trace.get_tracer_provider() is spanwise.configure(url, service_name="travel")
        tracer = trace.get_tracer("test")

        def work(name):
            with tracer.start_as_current_span(name):
                pass

        async def task(name):
            with spanwise.trace_context(user_id=name):
                await asyncio.sleep(0.01)
                work(name)

        async def tasks():
            await asyncio.gather(task("ann"), task("bob"))

        with spanwise.trace_context(session_id=session):
            work("nobody")
            asyncio.run(tasks())
            with spanwise.trace_context(user_id="eve"), ThreadPoolExecutor(1) as pool:
                pool.submit(copy_context().run, work, "eve").result()
            work("nobody again")
        work("outside")
        """,
        service.url,
        session,
    )
    assert (sent.returncode, sent.stderr) == (0, "")
    found = {trace["name"]: trace.get("user_id") for trace in traces_of(service, session)}
    assert found == {"nobody": None, "ann": "ann", "bob": "bob", "eve": "eve", "nobody again": None}
    assert {trace["service"] for trace in traces_of(service, session)} == {"travel"}


def test_a_provider_that_is_there_sends_to_the_service_as_well(service: RunningService) -> None:
    session = uuid4().hex
    sent = run(
        """
        import sys, spanwise
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        own, kept = TracerProvider(), InMemorySpanExporter()
        own.add_span_processor(SimpleSpanProcessor(kept))
        trace.set_tracer_provider(own)
        assert spanwise.configure(sys.argv[1]) is own
        with spanwise.trace_context(session_id=sys.argv[2]), own.get_tracer("test").start_as_current_span("both"):
            pass
        assert [span.name for span in kept.get_finished_spans()] == ["both"]
        """,
        service.url,
        session,
    )
    assert (sent.returncode, sent.stderr) == (0, "")
    assert [trace["name"] for trace in traces_of(service, session)] == ["both"]


def test_a_token_authorizes_what_is_sent(start: Callable[..., RunningService], tmp_path: Path) -> None:
    service = start("--authorization", JWT_JWKS_FILE=jwks_file(tmp_path))
    token = signing_key().sign(claims("ann", "traces:write", "traces:read"))
    program = """
        import sys, spanwise
        from opentelemetry import trace

        url, token = sys.argv[1:]
        spanwise.configure(url, token)
        with spanwise.trace_context(user_id="ann"), trace.get_tracer("test").start_as_current_span("mine"):
            pass
        trace.get_tracer_provider().force_flush()
        with spanwise.connect(url, token) as client:
            print(client.search().count())
    """
    sent = run(program, service.url, token)
    assert (sent.returncode, sent.stdout.strip()) == (0, "1"), sent.stderr


@pytest.mark.parametrize(
    ("missing", "call", "says"),
    [
        ("httpx", "connect('http://localhost')", "needs httpx, which is not installed: pip install 'spanwise[client]'"),
        (
            "opentelemetry.exporter.otlp.proto.http.trace_exporter",
            "configure()",
            "exporter of OpenTelemetry, which is not installed: pip install 'spanwise[tracing]'",
        ),
        (
            "opentelemetry",
            "trace_context(user_id='ann').__enter__()",
            "needs OpenTelemetry, which is not installed: pip install 'spanwise[tracing]'",
        ),
    ],
)
def test_a_package_that_is_missing_is_named_with_what_installs_it(missing: str, call: str, says: str) -> None:
    failed = run(f"import sys, spanwise; sys.modules[{missing!r}] = None; spanwise.{call}")
    last = failed.stderr.splitlines()[-1]
    assert last.startswith("spanwise.errors.ConfigurationError: ")
    assert last.endswith(says)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("spanwise.configure('localhost:7777')", "expected an address like `http://127.0.0.1:7777`"),
        (
            "spanwise.configure('http://localhost:1'); spanwise.configure('http://localhost:2')",
            "`configure` was called before with other arguments",
        ),
    ],
)
def test_a_mistake_is_named(program: str, says: str) -> None:
    failed = run(f"import spanwise; {program}")
    assert failed.returncode == 1
    assert says in failed.stderr.splitlines()[-1]
