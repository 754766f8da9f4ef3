"""A database on a PostgreSQL server, given by a libpq connection URI. Requires the extra `postgresql`.

Source: PostgreSQL documentation, "Connection URIs", "Explicit Locking".
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Integer, MetaData, Table, create_engine, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError

from spanwise.database.faults import opening_error
from spanwise.database.schemes import POSTGRESQL
from spanwise.database.sql import SqlDatabase
from spanwise.database.tables import FORMAT
from spanwise.database.upgrade import UPGRADED_FORMAT, upgrade
from spanwise.errors import ConfigurationError, SpanwiseError, StoreLockedError, UnavailableError

if TYPE_CHECKING:
    from spanwise.database.records import RunRecord

SCHEMA = "spanwise"
"""The schema of our tables, in the database of the URL."""

LOCK_KEY = int.from_bytes(b"spanwise", "big")
"""The key of the advisory lock."""
LOCK_SECONDS = 1.0
"""Seconds that the server may take to notice the end of the previous process."""

_TIMEOUTS = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""Connection parameters that detect an unresponsive server. The URL may override them."""

_STATEMENT_MILLISECONDS = 30_000
_format = Table("format", MetaData(), Column("version", Integer, nullable=False))


class PostgresqlDatabase(SqlDatabase):
    """Sessions, runs and events in the schema `spanwise` of one database.

    Its only connection holds an advisory lock for its lifetime. A connection that replaces a broken one acquires the
    lock again before use. Only the service that owns the database therefore ever commits.
    """

    def __init__(self, url: str) -> None:
        """Creates a database without connecting to the server.

        Raises:
            ConfigurationError: the URL is invalid, or the extra is not installed. The message repeats no part of the
                URL, which may contain a password.
        """
        super().__init__(insert)
        try:
            self._driver: Any = import_module("psycopg")
        except ImportError as error:
            raise ConfigurationError("PostgreSQL needs the extra: pip install 'spanwise[postgresql]'") from error
        self._parameters = _TIMEOUTS | _parameters(self._driver, url)
        self._is_claimed = False

    def open(self) -> list[RunRecord]:
        """Connects, creates missing tables, and returns the runs that an earlier process left unfinished.

        Raises:
            ConfigurationError: the server rejects the connection, does not respond, or has tables of another version.
            StoreLockedError: another process uses the database.
        """
        self._engine = create_engine(
            "postgresql+psycopg://", creator=self._connect, pool_size=1, max_overflow=0, pool_pre_ping=True
        )
        try:
            self._claim()
            self._is_claimed = True
            return self._create()
        except (SQLAlchemyError, UnavailableError, self._driver.Error) as error:
            self.close()
            raise ConfigurationError(f"cannot open the database of runs: {opening_error(error)}") from error
        except SpanwiseError:
            self.close()
            raise

    def _claim(self) -> None:
        """Opens the first connection, which acquires the lock, and checks the version of the tables."""
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
                self._configure(connection)
        except BaseException:  # an interrupted start must not keep the connection
            connection.close()
            raise
        return connection

    def _configure(self, connection: Any) -> None:  # noqa: ANN401  # the driver's connection
        """Acquires the lock, selects our schema and limits the time of a statement."""
        if not connection.execute("SELECT pg_try_advisory_lock(%s)", [LOCK_KEY]).fetchone()[0]:
            error_type = UnavailableError if self._is_claimed else StoreLockedError
            raise error_type("another process has the database of runs open")
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
            elif found == UPGRADED_FORMAT:
                connection.exec_driver_sql("SET LOCAL statement_timeout TO 0")  # the statement reads all rows
                upgrade(connection)
                connection.execute(update(_format).values(version=FORMAT))
            elif found != FORMAT:
                raise ConfigurationError(f"the database of runs has version {found}, this program reads {FORMAT}")


def _parameters(driver: Any, url: str) -> dict[str, Any]:  # noqa: ANN401  # the module
    """Returns the connection parameters of a URL.

    Raises:
        ConfigurationError: the URL is invalid. This includes a password whose special characters are not
            percent-encoded, because they would end up in other parts of the URL.
    """
    invalid = ConfigurationError(
        "the address of the database cannot be read: expected postgresql://user:password@host:port/name, "
        "the special characters of its parts percent-encoded"
    )
    if not url.startswith(POSTGRESQL):
        raise invalid
    try:
        found: dict[str, Any] = driver.conninfo.conninfo_to_dict(url)
    except driver.Error:
        raise invalid from None  # the driver's message repeats parts of the URL
    ports = str(found.get("port", "")).replace(",", "")
    if (ports and not ports.isdigit()) or any("@" in str(found.get(name, "")) for name in ("host", "dbname")):
        raise invalid
    return found
