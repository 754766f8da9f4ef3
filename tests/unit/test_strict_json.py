"""The laws of the strict JSON parser: excessive nesting is detected before parsing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.strict_json import (
    MAX_DEPTH,
    DuplicateMemberError,
    frozen,
    is_nested_deeper,
    quote_hint,
    read_object,
    reject_duplicates,
    unique_members,
)
from support.clients.forged_tokens import CLAIMS, forge, rejection, segment, verifier

TEXTS = st.text(st.sampled_from('[]{}"\\\n a')) | st.text()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=60,
)


def depth_of(value: Any) -> int:  # any JSON value
    """Returns the nesting depth of objects and arrays."""
    match value:
        case dict():
            return 1 + max(map(depth_of, value.values()), default=0)
        case list():
            return 1 + max(map(depth_of, value), default=0)
        case _:
            return 0


def nested(depth: int, innermost: str = "[]") -> str:
    """Returns the JSON of an object that contains arrays, with a total nesting of `depth`."""
    return '{"a":' + "[" * (depth - 2) + innermost + "]" * (depth - 2) + "}"


@given(VALUES, st.integers(0, 6), st.sampled_from([{}, {"ensure_ascii": False}, {"indent": 2}]))
def test_nesting_is_what_a_parser_would_find(value: Any, depth: int, style: dict[str, Any]) -> None:
    source = json.dumps(value, **style).encode("utf-8", "surrogatepass")
    assert is_nested_deeper(source, depth) == (depth_of(value) > depth)


@given(st.binary(max_size=200) | st.text(st.sampled_from('[]{}"\\:,1')).map(str.encode))
def test_any_bytes_are_read_or_rejected(source: bytes) -> None:
    try:
        found = read_object(source)
    except ValueError:
        return
    assert depth_of(found) <= MAX_DEPTH
    frozen(found)


@pytest.mark.parametrize("innermost", ["[]", "[1]", "{}", '["]]"]', '{"\\"[": 1}'])
def test_32_levels_are_read_and_33_are_not(innermost: str) -> None:
    assert depth_of(read_object(nested(MAX_DEPTH, innermost).encode())) == MAX_DEPTH
    with pytest.raises(ValueError, match="nested deeper than 32 levels"):
        read_object(nested(MAX_DEPTH + 1, innermost).encode())


@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}"), ("[", ""), ("[{", "")])
def test_deep_nesting_never_reaches_the_parser(brackets: tuple[str, str]) -> None:
    """The parser is recursive, so it would report invalid JSON."""
    begin, end = brackets
    with pytest.raises(ValueError, match="nested deeper than 32 levels"):
        read_object((begin * 100_000 + "1" + end * 100_000).encode())


def test_the_header_and_the_claims_of_a_token_are_nested_at_most_32_deep() -> None:
    for depth, is_read in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False)):
        inner = json.loads(nested(depth))["a"]
        header, claims = {"alg": "RS256", "x": inner}, {**CLAIMS, "x": inner}
        if is_read:
            assert verifier().verify(forge(header, claims)).user_id == "alice"
            continue
        assert rejection(forge(header)) == "Invalid token: Invalid header string"
        assert rejection(forge(claims=claims)) == "Invalid token: Invalid payload string"


def test_a_token_full_of_brackets_is_no_token() -> None:
    _, claims, signature = forge().split(".")
    for piece in (b"[", b"{", b"[]", b'[{"', b']"'):
        header = segment(piece * (5000 // len(piece)))
        assert rejection(f"{header}.{claims}.{signature}") == "Invalid token: Invalid header string"


class CountedName(str):
    """A name that counts its comparisons and hashes."""

    __slots__ = ()
    looks = 0

    def __eq__(self, other: object) -> bool:
        CountedName.looks += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        CountedName.looks += 1
        return str.__hash__(self)


@pytest.mark.parametrize("duplicate", [0, 5_000, 9_999])
def test_the_work_to_find_a_duplicate_grows_with_the_number_of_members(duplicate: int) -> None:
    names = [CountedName(f"member {number}") for number in range(10_000)]
    CountedName.looks = 0
    with pytest.raises(DuplicateMemberError, match=f"^member {duplicate}$"):
        unique_members([(name, 1) for name in [*names, CountedName(f"member {duplicate}")]])
    assert CountedName.looks < 10 * len(names)


@given(st.lists(st.sampled_from("abcdef")))
def test_the_first_member_that_is_given_again_is_named(names: list[str]) -> None:
    source = "{" + ",".join(f'"{name}": {"1" * 5000}' for name in names) + "}"
    again = [name for number, name in enumerate(names) if name in names[:number]]
    if again:
        with pytest.raises(ValueError, match=f"^the member `{again[0]}` is given twice$"):
            reject_duplicates(source)
    else:
        reject_duplicates(source)


@pytest.mark.parametrize("number", ["1" * 5000, "-" + "1" * 5000, "1" * 5000 + ".5", "1e400", "NaN"])
def test_a_number_that_python_cannot_read_is_no_matter_for_a_hint(number: str) -> None:
    assert quote_hint(f"[{number}]") == ""
    assert quote_hint(f"[{number}, 'x']").startswith("JSON has double quotes, found a single one at character")
