"""The tables of the engine that a process has once: what names of attributes stand for, and what models cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spanwise._engine import set_conventions, set_prices
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from spanwise.settings import Settings


def set_process_tables(settings: Settings) -> None:
    """Gives the engine the conventions and prices that the settings name.

    Raises:
        ConfigurationError: one of them is invalid, its file cannot be read, or others are in force in this process.
    """
    set_conventions(list(settings.conventions.items()))
    set_prices(_prices(settings.prices_file))


def _prices(name: str) -> bytes | None:
    if not name:
        return None
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"setting `prices_file`: cannot read `{name}`: {error.strerror}") from error
