"""The service, wired: what a program builds, mounts or serves."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from spanwise.auth.config import AuthorizationConfig
from spanwise.components import Kind
from spanwise.database import SCHEMES, Database, database_at
from spanwise.errors import ConfigurationError
from spanwise.http.application import build_application
from spanwise.http.authorization import admission
from spanwise.http.backend import Backend, body_readers
from spanwise.http.middleware.chunked_send import Answers
from spanwise.http.middleware.cors import read_origins
from spanwise.http.openapi.describe import describe
from spanwise.http.responses.event_stream import Streams
from spanwise.http.routing.table import TABLE
from spanwise.http.websocket.routes import Sockets
from spanwise.registry import Registry
from spanwise.runs import Room, Runs
from spanwise.settings import DEFAULT_STORE, load_settings
from spanwise.traces import TraceStore
from spanwise.traces.recording.recorder import Recorder
from spanwise.traces.service import Traces

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spanwise.http.application import Application
    from spanwise.http.authorization import Admission
    from spanwise.http.requests.body import BodyReader
    from spanwise.settings import Settings

Source: TypeAlias = str | Path | TraceStore
"""A trace store: its path, its URL, or itself."""


class Service:
    """One service: its traces, its limits, its web application.

    What is not built yet is refused, never ignored: a service that was asked to host an object of a framework
    it has no adapter for does not start without it.

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
        authorization_config: AuthorizationConfig | None = None,
        traces: Source | Mapping[str, Source] | None = None,
        settings: Mapping[str, object] | None = None,
        name: str = "Spanwise",
        id: str = "spanwise",  # noqa: A002  # the word that every component uses
    ) -> None:
        """Describes a service; nothing is opened and no setting is read before it is needed.

        Args:
            agents: agents and agent factories, each with an id of its own.
            teams: teams and team factories, likewise.
            workflows: workflows and workflow factories, likewise.
            db: where sessions, runs and their events are kept: the path of a SQLite file, the address of a
                PostgreSQL database, or any object that satisfies `Database`; if not given, the setting
                `database_url` says, and without it the file `runs.db` of the data folder.
            authorization: whether every caller needs a token; if not given, the setting of that name says.
            authorization_config: how tokens are verified; what it leaves out is said by the settings.
            traces: the path or URL of a trace store, or one that is open already and that its owner closes; or
                several of them by the id that `db_id` gives, the first being the one that is meant without; if not
                given, the setting `stores` says, and without it the folder `traces` of the data folder.
            settings: settings by name; they win over flags, environment and file.
            name: the service's name, for people.
            id: the service's name, for programs.

        Raises:
            ConfigurationError: an object is no component of its kind, an id is empty or there twice, or the db is
                none that is built.
        """
        self._registry = Registry({Kind.AGENT: agents or (), Kind.TEAM: teams or (), Kind.WORKFLOW: workflows or ()})
        self._db = None if db is None else _database(db)
        self.name = name
        self.id = id
        self._sources = traces if isinstance(traces, Mapping) or traces is None else {DEFAULT_STORE: traces}
        self._code = (
            dict(settings or {}) if authorization is None else {**(settings or {}), "authorization": authorization}
        )
        self._authorization_config = authorization_config or AuthorizationConfig()
        self._flags: Mapping[str, str | tuple[str, ...]] | None = None
        self._config: Path | None = None

    def configure(self, flags: Mapping[str, str | tuple[str, ...]], config: Path | None) -> None:
        """Adds what the command line says, before any setting is read."""
        self._flags, self._config = flags, config

    @cached_property
    def settings(self) -> Settings:
        """The settings that hold, read once.

        Raises:
            ConfigurationError: see `load_settings`.
        """
        return load_settings(self._code, self._flags, config=self._config)

    @cached_property
    def app(self) -> Application:
        """The ASGI application. Its lifespan opens and closes the service.

        Mounted in an application that does not pass the lifespan on, call `open` and `close`; without, the
        first request begins to open the store and is answered 503 with `Retry-After`.

        Raises:
            ConfigurationError: a setting is not usable, or authorization is on and there is no key, or one that is
                not usable.
        """
        backend = Backend(
            id=self.id,
            name=self.name,
            traces=self._traces,
            registry=self._registry,
            runs=self._runs,
            keeps_runs=self._keeps_runs,
            factory_deadline_seconds=self.settings.factory_deadline_seconds,
            admission=self._admission,
            description=describe(TABLE, self.name, self._registry.inputs()),
            public_description=describe(TABLE, self.name),
            origins=read_origins(self.settings.cors_origins),
            answers=Answers(self.settings.response_buffer_bytes, self.settings.write_deadline_seconds),
            readers=self._readers,
            streams=Streams(self.settings.max_event_streams),
            sockets=self._sockets,
        )
        return build_application(backend, self._lifespan)

    @cached_property
    def _readers(self) -> dict[str, BodyReader]:
        return body_readers(self.settings)

    @cached_property
    def _sockets(self) -> Sockets:
        return Sockets(self.settings.max_websockets, self.settings.max_websockets_per_user)

    @cached_property
    def _admission(self) -> Admission:
        return admission(self._authorization_config, self.settings)

    @cached_property
    def _traces(self) -> Traces:
        sources = self.settings.trace_stores if self._sources is None else self._sources
        paths = {db_id: str(source) if isinstance(source, Path) else source for db_id, source in sources.items()}
        return Traces(paths, self.settings)

    @cached_property
    def _runs(self) -> Runs:
        database = self._db or database_at(self.settings.database)
        recorder = Recorder(self._traces, self.id, joins=self.settings.join_callers_trace)
        return Runs(database, recorder, self.settings.max_concurrent_runs, Room(self.settings.event_buffer_bytes))

    @property
    def _keeps_runs(self) -> bool:
        """Whether the database of runs is opened with the service: traces alone need none, and may have no place."""
        is_at_hand = self._sources is None and ("://" not in self.settings.data_dir or self._names_a_database)
        return self._registry.hosts or is_at_hand

    @property
    def _names_a_database(self) -> bool:
        return bool(self._db or self.settings.database_url or self.settings.database_url_file)

    async def open(self) -> None:
        """Loads the keys, opens the trace stores, replay included, and the database of runs.

        Raises:
            ConfigurationError: a setting, a key, a store's address, or the database, is not usable.
            StoreError: another process holds the store, it is damaged, or the storage below failed.
        """
        _ = self.app
        await self._traces.open()
        if self._keeps_runs:
            await self._runs.open()

    async def drain(self) -> None:
        """Lets no WebSocket in any more, and ends each when the runs that it follows have ended, or after 3 s."""
        await self._sockets.drain()

    async def close(self) -> None:
        """Ends the runs, waits for the requests, then closes the trace stores. A closed service stays closed."""
        for reader in self._readers.values():
            reader.close()
        await self.drain()
        await self._runs.close()
        await self._traces.close()
        self._admission.close()

    @asynccontextmanager
    async def _lifespan(self, _application: object) -> AsyncIterator[None]:
        await self.open()
        try:
            yield
        finally:
            await self.close()


def _database(db: object) -> Database:
    """Returns the database that `db` stands for.

    Raises:
        ConfigurationError: an address of no database, or an object that is none.
    """
    if isinstance(db, str | Path) and ("://" not in str(db) or str(db).startswith(SCHEMES)):
        return database_at(db)
    if isinstance(db, Database):
        return db
    shown = f"`{db.partition('://')[0]}://...`" if isinstance(db, str) else f"`{db!r:.80}`"
    raise ConfigurationError(
        f"expected the path of a SQLite file, a postgresql:// address or a `Database` as db, got {shown}"
    )
