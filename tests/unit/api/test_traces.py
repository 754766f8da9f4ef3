from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw
from msgspec.json import decode, encode

from spanwise.api.shared import Paginated, PaginationInfo
from spanwise.api.traces import GroupBy, SearchRequest


def test_an_empty_request_asks_for_the_first_twenty_runs() -> None:
    request = decode(b"{}", type=SearchRequest)
    assert (bytes(request.filter), request.group_by, request.page, request.limit) == (b"null", GroupBy.RUN, 1, 20)


def test_the_filter_stays_raw_bytes() -> None:
    request = decode(b'{"filter": {"op" : "EQ"} , "unknown": [1]}', type=SearchRequest)
    assert bytes(request.filter) == b'{"op" : "EQ"}'


@pytest.mark.parametrize("group_by", ["run", "session"])
@pytest.mark.parametrize("limit", [1, 100])
def test_the_bounds_belong_to_the_request(group_by: str, limit: int) -> None:
    request = decode(encode({"group_by": group_by, "limit": limit}), type=SearchRequest)
    assert (request.group_by, request.limit) == (group_by, limit)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"page": 0}, "$.page"),
        ({"page": -1}, "$.page"),
        ({"page": 1.5}, "$.page"),
        ({"page": "1"}, "$.page"),
        ({"page": True}, "$.page"),
        ({"page": None}, "$.page"),
        ({"limit": 0}, "$.limit"),
        ({"limit": 101}, "$.limit"),
        ({"limit": None}, "$.limit"),
        ({"limit": "20"}, "$.limit"),
        ({"group_by": "RUN"}, "$.group_by"),
        ({"group_by": 1}, "$.group_by"),
        ({"group_by": None}, "$.group_by"),
    ],
)
def test_an_invalid_value_is_rejected_with_its_path(body: dict[str, object], path: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"at `") as rejected:
        decode(encode(body), type=SearchRequest)
    assert str(rejected.value).endswith(f"at `{path}`")


def test_the_items_of_a_page_pass_through_as_they_are() -> None:
    meta = PaginationInfo(page=2, limit=1, total_pages=3, total_count=3, search_time_ms=0.5)
    page = Paginated(data=Raw(b'[{"a" : 1}]'), meta=meta)
    assert encode(page) == (
        b'{"data":[{"a" : 1}],"meta":{"page":2,"limit":1,"total_pages":3,"total_count":3,"search_time_ms":0.5}}'
    )
