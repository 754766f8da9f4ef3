"""The Rust engine: the FFI boundary of the package.

Arguments and results are bytes, numbers and Arrow data; JSON documents are passed as UTF-8 bytes. Every call releases
the interpreter lock while it works. Errors are raised as the exceptions of `spanwise.errors`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, final

__all__ = [
    "Aggregation",
    "AttributeKeys",
    "CancellationToken",
    "Download",
    "FacetPlan",
    "Facets",
    "Filter",
    "Gathering",
    "IngestReport",
    "LogIngestReport",
    "MetricDropReport",
    "Page",
    "PinnedSearch",
    "PreparedAggregation",
    "Progress",
    "RequestSplitter",
    "SpanFileJoiner",
    "SpanFilter",
    "SplitRequest",
    "Tail",
    "TailFeed",
    "TraceStore",
    "__version__",
    "columns_read",
    "create_object",
    "drop_metrics",
    "filter_schema",
    "import_schema",
    "ingest_part",
    "ipc_size",
    "list_objects",
    "otlp_spans",
    "otlp_status",
    "read_object",
    "serve_caller",
    "set_conventions",
    "set_page_memory_limit",
    "set_prices",
    "span_schema",
    "spans_of_columns",
    "spans_of_json",
    "split_json",
    "trace_schema",
]

__version__: str

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None, /) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object: ...

@final
class Filter:
    """A compiled filter expression: immutable and safe to share between threads."""

    @staticmethod
    def compile(source: str | bytes | Mapping[str, Any]) -> Filter:
        """Compiles a filter expression given as JSON, or as a dict; `null` and `{}` match everything.

        Raises:
            FilterError: the expression is invalid, or has a value that JSON does not have.
            TypeError: it is of another type.
        """

    def restrict(self, field: str, value: str) -> Filter:
        """Returns this filter AND-ed with `field EQ value`, which is evaluated first.

        Raises:
            FilterError: the field is unknown, or the value does not have its type.
        """

    def charged_to(self, caller: str) -> Filter:
        """Returns this filter as the question of a caller.

        The rows that are kept of its results are charged to the caller, and only it is answered with them.
        """

    def mask(self, data: _ArrowArray | _ArrowStream) -> Any:
        """Returns one boolean per row, true where the filter matches; never null.

        Args:
            data: a record batch, or a table or a stream of record batches, of any library: what has
                `__arrow_c_array__` or `__arrow_c_stream__`.

        Returns:
            An Arrow array for a record batch; otherwise a chunked array with a chunk for each batch.

        Raises:
            BatchError: a column that the filter reads is missing or has an unsupported type, or the stream failed.
            TypeError: it is no Arrow data.
        """

    def canonical(self) -> bytes:
        """Returns the expression as canonical JSON, `null` if it matches everything."""

    def to_query(self) -> bytes:
        """Returns this filter with its restrictions as a message, for `of_query`."""

    @staticmethod
    def of_query(query: bytes) -> Filter:
        """Returns the filter of a message. Its restrictions are evaluated first.

        Raises:
            UnavailableError: it is no such message.
            FilterError: the expression is invalid.
        """

@final
class SpanFilter:
    """A compiled condition on one span: immutable and safe to share between threads."""

    @staticmethod
    def compile(source: bytes) -> SpanFilter:
        """Compiles a condition as it stands in the `where` of `SPAN`; `null` and `{}` match every span.

        Raises:
            FilterError: the condition is invalid.
        """

@final
class Aggregation:
    """A compiled aggregation: immutable and safe to share between threads."""

    @staticmethod
    def compile(source: bytes) -> Aggregation:
        """Compiles the body of a request, given as JSON.

        Raises:
            ValidationError: a member is invalid; the message ends with its place.
            FilterError: a filter is invalid. The path of an error in `filter` begins there, that of one in a `where`
                at the root of the body.
        """

    def restrict(self, field: str, value: str) -> Aggregation:
        """Returns this aggregation over the traces that also have `value` in `field`, which is evaluated first.

        Raises:
            FilterError: the field is unknown, or the value does not have its type.
        """

    def charged_to(self, caller: str) -> Aggregation:
        """Returns this aggregation as the question of a caller.

        The rows that are kept of its results are charged to the caller, and only it is answered with them.
        """

@final
class PreparedAggregation:
    """An aggregation whose traces are selected and whose groups are known."""

    @property
    def max_bytes(self) -> int:
        """The memory that it takes at most, in bytes."""

    def run(self, cancel: CancellationToken | None = None) -> tuple[bytes, int]:
        """Computes the aggregation.

        Returns:
            The response's `data` as JSON, and the number of traces that match.

        Raises:
            CancelledError: `cancel` was cancelled.
        """

@final
class CancellationToken:
    """Cancels a running search."""

    def __new__(cls) -> CancellationToken: ...
    def cancel(self) -> None:
        """Cancels the search, which soon raises `CancelledError`."""

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled."""

