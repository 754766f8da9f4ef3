"""Starts and continues runs of hosted components for requests of any protocol.

See `docs/reference/api-runs.md#request-context` and `docs/reference/api-runs.md#identity-precedence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from spanwise.components import Kind
from spanwise.factories import Factory, RequestContext, TrustedContext
from spanwise.runs.identity import effective
from spanwise.runs.request import ResumeRequest, RunRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.auth.identity import Identity
    from spanwise.components import Component
    from spanwise.database import RunRecord
    from spanwise.registry import Entry
    from spanwise.runs.active_run import ActiveRun
    from spanwise.runs.service import Runs


class ClaimedIdentity(Protocol):
    """The caller as named in a form or message. Verified values take precedence over it."""

    @property
    def user_id(self) -> str | None:
        """The user."""

    @property
    def session_id(self) -> str | None:
        """The session."""


class ClientConnection(Protocol):
    """The raw request or WebSocket."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers."""


@dataclass(frozen=True, kw_only=True)
class LaunchRequest:
    """A request to start or continue a run.

    Attributes:
        entry: the component, or the factory that builds it.
        context: the information about the request that a factory gets.
        is_verified: True if the user is verified, and so has separate session ids.
        traceparent: the trace context of the request.
    """

    entry: Entry
    context: RequestContext
    is_verified: bool
    traceparent: str | None

    @classmethod
    def of(
        cls,
        entry: Entry,
        identity: Identity,
        connection: ClientConnection,
        claimed: ClaimedIdentity,
        factory_input: dict[str, Any] | None,
    ) -> LaunchRequest:
        """Returns the request to run `entry`.

        Args:
            entry: the component, or the factory that builds it.
            identity: the caller.
            connection: the raw request.
            claimed: the caller as named in the form or message.
            factory_input: the input of the factory.
        """
        context = RequestContext(
            user_id=effective("user_id", identity.user_id, claimed.user_id),
            session_id=effective("session_id", identity.session_id, claimed.session_id),
            input=factory_input,
            trusted=TrustedContext(identity.claims, identity.scopes),
            request=connection,
        )
        return cls(
            entry=entry,
            context=context,
            is_verified=bool(identity.user_id),
            traceparent=connection.headers.get("traceparent"),
        )


class Launcher:
    """Resolves entries of the registry into components and runs them."""

    def __init__(self, runs: Runs, factory_deadline_seconds: float) -> None:
        """Prepares to launch.

        Args:
            runs: runs the components.
            factory_deadline_seconds: how long a factory may take.
        """
        self._runs = runs
        self._factory_deadline_seconds = factory_deadline_seconds

    async def resolve(self, request: LaunchRequest, *, read_input: bool = True) -> Component:
        """Returns the component, or the one that its factory builds for this request.

        Args:
            request: the entry, and the information that a factory gets.
            read_input: True if a factory gets the input.

        Raises:
            FactoryError: the factory rejected the request, failed, or took too long.
        """
        if not isinstance(request.entry, Factory):
            return request.entry
        return await request.entry.resolve_async(
            request.context, read_input=read_input, deadline_seconds=self._factory_deadline_seconds
        )

    async def start(
        self, request: LaunchRequest, message: str, objects: Mapping[str, dict[str, Any]], *, stream: bool
    ) -> ActiveRun:
        """Starts a run and returns it while it runs.

        Args:
            request: the entry and the caller.
            message: the input of the component.
            objects: the members `session_state`, `dependencies` and `metadata` of the run.
            stream: True if the caller requested a stream.

        Raises:
            FactoryError: the factory rejected the request, failed, or took too long.
            ConflictError: several users have a session with that id, or it is being deleted.
            UnavailableError: too many runs are active, or the service is not open.
        """
        component = await self.resolve(request)
        return await self._runs.start(
            component,
            RunRequest(
                message=message,
                user_id=request.context.user_id,
                session_id=request.context.session_id,
                is_verified=request.is_verified,
                traceparent=request.traceparent,
                stream=stream,
                **objects,
            ),
        )

    async def resume(
        self, request: LaunchRequest, record: RunRecord, answers: tuple[Mapping[str, Any], ...], *, stream: bool
    ) -> ActiveRun:
        """Continues a paused run and returns it while it runs. Only factories of workflows get the input again.

        Args:
            request: the entry and the caller.
            record: the paused run.
            answers: the answers that the run waits for.
            stream: True if the caller requested a stream.

        Raises:
            FactoryError: the factory rejected the request, failed, or took too long.
            ConflictError: the run is not paused, or no longer paused.
            BadRequestError: the answers do not match.
            ForbiddenError: another user has to answer first.
            UnavailableError: too many runs are active, or the service is not open.
        """
        component = await self.resolve(request, read_input=record.kind == Kind.WORKFLOW)
        resumed = ResumeRequest(answers=answers, traceparent=request.traceparent, stream=stream)
        return await self._runs.resume(component, record, resumed)
