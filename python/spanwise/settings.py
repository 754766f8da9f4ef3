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

from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MEBIBYTE = 1024 * 1024
ENVIRONMENT_PREFIX = "SPANWISE_"
CONFIG_VARIABLE = "SPANWISE_CONFIG"


def _two_per_core() -> int:
    return 2 * (os.cpu_count() or 1)


class Settings(Struct, frozen=True, kw_only=True):
    """How one service runs. Sizes are bytes, durations seconds."""

    data_dir: Annotated[
        str,
        Meta(min_length=1, description="The folder, or the address of the object store, that holds all data."),
    ] = "./spanwise-data"
    host: Annotated[str, Meta(min_length=1, description="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535, description="The port to listen on.")] = 7777
    authorization: Annotated[
        bool, Meta(description="Whether every caller needs a token, except for the public pages.")
    ] = False
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
    ] = field(default_factory=_two_per_core)
    search_waiting: Annotated[
        int, Meta(ge=0, description="Searches that may wait for a thread; beyond them the answer is 503.")
    ] = 64
    search_body_bytes: Annotated[int, Meta(ge=1, description="The largest body of a search.")] = MEBIBYTE
    search_waiting_bytes: Annotated[
        int, Meta(ge=1, description="Bodies of searches in memory, together; beyond them the answer is 503.")
    ] = 64 * MEBIBYTE
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
    ingest_waiting_bytes: Annotated[
        int, Meta(ge=1, description="Bodies of exports in memory, together; beyond them the answer is 503.")
    ] = 64 * MEBIBYTE
    form_body_bytes: Annotated[int, Meta(ge=1, description="The largest form that begins or continues a run.")] = (
        10 * MEBIBYTE
    )
    form_waiting_bytes: Annotated[
        int, Meta(ge=1, description="Forms in memory, together; beyond them the answer is 503.")
    ] = 64 * MEBIBYTE
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
    recover: Annotated[
        bool,
        Meta(description="Whether damaged segments are set aside when the store is opened, instead of refusing."),
    ] = False

    @property
    def trace_store(self) -> str:
        """Returns where the traces are: their own folder inside the data folder."""
        return f"{self.data_dir.rstrip('/')}/traces"

    @property
    def database(self) -> str:
        """Returns where sessions and runs are: a file inside the data folder."""
        return f"{self.data_dir.rstrip('/')}/runs.db"


class Setting(Struct, frozen=True):
    """One row of the table of settings."""

    name: str
    type: object
    default: str
    description: str

    @property
    def variable(self) -> str:
        """Returns the environment variable that sets it."""
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        """Returns the command line flag that sets it."""
        return "--" + self.name.replace("_", "-")

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
            return msgspec.convert(value, self.type, strict=not from_text)
        except msgspec.ValidationError as error:
            raise ConfigurationError(f"setting `{self.name}` from {source}: {error}") from error


def _table() -> Iterator[Setting]:
    hints = get_type_hints(Settings, include_extras=True)
    for described in msgspec.structs.fields(Settings):
        meta = next(meta for meta in get_args(hints[described.name]) if isinstance(meta, Meta))
        default = (meta.extra or {}).get("default", described.default)
        written = str(default).lower() if isinstance(default, bool) else str(default)
        yield Setting(described.name, hints[described.name], written, meta.description or "")


TABLE: dict[str, Setting] = {setting.name: setting for setting in _table()}
"""The settings by name, in the order of the documentation."""


def is_switch(setting: Setting) -> bool:
    """Returns whether a setting is only on or off."""
    return get_args(setting.type)[0] is bool


def choices(setting: Setting) -> tuple[str, ...]:
    """Returns the values a setting is limited to; none if it is not limited to some."""
    bare = get_args(setting.type)[0]
    return get_args(bare) if get_origin(bare) is Literal else ()


def load_settings(
    code: Mapping[str, object] | None = None,
    flags: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
) -> Settings:
    """Returns the settings that hold, the sources from strongest to weakest.

    Args:
        code: what the program says.
        flags: what the command line says, by setting name.
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


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"cannot read the settings file `{path}`: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"the settings file `{path}` is not TOML: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    by_variable = {setting.variable: name for name, setting in TABLE.items()}
    found: dict[str, str] = {}
    for variable, value in environ.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable == CONFIG_VARIABLE:
            continue
        if variable not in by_variable:
            raise ConfigurationError(f"unknown environment variable `{variable}`: it names no setting")
        found[by_variable[variable]] = value
    return found
