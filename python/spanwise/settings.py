"""Every setting of the service, in one typed place.

A value comes from the first of these that has it: code, flag, environment, TOML file, default.
A name that is no setting is an error wherever it stands: a misspelt setting never goes unnoticed.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, field

from spanwise.budgets import MEBIBYTE, Budgets
from spanwise.errors import ConfigurationError
from spanwise.token_settings import Text, TokenSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ENVIRONMENT_PREFIX = "SPANWISE_"
CONFIG_VARIABLE = "SPANWISE_CONFIG"
DEFAULT_FOLDER = "./spanwise-data"
DEFAULT_STORE = "default"
"""The name of a trace store that was given none."""


def is_bucket(url: str) -> bool:
    """Returns whether an address is none of a local folder."""
    scheme, separator, _ = url.partition("://")
    return bool(separator) and scheme.lower() != "file"


class Settings(Budgets, frozen=True, kw_only=True):
    """How one service runs. Sizes are bytes, durations seconds."""

    data_dir: Annotated[
        str,
        Meta(
            min_length=1,
            description="The folder that holds all data, or the address of a bucket for the traces: `s3://`, `gs://` "
            "or `az://`.",
        ),
    ] = DEFAULT_FOLDER
    host: Annotated[str, Meta(min_length=1, description="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535, description="The port to listen on.")] = 7777
    authorization: Annotated[
        bool, Meta(description="Whether every caller needs a token, except for the public pages.")
    ] = False
    stores: Annotated[
        dict[Text, Text],
        Meta(
            description="Trace stores by the name that `db_id` gives, the first one being meant without; a path or an "
            "address each, as `name=path`. The flag may be repeated; the environment separates by commas.",
            extra={"default": "`traces` in the data folder", "flag": "--store"},
        ),
    ] = field(default_factory=dict)
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The least severe event that is logged."),
    ] = "info"
    log_format: Annotated[
        Literal["auto", "text", "json"],
        Meta(description="How an event is written; `auto` is text on a terminal and JSON elsewhere."),
    ] = "auto"
    cors_origins: Annotated[
        str,
        Meta(
            description="Origins, separated by commas, whose pages may read answers; `*` is any.",
            extra={"default": "none"},
        ),
    ] = ""
    search_threads: Annotated[
        int,
        Meta(ge=1, le=1024, description="Searches that run at once.", extra={"default": "two per core"}),
    ] = field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    search_waiting: Annotated[
        int, Meta(ge=0, description="Searches that may wait for a thread; beyond them the answer is 503.")
    ] = 64
    search_body_bytes: Annotated[int, Meta(ge=1, description="The largest body of a search.")] = MEBIBYTE
    search_deadline_seconds: Annotated[
        float,
        Meta(gt=0, description="The longest a search may take, waiting included; then the answer is 503."),
    ] = 10.0
    ingest_threads: Annotated[int, Meta(ge=1, le=1024, description="Exports that are stored at once.")] = 32
    ingest_waiting: Annotated[
        int, Meta(ge=0, description="Exports that may wait for a thread; beyond them the answer is 503.")
    ] = 256
    ingest_body_bytes: Annotated[
        int,
        Meta(ge=1, description="The largest body of an export, as sent; the engine limits what it unpacks to."),
    ] = 20 * MEBIBYTE
    form_body_bytes: Annotated[int, Meta(ge=1, description="The largest form that is sent to a run.")] = 10 * MEBIBYTE
    runs_at_once: Annotated[
        int, Meta(ge=1, description="Runs that are under way at once; beyond them the answer is 503.")
    ] = 2048
    streams_at_once: Annotated[
        int, Meta(ge=1, description="Streams of events that are open at once; beyond them the answer is 503.")
    ] = 512
    sockets_at_once: Annotated[
        int, Meta(ge=1, description="WebSockets that are open at once; beyond them the answer is 503.")
    ] = 256
    sockets_of_a_user: Annotated[
        int, Meta(ge=1, description="WebSockets of one verified user at once; beyond them the answer is 503.")
    ] = 16
    refusals_per_second: Annotated[
        int,
        Meta(ge=1, description="Answers a second to callers that nobody knows (401); beyond them they wait in turn."),
    ] = 1000
    join_callers_trace: Annotated[
        bool,
        Meta(
            description="Whether a run goes on in the trace that its caller names; if not, its own trace links to it."
        ),
    ] = False
    factory_deadline_seconds: Annotated[
        float, Meta(gt=0, description="The longest a factory may take to build a component; then the answer is 500.")
    ] = 30.0
    body_deadline_seconds: Annotated[
        float,
        Meta(gt=0, description="The longest a request's body may take to arrive; then the answer is 408."),
    ] = 30.0
    connections: Annotated[
        int, Meta(ge=1, le=65535, description="Connections at once; beyond them a caller waits to be let in.")
    ] = 4096
    header_deadline_seconds: Annotated[
        float,
        Meta(
            gt=0,
            le=3600,
            description="The longest the head of a request may take, and a connection be idle before it; then the "
            "connection is closed.",
        ),
    ] = 10.0
    write_deadline_seconds: Annotated[
        float,
        Meta(gt=0, le=3600, description="The longest a reader may take nothing; then the connection is closed."),
    ] = 60.0
    drain_seconds: Annotated[
        float,
        Meta(gt=0, le=3600, description="The longest what is under way may take after the signal to end."),
    ] = 8.0
    min_free_bytes: Annotated[
        int,
        Meta(ge=0, description="Exports are answered 503 while the disk has less than this free; 0 never refuses."),
    ] = 1024 * MEBIBYTE
    retain_seconds: Annotated[
        int, Meta(ge=0, description="Traces that started longer ago are deleted by themselves; 0 keeps them.")
    ] = 0
    retain_bytes: Annotated[
        int,
        Meta(
            ge=0, description="The oldest traces are deleted while documents have more compressed bytes; 0 keeps them."
        ),
    ] = 0
    cache_dir: Annotated[
        str,
        Meta(
            description="The folder that keeps copies of what lies in buckets; it may be removed at any time.",
            extra={"default": "`spanwise` in the user's cache folder"},
        ),
    ] = ""
    cache_bytes: Annotated[
        int, Meta(ge=0, description="Documents of one bucket that are kept there, those read lately; 0 keeps none.")
    ] = 4096 * MEBIBYTE
    recover: Annotated[
        bool,
        Meta(description="Whether damaged segments are set aside when the store is opened, instead of refusing."),
    ] = False
    database_url: Annotated[
        str,
        Meta(
            description="The PostgreSQL database of sessions and runs, `postgresql://user:password@host/name`.",
            extra={"default": "the file `runs.db` of the data folder, or of `./spanwise-data` if that is a bucket"},
        ),
    ] = ""
    database_url_file: Annotated[
        str, Meta(description="A file that holds `database_url`, which is a secret.", extra={"default": "none"})
    ] = ""

    @property
    def trace_stores(self) -> dict[str, str]:
        """Returns where the traces are, by the name of the store: without `stores`, a folder in the data folder."""
        return self.stores or {DEFAULT_STORE: f"{self.data_dir.rstrip('/')}/traces"}

    @property
    def trace_store(self) -> str:
        """Returns where the traces of the first store are, the one that is meant without a name."""
        return next(iter(self.trace_stores.values()))

    def __repr__(self) -> str:
        """Returns no values: one of them may be a secret."""
        return "Settings(...)"

    @property
    def database(self) -> str:
        """Returns where sessions and runs are: the address of a server, or a file inside the data folder.

        A bucket holds no database, so beside one the file is in the folder that would be the default.

        Raises:
            ConfigurationError: the address is given twice, or its file cannot be read.
        """
        if self.database_url and self.database_url_file:
            raise ConfigurationError("settings `database_url` and `database_url_file` are both given")
        if self.database_url_file:
            return _secret(Path(self.database_url_file), "database_url_file")
        folder = DEFAULT_FOLDER if is_bucket(self.data_dir) else self.data_dir
        return self.database_url or f"{folder.rstrip('/')}/runs.db"


class Setting(Struct, frozen=True):
    """One row of the table of settings.

    Attributes:
        name: its name in code and in a TOML file.
        type: what a value must be.
        default: what holds without a value, for people.
        description: what it means.
        flag: the command line flag that sets it; None if everyone on the machine would read the value there.
        alias: a second environment variable that sets it, known from other programs.
    """

    name: str
    type: object
    default: str
    description: str
    flag: str | None
    alias: str | None

    @property
    def variable(self) -> str:
        """Returns the environment variable that sets it."""
        return ENVIRONMENT_PREFIX + self.name.upper()

    def convert(self, value: object, source: str, *, from_text: bool) -> object:
        """Returns `value` as this setting's type.

        Args:
            value: what was given.
            source: where it was given, for the message.
            from_text: whether `value` comes from a place that knows only text.

        Raises:
            ConfigurationError: it is not of that type, or outside its bounds.
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
    tokens, inherited = len(msgspec.structs.fields(TokenSettings)), len(msgspec.structs.fields(Budgets))
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
    """Returns the type of a value: no text means None."""
    given = get_args(get_args(hint)[0])
    return given[0] if type(None) in given else hint