@final
class Download:
    """A download in progress: an iterator over the chunks of a file. It ends after an error."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> bytes: ...
    @property
    def progress(self) -> tuple[int, int, int]:
        """Matching traces that were read so far, traces that were read or passed over, and all traces."""

@final
class Progress:
    """How far a long operation on a store has come, for another thread to watch."""

    def __new__(cls) -> Progress: ...
    @property
    def done_of_total(self) -> tuple[int, int]:
        """How many units are done, and how many there are; 0 if that is not known."""

@final
class AttributeKeys:
    """Counted keys of attributes."""

    @property
    def data(self) -> bytes:
        """A JSON list of keys as filters spell them, each with the number of traces that have it."""

    @property
    def distinct(self) -> int:
        """The number of keys."""

    @property
    def matched(self) -> int:
        """The number of traces that the filter matches."""

    @property
    def uncounted(self) -> int:
        """How many of these are not counted, because their attributes are not indexed yet."""

@final
class FacetPlan:
    """Facets that can be counted in one state of a store."""

    @property
    def bytes(self) -> int:
        """An upper bound of the memory that `run` takes, in bytes."""

    def run(self, cancel: CancellationToken | None = None) -> Facets:
        """Counts the facets.

        Raises:
            CancelledError: `cancel` was cancelled.
        """

@final
class Facets:
    """Counted facets."""

    @property
    def data(self) -> bytes:
        """A JSON object: a `Facet` by field."""

    @property
    def matched(self) -> int:
        """The number of traces that the whole filter matches."""

    @property
    def not_excluded(self) -> list[str]:
        """The fields whose conditions stayed, because they stand beside those of other fields."""

@final
class Gathering:
    """One search over all shards: what to ask them, and what they answered.

    Begin one for a kind of search, ask the shards until `questions` returns `None`, then take what was found.
    """

    @staticmethod
    def runs(
        shards: int,
        filter: Filter,
        page: int,
        limit: int,
        detail: str,
        sort: tuple[str, bool],
        ends_when_full: bool,
        matches: bool,
    ) -> Gathering:
        """Searches for one page of traces, as `TraceStore.search_runs`; found by `page`."""

    @staticmethod
    def sessions(shards: int, filter: Filter, page: int, limit: int) -> Gathering:
        """Searches for one page of sessions, as `TraceStore.search_sessions`; found by `page`."""

    @staticmethod
    def spans(
        shards: int,
        filters: tuple[Filter, SpanFilter],
        page: tuple[int, int],
        ends_when_full: bool,
        with_matches: bool,
    ) -> Gathering:
        """Searches for one page of spans, as `TraceStore.search_spans`; found by `page`."""

    @staticmethod
    def aggregate(shards: int, aggregation: Aggregation) -> Gathering:
        """Counts and measures, as `TraceStore.prepare`; found by `numbers`."""

    @staticmethod
    def facets(
        shards: int,
        filter: Filter,
        keys: list[str],
        limit: int,
        prefix: tuple[str, str] | None,
        exclude_own: bool,
    ) -> Gathering:
        """Counts facets, as `TraceStore.plan_facets`; found by `counted_facets`."""

    @staticmethod
    def attribute_keys(shards: int, filter: Filter, limit: int, prefix: str) -> Gathering:
        """Counts the keys of attributes, as `TraceStore.attribute_keys`; found by `counted_keys`."""

    @staticmethod
    def trace(trace_id: str, filter: Filter, detail: str, is_damaged: bool) -> Gathering:
        """Looks up one trace on one shard, as `TraceStore.trace`, or as `TraceStore.damaged_trace`; found by `json`."""

    @staticmethod
    def span(trace_id: str, span_id: str, filter: Filter, max_bytes: int | None) -> Gathering:
        """Looks up one span on one shard, as `TraceStore.span`; found by `json`."""

    @staticmethod
    def value(trace_id: str, span_id: str, filter: Filter, part: tuple[str, int, int | None]) -> Gathering:
        """Looks up a part of a value on one shard, as `TraceStore.value`; found by `json`."""

    @property
    def query(self) -> bytes:
        """What the search is, with its restrictions, for `PinnedSearch`."""

    @property
    def max_bytes(self) -> int | None:
        """How much memory all shards together take at most from now on, in bytes; None while that is not known."""

    def questions(self) -> list[bytes | None] | None:
        """Returns a question for every shard that is asked something; `None` once everything is known.

        Raises:
            UnavailableError: answers contradict each other.
            PayloadTooLargeError: the page exceeds its size limit; the message names a limit that fits.
        """

    def take(self, answers: list[bytes | None]) -> None:
        """Takes the answers to `questions`, in that order.

        Raises:
            UnavailableError: an answer is missing, or answers another question.
            PayloadTooLargeError: all shards together would look at too many documents.
        """

    def page(self) -> Page:
        """Returns the page that was searched for."""

    def json(self) -> bytes | None:
        """Returns what was looked up as JSON; `None` if there is no such, or the filter does not match the trace."""

    def numbers(self) -> tuple[bytes, int]:
        """Returns the response's `data` of an aggregation as JSON, and the number of traces that match."""

    def counted_facets(self) -> Facets:
        """Returns the facets that were counted."""

    def counted_keys(self) -> AttributeKeys:
        """Returns the keys of attributes that were counted."""

