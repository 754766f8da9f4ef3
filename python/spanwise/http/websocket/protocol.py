"""The WebSocket protocol: paths, limits, close codes, and the decoding of messages.

See `docs/sockets.md#actions`.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import msgspec

from spanwise.api.websocket import ActionMessage
from spanwise.errors import ValidationError
from spanwise.http.requests.form import UNSUPPORTED, reject_fields
from spanwise.strict_json import reject_duplicates

PATHS = ("/workflows/ws", "/workflows/{component_id}/ws")
METHOD = "WS"
"""The value used as the HTTP method in metrics and in the audit log."""

MAX_MESSAGE_BYTES = 1024 * 1024
MAX_UNKNOWN_MESSAGE_BYTES = 16 * 1024
"""The message size limit before authentication. An `authenticate` message with the longest token fits."""
MAX_UNKNOWN_SOCKETS = 64
"""Open sockets without authentication. They take no slots of authenticated sockets."""
MAX_MESSAGES_PER_SECOND = 100
KNOWN_PROCESSOR_SHARE = 0.25
"""The fraction of a core for frames and messages of known callers. Unknown callers have a separate budget."""
MAX_ACTIONS = 32
"""Runs that one socket may start, continue or follow at the same time."""
MAX_FAILED_AUTHENTICATIONS = 3
AUTHENTICATION_SECONDS = 10.0
PING_SECONDS = 20.0
SILENCE_SECONDS = 60.0
CLOSE_SECONDS = 2.0
DRAIN_SECONDS = 3.0
"""How long a socket may follow its runs after the shutdown starts."""

# Close codes (RFC 6455, section 7.4).
GOING_AWAY = 1001
UNSUPPORTED_DATA = 1003
POLICY_VIOLATION = 1008
MESSAGE_TOO_BIG = 1009
INTERNAL_ERROR = 1011
TRY_AGAIN_LATER = 1013

Message: TypeAlias = dict[str, Any]
"""A received message: a JSON object."""


AnyMessage = TypeVar("AnyMessage", bound=ActionMessage)


def decode_message(text: str) -> Message:
    """Returns the JSON object in `text`.

    Raises:
        ValidationError: the text is not a JSON object, or repeats a member.
    """
    try:
        message = msgspec.json.decode(text.encode(), type=dict[str, Any])
        reject_duplicates(text)
    except (ValueError, RecursionError) as error:
        raise ValidationError(f"a message must be a JSON object: {error}") from error
    return message


def convert_message(message: Message, shape: type[AnyMessage]) -> AnyMessage:
    """Returns `message` as the shape of its action.

    Raises:
        BadRequestError: the message has an unsupported member.
        ValidationError: the message does not match the shape; the error ends with the location.
    """
    reject_fields(message, UNSUPPORTED)
    try:
        return msgspec.convert(message, shape)
    except msgspec.ValidationError as error:
        raise ValidationError(str(error)) from error
