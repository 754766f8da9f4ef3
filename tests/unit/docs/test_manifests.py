"""The manifests in `deploy` are consistent: the objects, settings and commands that they name exist.

`KUBERAY_CRDS` names a folder with KubeRay's custom resource definitions from its chart. If it is set, the cluster
manifest is validated against them.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]  # comes without types
import kubernetes_validate  # type: ignore[import-untyped]  # likewise
import pytest
import yaml  # type: ignore[import-untyped]  # comes without types
from click.testing import CliRunner

from spanwise.cli import commands
from spanwise.settings import TABLE
from support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

Values = dict[str, Any]
MANIFESTS = sorted((ROOT / "deploy").rglob("kubernetes.yaml"))
VARIABLES = {name for setting in TABLE.values() for name in (setting.variable, setting.alias) if name}
KINDS = {"configMap": "ConfigMap", "secret": "Secret", "persistentVolumeClaim": "PersistentVolumeClaim"}
NAMES_OF_KINDS = {"configMap": "name", "secret": "secretName", "persistentVolumeClaim": "claimName"}
HEALTH = {"/health", "/health?ready=true"}
CLUSTER = ROOT / "deploy" / "cluster" / "kubernetes.yaml"
OLDEST_KUBERNETES = "1.29.0"
"""The version that made `ReadWriteOncePod` stable."""
CRDS = os.environ.get("KUBERAY_CRDS")


@pytest.fixture(params=MANIFESTS, ids=lambda path: path.parent.name)
def objects(request: pytest.FixtureRequest) -> list[Values]:
    """Returns the objects of a manifest."""
    return list(yaml.safe_load_all(request.param.read_text("utf-8")))


def pods(objects: list[Values]) -> Iterator[tuple[Values, Values]]:
    """Yields the labels and the specification of the pods of every object that has pods."""
    for item in objects:
        spec = item.get("spec", {})
        if item["kind"] == "RayCluster":
            # KubeRay labels the objects that it creates.
            groups = {"headgroup": spec["headGroupSpec"]} | {own["groupName"]: own for own in spec["workerGroupSpecs"]}
            for name, group in groups.items():
                labels = {"ray.io/cluster": item["metadata"]["name"], "ray.io/group": name}
                yield labels, group["template"]["spec"]
        elif "template" in spec:
            yield spec["template"]["metadata"]["labels"], spec["template"]["spec"]


def containers(objects: list[Values]) -> Iterator[tuple[Values, Values]]:
    """Yields every container with the specification of its pod."""
    for _, pod in pods(objects):
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            yield pod, container


def named(objects: list[Values], kind: str) -> dict[str, Values]:
    return {item["metadata"]["name"]: item for item in objects if item["kind"] == kind}


def test_there_are_manifests_with_pods(objects: list[Values]) -> None:
    assert list(containers(objects))


@pytest.mark.parametrize("version", [OLDEST_KUBERNETES, kubernetes_validate.latest_version()])
def test_objects_are_valid_to_kubernetes(objects: list[Values], version: str) -> None:
    for item in objects:
        if item["kind"] != "RayCluster":
            kubernetes_validate.validate(item, version, strict=True)
    for _, pod in pods(objects):
        template = {"metadata": {}, "spec": pod}
        kubernetes_validate.validate(
            {"apiVersion": "v1", "kind": "PodTemplate", "template": template}, version, strict=True
        )


@pytest.mark.parametrize("member", [{"enableServiceLink": False}, {"enableServiceLinks": "false"}, {"containers": {}}])
def test_a_mistake_in_a_pod_is_found(member: Values) -> None:
    spec = {"containers": [{"name": "spanwise"}]}
    item = {"apiVersion": "v1", "kind": "PodTemplate", "template": {"metadata": {}, "spec": spec | member}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(item, kubernetes_validate.latest_version(), strict=True)


def test_pods_get_no_variables_of_services(objects: list[Values]) -> None:
    assert [pod["enableServiceLinks"] for _, pod in pods(objects)] == [False for _ in pods(objects)]


def test_variables_are_settings(objects: list[Values]) -> None:
    given = [name for item in named(objects, "ConfigMap").values() for name in item["data"]]
    given += [own["name"] for _, container in containers(objects) for own in container.get("env", ())]
    assert [name for name in given if name.startswith("SPANWISE_") and name not in VARIABLES] == []


def test_services_lead_to_ports_of_pods(objects: list[Values]) -> None:
    for service in named(objects, "Service").values():
        spec = service["spec"]
        selected = [pod for labels, pod in pods(objects) if spec["selector"].items() <= labels.items()]
        ports = {port["name"] for pod in selected for own in pod["containers"] for port in own.get("ports", ())}
        assert {port["targetPort"] for port in spec["ports"]} <= ports, service["metadata"]["name"]


def test_volumes_and_variables_come_from_what_is_there(objects: list[Values]) -> None:
    clusters = named(objects, "RayCluster")
    for pod, container in containers(objects):
        volumes = {volume["name"]: volume for volume in pod.get("volumes", ())}
        claims = {
            claim["metadata"]["name"]
            for item in objects
            for claim in item.get("spec", {}).get("volumeClaimTemplates", ())
        }
        assert {mount["name"] for mount in container.get("volumeMounts", ())} <= volumes.keys() | claims
        for volume in volumes.values():
            for member, kind in KINDS.items():
                if member in volume:
                    assert volume[member][NAMES_OF_KINDS[member]] in named(objects, kind)
        for source in container.get("envFrom", ()):
            for member, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                if member in source:
                    assert source[member]["name"] in named(objects, kind)
        for variable in container.get("env", ()):
            if (key := variable.get("valueFrom", {}).get("secretKeyRef")) is not None:
                # KubeRay creates the secret with the token of a Ray cluster, and names it after the cluster.
                assert key["name"] in named(objects, "Secret") or (
                    key["name"] in clusters and key["key"] == "auth_token"
                )


def test_probes_ask_for_health_at_a_port_of_the_container(objects: list[Values]) -> None:
    for _, container in containers(objects):
        ports = {port["name"] for port in container.get("ports", ())}
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            if (asked := container.get(probe, {}).get("httpGet")) is not None:
                assert asked["path"] in HEALTH
                assert asked["port"] in ports


def test_pods_have_no_more_rights_than_they_need(objects: list[Values]) -> None:
    for pod, container in containers(objects):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_what_is_started_in_a_cluster_is_a_command() -> None:
    scripts = [
        script
        for _, container in containers(list(yaml.safe_load_all(CLUSTER.read_text("utf-8"))))
        for script in container.get("args", ())
    ]
    lines = [line.strip() for script in scripts for line in script.splitlines() if line.strip().startswith("spanwise ")]
    assert len(lines) == 1
    shown = CliRunner().invoke(commands, [*shlex.split(lines[0])[1:], "--help"])
    assert shown.exit_code == 0, shown.output


@pytest.mark.skipif(CRDS is None, reason="KUBERAY_CRDS names no folder with KubeRay's definitions")
def test_the_cluster_is_one_to_kuberay() -> None:
    assert CRDS is not None
    definition = yaml.safe_load((Path(CRDS) / "ray.io_rayclusters.yaml").read_text("utf-8"))
    (version,) = (own for own in definition["spec"]["versions"] if own["name"] == "v1")
    schema = version["schema"]["openAPIV3Schema"]
    close(schema)
    # Kubernetes defines its members.
    schema["properties"]["metadata"] = {"type": "object"}
    (cluster,) = named(list(yaml.safe_load_all(CLUSTER.read_text("utf-8"))), "RayCluster").values()
    jsonschema.validate(cluster, schema, jsonschema.Draft7Validator)


def close(schema: object) -> None:
    """Makes a schema reject unknown members, such as misspelt ones."""
    if isinstance(schema, list):
        for own in schema:
            close(own)
    elif isinstance(schema, dict):
        if schema.get("x-kubernetes-int-or-string"):
            schema.pop("type", None)
        if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
            schema.setdefault("additionalProperties", False)
        for own in list(schema.values()):
            close(own)
