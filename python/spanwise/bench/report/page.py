"""The page `docs/benchmarks.md`: the method, goals and results, and all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench.machine import NOT_INSTALLED
from spanwise.bench.report.contents import contents_table, elsewhere_table, indexes_table
from spanwise.bench.report.facets import facets_table
from spanwise.bench.report.figures import OURS
from spanwise.bench.report.goals import deep_pages, goal_results
from spanwise.bench.report.masks import masks_section
from spanwise.bench.report.questions import questions_section, questions_title
from spanwise.bench.stages.http import LIMITS
from spanwise.bench.tables import megabytes, milliseconds, prose, ratio, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwise.bench.machine import Circumstances
    from spanwise.bench.report.figures import Compared, DataSet, Served

NAMES = {OURS: "Spanwise", "duckdb": "DuckDB", "polars": "Polars", "datafusion": "DataFusion", "chdb": "chDB"}
_GOAL_TRACES = 10_000_000
_HEAD = """\
# Benchmarks

This page, its figures as [JSON]({data}) and the plot are written by `spanwise bench`. Measure again with

```sh
pip install 'spanwise[bench]'
spanwise bench                       # 20,000 traces, about five minutes
{commands}
```

## How it is measured

- **Data.** Drawn from a seed, in the shape of real traces: the 30 days before 2026-11-20, 200 names, 50 agents with
  Zipf weights, a session for every 8 traces, whose traces are minutes apart, a user for every 50, 3 % of the traces
  without a session, 4 % without a user, 8 % without an agent (teams, workflows), log-normal durations, 5 % errors.
  *Real* documents: a median of 6 and up to 500 spans a trace, about 1.2 KB a span. *Small* ones: one span of about
  490 bytes a trace. Texts have words with natural frequencies, ids of the span and of its trace, email addresses,
  conversations that each call of a model repeats, JSON, and for 8.5 % of the traces Japanese or Chinese; each text is
  drawn from 8,192 of its kind, so prose recurs across traces. In failed traces half of the tools fail, and half of the
  roots. The store is filled by ingesting OTLP requests in protobuf. Data sets that were built before
  24 November 2026 had random words, shorter texts, no ids in them, and failures only in roots and last spans: their
  rows, searches, aggregations and facets are the same, their sizes, span trees and rates of ingest are not.
- **Peers.** DuckDB, Polars and DataFusion hold the rows in memory: nine columns, as each library takes them from
  Arrow, newest first, with no index made by hand. Columns that no query reads are left out. The index of rows, in
  which Spanwise searches, is a file; it is read once before, so that it is in memory, too.
- **Answers.** Every engine returns the ids of the page, in order, and the exact total. All engines sort the result, as
  SQL does; none relies on the order of rows in memory. Before anything is timed, the results of Spanwise are compared
  with DuckDB's, and every timed result is compared again.
- **Times.** All engines run in one process, one after another in each round, in rotating order, each with the same
  new literal; no result is reused. (`status EQ ERROR` and `match all` have no literal.) The time is measured from the
  query as the engine takes it (a filter in JSON, SQL, a lazy query) to the ids as Python strings and the total as a
  number. For Spanwise it includes compiling the filter and serializing the page. Peers do not have to ignore case in
  columns without upper-case letters.
- ***A scan at least*** is the time in which all cores read the bytes of the columns that the filter and the order of
  the page need from memory, measured in the same run; a column of few values counts as codes of one to four bytes.
  Whatever looks at every row takes longer.
- **Generated questions** are drawn from a seed: every operator on every field, alone and in trees of up to six, for
  runs and sessions, in four orders, on the first, second, middle and last page, of all users and of one. The title says
  when the load was above 0.5, or when there were fewer than 15 repetitions. What a question matches is drawn once:
  nothing, all, or something between; every repetition has literals of its own that match about as much, if there are
  others, and every answer is compared. Beside engines that scan rows in memory there are engines that keep them in
  order or have indexes: chDB by start time and with `LowCardinality`, DuckDB with a file by start time and indexes on
  ids, Polars told that its rows are sorted, and PostgreSQL with indexes on ids, owners, times and durations. An
  engine that takes twice as long as the fastest of its kind when a question is first asked is not asked it again, and
  is compared with what Spanwise took in that round. Spanwise's indexes are files: before each question what the system
  no longer has of them in memory is read, and all their pages are mapped, as those of rows in memory are. Tables of
  28 November 2026 and before are without that, and compare an engine that was asked once with the median of all
  rounds; before that day the literals of one question could match nothing in one repetition and everything in the
  next, so that what an engine took for one of them decided whether it was asked again, from three times as long on.
  What looks up a few rows waits for reads at random places, and memory that others use too is not always as fast at
  them: since 29 November 2026 100,000 reads at random places of 512 MiB are timed before each question.
