//! Spans as a stream of Arrow record batches.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BinaryDictionaryBuilder, StringBuilder, StringDictionaryBuilder,
    TimestampMicrosecondBuilder, TimestampNanosecondBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;
use prost::Message as _;
use rayon::prelude::*;

use super::columns::{KINDS, STATUSES, span_schema};
use super::matches::{DownloadProgress, MatchingRows};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::otlp::{Origin, SpanId, TraceId, WireSpan, proto, wire};
use crate::storage::{Snapshot, SnapshotPart};

/// The maximum size of a group of documents in bytes. The number of rows is also limited.
pub(super) const GROUP_BYTES: u64 = 4 << 20;
const GROUP_ROWS: usize = 16_384;
/// The size of spans in bytes at which a batch ends.
const BATCH_BYTES: usize = 64 << 20;

/// The spans of the traces that a filter matches, in [`span_schema`]. The spans of one trace are adjacent and
/// ordered by id. The traces are in no particular order.
#[derive(Debug)]
pub struct Spans {
    matches: MatchingRows,
    ready: VecDeque<RecordBatch>,
}

/// Returns the spans of the traces of `snapshot` that `filter` matches.
pub fn spans(snapshot: Arc<Snapshot>, filter: Filter) -> Spans {
    Spans { matches: MatchingRows::new(snapshot, filter), ready: VecDeque::new() }
}

impl Spans {
    /// Returns the progress of the stream.
    pub(super) fn progress(&self) -> DownloadProgress {
        self.matches.progress()
    }

    fn read(&mut self) -> Result<Option<RecordBatch>> {
        while self.ready.is_empty() {
            let Some((_, part, rows)) = self.matches.next(GROUP_ROWS, GROUP_BYTES)? else { return Ok(None) };
            let share = rows.len().div_ceil(rayon::current_num_threads()).max(1);
            let batches = rows.par_chunks(share).map(|rows| read_rows(part, rows));
            self.ready = batches.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        }
        Ok(self.ready.pop_front())
    }
}

impl Iterator for Spans {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl RecordBatchReader for Spans {
    fn schema(&self) -> SchemaRef {
        span_schema()
    }
}

/// Reads the documents of these rows.
fn read_rows(part: &SnapshotPart, rows: &[usize]) -> Result<Vec<RecordBatch>> {
    let (mut batches, mut builder) = (Vec::new(), SpanBatch::default());
    for row in rows {
        let created_at = part.created_at(*row)?;
        for span in wire::split(part.document(*row)?)? {
            builder.append(&span, created_at);
            if builder.bytes >= BATCH_BYTES {
                batches.push(std::mem::take(&mut builder).finish()?);
            }
        }
    }
    if builder.spans > 0 {
        batches.push(builder.finish()?);
    }
    Ok(batches)
}

/// A batch of spans under construction.
struct SpanBatch {
    spans: usize,
    /// The size of the spans and of each origin that differs from the previous one, in bytes.
    bytes: usize,
    ids: [StringBuilder; 3],
    name: StringBuilder,
    kind: StringDictionaryBuilder<Int32Type>,
    start_time: TimestampNanosecondBuilder,
    end_time: TimestampNanosecondBuilder,
    status: StringDictionaryBuilder<Int32Type>,
    status_message: StringBuilder,
    created_at: TimestampMicrosecondBuilder,
    span: BinaryBuilder,
    shared: [BinaryDictionaryBuilder<Int32Type>; 2],
    shared_urls: [StringDictionaryBuilder<Int32Type>; 2],
    origin: Option<Arc<Origin>>,
}

impl Default for SpanBatch {
    fn default() -> Self {
        Self {
            spans: 0,
            bytes: 0,
            ids: std::array::from_fn(|_| StringBuilder::new()),
            name: StringBuilder::new(),
            kind: StringDictionaryBuilder::new(),
            start_time: TimestampNanosecondBuilder::new().with_timezone("UTC"),
            end_time: TimestampNanosecondBuilder::new().with_timezone("UTC"),
            status: StringDictionaryBuilder::new(),
            status_message: StringBuilder::new(),
            created_at: TimestampMicrosecondBuilder::new().with_timezone("UTC"),
            span: BinaryBuilder::new(),
            shared: std::array::from_fn(|_| BinaryDictionaryBuilder::new()),
            shared_urls: std::array::from_fn(|_| StringDictionaryBuilder::new()),
            origin: None,
        }
    }
}

impl SpanBatch {
    fn append(&mut self, span: &WireSpan, created_at: i64) {
        let message = proto::Span::decode(span.bytes.clone()).unwrap_or_default();
        let trace_id = TraceId::from_bytes(&message.trace_id).map(|id| id.to_string());
        let span_id = SpanId::from_bytes(&message.span_id).map(|id| id.to_string());
        let parent_id = SpanId::from_bytes(&message.parent_span_id).map(|id| id.to_string());
        let [trace_ids, span_ids, parent_ids] = &mut self.ids;
        trace_ids.append_value(trace_id.unwrap_or_default());
        span_ids.append_value(span_id.unwrap_or_default());
        parent_ids.append_option(parent_id);
        self.name.append_value(&message.name);
        self.kind.append_value(word(&KINDS, message.kind));
        self.start_time.append_value(nanos(message.start_time_unix_nano));
        self.end_time
            .append_option((message.end_time_unix_nano > 0).then(|| nanos(message.end_time_unix_nano)));
        let status = message.status.unwrap_or_default();
        self.status.append_value(word(&STATUSES, status.code));
        self.status_message.append_option((!status.message.is_empty()).then_some(status.message));
        self.created_at.append_value(created_at);
        self.span.append_value(&span.bytes);
        self.append_origin(&span.origin);
        self.spans += 1;
        self.bytes += span.bytes.len();
    }