@final
class PinnedSearch:
    """One search in the present state of one shard."""

    def __new__(cls, store: TraceStore, query: bytes) -> PinnedSearch:
        """Pins the present state of `store` for the search that `Gathering.query` describes.

        Raises:
            UnavailableError: it is no such description.
        """

    def answer(self, question: bytes, cancel: CancellationToken | None = None) -> bytes:
        """Answers one question of a `Gathering`.

        Raises:
            UnavailableError: it is none.
            CancelledError: `cancel` was cancelled.
        """

@final
class RequestSplitter:
    """Divides OTLP requests among shards by trace."""

    def __new__(cls, prefixes: list[str], max_decoding_bytes: int) -> RequestSplitter:
        """Divides by the prefixes of shards: the first bits of the CRC-32C of a trace's id, as digits.

        Raises:
            ConfigurationError: they do not cover every hash once.
        """

    def shard_of(self, trace_id: str) -> int | None:
        """Returns the number of the shard of a trace, given by its id in hexadecimal digits; `None` if it is no id."""

    def import_spans(self, stores: Sequence[TraceStore], stream: _ArrowStream, source: str) -> bytes:
        """Imports a stream of spans into the stores of the shards, as `TraceStore.import_spans` does into one.

        Raises:
            ConfigurationError: there are more or fewer stores than prefixes, or one is open for reading only.
            SpanwiseError: as `TraceStore.import_spans`.
        """

    def split(self, body: bytes, content_type: str, content_encoding: str | None = None) -> SplitRequest:
        """Decodes, checks and divides the spans of one OTLP request.

        Raises:
            DecodeError: the body does not match its content type.
            UnsupportedMediaTypeError: the content type or encoding is not supported.
            PayloadTooLargeError: the decompressed body exceeds its size limit.
        """

    def split_logs(self, body: bytes, content_type: str, content_encoding: str | None = None) -> SplitRequest:
        """Decodes, checks and divides the log records of one OTLP request that carry content of a span.

        Raises:
            SpanwiseError: as `split`.
        """

