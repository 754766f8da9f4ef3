"""The input of a factory: parsed, checked against its schema, and described as a JSON schema.

A schema is a msgspec Struct, a dataclass, a TypedDict or a pydantic model.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from spanwise.errors import BadRequestError, ConfigurationError, FactoryValidationError
from spanwise.strict_json import reject_duplicates

Schema: TypeAlias = Any
"""A type of one of these kinds, or None. Python has no type for this union."""

MAX_BYTES = 256 * 1024
MAX_NESTING = 64


def parse_input(text: str | None, name: str = "factory_input") -> dict[str, Any] | None:
    """Returns the JSON object in the text of a field; None if the field is missing.

    Args:
        text: the text.
        name: the name of the field, for messages.

    Raises:
        BadRequestError: the text is not a JSON object, repeats a member, or is too long or too deeply nested.
    """
    if text is None:
        return None
    _expect_short(len(text.encode("utf-8", "surrogatepass")), name)
    try:
        found = msgspec.json.decode(text.encode())
        reject_duplicates(text)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"{name} must be valid JSON: {error}") from error
    return check_input(found, name)


def check_input(found: object, name: str = "factory_input") -> dict[str, Any]:
    """Checks that a decoded JSON value is an object, and returns it.

    Args:
        found: the value.
        name: the name of its field, for messages.

    Raises:
        BadRequestError: it is not an object, or is too long or too deeply nested.
    """
    if not isinstance(found, dict):
        raise BadRequestError(f"{name} must be a JSON object, got {type(found).__name__}")
    if _nesting(found) > MAX_NESTING:
        raise BadRequestError(f"{name} must be nested at most {MAX_NESTING} deep")
    _expect_short(len(msgspec.json.encode(found)), name)
    return found


def _expect_short(length: int, name: str) -> None:
    if length > MAX_BYTES:
        raise BadRequestError(f"{name} must be at most {MAX_BYTES} bytes")


def _nesting(found: object) -> int:
    depth, level = 0, [found]
    while level:
        level = [inner for outer in level for inner in _containers(outer)]
        depth += 1
    return depth


def _containers(value: object) -> list[object]:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [member for member in members if isinstance(member, dict | list)]


def check_schema(schema: Schema) -> None:
    """Checks that a schema is a type of a supported kind.

    Raises:
        ConfigurationError: it is not.
    """
    try:
        usable = isinstance(schema, type) and isinstance(json_schema(schema), dict)
    except (TypeError, RuntimeError, NameError) as error:
        raise ConfigurationError(f"input_schema `{schema!r}` cannot be used: {error}") from error
    if not usable or schema in (dict, list, str, int, float, bool, object):
        raise ConfigurationError(
            f"expected a msgspec Struct, dataclass, TypedDict or pydantic model as input_schema, got `{schema!r}`"
        )


def validated(schema: Schema, given: object) -> Any:  # noqa: ANN401  # an instance of the schema
    """Returns an input converted to its schema.

    Raises:
        FactoryValidationError: the input does not match. The message ends with the path and repeats no value.
    """
    try:
        if _is_pydantic(schema):
            return schema.model_validate(given)
        return msgspec.convert(given, schema)
    except ValueError as error:
        raise FactoryValidationError(f"factory_input validation failed: {_message(error)}") from error


def json_schema(schema: Schema) -> dict[str, Any]:
    """Returns a schema as a JSON schema, with the root definition inlined."""
    found: dict[str, Any] = schema.model_json_schema() if _is_pydantic(schema) else _inlined(schema)
    return found


def _inlined(schema: Schema) -> dict[str, Any]:
    found = msgspec.json.schema(schema)
    reference = found.pop("$ref", "").rpartition("/")[2]
    if reference:
        definitions: dict[str, Any] = found["$defs"]
        root = definitions[reference]
        if f'"#/$defs/{reference}"'.encode() not in msgspec.json.encode(definitions):
            del definitions[reference]  # nothing else refers to this definition
        found = {**root, **({"$defs": definitions} if definitions else {})}
    return found


def _is_pydantic(schema: Schema) -> bool:
    return hasattr(schema, "model_validate") and hasattr(schema, "model_json_schema")


def _message(error: ValueError) -> str:
    if isinstance(error, msgspec.ValidationError) or not hasattr(error, "errors"):
        return str(error)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{each['msg']} - at `{'.'.join(map(str, ('$', *each['loc'])))}`" for each in found)
