"""The Rust engine: the FFI boundary of the package.

Arguments and results are bytes, numbers and Arrow data. JSON documents are UTF-8 bytes. Every call releases the
interpreter lock while it works. Errors are raised as the exceptions of `spanwise.errors`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self, final

__all__ = [
    "Aggregation",
    "CancellationToken",
    "Download",
    "Filter",
    "IngestReport",
    "LogIngestReport",
    "MetricDropReport",
    "PinnedLeaf",
    "Progress",
    "Query",
    "QueryRoot",
    "RequestSplitter",
    "Response",
    "SpanFileJoiner",
    "SpanFilter",
    "SplitRequest",
    "Tail",
    "TailFeed",
    "TraceStore",
    "ZstdDecoder",
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
        """Compiles a filter expression from JSON or a dict. `null` and `{}` match everything.

        Raises:
            FilterError: the expression is invalid, or one of its values cannot be represented as JSON.
            TypeError: it has another type.
        """

    def restrict(self, field: str, value: str) -> Filter:
        """Returns this filter AND-ed with `field EQ value`, which is evaluated first.

        Raises:
            FilterError: the field is unknown, or the value does not have its type.
        """

    def for_tenant(self, caller: str) -> Filter:
        """Returns this filter on behalf of a caller.

        Cached rows of its results are charged to the caller and are never used for another caller.
        """

    def mask(self, data: _ArrowArray | _ArrowStream) -> Any:
        """Returns one boolean per row, true where the filter matches; never null.

        Args:
            data: a record batch, a table or a stream of record batches, from any library that provides
                `__arrow_c_array__` or `__arrow_c_stream__`.

        Returns:
            An Arrow array for a record batch; otherwise a chunked array with one chunk per batch.

        Raises:
            BatchError: a column that the filter reads is missing or has an unsupported type, or the stream failed.
            TypeError: it is not Arrow data.
        """

    def canonical(self) -> bytes:
        """Returns the expression as canonical JSON; `null` if it matches everything."""

    def to_query(self) -> bytes:
        """Returns this filter and its restrictions as a message for `of_query`."""

    @staticmethod
    def of_query(query: bytes) -> Filter:
        """Returns the filter in a message. Its restrictions are evaluated first.

        Raises:
            UnavailableError: the message is malformed.
            FilterError: the expression is invalid.
        """

@final
class SpanFilter:
    """A compiled condition on one span: immutable and safe to share between threads."""

    @staticmethod
    def compile(source: bytes) -> SpanFilter:
        """Compiles a condition in the syntax of `SPAN`'s `where`. `null` and `{}` match every span.

        Raises:
            FilterError: the condition is invalid.
        """

@final
class Aggregation:
    """A compiled aggregation: immutable and safe to share between threads."""

    @staticmethod
    def compile(source: bytes) -> Aggregation:
        """Compiles the body of an aggregation request, given as JSON.

        Raises:
            ValidationError: a member is invalid; the message ends with its location.
            FilterError: a filter is invalid. The path of an error starts at `filter` for that member, and at the root
                of the body for a `where`.
        """

    def restrict(self, field: str, value: str) -> Aggregation:
        """Returns this aggregation, limited to traces that have `value` in `field`, which is evaluated first.

        Raises:
            FilterError: the field is unknown, or the value does not have its type.
        """

    def for_tenant(self, caller: str) -> Aggregation:
        """Returns this aggregation on behalf of a caller.

        Cached rows of its results are charged to the caller and are never used for another caller.
        """

@final
class CancellationToken:
    """Cancels a running search."""

    def __new__(cls) -> CancellationToken: ...
    def cancel(self) -> None:
        """Cancels the search. The search soon raises `CancelledError`."""

    @property
    def is_cancelled(self) -> bool:
        """True after `cancel`."""

@final
class Download:
    """A download in progress, as an iterator over the chunks of a file. An error ends it."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> bytes: ...
    @property
    def progress(self) -> tuple[int, int, int]:
        """Numbers of matching traces that were read, of traces that were read or skipped, and of all traces."""

