"""Listing entries for agno's agents, teams and workflows, in the shapes of agno's own service.

No function of the program is called. Instructions, tools and other members that are functions are omitted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from agno.agent import Agent
from agno.team import Team
from agno.tools import Function, Toolkit

from spanwise.components.adapted import without_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SESSIONS = {
    "add_history_to_context": False,
    "enable_session_summaries": False,
    "num_history_runs": 3,
    "search_past_sessions": False,
    "num_past_sessions_to_search": None,
    "num_past_session_runs_in_search": None,
    "cache_session": False,
}
_SYSTEM_MESSAGE = {
    "system_message": None,
    "system_message_role": "system",
    "build_context": True,
    "description": None,
    "instructions": None,
    "expected_output": None,
    "additional_context": None,
    "markdown": False,
    "add_name_to_context": False,
    "add_datetime_to_context": False,
    "add_location_to_context": False,
    "timezone_identifier": None,
    "resolve_in_context": True,
}
"""The attributes of a section with their defaults. An attribute with its default is not shown."""


def describe_agent(own: Any) -> dict[str, Any]:  # noqa: ANN401  # an agent of agno
    """Returns the model, tools, sessions, system message, role, introduction and metadata of an agent."""
    members = without_empty(role=own.role, introduction=own.introduction, metadata=own.metadata)
    return {**_describe_model(own), **_sections(own), **_plain(members)}


def describe_team(own: Any) -> dict[str, Any]:  # noqa: ANN401  # a team of agno
    """Returns the members of an agent's description, the mode, and the members of a team."""
    members = own.members if isinstance(own.members, list) else []
    described = [_nested(member) for member in members if isinstance(member, Agent | Team)]
    mode = getattr(own.mode, "value", own.mode)
    return {**describe_agent(own), **without_empty(mode=mode, members=described)}


def describe_workflow(own: Any) -> dict[str, Any]:  # noqa: ANN401  # a workflow of agno
    """Returns the steps of a workflow with their agents, teams and steps, and whether an agent runs it."""
    steps = [_step(step) for step in own.to_dict_for_steps()["steps"]]
    return {"steps": steps, "workflow_agent": getattr(own, "agent", None) is not None}


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a step as agno serializes it, with descriptions instead of its agents and teams."""
    found = {name: value for name, value in step.items() if value is not None}
    for name in ("agent", "team"):
        if name in found:
            found[name] = _nested(found[name])
    for name in ("steps", "else_steps"):
        if name in found:
            found[name] = [_step(each) for each in found[name]]
    described: dict[str, Any] = _plain(found)
    return described


def _nested(own: Any) -> dict[str, Any]:  # noqa: ANN401  # an agent or a team of agno, or a stand-in
    """Returns the description of a team's member, or of a step's agent or team. Remote ones are not queried."""
    if not isinstance(own, Agent | Team):
        return without_empty(id=getattr(own, "id", None))
    db_id = None if own.db is None else own.db.id
    described = describe_team(own) if isinstance(own, Team) else describe_agent(own)
    return {**without_empty(id=own.id, name=own.name, description=own.description, db_id=db_id), **described}


def _describe_model(own: Any) -> dict[str, Any]:  # noqa: ANN401  # an agent or a team of agno
    model = own.model
    if model is None or isinstance(model, str):
        return without_empty(model=model and {"model": model})
    return {"model": without_empty(name=model.name, model=model.id, provider=model.provider)}


def _sections(own: Any) -> dict[str, Any]:  # noqa: ANN401  # an agent or a team of agno
    tools = own.tools if isinstance(own.tools, list) else []
    described = [each for tool in tools for each in _describe_tool(tool)]
    table = {"session_table": own.db.session_table_name} if own.db is not None else {}
    return without_empty(
        tools=without_empty(tools=described, tool_call_limit=own.tool_call_limit, tool_choice=_plain(own.tool_choice)),
        sessions=table | _changed(own, _SESSIONS),
        system_message=_changed(own, _SYSTEM_MESSAGE),
    )


def _changed(own: object, defaults: Mapping[str, object]) -> dict[str, Any]:
    """Returns the attributes of `own` that differ from the defaults and are not functions."""
    values = {name: getattr(own, name, None) for name in defaults}
    found = {
        name: value for name, value in values.items() if value not in (None, defaults[name]) and not callable(value)
    }
    plain: dict[str, Any] = _plain(found)
    return plain


def _describe_tool(tool: object) -> Iterator[dict[str, Any]]:
    """Yields the functions of a tool. A toolkit has several. A tool that connects to a server has no functions yet."""
    if isinstance(tool, dict):
        yield _plain(tool)
    elif isinstance(tool, Toolkit):
        for function in tool.functions.values():
            yield _plain(function.to_dict())
    elif isinstance(tool, Function):
        yield _plain(tool.to_dict())
    elif callable(tool):
        yield _describe_function(tool)


@lru_cache(maxsize=4096)
def _describe_function(tool: Callable[..., Any]) -> dict[str, Any]:
    """Returns the name, description and parameters of a function. Reading the docstring takes 1 ms."""
    described: dict[str, Any] = _plain(Function.from_callable(tool).to_dict())
    return described


def _plain(value: object) -> Any:  # noqa: ANN401  # any JSON value
    return msgspec.to_builtins(value, str_keys=True, enc_hook=str)
