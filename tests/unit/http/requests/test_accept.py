"""The weights in `Accept` headers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.http.requests.accept import MAX_CHARACTERS, accepted_weights, weight_of_media_type


@pytest.mark.parametrize(
    ("accepted", "weight"),
    [
        ("", 0.0),
        ("text/html", 1.0),
        ("text/html;q=0.25", 0.25),
        ("text/html; level=1 ; q = 0.25", 0.25),
        ("text/html;q=0.25;level=1", 0.25),
        ("text/html;q=x", 0.0),
        ("text/*;q=0.5, */*;q=0.75", 0.5),
        ("*/*;q=0.75, application/json", 0.75),
        ("text/html;q=0.1, text/*;q=0.5, */*", 0.1),
        ("Text/HTML", 1.0),
        ("text/htmlx, xtext/html, text", 0.0),
    ],
)
def test_the_most_exact_range_gives_the_weight(accepted: str, weight: float) -> None:
    assert weight_of_media_type(accepted, "text/html") == weight


@given(st.text())
def test_any_header_is_read(accepted: str) -> None:
    weights = accepted_weights(accepted)
    assert weights
    assert all(isinstance(weight, float) for weight in weights.values())


@given(st.dictionaries(st.sampled_from(["a/b", "text/*", "*/*", "x/y"]), st.integers(0, 1000), min_size=1))
def test_written_weights_are_read_back(weights: dict[str, int]) -> None:
    written = ", ".join(f"{value};q={weight / 1000:.3f}" for value, weight in weights.items())
    read = accepted_weights(written)
    assert set(read) == set(weights)
    assert all(math.isclose(read[value], weight / 1000) for value, weight in weights.items())


@pytest.mark.parametrize("piece", [",", ";", "a;q=1,", "a;b=c;", "*/*,"])
def test_a_header_over_the_limit_has_no_values(piece: str) -> None:
    at_the_limit = "gzip".ljust(MAX_CHARACTERS, ",")
    assert accepted_weights(at_the_limit)["gzip"] == 1.0
    assert accepted_weights(at_the_limit + ",") == {}
    assert accepted_weights(piece * 60_000) == {}