@final
class SplitRequest:
    """One OTLP request, divided among shards."""

    @property
    def received(self) -> int:
        """When the request was received, in microseconds since 1970."""

    @property
    def parts(self) -> list[tuple[int, bytes]]:
        """The shards that get something, in the order of arrival: the number of each, and its part."""

    def report(self, outcomes: list[tuple[int, int, str]]) -> IngestReport:
        """Returns the report on the spans, from what `ingest_part` returned of every part, in the order of `parts`."""

    def log_report(self, outcomes: list[tuple[int, int, str]]) -> LogIngestReport:
        """Returns the report on the log records, as `report` does of spans."""

def ingest_part(store: TraceStore, received: int, part: bytes) -> tuple[int, int, str]:
    """Stores a part of a `SplitRequest`, and returns once it is durable.

    Returns:
        How many spans and log records were accepted, how many rejected, and why the first of these was.

    Raises:
        DecodeError: it is no such part.
        UnavailableError: nothing was stored; the same part may be stored later.
    """

@final
class SpanFileJoiner:
    """Joins Arrow streams of spans into one file."""

    def __new__(cls, format: str) -> SpanFileJoiner:
        """Begins a file of a format: `parquet` or `arrow`.

        Raises:
            ConfigurationError: it is another one.
        """

    def add(self, chunk: bytes) -> bytes:
        """Reads a chunk of the present stream; returns what was written of the file, which may be nothing.

        Raises:
            DecodeError: it is no such stream.
        """

    def end_stream(self) -> None:
        """Ends the present stream; another one may follow.

        Raises:
            DecodeError: it is cut short.
        """

    def finish(self) -> bytes:
        """Ends the file; returns the rest of it."""

@final
class IngestReport:
    """The result of ingesting one OTLP request."""

    @property
    def accepted_spans(self) -> int:
        """Number of spans that were stored."""

    @property
    def rejected_spans(self) -> int:
        """Number of spans that were rejected."""

    @property
    def reason(self) -> str:
        """Why the first span was rejected; empty if none was."""

    @property
    def response(self) -> bytes:
        """The response body, in the encoding of the request."""

    @property
    def content_type(self) -> str:
        """The content type of the response."""

@final
class LogIngestReport:
    """The result of ingesting one OTLP request with log records."""

    @property
    def kept_records(self) -> int:
        """Number of records that carry content of a span and were stored."""

    @property
    def dropped_records(self) -> int:
        """Number of records that carry none."""

    @property
    def rejected_records(self) -> int:
        """Number of records that carry content of a span, but are invalid or exceed a limit."""

    @property
    def reason(self) -> str:
        """Why the first record was rejected; empty if none was."""

    @property
    def response(self) -> bytes:
        """The response body, in the encoding of the request."""

    @property
    def content_type(self) -> str:
        """The content type of the response."""

@final
class MetricDropReport:
    """The result of dropping one OTLP request with metrics."""

    @property
    def dropped_metrics(self) -> int:
        """Number of metrics in the request."""

    @property
    def response(self) -> bytes:
        """The response body, in the encoding of the request."""

    @property
    def content_type(self) -> str:
        """The content type of the response."""

@final
class Page:
    """One page of a search."""

    @property
    def data(self) -> bytes:
        """The items, as a JSON array."""

    @property
    def total_count(self) -> int:
        """The number of items on all pages together."""

    @property
    def is_exact(self) -> bool:
        """Whether there are no more than `total_count`."""

    @property
    def damage(self) -> list[str]:
        """What is wrong with the items that are marked as damaged."""

