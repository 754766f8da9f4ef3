"""The tables of the engine that a process has once: what names of attributes stand for, and what models cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from spanwise._engine import set_conventions, set_prices
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from spanwise.settings import Settings


class ProcessTables(Struct, frozen=True):
    """The tables of a process.

    Attributes:
        conventions: names of attributes with what they stand for.
        prices: the prices of models as JSON; None for the built-in ones alone.
    """

    conventions: tuple[tuple[str, str], ...]
    prices: bytes | None

    @classmethod
    def of(cls, settings: Settings) -> ProcessTables:
        """Returns the tables that the settings name.

        Raises:
            ConfigurationError: a file cannot be read.
        """
        return cls(tuple(settings.conventions.items()), _prices(settings.prices_file))

    def apply(self) -> None:
        """Gives them to the engine of this process.

        Raises:
            ConfigurationError: one of them is invalid, or others are in force in this process.
        """
        set_conventions(list(self.conventions))
        set_prices(self.prices)


def set_process_tables(settings: Settings) -> None:
    """Gives the engine the conventions and prices that the settings name.

    Raises:
        ConfigurationError: one of them is invalid, its file cannot be read, or others are in force in this process.
    """
    ProcessTables.of(settings).apply()


def _prices(name: str) -> bytes | None:
    if not name:
        return None
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"setting `prices_file`: cannot read `{name}`: {error.strerror}") from error
