"""All settings of the service: their types, defaults and descriptions."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from spanwise.errors import ConfigurationError
from spanwise.settings.budgets import MEBIBYTE
from spanwise.settings.folders import is_bucket, store_at, store_in_data_folder
from spanwise.settings.stores import StoreSettings
from spanwise.settings.tokens import Text

DEFAULT_FOLDER = "./spanwise-data"
DEFAULT_STORE = "default"
"""The name of the trace store if `stores` is not set."""
Callers: TypeAlias = Literal["open", "verified", "tokens"]
"""How a service identifies its callers: not at all, by the surrounding program, or by tokens."""
_INCOMPLETE_BUCKET = re.compile(r"(?P<scheme>s3|gs|az):(?!//[^/])", re.IGNORECASE)


def absolute(location: str) -> str:
    """Returns the absolute path of a folder, without resolving links. The URL of a bucket is returned unchanged."""
    return location if is_bucket(location) else os.path.abspath(location.removeprefix("file://"))  # noqa: PTH100


class Settings(StoreSettings, frozen=True, kw_only=True):
    """The settings of one service. Sizes are in bytes, durations in seconds."""

    data_dir: Annotated[
        str,
        Meta(
            min_length=1,
            description="The folder for all data, or a bucket for the traces: `s3://`, `gs://` or `az://`.",
        ),
    ] = DEFAULT_FOLDER
    host: Annotated[str, Meta(min_length=1, description="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535, description="The port to listen on.")] = 7777
    authorization: Annotated[bool, Meta(description="Require a token on every route that is not public.")] = False
    callers: Annotated[
        Annotated[Callers, Meta()] | None,
        Meta(
            description="The callers allowed on routes that are not public: all (`open`), those that the surrounding "
            "program has verified (`verified`), or those with a token (`tokens`, the same as `authorization`).",
            extra={"default": "`tokens` with `authorization`; else `verified` in another program, `open` in `serve`"},
        ),
    ] = None
    stores: Annotated[
        dict[Text, Text],
        Meta(
            description="Trace stores as `name=path` or `name=url`. `db_id` in a request selects one by name; the "
            "first is the default. Repeat the flag for each store; in the environment, separate stores by commas.",
            extra={"default": "`traces` in the data folder", "flag": "--store"},
        ),
    ] = field(default_factory=dict)
    conventions: Annotated[
        dict[Text, Text],
        Meta(
            description="Attributes of spans that conventions of your own use, as `name=meaning`. Repeat the flag for "
            "each; in the environment, separate them by commas.",
            extra={"default": "none", "flag": "--convention"},
        ),
    ] = field(default_factory=dict)
    prices_file: Annotated[
        str,
        Meta(
            description="A JSON file with prices of models, which come before the built-in ones.",
            extra={"default": "none"},
        ),
    ] = ""
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The lowest severity to log."),
    ] = "info"
    log_format: Annotated[
        Literal["auto", "text", "json"],
        Meta(description="The format of log lines; `auto` is text on a terminal and JSON elsewhere."),
    ] = "auto"
    cors_origins: Annotated[
        str,
        Meta(
            description="Origins whose pages may read responses (CORS), separated by commas; `*` allows any.",
            extra={"default": "none"},
        ),
    ] = ""
    allowed_hosts: Annotated[
        str,
        Meta(
            description=(
                "Additional `Host` values accepted while authorization is off, separated by commas; `*` accepts any."
            ),
            extra={"default": "none"},
        ),
    ] = ""
    search_threads: Annotated[
        int,
        Meta(
            ge=1,
            le=1024,
            description="Threads that callers share for searches; each caller's first search runs beyond them.",
            extra={"default": "two per core"},
        ),
    ] = field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    search_queue_size: Annotated[
        int, Meta(ge=0, description="Searches that may wait for a thread; above this, searches get a 503.")
    ] = 64
    max_search_body_bytes: Annotated[int, Meta(ge=1, description="The largest search request body.")] = MEBIBYTE
    search_deadline_seconds: Annotated[
        float,
        Meta(gt=0, description="The longest a search may take, including the wait for a thread; then it gets a 503."),
    ] = 10.0
    ingest_threads: Annotated[
        int,
        Meta(
            ge=1,
            le=1024,
            description="Threads that callers share to ingest spans; each caller's first request runs beyond them.",
        ),
    ] = 32
    ingest_queue_size: Annotated[
        int, Meta(ge=0, description="Ingest requests that may wait for a thread; above this, they get a 503.")
    ] = 256
    max_ingest_body_bytes: Annotated[
        int,
        Meta(ge=1, description="The largest ingest request body, as sent; the decompressed size has its own limit."),
    ] = 20 * MEBIBYTE
    max_form_body_bytes: Annotated[int, Meta(ge=1, description="The largest form of a run request.")] = 10 * MEBIBYTE
    max_concurrent_runs: Annotated[
        int, Meta(ge=1, description="Runs in progress at the same time; above this, run requests get a 503.")
    ] = 2048
    max_event_streams: Annotated[
        int, Meta(ge=1, description="Open event streams (server-sent events); above this, requests get a 503.")
    ] = 512
    max_websockets: Annotated[
        int, Meta(ge=1, description="Open WebSockets; above this, upgrade requests get a 503.")
    ] = 256
    max_websockets_per_user: Annotated[
        int, Meta(ge=1, description="Open WebSockets per verified user; above this, upgrade requests get a 503.")
    ] = 16
    unknown_processor_share: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="The part of one processor core for requests and frames of callers without a verified token; "
            "above this, they get a 503 or are disconnected.",
        ),
    ] = 0.1
    join_callers_trace: Annotated[
        bool,
        Meta(
            description=(
                "Record runs in the trace of the caller's `traceparent`; otherwise a run has its own trace with a link."
            )
        ),
    ] = False
    factory_deadline_seconds: Annotated[
        float,
        Meta(gt=0, description="The longest a factory may take to build a component; then the request gets a 500."),
    ] = 30.0
    body_deadline_seconds: Annotated[
        float,
        Meta(gt=0, description="The longest a request body may take to arrive; then the request gets a 408."),
    ] = 30.0
    max_connections: Annotated[
        int, Meta(ge=1, le=65535, description="Open connections; above this, new ones wait to be accepted.")
    ] = 4096
    header_deadline_seconds: Annotated[
        float,
        Meta(
            gt=0,
            le=3600,
            description="The longest that request headers may take to arrive, or a connection may be idle; then the "
            "connection is closed.",
        ),
    ] = 10.0
    write_deadline_seconds: Annotated[
        float,
        Meta(
            gt=0,
            le=3600,
            description="Maximum time in which a client reads no byte of its response before the connection is closed.",
        ),
    ] = 60.0
    drain_seconds: Annotated[
        float,
        Meta(gt=0, le=3600, description="How long open requests and runs may take to finish at shutdown."),
    ] = 8.0
    database_url: Annotated[
        str,
        Meta(
            description="The PostgreSQL database for sessions and runs, `postgresql://user:password@host/name`.",
            extra={
                "default": "the file `runs.db` in the data folder, or in `./spanwise-data` if that is a bucket",
                "is_secret": True,
            },
        ),
    ] = ""
    database_url_file: Annotated[
        str,
        Meta(description="A file that contains `database_url`, to keep it secret.", extra={"default": "none"}),
    ] = ""

    @property
    def trace_stores(self) -> dict[str, str]:
        """Returns the paths or URLs of the trace stores, by name. Without `stores`, one store in the data folder.

        Raises:
            ConfigurationError: a URL does not name a bucket, or a folder has other contents than a store.
        """
        for location in self.stores.values() or [self.data_dir]:
            if found := _INCOMPLETE_BUCKET.match(location):
                scheme = found["scheme"]
                raise ConfigurationError(
                    f"expected a bucket as `{scheme}://bucket` or `{scheme}://bucket/folder`, got `{location}`"
                )
        if self.stores:
            return {name: store_at(location) for name, location in self.stores.items()}
        values = (getattr(self, name) for name in self.__struct_fields__)
        return {DEFAULT_STORE: store_in_data_folder(self.data_dir, [each for each in values if isinstance(each, str)])}

    @property
    def trace_store(self) -> str:
        """Returns the path or URL of the first trace store, which is the default."""
        return next(iter(self.trace_stores.values()))

    def callers_or(self, default: Callers = "verified") -> Callers:
        """Returns the value of `callers`.

        Args:
            default: the value if it is not set.

        Raises:
            ConfigurationError: `authorization` is on, and `callers` is not `tokens`.
        """
        if self.authorization and self.callers not in {None, "tokens"}:
            raise ConfigurationError(
                f"setting `callers` is `{self.callers}`, but `authorization` is on, which requires `tokens`: remove "
                "one of the two"
            )
        return self.callers or ("tokens" if self.authorization else default)

    def __repr__(self) -> str:
        """Returns no values, because they may be secret."""
        return "Settings(...)"

    @property
    def database(self) -> str:
        """Returns the database of sessions and runs: the URL of a server, or the path of a file in the data folder.

        If the data folder is a bucket, the file is in the default data folder.

        Raises:
            ConfigurationError: both settings are set, or the file with the URL cannot be read.
        """
        if self.database_url and self.database_url_file:
            raise ConfigurationError("`database_url` and `database_url_file` are both set; expected one")
        if self.database_url_file:
            return _secret(Path(self.database_url_file), "database_url_file")
        return self.database_url or f"{self.folder.rstrip('/')}/runs.db"

    @property
    def folder(self) -> str:
        """Returns the data folder; the default one if the data folder is a bucket."""
        return DEFAULT_FOLDER if is_bucket(self.data_dir) else self.data_dir


def _secret(path: Path, name: str) -> str:
    """Returns the text of a file without surrounding whitespace. Error messages never contain the text."""
    try:
        found = path.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"setting `{name}`: cannot read `{path}`: {reason}") from None
    if not found:
        raise ConfigurationError(f"setting `{name}`: `{path}` is empty")
    return found
