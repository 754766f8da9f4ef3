"""What the factories of this very service take, as a part of its description.

A form field is text: JSON Schema says of it what the text holds once it is read as JSON.
Source: JSON Schema 2020-12, "contentMediaType" and "contentSchema".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Node = dict[str, Any]

FIELD = "factory_input"
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]")


def add_inputs(schemas: dict[str, Node], kind: str, inputs: Mapping[str, Node]) -> Node:
    """Adds the schemas of the factories of one kind to those of a document.

    Args:
        schemas: the schemas of the document, by name.
        kind: what the factories build.
        inputs: the schema of each, by its id.

    Returns:
        What the field or parameter is that holds an input of any of them.
    """
    offered = []
    for factory_id, schema in inputs.items():
        name = f"{kind}.{_NO_NAME.sub('_', factory_id)}.input"
        while name in schemas:
            name += "_"
        schemas[name] = _moved(schema, f"#/components/schemas/{name}/")
        offered.append({"title": factory_id, "$ref": f"#/components/schemas/{name}"})
    return {"type": ["string", "null"], "contentMediaType": "application/json", "contentSchema": {"anyOf": offered}}


def say_input(operation: Node, said: Node) -> None:
    """Says of an operation what its field or parameter for the input is."""
    for parameter in operation.get("parameters", ()):
        if parameter["name"] == FIELD:
            parameter["schema"] = {**said, "type": "string"}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        content["schema"] = {"allOf": [content["schema"], {"type": "object", "properties": {FIELD: said}}]}


def _moved(schema: Node, place: str) -> Node:
    """Returns a copy whose references into itself hold at its new place."""
    copy: Node = {}
    waiting: list[tuple[Node | list[Any], Iterable[tuple[Any, Any]]]] = [(copy, schema.items())]
    for into, members in waiting:
        for key, value in members:
            found: Any = value
            if isinstance(value, dict | list):
                found = {} if isinstance(value, dict) else [None] * len(value)
                waiting.append((found, value.items() if isinstance(value, dict) else enumerate(value)))
            elif key == "$ref" and isinstance(value, str) and value.startswith("#/"):
                found = place + value.removeprefix("#/")
            into[key] = found
    return copy