@final
class Tail:
    """A reader of the traces that a filter matches, of one store."""

    @property
    def last(self) -> int:
        """The number of its last event."""

    def rewind(self, number: int) -> bool:
        """Goes back to where event `number` was the last one; what came after it is sent again.

        Returns:
            Whether that was possible.
        """

@final
class TailFeed:
    """Follows one store for all its readers."""

    @property
    def position(self) -> int:
        """A number that grows when a trace changes."""

    def open(self, filter: Filter) -> Tail:
        """Returns a reader of what is committed from now on."""

    def poll(self, readers: list[tuple[Tail, int]]) -> tuple[list[list[tuple[int, str, bytes]]], bool, list[str]]:
        """Brings distinct readers up to date, and takes the next events of each.

        Args:
            readers: each with the most traces that it takes.

        Returns:
            The events of each reader: a number that counts them from 1, `trace`, `dropped` or `gap`, and a JSON object.
            Whether something is due later, even if nothing changes. And what is wrong with traces that were read.

        Raises:
            StoreDamagedError: the index of a segment is damaged and cannot be rebuilt.
        """

@final
class TraceStore:
    """A durable store of traces with a single writer."""

    @staticmethod
    def open(url: str, options: bytes | None = None, progress: Progress | None = None) -> TraceStore:
        """Opens the store at `url` for writing, creating it if there is none; `options` is a JSON object.

        `url` is the URL of a bucket, the folder of a store, or the data folder of a service, whose store is in
        `traces`. A new or empty folder becomes the folder of a store. Every method that takes a store reads `url` so.

        `progress` counts the objects that are read, and later the traces of `delete` and `compact`.

        Raises:
            ConfigurationError: the address or an option is invalid, or the folder holds something else.
            StoreLockedError: another process has the store open.
        """

    @staticmethod
    def follow(url: str, options: bytes | None = None) -> TraceStore:
        """Follows the store at `url`, which another process writes to, and writes nothing there.

        What is acknowledged is found within the option `follow_milliseconds` and the time to read it. If there is no
        store yet, it is waited for in the background; until then reading raises UnavailableError.

        Raises:
            ConfigurationError: the address or an option is invalid, or the store has a newer format.
            StoreLockedError: another reader has the same option `cache_dir`.
            StoreDamagedError: an object is missing or not what was written.
            StoreError: the storage failed.
        """

    @property
    def as_of(self) -> int | None:
        """Up to when everything is known that was acknowledged, in microseconds since 1970.

        None if the store was never read, or is not followed.
        """

    def refresh(self) -> None:
        """Reads what was acknowledged before the call, if the store is followed.

        Raises:
            UnavailableError: there is no store yet, or it changes faster than it can be read.
            StoreError: the storage failed.
        """

    @staticmethod
    def open_read_only(url: str, progress: Progress | None = None) -> TraceStore:
        """Opens the current state of the store at `url` for reading; another process may be writing to it.

        `progress` counts the objects that are read.
        """

    @staticmethod
    def check(url: str, progress: Progress | None = None) -> bytes:
        """Verifies every object of a store that is not open; returns a report as JSON.

        `progress` counts the bytes that are read.
        """

    @staticmethod
    def backup(url: str, target: str, progress: Progress | None = None, indexes: bool = True) -> bytes:
        """Copies the store at `url` into the folder `target`; returns what was copied as JSON.

        Another process may be writing to the store meanwhile. With `indexes` the objects of indexes are copied, too.
        `progress` counts the bytes that are read.
        """

    def ingest(self, body: bytes, content_type: str, content_encoding: str | None = None) -> IngestReport:
        """Stores the spans of one OTLP request; returns once they are durable.

        Raises:
            DecodeError: the body cannot be decoded.
            UnsupportedMediaTypeError: the content type or encoding is not supported.
            PayloadTooLargeError: the body, or its decoded form, exceeds its limit.
            UnavailableError: the store is overloaded; nothing was stored.
            StoreStoppedError: the store accepts no writes until it is reopened.
        """

    def ingest_logs(self, body: bytes, content_type: str, content_encoding: str | None = None) -> LogIngestReport:
        """Stores the log records of one OTLP request that carry content of spans; returns once they are durable.

        Raises:
            SpanwiseError: as `ingest`.
        """

    def search_runs(
        self,
        filter: Filter,
        page: int,
        limit: int,
        detail: str = "full",
        sort: tuple[str, bool] = ...,
        ends_when_full: bool = False,
        matches: bool = False,
        cancel: CancellationToken | None = None,
    ) -> Page:
        """Returns one page of traces.

        `detail` is `full` for `TraceDetail`, `summary` for `TraceSummary`, `preview` for `TracePreview` objects. `sort`
        is the key of a field, and whether its least value comes first; equal values are ordered by start time, the
        newest first. With `ends_when_full` a search, newest first, that looks at documents ends once the page is full:
        `total_count` is then a lower bound. With `matches` each trace has a member of that name: the spans and the
        pieces of text that made the filter match.

        Raises:
            CancelledError: `cancel` was cancelled.
            PayloadTooLargeError: the documents of the page exceed the limit of `set_page_memory_limit`.
        """

    def search_ids(
        self,
        filter: Filter,
        page: int,
        limit: int,
        sort: tuple[str, bool] = ...,
        cancel: CancellationToken | None = None,
    ) -> Page:
        """Returns one page of trace ids in the order of `search_runs`, without reading the traces."""

    def search_sessions(self, filter: Filter, page: int, limit: int, cancel: CancellationToken | None = None) -> Page:
        """Returns one page of sessions, the one with the newest last trace first."""

    def search_spans(
        self,
        filter: Filter,
        spans: SpanFilter,
        page: int,
        limit: int,
        ends_when_full: bool = False,
        with_matches: bool = False,
        cancel: CancellationToken | None = None,
    ) -> Page:
        """Returns one page of spans, of matching traces: newest trace first, then in the order of the tree.

        With `ends_when_full` the search ends once the page is full: `total_count` is then a lower bound. With
        `with_matches` each span has a member `matches`: the texts, and the spans on axes, that made it match.

        Raises:
            CancelledError: `cancel` was cancelled.
            PayloadTooLargeError: too many documents would have to be looked at.
        """

    def prepare(self, aggregation: Aggregation, cancel: CancellationToken | None = None) -> PreparedAggregation:
        """Selects the traces of an aggregation in the present state, and finds their groups.

        Raises:
            CancelledError: `cancel` was cancelled.
        """

    def plan_facets(
        self,
        filter: Filter,
        keys: list[str],
        limit: int,
        prefix: tuple[str, str] | None = None,
        exclude_own: bool = False,
    ) -> FacetPlan:
        """Plans the facets of the fields `keys`, each with its `limit` most frequent values, in the present state.

        `prefix` is one of `keys` and what its values start with. `exclude_own` leaves the conditions on a field out of
        its own counts.

        Raises:
            ConfigurationError: a field has no facet or is repeated, or the limit is not in 1 to 1,000.
        """

    def attribute_keys(
        self, filter: Filter, limit: int, prefix: str = "", cancel: CancellationToken | None = None
    ) -> AttributeKeys:
        """Counts the keys of attributes among the traces that match, and returns the `limit` most frequent ones.

        `prefix` is what the keys start with, as filters spell them: `attributes.` or `resource.`, and the key.

        Raises:
            ConfigurationError: the limit is not in 1 to 1,000.
            PayloadTooLargeError: too many documents would have to be looked at.
            CancelledError: `cancel` was cancelled.
        """

    def tail_feed(self) -> TailFeed:
        """Returns what follows the store for all readers."""

    def trace(self, trace_id: str, filter: Filter, detail: str = "full") -> bytes | None:
        """Returns one trace as JSON; `None` if there is none or the filter does not match it.

        `detail` is as in `search_runs`, or `skeleton`: a preview with the columns of all spans.

        Raises:
            StoreDamagedError: its document is damaged; `damaged_trace` returns the rest.
        """

    def damaged_trace(self, trace_id: str, filter: Filter, detail: str = "full") -> bytes | None:
        """Returns a trace whose document is damaged as JSON: what its row holds, marked as damaged."""

    def span(self, trace_id: str, span_id: str, filter: Filter, max_bytes: int | None = None) -> bytes | None:
        """Returns one span as JSON, without its children; `None` if there is none or the filter rejects its trace.

        Values whose text is longer than `max_bytes` are cut, and listed in `cut`.

        Raises:
            StoreDamagedError: the document of its trace is damaged.
        """

    def value(self, trace_id: str, span_id: str, filter: Filter, part: tuple[str, int, int | None]) -> bytes | None:
        """Returns a part of one value of a span as JSON; `None` if there is none or the filter rejects its trace.

        `part` is the JSON Pointer of the value, the byte of its text to begin at, and how many bytes to return at most.

        Raises:
            StoreDamagedError: the document of its trace is damaged.
        """

    def scan(self, filter: Filter) -> Any:
        """Returns the rows of the matching traces as a stream of Arrow record batches."""

    def export_spans(self, filter: Filter) -> Any:
        """Returns the spans of the matching traces as a stream of Arrow record batches."""

    def export(self, filter: Filter, format: str) -> Download:
        """Returns the matching traces as a file: `parquet`, `arrow`, `ndjson` or `otlp`, in chunks."""

    def import_spans(self, stream: _ArrowStream, source: str = "") -> bytes:
        """Imports the spans of a stream of Arrow record batches; returns a report as JSON.

        An interrupted import that is repeated with the same `source` and batches resumes where it stopped.

        Raises:
            BatchError: the data is invalid, or lacks a column. Batches of PyArrow are validated in full before they are
                read. Another library answers for the lengths of its buffers, which the C data interface does not say.
        """

    def delete(self, filter: Filter, dry_run: bool = False) -> int:
        """Deletes the matching traces and returns their number; a dry run only counts them."""

    def flush(self) -> None:
        """Seals the head."""

    def compact(self, purge: bool = False) -> None:
        """Seals the head and compacts all segments; a purge also removes everything deleted from disk."""

    def stats(self) -> bytes:
        """Returns counts and sizes as JSON."""

    def close(self) -> None:
        """Closes the store and releases it to the next opener."""

