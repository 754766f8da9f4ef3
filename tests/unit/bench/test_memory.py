"""The measured memory speed is plausible for a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench import memory

if TYPE_CHECKING:
    import pytest


def test_the_speed_of_reading_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_BLOCK_BYTES", 8 << 20)
    monkeypatch.setattr(memory, "_ATTEMPTS", 2)
    assert 1e8 < memory.bytes_a_second() < 1e13


def test_the_time_of_a_read_at_a_random_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_RANDOM_BYTES", 8 << 20)
    reads = memory.RandomReads(7)
    assert all(0.1 < reads.nanoseconds() < 1e5 for _ in range(3))
