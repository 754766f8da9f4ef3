"""The table of settings, used by all sources of values and by the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from spanwise.errors import ConfigurationError
from spanwise.settings.budgets import Budgets
from spanwise.settings.otlp import OtlpSettings, Port
from spanwise.settings.service import Settings
from spanwise.settings.stores import StoreSettings
from spanwise.settings.tokens import TokenSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

ENVIRONMENT_PREFIX = "SPANWISE_"
_GROUPS = {TokenSettings: "Tokens", Budgets: "Memory", OtlpSettings: "OTLP", StoreSettings: "Storage"}
"""The group for the settings of a class. Numbers of `Settings` itself are in the group of limits."""


class Setting(Struct, frozen=True):
    """One setting.

    Attributes:
        name: its name in code and in a TOML file.
        type: the type of its value, with bounds.
        default: its default value, as text for the documentation.
        description: its description for `--help` and the documentation.
        flag: its command line flag; None for secrets, because other users of the machine can read command lines.
        alias: a second environment variable, which other programs also use.
        is_secret: whether its value is never shown.
        group: its group, for people.
    """

    name: str
    type: object
    default: str
    description: str
    flag: str | None
    alias: str | None
    is_secret: bool
    group: str

    @property
    def variable(self) -> str:
        """Returns the name of its environment variable."""
        return ENVIRONMENT_PREFIX + self.name.upper()

    def convert(self, value: object, source: str, *, from_text: bool) -> object:
        """Returns `value` as this setting's type.

        Args:
            value: the value to convert.
            source: the source of the value, named in the error message.
            from_text: whether the source has only text, such as flags and the environment.

        Raises:
            ConfigurationError: it has the wrong type, or is out of bounds.
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
            is_secret=extra.get("is_secret", False),
            group=_group(described.name, hint),
        )


def _group(name: str, hint: object) -> str:
    for owner, group in _GROUPS.items():
        if name in owner.__annotations__:
            return group
    return "Limits" if get_args(_without_none(hint))[0] in {int, float} else "Service"


def _without_none(hint: object) -> object:
    """Returns `hint` without `| None`. Sources omit a setting instead of setting it to None."""
    given = get_args(get_args(hint)[0])
    return given[0] if type(None) in given else hint


TABLE: dict[str, Setting] = {setting.name: setting for setting in _table()}
"""All settings by name, in the order of the documentation."""


def shown_values(settings: Settings) -> dict[str, object]:
    """Returns the values of all settings by name, in the order of the documentation, without secrets."""
    return {name: getattr(settings, name) for name, setting in TABLE.items() if not setting.is_secret}


def is_switch(setting: Setting) -> bool:
    """Returns whether a setting is a boolean."""
    return get_args(setting.type)[0] is bool


def is_number(setting: Setting) -> bool:
    """Returns whether a setting is a number."""
    return get_args(setting.type)[0] in {int, float, Port}


def is_table(setting: Setting) -> bool:
    """Returns whether a setting maps names to values."""
    return get_origin(get_args(setting.type)[0]) is dict


def choices(setting: Setting) -> tuple[str, ...]:
    """Returns the allowed values of an enumeration; empty for other settings."""
    bare = get_args(setting.type)[0]
    return get_args(bare) if get_origin(bare) is Literal else ()
