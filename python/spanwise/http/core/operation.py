"""The description of a route in the OpenAPI document."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from spanwise.http.requests.media_types import JSON

Shape: TypeAlias = Any
"""A struct, or a list of structs."""


class ResponseSpec(Struct, frozen=True):
    """One possible response of a route.

    Attributes:
        status: its status.
        shapes: the alternative shapes of its body; empty if the body has no described shape.
        media_type: its media type.
    """

    status: int
    shapes: tuple[Shape, ...] = ()
    media_type: str = JSON


class Operation(Struct, frozen=True):
    """The description of a route.

    Attributes:
        id: its name for programs.
        summary: its purpose, for people.
        shapes: the alternative shapes of its response; empty if the response has no described shape.
        media_type: the media type of its response.
        other_responses: its other successful responses.
        query: the shape of its query.
        request: the shape of its request body.
        factory_kind: the kind of factory whose input it takes.
        is_otlp: True if request and response are OTLP, as JSON or protobuf.
        concerns_runs: True if it concerns hosted components, their runs or sessions.
        success: the status of its response.
        reads_runs: whether it reads stored sessions or runs, which may exceed the caller's share of memory.
    """

    id: str
    summary: str
    shapes: tuple[Shape, ...] = ()
    media_type: str = JSON
    other_responses: tuple[ResponseSpec, ...] = ()
    query: type[Struct] | None = None
    request: type[Struct] | None = None
    factory_kind: str | None = None
    is_otlp: bool = False
    concerns_runs: bool = False
    success: int = 200
    reads_runs: bool = False