- **Aggregations** compute, in buckets of twelve hours, how many traces there are, how many failed, and the exact 95th
  percentile of their durations: of all together, or of the ten agents with most traces and of all other ones. Every
  answer is compared with DuckDB's. Spanwise computes totals besides. DataFusion has no exact percentile; chDB takes
  part where it is installed.
- **Facets** are the 20 most frequent values of six fields, how many values there are, and how many traces have none.
  Two of the fields have a value for nearly every trace or session. Every answer is compared with DuckDB's.
- **Texts, spans and attributes** are asked for the newest 100 traces that match, and the exact total; the questions
  are those of `python/spanwise/bench/contents/questions.json`. Every answer is compared with DuckDB's before anything
  is timed, and so is every timed first page. *Asked first* is with nothing kept of earlier answers: the store is
  opened anew for every round, with its files in the cache of the system and its indexes open. *Asked again* is the
  same question at once after it, *next page* its second page. DuckDB holds the spans and the texts in memory, a row
  for each span and for each text, in lower case so that it need not fold; a text with escapes of JSON is searched for
  each spelling; attributes are columns of their own types there, which it is told beforehand. chDB and Tantivy take
  part where they are installed, and where they can answer: chDB holds the same tables on disk, with an index of
  words, and is not asked for order and structure; Tantivy indexes words with their positions, and is asked only for
  words that stand nowhere as parts of others. No peer holds more than 1,000,000 traces: above that DuckDB compares
  the answers about four windows of time with 250,000 traces each, and later answers are compared with our first. The
  indexes of documents are made by one thread of low priority; the times are those of making each kind alone, the
  reading of the documents included.
- **Bytes a span** elsewhere are those of the same traces, 100,000 of them at most: a Parquet file with a column for
  each field and maps of attributes, and the table that OpenTelemetry's exporter for ClickHouse creates, with its
  indexes, merged. An index of the words in attributes is not part of that table; ours has one.
- **Masks** are made over one Arrow batch of the newest rows, for every operator and every type of column that a filter
  takes, and compared with those of PyArrow and Polars in every round. Every sixteenth number and time is missing there.
- **Span trees** are timed over HTTP: a real `spanwise serve` on the loopback, one client, one connection, until the
  last byte is read.
- p99 is the nearest rank of all runs, so the slowest one if there are fewer than 100. Load is the load average of the
  minute before a stage started: on an idle machine it is near 0.
- **Rows without documents** show how searches scale where no disk would hold the documents. The benchmark writes their
  files directly, in the format of a store. Where the peers could not hold so many rows in memory, they are measured
  without them, and DuckDB reads the same files to verify one result of each query before anything is timed.
