"""The captured requests, decoded."""

from __future__ import annotations

import base64
import gzip
import json
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict

from .framework import FRAMEWORKS, read_index
from .neutral import MESSAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .framework import Case, ExportFile


HEXADECIMAL_LENGTH = 16


def requests_of(name: str, case: Case) -> Iterator[tuple[ExportFile, dict[str, Any]]]:
    """Yields the requests of a case as OTLP/JSON, except that ids of protobuf are base64."""
    for file in read_index(name).files:
        if file.case == case.name:
            body = (FRAMEWORKS / name / "exports" / file.file).read_bytes()
            body = gzip.decompress(body) if file.content_encoding == "gzip" else body
            is_json = file.content_type == "application/json"
            yield file, json.loads(body) if is_json else MessageToDict(MESSAGES[file.signal].FromString(body))


def spans_sent(name: str, case: Case) -> dict[str, dict[str, Any]]:
    """Returns the attributes of the spans of a case by their ids."""
    return {
        _hexadecimal(span["spanId"]): attributes_of(span)
        for _, request in requests_of(name, case)
        for resource in request.get("resourceSpans", [])
        for scope in resource.get("scopeSpans", [])
        for span in scope.get("spans", [])
    }


def _hexadecimal(span_id: str) -> str:
    return span_id if len(span_id) == HEXADECIMAL_LENGTH else base64.b64decode(span_id).hex()


def attributes_of(holder: dict[str, Any]) -> dict[str, Any]:
    """Returns the attributes of a span, an event, a log or a resource by name."""
    found = {}
    for attribute in holder.get("attributes", []):
        value = attribute["value"]
        found[attribute["key"]] = next(iter(value.values())) if len(value) == 1 else value
    return found