@final
class Progress:
    """The progress of a long operation on a store, readable from another thread."""

    def __new__(cls) -> Progress: ...
    @property
    def done_of_total(self) -> tuple[int, int]:
        """Numbers of finished units and of all units; 0 if the total is unknown."""

@final
class Query:
    """A compiled query: immutable and safe to share between threads. `spanwise.traces.search.queries` makes them."""

    def __new__(cls, request: bytes, filter: Filter, spans: SpanFilter | None = None) -> Query:
        """Compiles a request for the traces that `filter` matches.

        `request` is a JSON object with one member, the kind of query: `runs`, `ids`, `sessions` and `spans` (pages),
        `facets`, `attributes`, `trace`, `span` or `value`. Pages of spans need `spans`, the condition on them.

        Raises:
            ConfigurationError: the request is invalid; the message says why.
        """

    @staticmethod
    def of_aggregation(aggregation: Aggregation) -> Query:
        """Returns the query of an aggregation, which has its own filter."""

    @property
    def trace_id(self) -> str | None:
        """The id of the only trace that the query reads; `None` for other queries."""

@final
class Response:
    """The response to a query. Members without a meaning for its kind have their defaults."""

    @property
    def data(self) -> bytes:
        """The JSON of the items of a page, of the numbers, facets or keys, or of the item.

        `null` if the item does not exist, or the filter does not match its trace.
        """

    @property
    def total(self) -> int:
        """The number of items of all pages, of matching traces, or of found items: 0 or 1."""

    @property
    def is_exact(self) -> bool:
        """False if `total` is a lower bound."""

    @property
    def damage(self) -> list[str]:
        """The damage of the items that are marked as damaged."""

    @property
    def distinct(self) -> int:
        """The number of attribute keys."""

    @property
    def uncounted(self) -> int:
        """The number of matching traces that are not counted, because their attributes are not indexed yet."""

    @property
    def not_excluded(self) -> list[str]:
        """The fields whose conditions apply to their own facets, because they are combined with other fields."""

@final
class QueryRoot:
    """A query over several stores, its leaves: the requests to them, and their merged response.

    Send `requests` to the leaves and `add` their responses until `requests` returns `None`, then `finish`.
    """

    def __new__(cls, query: Query, leaves: int) -> QueryRoot:
        """Starts a query. A query with a `trace_id` has one leaf: the store that may have the trace.

        Raises:
            ConfigurationError: the request is invalid; the message says why.
        """

    @property
    def query(self) -> bytes:
        """The query with its restrictions, as a message for `PinnedLeaf`."""

    @property
    def max_bytes(self) -> int | None:
        """An upper bound of the memory use of all leaves from now on, in bytes; None while unknown."""

    def requests(self) -> list[bytes | None] | None:
        """Returns one request per leaf, or `None` for leaves to skip. Returns `None` once all responses are known.

        Raises:
            UnavailableError: responses contradict each other.
            PayloadTooLargeError: the page exceeds its size limit; the message names a limit that fits.
        """

    def add(self, responses: list[bytes | None]) -> None:
        """Adds the responses to `requests`, in the same order.

        Raises:
            UnavailableError: a response is missing, or belongs to another request.
            PayloadTooLargeError: all leaves together would check too many documents.
        """

    def finish(self) -> Response:
        """Returns the response to the query."""

@final
class PinnedLeaf:
    """One leaf of a query in a pinned state of a store."""

    def __new__(cls, store: TraceStore, query: bytes) -> PinnedLeaf:
        """Pins the current state of `store` for the query in a message of `QueryRoot.query`.

        Raises:
            UnavailableError: the message is malformed.
        """

    def respond(self, request: bytes, cancel: CancellationToken | None = None) -> bytes:
        """Returns the response to one request of a `QueryRoot`.

        Raises:
            UnavailableError: the request is malformed.
            CancelledError: `cancel` was cancelled.
        """