TABLE: dict[str, Setting] = {setting.name: setting for setting in _table()}
"""The settings by name, in the order of the documentation."""


def is_switch(setting: Setting) -> bool:
    """Returns whether a setting is only on or off."""
    return get_args(setting.type)[0] is bool


def is_table(setting: Setting) -> bool:
    """Returns whether a setting is a table of names and values."""
    return get_origin(get_args(setting.type)[0]) is dict


def choices(setting: Setting) -> tuple[str, ...]:
    """Returns the values a setting is limited to; none if it is not limited to some."""
    bare = get_args(setting.type)[0]
    return get_args(bare) if get_origin(bare) is Literal else ()


def load_settings(
    code: Mapping[str, object] | None = None,
    flags: Mapping[str, str | tuple[str, ...]] | None = None,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
) -> Settings:
    """Returns the settings that hold, the sources from strongest to weakest.

    Args:
        code: what the program says.
        flags: what the command line says, by setting name; a table's entries as they came.
        environ: the environment; that of the process if not given.
        config: a TOML file; if not given, the one that `SPANWISE_CONFIG` names, if any.

    Raises:
        ConfigurationError: a name is no setting, or a value does not fit its setting.
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
    """Returns what a file holds, without the spaces around it. No message repeats it."""
    try:
        found = path.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"setting `{name}`: cannot read `{path}`: {words}") from None
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
            raise ConfigurationError(f"unknown environment variable `{variable}`: it names no setting")
        if name in found:
            raise ConfigurationError(f"both `{TABLE[name].variable}` and `{TABLE[name].alias}` are set; expected one")
        found[name] = value
    return found
