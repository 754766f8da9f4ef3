"""The service in the environment of a pod: the manifests' variables and those that Kubernetes injects."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes without types

from support.clients.tokens import as_admin, jwks_file
from support.kubernetes import service_links
from support.paths import ROOT
from support.services.process import START_SECONDS, RunningService

if TYPE_CHECKING:
    from pathlib import Path

MANIFESTS = ["kubernetes.yaml", "readers/kubernetes.yaml"]
SIBLINGS = ("spanwise", "spanwise-reader", "spanwise-data", "spanwise-shard-0")


@pytest.fixture(params=MANIFESTS)
def objects(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """Returns the objects of a manifest."""
    return list(yaml.safe_load_all((ROOT / "deploy" / request.param).read_text("utf-8")))


def environment(objects: list[dict[str, Any]], folder: Path) -> dict[str, str]:
    """Returns the variables of a pod, with the files that they name in `folder`."""
    links: dict[str, str] = {}
    for item in objects:
        if item["kind"] == "Service":
            ports = [(port["name"], port["port"], "tcp") for port in item["spec"]["ports"]]
            links |= service_links(item["metadata"]["name"], "10.96.0.12", *ports)
    for name in SIBLINGS:
        links |= service_links(name, "10.96.0.13", ("http", 7777, "tcp"), ("otlp-grpc", 4317, "tcp"))
    config: dict[str, str]
    (config,) = (item["data"] for item in objects if item["kind"] == "ConfigMap")
    (keys,) = (item["stringData"] for item in objects if item["metadata"]["name"] == "spanwise-keys")
    folder.mkdir()
    for name, text in keys.items():
        (folder / name).write_text(text, "utf-8")
    own = {"JWT_JWKS_FILE": str(folder / "jwks.json"), "SPANWISE_CACHE_DIR": str(folder / "cache")}
    return links | config | own


def test_a_pod_starts_with_placeholders_and_takes_keys_later(objects: list[dict[str, Any]], tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    with RunningService(tmp_path / "data", **environment(objects, folder)) as service:  # type: ignore[arg-type]  # the variables do not include `is_ready`
        assert service.search().status_code == 401
        warnings = [event["message"] for event in service.events() if event["level"] == "warning"]
        assert any("contains no keys, so every token is rejected" in message for message in warnings)
        jwks_file(folder)
        deadline = time.monotonic() + START_SECONDS
        while (response := service.http.post("/traces/search", json={}, headers=as_admin())).status_code == 401:
            assert time.monotonic() < deadline, response.text
            time.sleep(0.05)
        assert response.status_code == 200