@final
class RequestSplitter:
    """Splits OTLP requests among shards by trace."""

    def __new__(cls, prefixes: list[str], max_decoding_bytes: int) -> RequestSplitter:
        """Creates a splitter from shard prefixes: the first bits of the CRC-32C of a trace id, as binary digits.

        Raises:
            ConfigurationError: the prefixes do not cover every hash exactly once.
        """

    def shard_of(self, trace_id: str) -> int | None:
        """Returns the number of the shard of a trace, by its id in hexadecimal; `None` if the id is invalid."""

    def import_spans(self, stores: Sequence[TraceStore], stream: _ArrowStream, source: str) -> bytes:
        """Imports a stream of spans into the stores of the shards, as `TraceStore.import_spans` does into one store.

        Raises:
            ConfigurationError: the numbers of stores and prefixes differ, or a store is read-only.
            SpanwiseError: as `TraceStore.import_spans`.
        """

    def split(self, body: bytes, content_type: str, content_encoding: str | None = None) -> SplitRequest:
        """Decodes, validates and splits the spans of one OTLP request.

        Raises:
            DecodeError: the body does not match its content type.
            UnsupportedMediaTypeError: the content type or encoding is not supported.
            PayloadTooLargeError: the decompressed body exceeds its size limit.
        """

    def split_logs(self, body: bytes, content_type: str, content_encoding: str | None = None) -> SplitRequest:
        """Decodes, validates and splits the log records of one OTLP request that carry span content.

        Raises:
            SpanwiseError: as `split`.
        """

@final
class SplitRequest:
    """One OTLP request, split among shards."""

    @property
    def received(self) -> int:
        """When the request was received, in microseconds since 1970."""

    @property
    def parts(self) -> list[tuple[int, bytes]]:
        """The parts in order of arrival, each with the number of its shard. Shards without a part are omitted."""

    def report(self, outcomes: list[tuple[int, int, str]]) -> IngestReport:
        """Returns the report on the spans. `outcomes` are the results of `ingest_part`, in the order of `parts`."""

    def log_report(self, outcomes: list[tuple[int, int, str]]) -> LogIngestReport:
        """Returns the report on the log records, from the same outcomes as `report`."""

def ingest_part(store: TraceStore, received: int, part: bytes) -> tuple[int, int, str]:
    """Stores a part of a `SplitRequest`. Returns once it is durable.

    Returns:
        The number of accepted spans and log records, the number of rejected ones, and the reason of the first
        rejection.

    Raises:
        DecodeError: the part is malformed.
        UnavailableError: nothing was stored; the same part may be retried later.
    """

@final
class SpanFileJoiner:
    """Joins Arrow streams of spans into one file."""

    def __new__(cls, format: str) -> SpanFileJoiner:
        """Begins a file in a format: `parquet` or `arrow`.

        Raises:
            ConfigurationError: the format is unknown.
        """

    def add(self, chunk: bytes) -> bytes:
        """Reads a chunk of the current stream. Returns the next bytes of the file, which may be empty.

        Raises:
            DecodeError: the stream is malformed.
        """

    def end_stream(self) -> None:
        """Ends the current stream. Another one may follow.

        Raises:
            DecodeError: the stream is truncated.
        """

    def finish(self) -> bytes:
        """Ends the file. Returns its last bytes."""

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
        """The reason of the first rejection; empty without rejections."""

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
        """Number of records that carry span content and were stored."""

    @property
    def dropped_records(self) -> int:
        """Number of records without span content."""

    @property
    def rejected_records(self) -> int:
        """Number of records with span content that are invalid or exceed a limit."""

    @property
    def reason(self) -> str:
        """The reason of the first rejection; empty without rejections."""

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
class Tail:
    """A reader of the matching traces of one store."""

    @property
    def last(self) -> int:
        """The number of its last event."""

    def rewind(self, number: int) -> bool:
        """Rewinds to event `number`. Later events are sent again.

        Returns:
            False if that is no longer possible.
        """

