from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from spanwise import TraceStore
from spanwise.metrics import DURATION_BUCKETS, STORE_GAUGES, Counter, Gauge, Histogram, exposition

if TYPE_CHECKING:
    from pathlib import Path


def test_a_counter_has_a_sample_for_each_combination_of_labels() -> None:
    counter = Counter("answers_total", "Answers.", "route", "status")
    counter.add("/b", "200")
    counter.add("/a", "200")
    counter.add("/b", "200", by=2)
    assert exposition([counter]) == (
        "# HELP answers_total Answers.\n# TYPE answers_total counter\n"
        'answers_total{route="/a",status="200"} 1\nanswers_total{route="/b",status="200"} 3\n'
    )


def test_a_family_without_samples_is_left_out() -> None:
    assert exposition([Counter("a", "A."), Histogram("b", "B.", "c"), Gauge("d", "D.", "e", {})]) == "\n"


@given(st.lists(st.floats(0, 20)))
def test_the_buckets_of_durations_are_cumulative(durations: list[float]) -> None:
    family = Histogram("seconds", "Time.")
    for seconds in durations:
        family.add(seconds=seconds)
    numbers = [line.rsplit(" ", 1) for line in family.samples()]
    buckets = [int(float(number)) for name, number in numbers if "_bucket" in name]
    assert buckets == (
        [sum(s <= bound for s in durations) for bound in DURATION_BUCKETS] + [len(durations)] if durations else []
    )
    if durations:
        assert [name for name, _ in numbers[-2:]] == ["seconds_sum", "seconds_count"]
        assert float(numbers[-1][1]) == len(durations)


@given(st.text())
def test_a_label_is_escaped(value: str) -> None:
    line = next(Gauge("name", "Help.", "label", {value: 1.5}).samples())
    assert "\n" not in line
    head, tail = 'name{label="', '"} 1.5'
    assert line.startswith(head)
    assert line.endswith(tail)
    inside = line[len(head) : -len(tail)]
    assert inside.replace(r"\\", "").replace(r"\"", "").count('"') == 0


def test_every_number_and_error_of_a_stores_statistics_is_a_gauge(tmp_path: Path) -> None:
    store = TraceStore.open(str(tmp_path / "store"))
    stats = json.loads(store.stats())
    store.close()
    numbers = {name for name, value in stats.items() if isinstance(value, int)}
    assert stats["lag_seconds"] is None, "a writer is not behind"
    assert numbers | {"lag_seconds"} | {name for name in stats if name.endswith("_fault")} == STORE_GAUGES.keys()


def test_a_gauge_without_labels_is_one_sample() -> None:
    assert list(Gauge.single("name", "Help.", 2).samples()) == ["name 2"]


def test_a_gauge_may_have_several_labels() -> None:
    gauge = Gauge.labelled("name", "Help.", ("store", "shard"), {("a", "01"): 2, ("a", "1"): 0})
    assert list(gauge.samples()) == ['name{store="a",shard="01"} 2', 'name{store="a",shard="1"} 0']
