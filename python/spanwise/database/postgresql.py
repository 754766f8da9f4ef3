"""A PostgreSQL server as the database, named by a URL as libpq reads it. Needs the extra `postgresql`.

Source: PostgreSQL documentation, "Connection URIs", "Explicit Locking".
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Integer, MetaData, Table, create_engine, insert, select
from sqlalchemy.exc import SQLAlchemyError

from spanwise.database.sql import SqlDatabase
from spanwise.database.tables import FORMAT
from spanwise.errors import ConfigurationError, SpanwiseError, StoreLockedError, UnavailableError

if TYPE_CHECKING:
    from spanwise.database.records import RunRecord

SCHEMES = ("postgresql://", "postgres://")
SCHEMA = "spanwise"
"""Where our tables are in the database that the URL names."""

LOCK = int.from_bytes(b"spanwise", "big")
LOCK_SECONDS = 1.0
"""How long a server may take to notice that the process before us is gone."""

_PATIENCE = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""A server that is silent is given up; a URL may say otherwise."""

_STATEMENT_MILLISECONDS = 30_000
_format = Table("format", MetaData(), Column("version", Integer, nullable=False))


class PostgresqlDatabase(SqlDatabase):
    """Sessions, runs and events in the schema `spanwise` of one database.

    There is one connection, and it holds a lock of the server as long as it lives: whatever is committed, is committed
    by the one service whose database this is, also after a connection broke.
    """

    def __init__(self, url: str) -> None:
        """Names the server, without asking it.

        Raises:
            ConfigurationError: the URL cannot be read, or the extra is not installed; nothing of the URL is repeated.
        """
        super().__init__()
        try:
            self._driver: Any = import_module("psycopg")
        except ImportError as error:
            raise ConfigurationError("PostgreSQL needs the extra: pip install 'spanwise[postgresql]'") from error
        self._parameters = _PATIENCE | _parameters(self._driver, url)
        self._is_ours = False

    def open(self) -> list[RunRecord]:
        """Connects, creates what is not there, and returns the runs that nobody finished.

        Raises:
            ConfigurationError: the server refuses us, does not answer, or has tables of another version.
            StoreLockedError: another process uses the database.
        """
        self._engine = create_engine(
            "postgresql+psycopg://", creator=self._connect, pool_size=1, max_overflow=0, pool_pre_ping=True
        )
        try:
            self._claim()
            self._is_ours = True
            return self._create()
        except (SQLAlchemyError, UnavailableError, self._driver.Error) as error:
            self.close()
            raise ConfigurationError(f"cannot open the database of runs: {_words(error)}") from error
        except SpanwiseError:
            self.close()
            raise

    def _claim(self) -> None:
        """Makes the first connection, which takes the lock, and expects our version of the tables."""
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                self._expect_format()
            except StoreLockedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def _connect(self) -> Any:  # noqa: ANN401  # the driver's connection
        connection = self._driver.connect(**self._parameters)
        try:
            with connection.transaction():
                self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Any) -> None:  # noqa: ANN401  # the driver's connection
        """Makes a connection ours: locked, in our schema, and patient for a while."""
        if not connection.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone()[0]:
            taken = UnavailableError if self._is_ours else StoreLockedError
            raise taken("another process has the database of runs open")
        if connection.execute("SELECT to_regnamespace(%s)", [SCHEMA]).fetchone()[0] is None:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
        connection.execute(f"SET search_path TO {SCHEMA}")
        connection.execute(f"SET statement_timeout TO {_STATEMENT_MILLISECONDS}")

    def _expect_format(self) -> None:
        with self._transaction() as connection:
            _format.create(connection, checkfirst=True)
            found = connection.execute(select(_format.c.version)).scalar_one_or_none()
            if found is None:
                connection.execute(insert(_format).values(version=FORMAT))
            elif found != FORMAT:
                raise ConfigurationError(f"the database of runs has version {found}, this program reads {FORMAT}")


def _parameters(driver: Any, url: str) -> dict[str, Any]:  # noqa: ANN401  # the module
    """Returns what a URL says. A password whose special characters are not encoded ends up in other parts of it.

    Raises:
        ConfigurationError: it cannot be read.
    """
    refused = ConfigurationError(
        "the address of the database cannot be read: expected postgresql://user:password@host:port/name, "
        "the special characters of its parts percent-encoded"
    )
    if not url.startswith(SCHEMES):
        raise refused
    try:
        found: dict[str, Any] = driver.conninfo.conninfo_to_dict(url)
    except driver.Error:
        raise refused from None  # its words repeat parts of the address
    ports = str(found.get("port", "")).replace(",", "")
    if (ports and not ports.isdigit()) or any("@" in str(found.get(name, "")) for name in ("host", "dbname")):
        raise refused
    return found


def _words(error: BaseException) -> str:
    """Returns what the server or the network said: the innermost cause, on one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())
