"""The service that a program builds, mounts or serves."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import asynccontextmanager
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from spanwise.auth.config import AuthorizationConfig
from spanwise.auth.processor_budget import ProcessorBudget
from spanwise.components import Kind
from spanwise.database import POSTGRESQL, Database, database_at
from spanwise.errors import ConfigurationError
from spanwise.fair_budget import FairBudget
from spanwise.http.application import build_application, build_otlp_application
from spanwise.http.core.app_state import AppState
from spanwise.http.core.authorization import create_authorizer
from spanwise.http.core.database_ids import DatabaseIds
from spanwise.http.grpc.application import grpc_application
from spanwise.http.middleware.cors import parse_origins
from spanwise.http.middleware.same_site import parse_hosts
from spanwise.http.openapi.describe import describe
from spanwise.http.requests.body import body_readers
from spanwise.http.responses.budget import PUBLIC_RESPONSE_BYTES, PUBLIC_WRITE_SECONDS, ResponseBudget
from spanwise.http.responses.components import describe_component
from spanwise.http.responses.event_stream import StreamLimit
from spanwise.http.routing.table import TABLE
from spanwise.http.websocket.limits import SocketLimits
from spanwise.registry import Registry
from spanwise.runs import Runs
from spanwise.runs.approvals import Approvals
from spanwise.runs.launch import Launcher
from spanwise.settings import DEFAULT_STORE, Callers, load_settings, shown_values, store_at
from spanwise.traces import TraceStore
from spanwise.traces.service import Traces

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spanwise.http.application import Application
    from spanwise.http.core.authorization import Authorizer
    from spanwise.http.requests.body import BodyReader
    from spanwise.settings import Settings
    from spanwise.traces.recording.recorder import Recorder

_log = logging.getLogger(__name__)
Source: TypeAlias = str | Path | TraceStore
"""A trace store: a path, a URL, or a store object."""
_MEANINGS: Mapping[Callers, str] = {
    "open": "authorization is off, and every caller may do everything; requests must name a host of this machine, or "
    "one of `allowed_hosts`",
    "verified": "requests without a `user_id` on their state, where middleware of the surrounding program sets it, "
    "get a 401",
    "tokens": "requests without a valid token get a 401",
}
"""The log message for each mode of `callers`."""


class Service:
    """One service: its traces, its hosted components and its web application.

    An unsupported object is rejected rather than ignored. A service does not start with a component of a framework that
    has no adapter.

    Attributes:
        name: the service's name, for people.
        id: the service's name, for programs.
    """

    def __init__(  # noqa: PLR0913  # one keyword for each thing a service is made of
        self,
        *,
        agents: Sequence[object] | None = None,
        teams: Sequence[object] | None = None,
        workflows: Sequence[object] | None = None,
        db: str | Path | Database | None = None,
        authorization: bool | None = None,
        callers: Callers | None = None,
        authorization_config: AuthorizationConfig | None = None,
        traces: Source | Mapping[str, Source] | None = None,
        settings: Mapping[str, object] | None = None,
        name: str = "Spanwise",
        id: str = "spanwise",  # noqa: A002  # the word that every component uses
    ) -> None:
        """Describes a service. Files and settings are read only when they are needed.

        Args:
            agents: agents and agent factories with distinct ids.
            teams: teams and team factories with distinct ids.
            workflows: workflows and workflow factories with distinct ids.
            db: the database of sessions, runs and their events: the path of a SQLite file, the URL of a PostgreSQL
                database, or an object that satisfies `Database`. The default is the setting `database_url`, or else the
                file `runs.db` of the data folder.
            authorization: whether every caller needs a token. The default is the setting of that name.
            callers: who may use routes that are not public: `open`, `verified` or `tokens`. The default is the setting
                of that name, or else `verified` if another program mounts the service.
            authorization_config: how tokens are verified. The settings supply missing values.
            traces: the path or URL of a trace store, or an open one, which its owner closes; or a mapping of them by
                the id that requests send as `db_id`, starting with the default. The default is the setting `stores`, or
                else the folder `traces` of the data folder.
            settings: settings by name. They take precedence over flags, environment and configuration file.
            name: the service's name, for people.
            id: the service's name, for programs.

        Raises:
            ConfigurationError: an object is not a component of its kind, an id is empty or repeated, or the db is not
                supported.
        """
        self._registry = Registry({Kind.AGENT: agents or (), Kind.TEAM: teams or (), Kind.WORKFLOW: workflows or ()})
        self._db = None if db is None else _database(db)
        self.name = name
        self.id = id
        self._sources = traces if isinstance(traces, Mapping) or traces is None else {DEFAULT_STORE: traces}
        given = {"authorization": authorization, "callers": callers}
        self._code = {**(settings or {}), **{name: value for name, value in given.items() if value is not None}}
        self._authorization_config = authorization_config or AuthorizationConfig()
        self._flags: Mapping[str, str | tuple[str, ...]] | None = None
        self._config: Path | None = None
        self._has_own_server = False

    def configure(self, flags: Mapping[str, str | tuple[str, ...]], config: Path | None) -> None:
        """Prepares the service for its own server, with the flags and the configuration file of the command line.

        The program may already have used `app` during its import. `app` is then built again with these settings.
        """
        self._flags, self._config = flags, config
        self._has_own_server = True
        for name in list(vars(self)):
            if isinstance(getattr(type(self), name, None), cached_property):
                delattr(self, name)

    @cached_property
    def settings(self) -> Settings:
        """The effective settings, read once. `callers` is always set. `authorization` is on if `callers` is `tokens`.

        Raises:
            ConfigurationError: see `load_settings` and `Settings.callers_or`.
        """
        found = load_settings(self._code, self._flags, config=self._config)
        callers = found.callers_or("open" if self._has_own_server else "verified")
        return replace(found, callers=callers, authorization=callers == "tokens")

    @cached_property
    def app(self) -> Application:
        """The ASGI application. Its lifespan opens and closes the service.

        If the outer application does not run this lifespan, call `open` and `close`. Otherwise the first request starts
        to open the store and receives a 503 with `Retry-After`.

        Raises:
            ConfigurationError: a setting is not usable, or authorization is on without a usable key.
        """
        return build_application(self._app_state, self._lifespan)

    @cached_property
    def otlp_app(self) -> Application:
        """The ASGI application for OTLP over HTTP on its own port, without a lifespan."""
        return build_otlp_application(self._app_state)

    @cached_property
    def grpc_app(self) -> Application:
        """The ASGI application for OTLP over gRPC on its own port, without a lifespan. Requires HTTP/2 and trailers."""
        return grpc_application(self._app_state, self.settings.max_ingest_body_bytes)

    @property
    def unknown_callers(self) -> ProcessorBudget:
        """The processor time budget for callers without a verified token."""
        return self._app_state.unknown_callers

    @cached_property
    def _app_state(self) -> AppState:
        return AppState(
            id=self.id,
            name=self.name,
            traces=self._traces,
            registry=self._registry,
            databases=self._databases,
            runs=self._runs,
            approvals=Approvals(entry.db for entry in self._registry),
            launcher=Launcher(self._runs, self.settings.factory_deadline_seconds),
            needs_run_database=self._needs_run_database,
            authorizer=self._authorizer,
            openapi=cache(partial(describe, TABLE, self.name, self._registry.inputs())),
            public_openapi=cache(partial(describe, TABLE, self.name)),
            cors_origins=parse_origins(self.settings.cors_origins),
            allowed_hosts=parse_hosts(self.settings.allowed_hosts),
            response_budget=ResponseBudget(self.settings.response_buffer_bytes, self.settings.write_deadline_seconds),
            public_response_budget=ResponseBudget(
                PUBLIC_RESPONSE_BYTES, min(PUBLIC_WRITE_SECONDS, self.settings.write_deadline_seconds), is_shared=True
            ),
            body_readers=self._body_readers,
            unknown_callers=ProcessorBudget(self.settings.unknown_processor_share),
            streams=StreamLimit(self.settings.max_event_streams),
            sockets=self._sockets,
            is_reader=self.settings.reader,
            writer_url=self.settings.writer_url,
            settings=shown_values(self.settings),
        )

    @cached_property
    def _body_readers(self) -> dict[str, BodyReader]:
        return body_readers(self.settings)

    @cached_property
    def _sockets(self) -> SocketLimits:
        settings = self.settings
        return SocketLimits(settings.max_websockets, settings.max_websockets_per_user, settings.websocket_buffer_bytes)

    @cached_property
    def _authorizer(self) -> Authorizer:
        return create_authorizer(self._authorization_config, self.settings)

    @cached_property
    def _traces(self) -> Traces:
        sources = self.settings.trace_stores if self._sources is None else self._sources
        paths = {
            db_id: store_at(str(source)) if isinstance(source, str | Path) else source
            for db_id, source in sources.items()
        }
        return Traces(paths, self.settings)

    @cached_property
    def _databases(self) -> DatabaseIds:
        return DatabaseIds(self._traces.ids, (describe_component(each) for each in self._registry))

    @cached_property
    def _runs(self) -> Runs:
        given, location = self._db, self.settings.database
        largest_input = self.settings.max_form_body_bytes
        budget = FairBudget(self.settings.event_buffer_bytes, "too many bytes of events at once", largest_input)
        limit = self.settings.max_concurrent_runs
        return Runs(lambda: given or database_at(location), self._registry, self._recorder, limit, budget)

    def _recorder(self) -> Recorder:
        from spanwise.traces.recording.recorder import Recorder  # noqa: PLC0415  # imports the SDK of OpenTelemetry

        return Recorder(self._traces, self.id, joins=self.settings.join_callers_trace)

    @cached_property
    def _needs_run_database(self) -> bool:
        """True if the database of runs opens together with the service, rather than at first use.

        Without components, it opens early if its configured location may be wrong, or if it may have unfinished runs.
        """
        settings = self.settings
        if settings.reader or self._registry.hosts:
            return not settings.reader
        is_chosen = bool(self._db or settings.database_url or settings.database_url_file)
        has_file = "://" not in settings.data_dir and Path(settings.database).exists()
        return self._sources is None and (is_chosen or has_file)

    async def open(self) -> None:
        """Loads the keys, opens the trace stores, which replay their write-ahead logs, and opens the database of runs.

        Raises:
            ConfigurationError: a setting, a key, the address of a store or the database is not usable.
            StoreError: another process holds a store, a store is damaged, or its storage failed.
        """
        if self.settings.reader and self._registry.hosts:
            raise ConfigurationError("a reader hosts no components: remove them, or switch the setting `reader` off")
        _ = self.app
        self._log_callers()
        if self._needs_run_database:
            self._runs.prepare()
        await self._traces.open()
        if self._needs_run_database:
            await self._runs.open()

    def _log_callers(self) -> None:
        callers = self._authorizer.callers
        _log.info("callers: %s: %s", callers, _MEANINGS[callers])
        if self._has_own_server and callers == "verified":
            _log.warning(
                "callers: verified: no program mounts this service, so every route that is not public responds with "
                "401; set `callers` to `open` or `tokens`"
            )

    async def drain(self) -> None:
        """Stops accepting runs, tails and WebSockets. Tails end at once, sockets end with their runs or after 3 s."""
        self._runs.drain()
        self._traces.drain()
        await self._sockets.drain()

    async def close(self) -> None:
        """Ends the runs, waits for the requests, then closes the trace stores. A closed service cannot be reopened."""
        for reader in self._body_readers.values():
            reader.close()
        await self.drain()
        await self._runs.close()
        await self._traces.close()
        self._authorizer.close()

    @asynccontextmanager
    async def _lifespan(self, _application: object) -> AsyncIterator[None]:
        await self.open()
        try:
            yield
        finally:
            await self.close()


def _database(db: object) -> Database:
    """Returns `db` as a database. Accepts a database, a path or a URL.

    Raises:
        ConfigurationError: `db` is neither a database nor the address of one.
    """
    if isinstance(db, str | Path) and ("://" not in str(db) or str(db).startswith(POSTGRESQL)):
        return database_at(db)
    if isinstance(db, Database):
        return db
    address = f"`{db.partition('://')[0]}://...`" if isinstance(db, str) else f"`{db!r:.80}`"
    raise ConfigurationError(
        f"expected the path of a SQLite file, a postgresql:// address or a `Database` as db, got {address}"
    )
