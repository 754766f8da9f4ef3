"""Makes exports neutral: paths of the capturing machine become `/app/...` and `/usr/lib/python`."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from .servers import Export

MESSAGES: dict[str, type[Message]] = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest}


def neutral_body(export: Export, replacements: dict[str, str]) -> bytes:
    """Returns the body of `export` with `replacements` in its texts; unchanged without replacements."""
    body = gzip.decompress(export.body) if export.content_encoding == "gzip" else export.body
    if not any(text.encode() in body for text in replacements):
        return export.body
    if export.content_type == "application/json":
        body = json.dumps(_neutral_json(json.loads(body), replacements), ensure_ascii=False).encode()
    else:
        message = MESSAGES[export.signal].FromString(body)
        _neutralize(message, replacements)
        body = message.SerializeToString()
    return gzip.compress(body, mtime=0) if export.content_encoding == "gzip" else body


def _replaced(text: str, replacements: dict[str, str]) -> str:
    for found, neutral in replacements.items():
        text = text.replace(found, neutral)
    return text


def _neutral_json(value: Any, replacements: dict[str, str]) -> Any:
    match value:
        case str():
            return _replaced(value, replacements)
        case list():
            return [_neutral_json(item, replacements) for item in value]
        case dict():
            return {key: _neutral_json(item, replacements) for key, item in value.items()}
    return value


def _neutralize(message: Message, replacements: dict[str, str]) -> None:
    for descriptor, value in message.ListFields():
        if isinstance(value, str):
            setattr(message, descriptor.name, _replaced(value, replacements))
        elif isinstance(value, Message):
            _neutralize(value, replacements)
        elif descriptor.message_type is not None:
            for item in value:
                _neutralize(item, replacements)