def filter_schema() -> bytes:
    """Returns the response body of `/traces/filter-schema`."""

def create_object(url: str, path: str, content: bytes) -> bool:
    """Creates an object unless there is one of its name, and returns whether it did. Durable when it returns.

    Args:
        url: the path of a folder, which is created if need be, or the URL of a bucket.
        path: where the object is in it.
        content: the bytes of the object.

    Raises:
        ConfigurationError: the address is invalid.
        StoreError: the storage failed.
    """

def read_object(url: str, path: str) -> bytes | None:
    """Returns the content of an object; None if there is none of this name.

    Raises:
        ConfigurationError: the address is invalid.
        StoreError: the storage failed.
    """

def list_objects(url: str, folder: str) -> list[str]:
    """Returns the paths of the objects below a folder, in order; none if there is no such folder.

    Raises:
        ConfigurationError: the address is invalid.
        StoreError: the storage failed.
    """

def set_conventions(lines: list[tuple[str, str]]) -> None:
    """Puts names of the user's own before those of the built-in conventions, in this process.

    Args:
        lines: pairs of the name of an attribute and what it stands for (`docs/reference/traces.md#own-names`).

    Raises:
        ConfigurationError: a line is invalid, or other conventions are in force in this process.
    """

def set_prices(source: bytes | None) -> None:
    """Puts a user's prices of models before the built-in ones, in this process.

    Args:
        source: a table of prices as JSON (`docs/reference/traces.md#prices`); None leaves the built-in ones alone.

    Raises:
        ConfigurationError: the table is invalid, or other prices are in force in this process.
    """