@final
class TailFeed:
    """Follows one store for all its readers."""

    @property
    def position(self) -> int:
        """A number that grows whenever a trace changes."""

    def open(self, filter: Filter) -> Tail:
        """Returns a reader of traces that are committed from now on."""

    def poll(self, readers: list[tuple[Tail, int]]) -> tuple[list[list[tuple[int, str, bytes]]], bool, list[str]]:
        """Updates distinct readers, and takes the next events of each.

        Args:
            readers: each with its maximum number of traces.

        Returns:
            The events of each reader: a number that counts from 1, `trace`, `dropped` or `gap`, and a JSON object. Then
            whether an event is due later, even without new data. Then the damage of traces that were read.

        Raises:
            StoreDamagedError: the index of a segment is damaged and cannot be rebuilt.
        """

@final
class TraceStore:
    """A durable store of traces with a single writer."""

    @staticmethod
    def open(url: str, options: bytes | None = None, progress: Progress | None = None) -> TraceStore:
        """Opens the store at `url` for writing, creating it if necessary. `options` is a JSON object.

        `url` is the URL of a bucket, the folder of a store, or the data folder of a service with a store in `traces`. A
        new or empty folder becomes the folder of a store. Every method that takes a store interprets `url` in this way.

        `progress` counts the objects that are read, and later the traces of `delete` and `compact`.

        Raises:
            ConfigurationError: the address or an option is invalid, or the folder has other contents.
            StoreLockedError: another process has the store open.
        """

    @staticmethod
    def follow(url: str, options: bytes | None = None) -> TraceStore:
        """Follows the store at `url`, which another process writes to. Never writes to it.

        Acknowledged data appears within `follow_milliseconds` plus the time to read it. If there is no store yet, the
        reader waits for it in the background. Until then, reading raises UnavailableError.

        Raises:
            ConfigurationError: the address or an option is invalid, or the store has a newer format.
            StoreLockedError: another reader has the same option `cache_dir`.
            StoreDamagedError: an object is missing or damaged.
            StoreError: the storage failed.
        """

    @property
    def as_of(self) -> int | None:
        """The time through which results are complete, in microseconds since 1970.

        None if the store was never read, or is not followed.
        """

    def refresh(self) -> None:
        """Reads all data that was acknowledged before the call, if the store is followed.

        Raises:
            UnavailableError: there is no store yet, or it changes faster than it can be read.
            StoreError: the storage failed.
        """

    @staticmethod
    def open_read_only(url: str, progress: Progress | None = None) -> TraceStore:
        """Opens the current state of the store at `url` for reading. Another process may be writing to it.

        `progress` counts the objects that are read.
        """

    @staticmethod
    def check(url: str, progress: Progress | None = None) -> bytes:
        """Verifies every object of a store that is not open. Returns a report as JSON.

        `progress` counts the bytes that are read.
        """

    @staticmethod
    def backup(url: str, target: str, progress: Progress | None = None, indexes: bool = True) -> bytes:
        """Copies the store at `url` into the folder `target`. Returns a report on the copy as JSON.

        Another process may be writing to the store. With `indexes`, the copy includes the index objects. `progress`
        counts the bytes that are read.
        """

    def ingest(self, body: bytes, content_type: str, content_encoding: str | None = None) -> IngestReport:
        """Stores the spans of one OTLP request. Returns once they are durable.

        Raises:
            DecodeError: the body cannot be decoded.
            UnsupportedMediaTypeError: the content type or encoding is not supported.
            PayloadTooLargeError: the body, or its decoded form, exceeds its limit.
            UnavailableError: the store is overloaded; nothing was stored.
            StoreStoppedError: the store accepts no writes until it is reopened.
        """

    def ingest_logs(self, body: bytes, content_type: str, content_encoding: str | None = None) -> LogIngestReport:
        """Stores the log records of one OTLP request that carry span content. Returns once they are durable.

        Raises:
            SpanwiseError: as `ingest`.
        """

    def tail_feed(self) -> TailFeed:
        """Returns the feed of the store for all tail readers."""

    def query(
        self,
        query: Query,
        cancel: CancellationToken | None = None,
        reserve: Callable[[int], object] | None = None,
    ) -> Response:
        """Returns the response to a query.

        `reserve` is called with an upper bound of the memory use in bytes, before facets or an aggregation use it. Its
        exception ends the query. A query that must be repeated on a newer state calls it again.

        Raises:
            CancelledError: `cancel` was cancelled.
            PayloadTooLargeError: the documents of the page exceed the limit of `set_page_memory_limit`, or the query
                would check too many documents.
            StoreDamagedError: the document of the requested trace is damaged.
            BaseException: the exception of `reserve`.
        """

    def scan(self, filter: Filter) -> Any:
        """Returns the rows of the matching traces as a stream of Arrow record batches."""

    def export_spans(self, filter: Filter) -> Any:
        """Returns the spans of the matching traces as a stream of Arrow record batches."""

    def export(self, filter: Filter, format: str) -> Download:
        """Returns the matching traces as the chunks of a file: `parquet`, `arrow`, `ndjson` or `otlp`."""

    def import_spans(self, stream: _ArrowStream, source: str = "") -> bytes:
        """Imports the spans of a stream of Arrow record batches. Returns a report as JSON.

        An interrupted import resumes if it is repeated with the same `source` and batches.

        Raises:
            BatchError: the data is invalid, or lacks a column. PyArrow batches are validated in full before they are
                read. Other libraries are responsible for the lengths of their buffers, which the C data interface does
                not contain.
        """

    def delete(self, filter: Filter, dry_run: bool = False) -> int:
        """Deletes the matching traces and returns their number. A dry run only counts them."""

    def flush(self) -> None:
        """Flushes the head to a segment."""

    def compact(self, purge: bool = False) -> None:
        """Flushes the head and compacts all segments. A purge also removes deleted data from disk."""

    def stats(self) -> bytes:
        """Returns counts and sizes as JSON."""

    def close(self) -> None:
        """Closes the store, so that another process can open it."""

