"""All settings of the service: their types, defaults and descriptions, and where their values come from.

A value comes from the first of these that has it: code, flag, environment, TOML file, default. An unknown name is an
error in each of them, so a misspelt setting never goes unnoticed.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, field

from spanwise.budgets import MEBIBYTE
from spanwise.errors import ConfigurationError
from spanwise.store_settings import StoreSettings
from spanwise.token_settings import Text, TokenSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ENVIRONMENT_PREFIX = "SPANWISE_"
CONFIG_VARIABLE = "SPANWISE_CONFIG"
DEFAULT_FOLDER = "./spanwise-data"
DEFAULT_STORE = "default"
"""The name of the trace store when `stores` is not set."""


def is_bucket(url: str) -> bool:
    """Returns whether `url` addresses a bucket, not a local folder."""
    scheme, separator, _ = url.partition("://")
    return bool(separator) and scheme.lower() != "file"


class Settings(StoreSettings, frozen=True, kw_only=True):
    """How one service runs. Sizes are in bytes, durations in seconds."""

    data_dir: Annotated[
        str,
        Meta(
            min_length=1,
            description="The folder for all data, or a bucket for the traces: `s3://`, `gs://` or `az://`.",
        ),
    ] = DEFAULT_FOLDER
    host: Annotated[str, Meta(min_length=1, description="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535, description="The port to listen on.")] = 7777
    authorization: Annotated[bool, Meta(description="Whether every route that is not public requires a token.")] = False
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
            description="Hosts that requests may name where authorization is off, separated by commas, beside those of "
            "this machine; `*` allows any.",
            extra={"default": "none"},
        ),
    ] = ""
    search_threads: Annotated[
        int,
        Meta(ge=1, le=1024, description="Threads that run searches.", extra={"default": "two per core"}),
    ] = field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    search_queue_size: Annotated[
        int, Meta(ge=0, description="Searches that may wait for a thread; above this, searches get a 503.")
    ] = 64
    max_search_body_bytes: Annotated[int, Meta(ge=1, description="The largest search request body.")] = MEBIBYTE
    search_deadline_seconds: Annotated[
        float,
        Meta(gt=0, description="The longest a search may take, including the wait for a thread; then it gets a 503."),
    ] = 10.0
    ingest_threads: Annotated[int, Meta(ge=1, le=1024, description="Threads that ingest spans.")] = 32
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
            description="The part of one processor core for requests whose caller has no verified token; above this, "
            "they get a 503.",
        ),
    ] = 0.1
    join_callers_trace: Annotated[
        bool,
        Meta(
            description="Whether a run is recorded in the trace of the caller's `traceparent`; otherwise it has its "
            "own trace, linked to the caller's."
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
            description="The longest a client may read nothing of its response; then the connection is closed.",
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
            extra={"default": "the file `runs.db` in the data folder, or in `./spanwise-data` if that is a bucket"},
        ),
    ] = ""
    database_url_file: Annotated[
        str,
        Meta(description="A file that contains `database_url`, to keep it secret.", extra={"default": "none"}),
    ] = ""

    @property
    def trace_stores(self) -> dict[str, str]:
        """Returns the paths or addresses of the trace stores by name; without `stores`, one in the data folder."""
        return self.stores or {DEFAULT_STORE: f"{self.data_dir.rstrip('/')}/traces"}

    @property
    def trace_store(self) -> str:
        """Returns the path or address of the first trace store, which is the default."""
        return next(iter(self.trace_stores.values()))

    def __repr__(self) -> str:
        """Returns no values, because one of them may be a secret."""
        return "Settings(...)"

    @property
    def database(self) -> str:
        """Returns the database of sessions and runs: the URL of a server, or the path of a file in the data folder.

        If the data folder is a bucket, the file is in the default data folder.

        Raises:
            ConfigurationError: both settings are set, or the file of the URL cannot be read.
        """
        if self.database_url and self.database_url_file:
            raise ConfigurationError("`database_url` and `database_url_file` are both set; expected one")
        if self.database_url_file:
            return _secret(Path(self.database_url_file), "database_url_file")
        folder = DEFAULT_FOLDER if is_bucket(self.data_dir) else self.data_dir
        return self.database_url or f"{folder.rstrip('/')}/runs.db"


class Setting(Struct, frozen=True):
    """One setting.

    Attributes:
        name: its name in code and in a TOML file.
        type: the type of its value, with bounds.
        default: its default value, as text for the documentation.
        description: its description for `--help` and the documentation.
        flag: its command line flag; None for secrets, because other users of the machine can read command lines.
        alias: a second environment variable for it, which other programs use too.
    """

    name: str
    type: object
    default: str
    description: str
    flag: str | None
    alias: str | None

    @property
    def variable(self) -> str:
        """Returns the name of its environment variable."""
        return ENVIRONMENT_PREFIX + self.name.upper()

    def convert(self, value: object, source: str, *, from_text: bool) -> object:
        """Returns `value` as this setting's type.

        Args:
            value: the value to convert.
            source: where the value comes from, for the error message.
            from_text: whether the source has only text, as flags and the environment do.

        Raises:
            ConfigurationError: it is not of that type, or out of bounds.
        """
        try:
            if from_text and is_table(self):
                value = _entries(value.split(",") if isinstance(value, str) else value)
            return msgspec.convert(value, self.type, strict=not from_text)
        except (msgspec.ValidationError, ValueError) as error:
            raise ConfigurationError(f"setting `{self.name}` from {source}: {error}") from error


def _entries(texts: object) -> dict[str, str]:
    entries: dict[str, str] = {}
    for text in msgspec.convert(texts, tuple[str, ...]):
        name, is_entry, value = text.partition("=")
        if not is_entry or name.strip() in entries:
            raise ValueError(f"Expected `name=value`, each name once, got `{text}`")
        entries[name.strip()] = value.strip()
    return entries


def _table() -> Iterator[Setting]:
    hints = get_type_hints(Settings, include_extras=True)
    tokens, inherited = len(msgspec.structs.fields(TokenSettings)), len(msgspec.structs.fields(StoreSettings))
    described_here = msgspec.structs.fields(Settings)
    for described in (*described_here[inherited:], *described_here[tokens:inherited], *described_here[:tokens]):
        hint = hints[described.name]
        meta = next(meta for meta in get_args(hint) if isinstance(meta, Meta))
        extra = meta.extra or {}
        default = extra.get("default", described.default)
        yield Setting(
            name=described.name,
            type=_without_none(hint),
            default=str(default).lower() if isinstance(default, bool) else str(default),
            description=meta.description or "",
            flag=extra.get("flag", ("--no-" if default is True else "--") + described.name.replace("_", "-")),
            alias=extra.get("alias"),
        )


def _without_none(hint: object) -> object:
    """Returns `hint` without `| None`: every source leaves a setting out instead of setting it to None."""
    given = get_args(get_args(hint)[0])
    return given[0] if type(None) in given else hint


TABLE: dict[str, Setting] = {setting.name: setting for setting in _table()}
"""All settings by name, in the order of the documentation."""


def is_switch(setting: Setting) -> bool:
    """Returns whether a setting is a boolean."""
    return get_args(setting.type)[0] is bool


def is_table(setting: Setting) -> bool:
    """Returns whether a setting maps names to values."""
    return get_origin(get_args(setting.type)[0]) is dict


def choices(setting: Setting) -> tuple[str, ...]:
    """Returns the values that a setting allows; empty if it is no enumeration."""
    bare = get_args(setting.type)[0]
    return get_args(bare) if get_origin(bare) is Literal else ()


def load_settings(
    code: Mapping[str, object] | None = None,
    flags: Mapping[str, str | tuple[str, ...]] | None = None,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
) -> Settings:
    """Returns the settings merged from all sources. The parameters are in order of precedence.

    Args:
        code: values set in code, by setting name.
        flags: values of command line flags, by setting name; for a repeatable flag, the list of its values.
        environ: the environment variables; by default those of the process.
        config: the path of a TOML file; by default the value of `SPANWISE_CONFIG`, if set.

    Raises:
        ConfigurationError: a name is unknown, or a value does not fit its setting.
    """
    environ = os.environ if environ is None else environ
    if config is None and CONFIG_VARIABLE in environ:
        config = Path(environ[CONFIG_VARIABLE])
    merged: dict[str, object] = {}
    for source, values, from_text in (
        (f"`{config}`", _from_file(config) if config else {}, False),
        ("the environment", _from_environment(environ), True),
        ("the command line", flags or {}, True),
        ("code", code or {}, False),
    ):
        for name, value in values.items():
            if name not in TABLE:
                raise ConfigurationError(f"unknown setting `{name}` in {source}")
            merged[name] = TABLE[name].convert(value, source, from_text=from_text)
    return Settings(**merged)  # type: ignore[arg-type]  # each value was converted to its setting's type


def _secret(path: Path, name: str) -> str:
    """Returns the text of a file without surrounding whitespace. Error messages never contain it."""
    try:
        found = path.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"setting `{name}`: cannot read `{path}`: {reason}") from None
    if not found:
        raise ConfigurationError(f"setting `{name}`: `{path}` is empty")
    return found


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"cannot read the settings file `{path}`: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"the settings file `{path}` is not TOML: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    by_variable = {setting.variable: name for name, setting in TABLE.items()}
    by_variable |= {setting.alias: name for name, setting in TABLE.items() if setting.alias}
    found: dict[str, str] = {}
    for variable, value in environ.items():
        if variable == CONFIG_VARIABLE or not (variable in by_variable or variable.startswith(ENVIRONMENT_PREFIX)):
            continue
        name = by_variable.get(variable)
        if name is None:
            raise ConfigurationError(f"unknown environment variable `{variable}`: there is no such setting")
        if name in found:
            raise ConfigurationError(f"both `{TABLE[name].variable}` and `{TABLE[name].alias}` are set; expected one")
        found[name] = value
    return found