def serve_caller(name: str) -> None:
    """Sets the caller that this thread serves, until the next call. Callers take turns in the engine.

    Args:
        name: the key of the caller; empty for the program itself.
    """

def set_page_memory_limit(bytes: int) -> None:
    """Sets the process-wide limit on decoded document bytes held by concurrent pages."""

@final
class ZstdDecoder:
    """Decompresses frames of zstd, one behind the other, piece by piece."""

    def __init__(self) -> None:
        """Begins a frame."""

    def decompress(self, data: bytes, max_bytes: int) -> tuple[bytes, int, bool]:
        """Returns up to `max_bytes` of content, how much of `data` was read for it, and whether a frame ends there.

        Raises:
            DecodeError: the frame is damaged, or its window is over 128 MiB.
        """

def otlp_spans(body: bytes, content_type: str) -> tuple[Any, int, str]:
    """Decodes an OTLP message of any size, unchecked.

    Returns:
        Its spans as an Arrow record batch of the columns that an import reads; the number of spans that could not be
        decoded; and the reason for the first of them.
    """

def columns_read(names: Sequence[str]) -> list[str]:
    """Returns those of the columns `names` that an import reads of spans in columns.

    Raises:
        DecodeError: a column is missing without which a row is no span.
    """

def spans_of_columns(batch: Any) -> tuple[Any, int, list[tuple[int, str]]]:
    """Encodes the rows of an Arrow record batch with a column for each property of a span.

    Returns:
        The encoded spans as an Arrow record batch; the number of rows; and the position and the reason of each row
        that is no span, which is not in the batch.

    Raises:
        DecodeError: as `columns_read`.
        BatchError: there are more bytes than a batch can hold.
    """

