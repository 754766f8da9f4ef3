"""The service, wired: what a program builds, mounts or serves."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import ConfigurationError
from spanwise.http.application import build_application
from spanwise.settings import load_settings
from spanwise.traces.service import Traces

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from spanwise.http.application import Application
    from spanwise.settings import Settings
    from spanwise.traces import TraceStore


class Service:
    """One service: its traces, its limits, its web application.

    What is not built yet is refused, never ignored: a service that was asked to check its callers, or to host
    an agent, does not start without doing so.

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
        db: object | None = None,
        authorization: bool = False,
        authorization_config: object | None = None,
        traces: str | Path | TraceStore | None = None,
        settings: Mapping[str, object] | None = None,
        name: str = "Spanwise",
        id: str = "spanwise",  # noqa: A002  # the word that every component uses
    ) -> None:
        """Describes a service; nothing is opened and no setting is read before it is needed.

        Args:
            agents: not built yet.
            teams: not built yet.
            workflows: not built yet.
            db: not built yet.
            authorization: not built yet.
            authorization_config: not built yet.
            traces: the path or URL of a trace store, or one that is open already and that its owner closes;
                if not given, the folder `traces` of the data folder.
            settings: settings by name; they win over flags, environment and file.
            name: the service's name, for people.
            id: the service's name, for programs.

        Raises:
            ConfigurationError: something is asked for that is not built yet.
        """
        asked = {
            "agents": agents,
            "teams": teams,
            "workflows": workflows,
            "db": db,
            "authorization": authorization,
            "authorization_config": authorization_config,
        }
        for part, value in asked.items():
            if value is not None and value is not False and value != []:
                raise ConfigurationError(f"`{part}` is not built yet: the service does not start without it")
        self.name = name
        self.id = id
        self._source = str(traces) if isinstance(traces, Path) else traces
        self._code = settings
        self._flags: Mapping[str, str] | None = None
        self._config: Path | None = None

    def configure(self, flags: Mapping[str, str], config: Path | None) -> None:
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
        """
        return build_application(self._traces, self.settings, self._lifespan)

    @cached_property
    def _traces(self) -> Traces:
        source = self.settings.trace_store if self._source is None else self._source
        return Traces(source, self.settings)

    async def open(self) -> None:
        """Opens the trace store, replay included.

        Raises:
            ConfigurationError: a setting, or the store's address, is not usable.
            StoreError: another process holds the store, it is damaged, or the storage below failed.
        """
        await self._traces.open()

    async def close(self) -> None:
        """Waits for what runs, then closes the trace store. A closed service stays closed."""
        await self._traces.close()

    @asynccontextmanager
    async def _lifespan(self, _application: object) -> AsyncIterator[None]:
        await self.open()
        try:
            yield
        finally:
            await self.close()