def filter_schema() -> bytes:
    """Returns the response body of `/traces/filter-schema`."""

def create_object(url: str, path: str, content: bytes) -> bool:
    """Creates an object unless its name is taken. Returns whether it was created. Durable when it returns.

    Args:
        url: the path of a folder, which is created if necessary, or the URL of a bucket.
        path: the path of the object in it.
        content: the bytes of the object.

    Raises:
        ConfigurationError: the address is invalid.
        StoreError: the storage failed.
    """

def read_object(url: str, path: str) -> bytes | None:
    """Returns the content of an object; None if it does not exist.

    Raises:
        ConfigurationError: the address is invalid.
        StoreError: the storage failed.
    """

def list_objects(url: str, folder: str) -> list[str]:
    """Returns the sorted paths of the objects below a folder; empty if the folder does not exist.

    Raises:
        ConfigurationError: the address is invalid.
        StoreError: the storage failed.
    """

def set_conventions(lines: list[tuple[str, str]]) -> None:
    """Adds the user's attribute names to the conventions of this process. They take precedence over built-in names.

    Args:
        lines: pairs of an attribute name and its meaning (`docs/reference/traces.md#own-names`).

    Raises:
        ConfigurationError: a line is invalid, or this process already uses other conventions.
    """

def set_prices(source: bytes | None) -> None:
    """Adds the user's model prices to the prices of this process. They take precedence over built-in prices.

    Args:
        source: a table of prices as JSON (`docs/reference/traces.md#prices`); None keeps only the built-in ones.

    Raises:
        ConfigurationError: the table is invalid, or this process already uses other prices.
    """