def split_json(text: bytes, is_whole: bool) -> tuple[list[tuple[str, int, int, int, str]], int, int, int]:
    """Splits the text of a file into the JSON values in it: one on each line, or one over several lines.

    Args:
        text: the text, from the beginning of a line.
        is_whole: whether the file ends where the text does.

    Returns:
        The parts, the number of bytes that were read, the number of lines that end there, and the number of rejections
        that are not among the parts. The other bytes are the beginning of a value that may go on. A part is:

        - `otlp`, an OTLP message of traces; `lines`, several values, each on a line; `document`, an object or a list;
          `other_signal`; or `rejected`;
        - its begin and its end in the text, and the number of lines before it;
        - the name of the other signal, or the reason of the rejection.
    """

def spans_of_json(text: bytes, *, lines: bool) -> tuple[Any, int, list[tuple[int, str]]]:
    """Encodes records in JSON: spans, observations of Langfuse, traces of Jaeger or Langfuse with their spans.

    Args:
        text: one document, which is a list of records, an object with such a list as `data`, or one record.
        lines: instead of a document there is a record on each line.

    Returns:
        The encoded spans as an Arrow record batch; the number of spans; and the position and the reason of each that
        is rejected, which is not in the batch. With `lines`, the position is the number of lines before it.

    Raises:
        DecodeError: a document is not JSON, or not UTF-8.
        BatchError: there are more bytes than a batch can hold.
    """

def ipc_size(metadata: bytes, body: bytes) -> tuple[int, int]:
    """Returns the bytes and the rows of a message of Arrow IPC once it is decompressed, without reading it.

    Raises:
        DecodeError: the message is malformed, or has a buffer outside of its body.
    """

def import_schema() -> Any:
    """Returns the Arrow schema of the batches that an import reads."""

def span_schema() -> Any:
    """Returns the Arrow schema of spans."""

def trace_schema() -> Any:
    """Returns the Arrow schema of trace rows."""

def drop_metrics(body: bytes, content_type: str, content_encoding: str | None = None) -> MetricDropReport:
    """Counts the metrics of one OTLP request, of which nothing is stored.

    Raises:
        DecodeError: the body cannot be decoded.
        UnsupportedMediaTypeError: the content type or encoding is not supported.
        PayloadTooLargeError: the decompressed body exceeds its limit.
    """

def otlp_status(message: str, content_type: str, status: int) -> bytes:
    """Returns the `google.rpc.Status` body for a rejected OTLP request."""