    fn append_origin(&mut self, origin: &Arc<Origin>) {
        let [resource, scope] = &mut self.shared;
        let present = |content: &Bytes| (!content.is_empty()).then(|| content.clone());
        resource.append_option(present(&origin.resource));
        scope.append_option(present(&origin.scope));
        let [resource_url, scope_url] = &mut self.shared_urls;
        resource_url.append_option(Some(&origin.resource_schema_url).filter(|url| !url.is_empty()));
        scope_url.append_option(Some(&origin.scope_schema_url).filter(|url| !url.is_empty()));
        if self.origin.as_ref().is_none_or(|last| !Arc::ptr_eq(last, origin)) {
            self.bytes += origin.resource.len() + origin.scope.len();
            self.origin = Some(origin.clone());
        }
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let [trace_ids, span_ids, parent_ids] = &mut self.ids;
        let [resource, scope] = &mut self.shared;
        let [resource_url, scope_url] = &mut self.shared_urls;
        let columns = vec![
            Arc::new(trace_ids.finish()) as _,
            Arc::new(span_ids.finish()) as _,
            Arc::new(parent_ids.finish()) as _,
            Arc::new(self.name.finish()) as _,
            Arc::new(self.kind.finish()) as _,
            Arc::new(self.start_time.finish()) as _,
            Arc::new(self.end_time.finish()) as _,
            Arc::new(self.status.finish()) as _,
            Arc::new(self.status_message.finish()) as _,
            Arc::new(self.created_at.finish()) as _,
            Arc::new(self.span.finish()) as _,
            Arc::new(resource.finish()) as _,
            Arc::new(resource_url.finish()) as _,
            Arc::new(scope.finish()) as _,
            Arc::new(scope_url.finish()) as _,
        ];
        RecordBatch::try_new(span_schema(), columns).map_err(|error| Error::Batch(error.to_string()))
    }
}

fn word(words: &[&'static str], number: i32) -> &'static str {
    usize::try_from(number).ok().and_then(|number| words.get(number).copied()).unwrap_or(words[0])
}

fn nanos(unix: u64) -> i64 {
    i64::try_from(unix).unwrap_or(i64::MAX)
}