"""


def page(data_sets: Sequence[DataSet], plot: str, data: str) -> str:
    """Returns the page; `plot` and `data` are the names of the files next to it."""
    commands = "\n".join(dict.fromkeys(found.command for found in data_sets))
    parts = [_HEAD.format(data=data, commands=commands)]
    titles = [_title(found) for found in data_sets]
    for title, found in zip(titles, data_sets, strict=True):
        when = f", built on {found.stages['build'].when[:10]}" if titles.count(title) > 1 else ""
        parts += [f"## {title}{when}\n", *_sections(found)]
    parts += [
        "## Growth\n",
        f"![medians by the number of traces, on logarithmic axes]({plot})\n",
        "A deep page is page 5,000 from a million traces on, and nearer before.\n",
    ]
    return "\n".join(parts)


def _title(found: DataSet) -> str:
    what = "rows without documents" if found.documents == "none" else f"{found.documents} documents"
    return f"{found.traces:,} traces, {what}"


def _sections(found: DataSet) -> Iterator[str]:
    goals = [(goal.what, goal.goal, goal.result, "yes" if goal.is_reached else "no") for goal in goal_results(found)]
    if goals:
        where = "" if found.traces == _GOAL_TRACES else f"; the goals are for {_GOAL_TRACES:,} traces"
        yield f"### Goals\n\nOn two cores that do nothing else{where}.\n"
        yield table(["what", "goal", "result", "reached"], goals, of_words=True) + "\n"
    if found.stages:
        yield f"### Circumstances\n\n{_circumstances(found.stages)}\n"
    if found.store:
        yield f"### The store\n\n{_store(found)}\n"
    if found.queries:
        heading = "Beside the peers" if found.geometric_mean else "Searches"
        yield f"### {heading}\n\n{_queries(found)}\n"
    if found.aggregations:
        yield f"### Aggregations\n\n{_comparison('count, errors and p95 over time', found.aggregations)}\n"
    if found.facets:
        yield f"### Facets\n\n{facets_table(found.facets)}\n"
    yield from _contents(found)
    yield from _service(found)


def _contents(found: DataSet) -> Iterator[str]:
    if found.index_bytes:
        yield f"### The indexes\n\n{indexes_table(found)}\n"
    if found.bytes_elsewhere and found.store:
        yield f"### Bytes a span\n\n{elsewhere_table(found)}\n"
    if found.texts:
        yield f"### What was said\n\n{contents_table('the newest 100 with the exact total', found.texts)}\n"
    if found.spans:
        yield f"### What was done\n\n{contents_table('the newest 100 with the exact total', found.spans)}\n"
    if found.attributes:
        yield f"### Attributes\n\n{contents_table('the newest 100 with the exact total', found.attributes)}\n"
    if found.questions:
        yield f"### {questions_title(found.questions)}\n\n{questions_section(found.questions)}\n"
    if found.masks:
        yield f"### Masks over Arrow batches\n\n{masks_section(found)}\n"


def _service(found: DataSet) -> Iterator[str]:
    if found.http:
        yield f"### Over HTTP, with full span trees\n\n{_http(found.http)}\n"
    if found.ingest:
        yield f"### Ingest\n\n{_ingest(found.ingest)}\n"
    if found.open:
        yield f"### Opening\n\n{_opening(found.open)}\n"


def _circumstances(stages: dict[str, Circumstances]) -> str:
    last = next(reversed(stages.values()))
    versions = ", ".join(f"{name} {number}" for name, number in _versions(stages).items())
    rows = [(name, part.when, f"{part.load:.2f}") for name, part in stages.items()]
    machine = f"{last.processor}, {last.cores} cores, {last.memory_bytes / 1e9:.0f} GB of memory, {last.system}."
    return f"{prose(f'{machine} {versions}.')}\n\n{table(['stage', 'ended', 'load before'], rows)}"


def _versions(stages: dict[str, Circumstances]) -> dict[str, str]:
    """Returns the versions of the last stage; a package that was not there then has that of a stage that had it."""
    versions: dict[str, str] = {}
    for part in stages.values():
        versions |= {name: number for name, number in part.versions.items() if number != NOT_INSTALLED}
    return dict.fromkeys(next(reversed(stages.values())).versions, NOT_INSTALLED) | versions


def _store(found: DataSet) -> str:
    store, checked = found.store, found.checked_answers
    text = (_ingested_store if store["spans"] else _rows_only_store)(found, store) + f" Seed {found.seed}."
    if checked:
        text += f" {checked} answers were compared with DuckDB's before anything was timed; all were equal."
    return prose(text)


def _ingested_store(_: DataSet, store: dict[str, float]) -> str:
    spans = int(store["spans"])
    return (
        f"{spans:,} spans of {store['sent_bytes'] / spans:,.0f} bytes, sent in {store['fill_seconds']:,.0f} s in "
        f"process by one generator ({spans / store['fill_seconds']:,.0f} spans/s, its own work included), compacted in "
        f"{store['compact_seconds']:,.0f} s: {megabytes(store['disk_bytes'])} on disk, "
        f"{store['disk_bytes'] / spans:,.0f} bytes a span."
    )


def _rows_only_store(found: DataSet, store: dict[str, float]) -> str:
    return (
        f"{found.traces:,} rows without documents, written in {store['fill_seconds']:,.0f} s, indexed in "
        f"{store['compact_seconds']:,.0f} s: {megabytes(store['disk_bytes'])} on disk, "
        f"{store['disk_bytes'] / found.traces:,.0f} bytes a row."
    )


def _comparison(what: str, queries: Sequence[Compared]) -> str:
    """Returns the table of all engines."""
    engines = [name for name in NAMES if name in queries[0].engines]
    peers = [name for name in engines if name != OURS]
    head = [what, "found", "Spanwise p50", "p99", "runs"]
    head += [f"{NAMES[name]} p50" for name in peers] + ["faster than the fastest"] * bool(peers)
    is_bound = any(row.scan_ms is not None for row in queries)
    head += ["a scan at least"] * is_bound
    rows = []
    for row in queries:
        ours = row.engines[OURS]
        cells = [row.title, f"{row.found:,}", milliseconds(ours.median_ms), milliseconds(ours.p99_ms), str(ours.runs)]
        cells += [milliseconds(row.engines[name].median_ms) for name in peers]
        cells += [ratio(row.ratio)] if row.ratio else []
        rows.append([*cells, "" if row.scan_ms is None else milliseconds(row.scan_ms)] if is_bound else cells)
    return table(head, rows)


def _queries(found: DataSet) -> str:
    peers = [name for name in found.queries[0].engines if name != OURS]
    parts = [_comparison("page 1 of 20 with the exact total", found.queries)]
    if found.geometric_mean:
        parts.append(f"Geometric mean: {ratio(found.geometric_mean)} faster than the fastest peer of each query.")
    deep = [
        (first.title, milliseconds(_ours(first)), milliseconds(_ours(second)), f"{_ours(second) / _ours(first):.2f}x")
        for first, second in deep_pages(found.queries)
    ]
    if deep:
        parts.append(table(["deep pages", "page 1", f"page {_deep_page(found):,}", "factor"], deep))
    if not peers:
        return "\n\n".join(parts)
    memory = [(NAMES[name], megabytes(taken)) for name, taken in found.memory_bytes.items()]
    parts.append(table(["private memory with all rows", ""], memory))
    whose = (
        "Spanwise keeps its rows in files; the peers keep theirs in memory. DataFusion's are the Arrow rows themselves."
    )
    parts.append(prose(whose))
    return "\n\n".join(parts)


def _deep_page(found: DataSet) -> int:
    return max(row.page for row in found.queries)


def _ours(row: Compared) -> float:
    return row.engines[OURS].median_ms


def _http(served: list[Served]) -> str:
    titles = list(dict.fromkeys(row.title for row in served))
    by_query = {(row.title, row.limit): row for row in served}
    head = ["page with exact total"]
    for limit in LIMITS:
        head += [f"{limit} a page: p50", "p99", "answer"]
    rows = []
    for title in titles:
        cells = [title]
        for limit in LIMITS:
            row = by_query.get((title, limit))
            if row:
                size = f"{row.answer_bytes / 1e3:,.0f} KB"
                cells += [milliseconds(row.time.median_ms), milliseconds(row.time.p99_ms), size]
            else:
                cells += ["", "", ""]
        rows.append(cells)
    return table(head, rows)


def _ingest(ingest: dict[str, float]) -> str:
    sent, written = ingest["durable_sent_bytes_a_second"], ingest["durable_written_bytes_a_second"]
    rows = [
        ("durable, spans/s", f"{ingest['durable_spans_a_second']:,.0f}"),
        ("connections", f"{ingest['durable_connections']:.0f}"),
        ("seconds", f"{ingest['durable_seconds']:.0f}"),
        ("sent", f"{megabytes(sent)}/s"),
        ("written to disk by the server, seals and merges included", f"{megabytes(written)}/s"),
        ("the disk by itself: one large file, synced", f"{ingest['disk_megabytes_a_second']:,.0f} MB/s"),
        ("share of one core that the client took", f"{ingest['durable_client_cpu_share']:.2f}"),
        ("requests refused with 503 and sent again", f"{ingest['durable_refusals']:.0f}"),
        ("a search at rest", _both(ingest, "search_idle")),
        (f"a search while {ingest['busy_spans_a_second']:,.0f} spans/s come in", _both(ingest, "search_busy")),
        ("new traces asked for as soon as acknowledged", f"{ingest['asked_at_once']:.0f}"),
        ("of them found", f"{ingest['found_at_once']:.0f}"),
    ]
    how = (
        "Uncompressed protobuf made beforehand, 512 spans of about 1 KB a request; sender and server share the cores. "
        "The searches are pages of 20 full trees, all queries of runs in turn, over a copy of the store, while another "
        "process sends."
    )
    return f"{prose(how)}\n\n{table(['what', ''], rows)}"


def _both(ingest: dict[str, float], name: str) -> str:
    return f"p50 {milliseconds(ingest[f'{name}_p50_ms'])}, p99 {milliseconds(ingest[f'{name}_p99_ms'])}"


def _opening(opened: dict[str, float]) -> str:
    rows = [
        ("`spanwise serve` to ready, median", f"{opened['ready_seconds']:.2f} s"),
        ("the same over an empty store", f"{opened['empty_ready_seconds']:.2f} s"),
        ("private memory once ready, RssAnon", megabytes(opened["anonymous_bytes"])),
        ("mapped files in memory, RssFile", megabytes(opened["file_bytes"])),
    ]
    # Figures from before these were measured do not have them.
    later = {
        "peak_bytes": "the most of both at once, VmHWM",
        "empty_resident_bytes": "private and mapped memory once ready with an empty store",
    }
    rows += [(title, megabytes(opened[name])) for name, title in later.items() if name in opened]
    return table(["what", ""], rows)
