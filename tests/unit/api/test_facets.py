from __future__ import annotations

import msgspec

from spanwise._engine import filter_schema
from spanwise.api.facets import FACET_FIELDS
from spanwise.api.filters import FilterSchema


def test_facets_exist_for_all_texts_of_the_engine_except_the_trace_id() -> None:
    fields = msgspec.json.decode(filter_schema(), type=FilterSchema).fields
    texts = tuple(field.key for field in fields if field.type in {"enum", "string"} and field.key != "trace_id")
    assert texts == FACET_FIELDS
