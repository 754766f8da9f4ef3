"""Makes the queries of a trace store, one function for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise._engine import Query

if TYPE_CHECKING:
    from spanwise._engine import Filter, SpanFilter

NEWEST_FIRST = ("start_time", False)
"""The default order of traces."""
_encoder = msgspec.json.Encoder()


def runs(  # noqa: PLR0913  # the members of a request
    compiled: Filter,
    page: int,
    limit: int,
    *,
    detail: str = "full",
    sort: tuple[str, bool] = NEWEST_FIRST,
    ends_when_full: bool = False,
    with_matches: bool = False,
) -> Query:
    """Returns the query for a page of traces.

    Args:
        compiled: the filter.
        page: the number of the page, from 1.
        limit: items per page, 1 to 100.
        detail: the level of detail: `full`, `summary`, `preview` or `skeleton`.
        sort: the key of a field, and True for ascending order. Traces with equal values are ordered newest first.
        ends_when_full: True to end a search by newest first once the page is full; its total is then a lower bound.
        with_matches: True to show the spans and texts that made the filter match.

    Raises:
        ConfigurationError: a value is out of range, or the field does not exist.
    """
    return _query(
        "runs",
        compiled,
        page=_page(page, limit, sort),
        view={"detail": detail, "with_matches": with_matches},
        ends_when_full=ends_when_full,
    )


def ids(compiled: Filter, page: int, limit: int, sort: tuple[str, bool] = NEWEST_FIRST) -> Query:
    """Returns the query for a page of trace ids, without reading the traces. See `runs`."""
    return _query("ids", compiled, page=_page(page, limit, sort))


def sessions(compiled: Filter, page: int, limit: int) -> Query:
    """Returns the query for a page of sessions. The session with the newest trace comes first. See `runs`."""
    return _query("sessions", compiled, page=_page(page, limit))


def spans(  # noqa: PLR0913  # the members of a request
    compiled: Filter,
    condition: SpanFilter,
    page: int,
    limit: int,
    *,
    ends_when_full: bool = False,
    with_matches: bool = False,
) -> Query:
    """Returns the query for a page of spans of matching traces: newest trace first, then in tree order.

    Args:
        compiled: the filter of the traces.
        condition: the condition on the spans.
        page: the number of the page, from 1.
        limit: items per page, 1 to 100.
        ends_when_full: True to end the search once the page is full; its total is then a lower bound.
        with_matches: True to show the texts, and the spans on axes, that made each span match.

    Raises:
        ConfigurationError: a value is out of range.
    """
    request = {"page": _page(page, limit), "ends_when_full": ends_when_full, "with_matches": with_matches}
    return Query(_encoder.encode({"spans": request}), compiled, condition)


def facets(
    compiled: Filter,
    fields: list[str],
    limit: int,
    prefix: tuple[str, str] | None = None,
    *,
    exclude_own: bool = False,
) -> Query:
    """Returns the query for the most frequent values of fields.

    Args:
        compiled: the filter.
        fields: the keys of the fields.
        limit: values per field, 1 to 1,000.
        prefix: one of `fields`, and the prefix of its values.
        exclude_own: True to ignore the conditions on a field in its own counts.

    Raises:
        ConfigurationError: a field has no facet or is repeated, or the limit is out of range.
    """
    return _query("facets", compiled, fields=fields, limit=limit, prefix=prefix, exclude_own=exclude_own)


def attribute_keys(compiled: Filter, limit: int, prefix: str = "") -> Query:
    """Returns the query for the most frequent attribute keys.

    Args:
        compiled: the filter.
        limit: the number of keys, 1 to 1,000.
        prefix: a prefix of the keys as filters spell them: `attributes.` or `resource.`, then the key.
    """
    return _query("attributes", compiled, limit=limit, prefix=prefix)


def trace(compiled: Filter, trace_id: str, detail: str = "full", *, is_damaged: bool = False) -> Query:
    """Returns the query for one trace. `is_damaged` reads only its row. See `runs`."""
    return _query("trace", compiled, trace_id=trace_id, detail=detail, is_damaged=is_damaged)


def span(compiled: Filter, trace_id: str, span_id: str, max_bytes: int | None = None) -> Query:
    """Returns the query for one span without its children. Values with text longer than `max_bytes` are truncated."""
    return _query("span", compiled, trace_id=trace_id, span_id=span_id, max_bytes=max_bytes)


def value(compiled: Filter, trace_id: str, span_id: str, part: tuple[str, int, int | None]) -> Query:
    """Returns the query for a part of a value of a span.

    Args:
        compiled: the filter.
        trace_id: the id of the trace.
        span_id: the id of the span.
        part: the JSON Pointer of the value, the first byte of its text, and the maximum number of bytes.
    """
    path, start, max_bytes = part
    return _query(
        "value", compiled, trace_id=trace_id, span_id=span_id, path=path, max_bytes=max_bytes, **{"from": start}
    )


def _page(number: int, limit: int, sort: tuple[str, bool] = NEWEST_FIRST) -> dict[str, object]:
    return {"number": number, "limit": limit, "sort": sort[0], "ascending": sort[1]}


def _query(kind: str, compiled: Filter, **members: object) -> Query:
    return Query(_encoder.encode({kind: members}), compiled)
