"""Progress on standard error: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from spanwise.cli.shared.words import seconds, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BYTES = "bytes"
QUIET_SECONDS = 0.5
"""Work that takes less than this shows no progress."""
BAR_SECONDS = 0.2
LINE_SECONDS = 5.0
"""The interval between lines without a terminal."""


@dataclass
class Meter:
    """The progress of some work.

    Attributes:
        label: the name of the work, for people.
        unit: the unit of the counts: `BYTES`, or a plural noun.
        total: the amount of work; 0 while unknown.
        done: the completed amount.
        started: the start time of the monotonic clock.
    """

    label: str
    unit: str
    total: int = 0
    done: int = 0
    started: float = field(default_factory=time.monotonic)

    def advance(self, more: int) -> None:
        """Adds completed work."""
        self.done += more

    def numbers(self) -> str:
        """Returns the completed amount, the rate and the remaining time as text. Unknown numbers are omitted."""
        elapsed = time.monotonic() - self.started
        rate = self.done / elapsed if elapsed else 0.0
        parts = [self._amount(self.done), f"{self._amount(rate)}/s"] if self.done else [seconds(elapsed)]
        if self.total and self.done:
            share = min(1.0, self.done / self.total)
            parts = [f"{share:.0%}", parts[1], f"{seconds((1 - share) * self.total / rate)} left"]
        return ", ".join(parts)

    def _amount(self, count: float) -> str:
        return size(count) if self.unit == BYTES else f"{count:,.0f} {self.unit}"


@contextmanager
def progress(
    label: str, total: int = 0, unit: str = BYTES, poll: Callable[[], tuple[int, int]] | None = None
) -> Iterator[Meter]:
    """Shows the progress of the block.

    Args:
        label: the name of the work, for people.
        total: the amount of work; 0 if unknown.
        unit: the unit of the counts: `BYTES`, or a plural noun.
        poll: returns the completed amount and the total; by default, the block calls `Meter.advance`.
    """
    meter = Meter(label, unit, total)
    ended = threading.Event()
    watching = threading.Thread(target=_watch, args=(meter, ended, poll), daemon=True)
    watching.start()
    try:
        yield meter
    finally:
        ended.set()
        watching.join()


def _watch(meter: Meter, ended: threading.Event, poll: Callable[[], tuple[int, int]] | None) -> None:
    def update() -> None:
        if poll is not None:
            meter.done, meter.total = poll()

    console = Console(stderr=True)
    if not console.is_terminal:
        while not ended.wait(LINE_SECONDS):
            update()
            click.echo(f"{meter.label}: {meter.numbers()}", err=True)
        return
    if ended.wait(QUIET_SECONDS):
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[numbers]}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(meter.label, total=None, numbers="")
        while not ended.wait(BAR_SECONDS):
            update()
            bar.update(task, completed=meter.done, total=meter.total or None, numbers=meter.numbers())
