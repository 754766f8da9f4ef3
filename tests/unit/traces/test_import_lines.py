"""Files that are read by lines: each line is accepted or rejected by itself."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

from spanwise import Filter, TraceStore
from spanwise._engine import split_json
from spanwise.cli import commands
from spanwise.traces.bulk_import import messages as module
from spanwise.traces.search import queries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERYTHING = Filter.compile(b"{}")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


def otlp(number: int) -> Any:
    span = {"traceId": f"{number + 1:032x}", "spanId": "a" * 16, "name": "x", "startTimeUnixNano": "1"}
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "t"}, "spans": [span]}]}]}


def langfuse(number: int) -> Any:
    times = {"start_time": "2026-10-01 10:00:00.123456", "end_time": "2026-10-01 10:00:01"}
    ids = {"id": f"{number + 1:016x}", "trace_id": f"{number + 1:032x}", "parent_observation_id": None}
    return {**ids, "type": "SPAN", "name": "x", **times}


def phoenix(number: int) -> Any:
    times = {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z"}
    return {"context.trace_id": f"{number + 1:032x}", "context.span_id": "a" * 16, "name": "x", **times}


def generic(number: int) -> Any:
    return {"trace_id": f"{number + 1:032x}", "span_id": "a" * 16, "name": "x", "start_time": number + 1}


def jaeger(number: int) -> Any:
    trace_id = f"{number + 1:032x}"
    span = {"traceID": trace_id, "spanID": "a" * 16, "operationName": "x", "startTime": 1, "duration": 1}
    return {"traceID": trace_id, "spans": [span], "processes": {}}


FORMS = [otlp, langfuse, phoenix, generic, jaeger]


@pytest.fixture(params=FORMS, ids=lambda form: form.__name__)
def form(request: pytest.FixtureRequest) -> Callable[[int], Any]:
    chosen: Callable[[int], Any] = request.param
    return chosen


def numbers(folder: Path) -> list[int]:
    """Returns the numbers of the traces in a data folder."""
    store = TraceStore.open_read_only(str(folder / "traces"))
    page = store.query(queries.runs(EVERYTHING, 1, 100))
    return sorted(int(trace["trace_id"], 16) - 1 for trace in json.loads(page.data))


def rejections(done: Result) -> list[str]:
    return [line.removeprefix("rejected: ") for line in done.output.splitlines() if line.startswith("rejected: ")]


LINES: dict[str, Callable[[str], bytes]] = {
    "cut in a text": lambda line: line[: line.index('"x"') + 2].encode(),
    "cut behind a comma": lambda line: line[: line.rindex(", ") + 1].encode(),
    "without its beginning": lambda line: line[20:].encode(),
    "cut, and another one appended": lambda line: (line[:40] + line).encode(),
    "null": lambda _: b"null",
    "number": lambda _: b"1.5",
    "text": lambda _: b'"traces"',
    "NULs": lambda _: bytes(4096),
    "no UTF-8": lambda line: line.encode().replace(b'"x"', b'"\xff"'),
    "prose": lambda _: b"2026-01-01 collector started",
    "no end": lambda _: b"[" * 100_000,
}


@pytest.mark.parametrize("place", [0, 2, 5], ids=["first", "between", "last"])
@pytest.mark.parametrize("damage", LINES)
def test_a_damaged_line_is_rejected_with_its_number_and_the_others_arrive(
    tmp_path: Path, form: Callable[[int], Any], damage: str, place: int
) -> None:
    lines = [json.dumps(form(number)).encode() for number in range(6)]
    lines[place] = LINES[damage](lines[place].decode())
    (tmp_path / "file").write_bytes(b"\n".join(lines))
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert numbers(tmp_path / "data") == [number for number in range(6) if number != place]
    (rejection,) = rejections(done)
    assert rejection.startswith(f"{tmp_path}/file, line {place + 1}: ")
    assert "Imported 5 spans into" in done.output
    assert "; rejected 1 line." in done.output
    assert done.exit_code == 0


@pytest.mark.parametrize("blank", [b"", b"\n\n", b"\r\n \t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize("separator", [b"\n", b"\r\n", b"\n\n"])
def test_empty_lines_and_a_byte_order_mark_are_skipped(
    tmp_path: Path, form: Callable[[int], Any], blank: bytes, separator: bytes
) -> None:
    lines = [json.dumps(form(number)).encode() for number in range(3)]
    (tmp_path / "file").write_bytes(blank + separator.join(lines) + separator)
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert (done.exit_code, rejections(done)) == (0, []), done.output
    assert numbers(tmp_path / "data") == [0, 1, 2]


def test_values_may_stand_behind_zeros_on_several_lines_or_together_on_one(
    tmp_path: Path, form: Callable[[int], Any]
) -> None:
    first, second, third, fourth, fifth = (form(number) for number in range(5))
    pretty = json.dumps(second, indent=2)
    together = json.dumps(third) + json.dumps(fourth)
    text = f"{json.dumps(first)}\n{pretty}\n{together}\n{chr(0) * 512}{json.dumps(fifth)}\n"
    (tmp_path / "file").write_text(text, "utf-8")
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert numbers(tmp_path / "data") == [0, 1, 2, 3, 4]
    line = 1 + len(pretty.splitlines()) + 2
    assert rejections(done) == [f"{tmp_path}/file, line {line}: 512 NUL bytes"]


def test_a_cut_document_over_several_lines_keeps_no_other_out(tmp_path: Path, form: Callable[[int], Any]) -> None:
    pretty = [json.dumps(form(number), indent=1) for number in range(3)]
    cut = pretty[1][: pretty[1].index('"x"')]
    (tmp_path / "file").write_text("\n".join([pretty[0], cut, pretty[2]]), "utf-8")
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert numbers(tmp_path / "data") == [0, 2]
    (rejection,) = rejections(done)
    line = 1 + len(pretty[0].splitlines())
    assert rejection.startswith(f"{tmp_path}/file, line {line}: a value without an end: ")


def test_of_a_list_without_its_end_the_whole_elements_arrive(tmp_path: Path) -> None:
    elements = ",\n".join(json.dumps(generic(number)) for number in range(4))
    (tmp_path / "file").write_text("[\n" + elements[:-10], "utf-8")
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert numbers(tmp_path / "data") == [0, 1, 2]
    assert [each.partition(": ")[0] for each in rejections(done)] == [f"{tmp_path}/file, line {n}" for n in (1, 5)]


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("name", ["resourceMetrics", "resource_metrics", "resourceLogs", "resourceProfiles"])
def test_messages_of_other_signals_are_skipped(tmp_path: Path, name: str, place: int) -> None:
    lines = [json.dumps(otlp(0)), json.dumps(otlp(1))]
    lines.insert(place, json.dumps({name: [{"resource": {}}]}))
    (tmp_path / "file").write_text("\n".join(lines), "utf-8")
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert (done.exit_code, rejections(done)) == (0, [])
    assert numbers(tmp_path / "data") == [0, 1]
    signal = name.removeprefix("resource").removeprefix("_").lower()
    assert f"skipped: {tmp_path}/file: 1 message of {signal}" in done.output
    report = json.loads(run("import", tmp_path / "data", tmp_path / "file", "--json").output)
    assert report["skipped"] == {f"{tmp_path}/file": {signal: 1}}


@pytest.mark.parametrize("members", [{"extra": 1}, {"": None, "resource": {"a": [1]}}, {"resourceMetrics": []}])
def test_unknown_members_do_not_hide_a_message(tmp_path: Path, members: dict[str, Any]) -> None:
    lines = [json.dumps({**members, **otlp(0)}), json.dumps(otlp(1)), json.dumps({**otlp(2), **members})]
    (tmp_path / "file").write_text("\n".join(lines), "utf-8")
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert (done.exit_code, rejections(done)) == (0, [])
    assert numbers(tmp_path / "data") == [0, 1, 2]


def test_a_malformed_message_is_rejected_with_its_line(tmp_path: Path) -> None:
    lines = [json.dumps(otlp(0)), '{"resourceSpans": 5}', '{"resourceSpans": [5]}', json.dumps(otlp(3))]
    (tmp_path / "file").write_text("\n".join(lines), "utf-8")
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert numbers(tmp_path / "data") == [0, 3]
    assert [each.partition(": ")[0] for each in rejections(done)] == [f"{tmp_path}/file, line {n}" for n in (2, 3)]


@pytest.mark.parametrize("damage", ["null", json.dumps({"name": "y"})])
def test_ten_rejected_lines_are_named_and_all_are_counted(tmp_path: Path, damage: str) -> None:
    (tmp_path / "file").write_text("\n".join([json.dumps(generic(0)), *[damage] * 500]), "utf-8")
    done = run("import", tmp_path / "data", tmp_path / "file")
    unit = "lines" if damage == "null" else "spans"
    assert f"Imported 1 span into {tmp_path}/data in " in done.output
    assert f"; rejected 500 {unit}." in done.output
    *named, others = rejections(done)
    assert [each.partition(": ")[0] for each in named] == [f"{tmp_path}/file, line {n}" for n in range(2, 12)]
    assert others == f"{tmp_path}/file: others, for similar reasons"


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda text: gzip.compress(text, 6),
    "zlib": lambda text: zlib.compress(text, 6),
    "zstd": lambda text: pa.Codec("zstd").compress(text, asbytes=True),
}


@pytest.mark.parametrize("damage", ["cut", "cut by a byte", "overwritten", "followed by something else"])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_of_a_damaged_compressed_file_the_whole_lines_arrive(
    tmp_path: Path, form: Callable[[int], Any], compression: str, damage: str
) -> None:
    lines = [json.dumps({**form(number), "padding": list(range(3 * number))}) for number in range(60)]
    text = "\n".join(lines).encode()
    content = COMPRESSIONS[compression](text)
    match damage:
        case "cut":
            content = content[: len(content) * 3 // 4]
        case "cut by a byte":
            content = content[:-1]
        case "overwritten":
            middle = len(content) * 3 // 4
            content = content[:middle] + b"\xff" * 64 + content[middle + 64 :]
        case _:
            content += b"something else"
    (tmp_path / "file").write_bytes(content)
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert done.exit_code == 1
    assert f"rejected: {tmp_path}/file: cannot be inflated: " in done.output
    assert "everything before that was read" in done.output
    found = numbers(tmp_path / "data")
    assert found == list(range(len(found)))
    # A zstd block is decompressed as a whole.
    if compression != "zstd" or damage == "followed by something else":
        assert len(found) > 20


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_of_a_damaged_file_of_zstd_whole_blocks_arrive(tmp_path: Path, damage: str) -> None:
    lines = [json.dumps({**generic(number), "padding": "x" * 20_000}) for number in range(60)]
    content = COMPRESSIONS["zstd"]("\n".join(lines).encode())
    assert len(content) > 200
    damaged = content[:-20] if damage == "cut" else content[:-40] + b"\xff" * 20 + content[-20:]
    (tmp_path / "file").write_bytes(damaged)
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert done.exit_code == 1
    assert len(numbers(tmp_path / "data")) >= 7 * 128 * 1024 // 20_100


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_streams_behind_each_other_and_padding_are_read(tmp_path: Path, compression: str) -> None:
    compress = COMPRESSIONS[compression]
    content = b"".join(compress(json.dumps(generic(number)).encode() + b"\n") for number in range(3))
    (tmp_path / "file").write_bytes(content + bytes(512))
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert (done.exit_code, rejections(done)) == (0, []), done.output
    assert numbers(tmp_path / "data") == [0, 1, 2]


@pytest.mark.parametrize("damaged", [b"nothing to read", b"null\nnull\n", json.dumps({"name": "y"}).encode()])
def test_one_rejected_file_among_several_sets_the_exit_status(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "files").mkdir()
    for number, name in enumerate(["a", "c"]):
        (tmp_path / "files" / name).write_text(json.dumps(otlp(number)), "utf-8")
    (tmp_path / "files" / "b").write_bytes(damaged)
    done = run("import", tmp_path / "data", tmp_path / "files")
    assert done.exit_code == 1
    assert "Error: some input could not be read" in done.output
    assert numbers(tmp_path / "data") == [0, 1]


def test_a_damaged_message_among_others_is_rejected_with_its_number(tmp_path: Path) -> None:
    bodies = [
        json.dumps(otlp(0)).encode(),
        b"{",
        b"\x0a\x7f\x12",
        b"\x28\xb5\x2f\xfd\xff",
        json.dumps(otlp(4)).encode(),
    ]
    content = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    (tmp_path / "file").write_bytes(content + bytes(4096))
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert numbers(tmp_path / "data") == [0, 4]
    assert [each.partition(": ")[0] for each in rejections(done)] == [
        f"{tmp_path}/file, message {n}" for n in (2, 3, 4)
    ]
    assert "; rejected 3 messages." in done.output


def test_a_line_that_is_too_long_is_rejected_and_the_others_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK_BYTES", 500)
    monkeypatch.setattr(module, "MAX_MESSAGE_BYTES", 5000)
    long = json.dumps({**generic(1), "padding": "x" * 20_000})
    lines = [json.dumps(generic(0)), long, json.dumps(generic(2)), json.dumps(generic(3), indent=1)]
    (tmp_path / "file").write_text("\n".join(lines), "utf-8")
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert numbers(tmp_path / "data") == [0, 2, 3]
    assert rejections(done) == [f"{tmp_path}/file, line 2: expected lines of up to 5000 bytes, found a longer one"]


PIECES = [b"\n", b"{}", b"[", b"]", b"{", b"}", b'"', b"\0", b"1", b",", b":", b" ", b"\xef\xbb\xbf", b"\xff"]


@given(text=st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join), cut=st.integers(0, 60))
@example(text=b"[\n" * 90, cut=90)
def test_a_text_in_two_pieces_has_the_same_values(text: bytes, cut: int) -> None:
    def values(parts: list[tuple[str, int, int, int, str]], text: bytes, lines: int) -> list[tuple[str, bytes, int]]:
        found = []
        for kind, begin, end, line, _ in parts:
            place = text[begin:end]
            if kind != "lines":
                found.append((kind, place, lines + line))
                continue
            within = enumerate(place.split(b"\n"))
            found += [("line", each.strip(), lines + line + at) for at, each in within if each.strip()]
        return found

    whole, used, _, _ = split_json(text, is_whole=True)
    assert used == len(text)
    before, used, lines, _ = split_json(text[:cut], is_whole=False)
    rest = text[used:]
    after, _, _, _ = split_json(rest, is_whole=True)
    assert values(before, text, 0) + values(after, rest, lines) == values(whole, text, 0)
