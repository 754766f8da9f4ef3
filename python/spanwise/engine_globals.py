"""The process-wide tables of the engine: attribute conventions and model prices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from spanwise._engine import set_conventions, set_prices
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from spanwise.settings import Settings


class EngineGlobals(Struct, frozen=True):
    """The tables of a process.

    Attributes:
        conventions: attribute names with their meanings.
        prices: the prices of models as JSON; None to use only the built-in prices.
    """

    conventions: tuple[tuple[str, str], ...]
    prices: bytes | None

    @classmethod
    def of(cls, settings: Settings) -> EngineGlobals:
        """Returns the tables that the settings name.

        Raises:
            ConfigurationError: a file cannot be read.
        """
        return cls(tuple(settings.conventions.items()), _prices(settings.prices_file))

    def apply(self) -> None:
        """Sets the tables in the engine of this process.

        Raises:
            ConfigurationError: a table is invalid, or this process already uses different ones.
        """
        set_conventions(list(self.conventions))
        set_prices(self.prices)


def set_engine_globals(settings: Settings) -> None:
    """Sets the conventions and prices of the settings in the engine.

    Raises:
        ConfigurationError: a table is invalid, its file cannot be read, or this process already uses different ones.
    """
    EngineGlobals.of(settings).apply()


def _prices(name: str) -> bytes | None:
    if not name:
        return None
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"setting `prices_file`: cannot read `{name}`: {error.strerror}") from error
