"""Writes observations as Langfuse's API returns them, and as it exports them to blob storage."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from langfuse.api.commons.types.observation_v2 import ObservationV2

FOLDER = Path(__file__).parent
FIRST = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
NOT_EXPORTED = {"is_root_observation", "internal_model_id"}
RENAMED = {"model": "provided_model_name"}
NULLABLE = ("_time", "_price", "_tier_name", "prompt_version", "latency", "_token")
UNSET = {"bookmarked": False, "public": False, "total_cost": 0, "tags": []}


def observations() -> list[ObservationV2]:
    made = []
    for number, city in enumerate(["Kyoto", "Oslo", "Lima"]):
        trace, ids = f"{number + 10:032x}", [f"{number + 10:08x}{span:08x}" for span in range(4)]
        start = FIRST + timedelta(minutes=number)
        common: dict[str, Any] = {
            "trace_id": trace,
            "project_id": "sample",
            "environment": "production",
            "release": "1.2.0",
            "user_id": "ann",
            "session_id": f"session-{number % 2}",
            "trace_name": "weather",
            "tags": ["demo"],
            "created_at": start + timedelta(seconds=4),
            "updated_at": start + timedelta(seconds=5),
        }
        question, failed = f"Weather in {city}?", city == "Lima"
        root = {
            "type": "AGENT",
            "name": "weather agent",
            "end_time": start + timedelta(seconds=3),
            "input": {"question": question},
            "output": "Sunny.",
            "metadata": {"city": city, "nested": {"a": 1}},
        }
        model = {
            "type": "GENERATION",
            "name": "chat",
            "end_time": start + timedelta(seconds=1, microseconds=250),
            "completion_start_time": start + timedelta(milliseconds=400),
            "model": "gpt-4o-mini",
            "model_parameters": {"temperature": 0},
            "usage_details": {"input": 20 + number, "output": 7, "total": 27 + number},
            "cost_details": {"input": 0.000003, "output": 0.0000042, "total": 0.0000072},
            "total_cost": 0.0000072,
            "input": [{"role": "user", "content": question}],
            "output": {"role": "assistant", "content": "Sunny."},
        }
        tool = {
            "type": "TOOL",
            "name": "get_weather",
            "end_time": start + timedelta(seconds=2),
            "input": {"city": city},
            "output": None if failed else "sunny, 24 C",
            "level": "ERROR" if failed else "DEFAULT",
            "status_message": "no station in Lima" if failed else None,
        }
        event = {"type": "EVENT", "name": "answered"}
        for position, said in enumerate((root, model, tool, event)):
            parent = ids[0] if position else None
            begin = start + timedelta(milliseconds=200 * position)
            own = {
                "level": "DEFAULT",
                **said,
                "id": ids[position],
                "parent_observation_id": parent,
                "start_time": begin,
            }
            made.append(ObservationV2(**common, **own))
    return made


def exported(observation: ObservationV2) -> dict[str, Any]:
    """Returns an observation with the names of an export."""
    members = observation.model_dump(by_alias=False).items()
    return {RENAMED.get(name, name): in_export(name, value) for name, value in members if name not in NOT_EXPORTED}


def in_export(name: str, value: object) -> object:
    """Returns a value in its form in an export: what is not set is empty, payloads are text."""
    match name, value:
        case _, datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S.%f")
        case "metadata", dict():
            return {key: each if isinstance(each, str) else json.dumps(each) for key, each in value.items()}
        case (("metadata" | "usage_details" | "cost_details"), None):
            return {}
        case (("input" | "output" | "model_parameters"), dict() | list()):
            return json.dumps(value, separators=(",", ":"))
        case _, None if not name.endswith(NULLABLE):
            return UNSET.get(name, "")
    return value


def main() -> None:
    found = observations()
    data = [json.loads(each.model_dump_json(by_alias=True, exclude_none=True)) for each in found]
    (FOLDER / "observations.json").write_text(json.dumps({"data": data, "meta": {}}, indent=1) + "\n", "utf-8")
    lines = [json.dumps(exported(each)) + "\n" for each in found]
    (FOLDER / "observations.jsonl").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
