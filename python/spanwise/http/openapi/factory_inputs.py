"""Adds the input schemas of the hosted factories to the OpenAPI document.

A form field is text, so its schema describes the JSON in it with `contentMediaType` and `contentSchema` of JSON Schema
2020-12.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Node: TypeAlias = dict[str, Any]
"""An object of the OpenAPI document."""

FIELD = "factory_input"
_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9._-]")


def add_inputs(schemas: dict[str, Node], kind: str, inputs: Mapping[str, Node]) -> Node:
    """Adds the input schemas of the factories of one kind to a document.

    Args:
        schemas: the schemas of the document, by name.
        kind: the kind of component that the factories build.
        inputs: the input schema of each factory, by its id.

    Returns:
        The schema of a form field or query parameter that holds the input of any of them.
    """
    alternatives = []
    for factory_id, schema in inputs.items():
        name = f"{kind}.{_INVALID_IN_NAME.sub('_', factory_id)}.input"
        while name in schemas:
            name += "_"
        schemas[name] = _rebased(schema, f"#/components/schemas/{name}/")
        alternatives.append({"title": factory_id, "$ref": f"#/components/schemas/{name}"})
    return {
        "type": ["string", "null"],
        "contentMediaType": "application/json",
        "contentSchema": {"anyOf": alternatives},
    }


def describe_input(operation: Node, field: Node) -> None:
    """Sets the schema of the form field or query parameter of an operation that holds the input of a factory."""
    for parameter in operation.get("parameters", ()):
        if parameter["name"] == FIELD:
            parameter["schema"] = {**field, "type": "string"}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        content["schema"] = {"allOf": [content["schema"], {"type": "object", "properties": {FIELD: field}}]}


def _rebased(schema: Node, prefix: str) -> Node:
    """Returns a copy of `schema` whose local references start with `prefix`."""
    copy: Node = {}
    waiting: list[tuple[Node | list[Any], Iterable[tuple[Any, Any]]]] = [(copy, schema.items())]
    for into, members in waiting:
        for key, value in members:
            found: Any = value
            if isinstance(value, dict | list):
                found = {} if isinstance(value, dict) else [None] * len(value)
                waiting.append((found, value.items() if isinstance(value, dict) else enumerate(value)))
            elif key == "$ref" and isinstance(value, str) and value.startswith("#/"):
                found = prefix + value.removeprefix("#/")
            into[key] = found
    return copy
