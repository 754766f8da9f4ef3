"""The input of a factory: read from text, checked against its schema, described for clients.

A schema is a msgspec Struct, a dataclass, a TypedDict or a pydantic model.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from spanwise.errors import BadRequestError, ConfigurationError, FactoryValidationError

Schema: TypeAlias = Any
"""A model type. Python has no one word for the four kinds."""

MOST_BYTES = 256 * 1024
MOST_NESTING = 64


def parse_input(text: str | None, name: str = "factory_input") -> dict[str, Any] | None:
    """Returns the object that a `factory_input` field or parameter, or one like it, holds; None if there is none.

    Raises:
        BadRequestError: it is no JSON, no object, too long or too deep.
    """
    if text is None:
        return None
    _expect_short(len(text.encode("utf-8", "surrogatepass")), name)
    try:
        found = msgspec.json.decode(text.encode())
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadRequestError(f"{name} must be valid JSON: {error}") from error
    return check_input(found, name)


def check_input(found: object, name: str = "factory_input") -> dict[str, Any]:
    """Returns a value from JSON, if it is an object that is not too long or too deep.

    Raises:
        BadRequestError: it is not.
    """
    if not isinstance(found, dict):
        raise BadRequestError(f"{name} must be a JSON object, got {type(found).__name__}")
    if _nesting(found) > MOST_NESTING:
        raise BadRequestError(f"{name} must be nested at most {MOST_NESTING} deep")
    _expect_short(len(msgspec.json.encode(found)), name)
    return found


def _expect_short(length: int, name: str) -> None:
    if length > MOST_BYTES:
        raise BadRequestError(f"{name} must be at most {MOST_BYTES} bytes")


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
    """Accepts a type that an input can be checked against.

    Raises:
        ConfigurationError: it is none.
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
    """Returns an instance of `schema`.

    Raises:
        FactoryValidationError: the input does not fit; the message ends with the place and holds no value.
    """
    try:
        if _is_pydantic(schema):
            return schema.model_validate(given)
        return msgspec.convert(given, schema)
    except ValueError as error:
        raise FactoryValidationError(f"factory_input validation failed: {_words(error)}") from error


def json_schema(schema: Schema) -> dict[str, Any]:
    """Returns the JSON schema of a factory's input."""
    found: dict[str, Any] = schema.model_json_schema() if _is_pydantic(schema) else _inlined(schema)
    return found


def _inlined(schema: Schema) -> dict[str, Any]:
    found = msgspec.json.schema(schema)
    reference = found.pop("$ref", "").rpartition("/")[2]
    if reference:
        definitions: dict[str, Any] = found["$defs"]
        root = definitions[reference]
        if f'"#/$defs/{reference}"'.encode() not in msgspec.json.encode(definitions):
            del definitions[reference]  # nothing but the place that it is moved from refers to it
        found = {**root, **({"$defs": definitions} if definitions else {})}
    return found


def _is_pydantic(schema: Schema) -> bool:
    return hasattr(schema, "model_validate") and hasattr(schema, "model_json_schema")


def _words(error: ValueError) -> str:
    if isinstance(error, msgspec.ValidationError) or not hasattr(error, "errors"):
        return str(error)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{fault['msg']} - at `{'.'.join(map(str, ('$', *fault['loc'])))}`" for fault in found)
