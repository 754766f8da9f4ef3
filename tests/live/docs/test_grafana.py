"""The dashboard and the alerts of the guide use metrics and labels that a service exposes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from support.clients.otlp import captures
from support.documents import blocks_of
from support.paths import ROOT
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

DASHBOARD = json.loads((ROOT / "deploy" / "grafana.json").read_text("utf-8"))
TARGETS = [(panel["title"], target) for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
ALERTS = re.findall(r"expr: (.*)", "".join(block.text for block in blocks_of(ROOT / "docs" / "how-to" / "grafana.md")))
LABELS_OF_THE_SCRAPER = {"instance", "le"}


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, set[str]]]:
    """The labels of each metric of a service that has ingested spans and rejected a request, and of its reader."""
    folder = tmp_path_factory.mktemp("grafana") / "data"
    with RunningService(folder) as service, RunningService(folder, "--reader") as reader:
        for capture in list(captures())[:3]:
            capture.send(service.http).raise_for_status()
        assert service.search(filter={"op": "nothing"}).status_code == 400
        found: dict[str, set[str]] = {}
        texts = (each.http.get("/metrics").text for each in (service, reader))
        for line in "\n".join(texts).splitlines():
            if sample := re.match(r"(\w+)(?:\{(.*)\})? ", line):
                found.setdefault(sample[1], set()).update(re.findall(r'(\w+)="', sample[2] or ""))
        yield found
        assert [each.stop() for each in (reader, service)] == [0, 0]


@pytest.mark.parametrize(("title", "target"), TARGETS, ids=[f"{title} {target['refId']}" for title, target in TARGETS])
def test_a_panel_asks_for_what_there_is(metrics: dict[str, set[str]], title: str, target: dict[str, str]) -> None:
    names = set(re.findall(r"\bspanwise_\w+", target["expr"]))
    assert names, title
    assert names <= metrics.keys()
    grouped = {label.strip() for by in re.findall(r"by \(([\w, ]+)\)", target["expr"]) for label in by.split(",")}
    shown = set(re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")))
    known = set().union(*(metrics[name] for name in names)) | LABELS_OF_THE_SCRAPER
    assert grouped | shown <= known


def test_an_alert_asks_for_what_there_is(metrics: dict[str, set[str]]) -> None:
    assert len(ALERTS) == 4
    assert {name for alert in ALERTS for name in re.findall(r"\bspanwise_\w+", alert)} <= metrics.keys()


def test_panels_do_not_overlap() -> None:
    places = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24
