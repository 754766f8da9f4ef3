from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spanwise.metrics import SECONDS, Counter, Durations, Gauge, exposition


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
    assert exposition([Counter("a", "A."), Durations("b", "B.", "c"), Gauge("d", "D.", "e", {})]) == "\n"


@given(st.lists(st.floats(0, 20)))
def test_the_buckets_of_durations_are_cumulative(durations: list[float]) -> None:
    family = Durations("seconds", "Time.")
    for seconds in durations:
        family.add(seconds=seconds)
    numbers = [line.rsplit(" ", 1) for line in family.samples()]
    buckets = [int(float(number)) for name, number in numbers if "_bucket" in name]
    assert buckets == (
        [sum(s <= bound for s in durations) for bound in SECONDS] + [len(durations)] if durations else []
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