def serve_caller(name: str) -> None:
    """Sets the caller that this thread works for, until the next call. Callers take turns in the engine.

    Args:
        name: the key of the caller; empty for the program itself.
    """

def set_page_memory_limit(bytes: int) -> None:
    """Sets the process-wide limit on decoded document bytes held by concurrent pages."""

@final
class ZstdDecoder:
    """Decompresses consecutive zstd frames, piece by piece."""

    def __init__(self) -> None:
        """Begins a frame."""

    def decompress(self, data: bytes, max_bytes: int) -> tuple[bytes, int, bool]:
        """Returns up to `max_bytes` of content, the number of bytes read from `data`, and whether a frame ends there.

        Raises:
            DecodeError: the frame is damaged, or its window is over 128 MiB.
        """

def otlp_spans(body: bytes, content_type: str) -> tuple[Any, int, str]:
    """Decodes an OTLP message of any size, without validating it.

    Returns:
        Its spans as an Arrow record batch with the columns of an import, the number of undecodable spans, and the
        reason of the first.
    """

def columns_read(names: Sequence[str]) -> list[str]:
    """Returns the names of the columns that an import of column data reads.

    Raises:
        DecodeError: a required column of spans is missing.
    """

def spans_of_columns(batch: Any) -> tuple[Any, int, list[tuple[int, str]]]:
    """Encodes the rows of an Arrow record batch that has one column per span property.

    Returns:
        The encoded spans as an Arrow record batch, the number of rows, and the position and the reason of each rejected
        row. The batch does not contain rejected rows.

    Raises:
        DecodeError: as `columns_read`.
        BatchError: there are more bytes than a batch can hold.
    """

def split_json(text: bytes, is_whole: bool) -> tuple[list[tuple[str, int, int, int, str]], int, int, int]:
    """Splits the text of a file into its JSON values: one per line, or one that spans several lines.

    Args:
        text: the text, from the beginning of a line.
        is_whole: whether the file ends with the text.

    Returns:
        The parts, the number of bytes that were read, the number of lines in them, and the number of rejections without
        a part. The remaining bytes are the beginning of a value that may continue. A part is:

        - `otlp`, an OTLP message of traces; `lines`, several values, one per line; `document`, an object or a list;
          `other_signal`; or `rejected`;
        - its begin and end in the text, and the number of lines before it;
        - the name of the other signal, or the reason of the rejection.
    """

def spans_of_json(text: bytes, *, lines: bool) -> tuple[Any, int, list[tuple[int, str]]]:
    """Encodes JSON records: spans, Langfuse observations, or Jaeger and Langfuse traces with their spans.

    Args:
        text: one document: a list of records, an object with such a list as `data`, or one record.
        lines: each line is one record, and there is no document.

    Returns:
        The encoded spans as an Arrow record batch, the number of spans, and the position and the reason of each
        rejected span. The batch does not contain rejected spans. With `lines`, the position is the number of lines
        before it.

    Raises:
        DecodeError: a document is not JSON, or not UTF-8.
        BatchError: there are more bytes than a batch can hold.
    """

def ipc_size(metadata: bytes, body: bytes) -> tuple[int, int]:
    """Returns the decompressed bytes and the rows of an Arrow IPC message, without decompressing it.

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
    """Counts the metrics of one OTLP request. Metrics are not stored.

    Raises:
        DecodeError: the body cannot be decoded.
        UnsupportedMediaTypeError: the content type or encoding is not supported.
        PayloadTooLargeError: the decompressed body exceeds its limit.
    """

def otlp_status(message: str, content_type: str, status: int) -> bytes:
    """Returns the `google.rpc.Status` body for a rejected OTLP request."""
