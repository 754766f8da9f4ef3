from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.cli.shared.words import counted, seconds, size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (999.6, "1.0 KB"),
        (1000, "1.0 KB"),
        (12_345, "12.3 KB"),
        (123_456, "123 KB"),
        (999_999, "1.0 MB"),
        (45_678_901, "45.7 MB"),
        (3_200_000_000, "3.2 GB"),
        (7.5e15, "7500 TB"),
    ],
)
def test_sizes_have_three_digits(count: float, text: str) -> None:
    assert size(count) == text


@given(st.floats(min_value=0, max_value=1e15))
def test_a_larger_number_is_never_a_smaller_size(count: float) -> None:
    units = {"bytes": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
    number, unit = size(count).split()
    assert float(number) * units[unit] == pytest.approx(count, rel=0.06, abs=0.5)


@pytest.mark.parametrize(
    ("duration", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7_500, "2 h 5 min")],
)
def test_durations_have_two_units_at_most(duration: float, text: str) -> None:
    assert seconds(duration) == text


def test_one_thing_is_singular() -> None:
    assert [counted(count, "trace") for count in (0, 1, 20_000)] == ["0 traces", "1 trace", "20,000 traces"]
