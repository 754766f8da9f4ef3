//! An immutable batch of the head: rows in memory, each with its trace.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use ahash::HashMap;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_buffer::ScalarBuffer;
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::index::columns::{CodedTexts, RowSessions, order_of};
use crate::index::ordinals::{GlobalOrdinals, KnownSessions};
use crate::index::spans::CostColumn;
use crate::otlp::TraceId;
use crate::schema::{FIELDS, Field};
use crate::storage::segment::PartIndexes;
use crate::trace::row::to_batch;
use crate::trace::view::TraceView;
use crate::trace::{Trace, TraceRow};

/// A trace of the head with its row.
#[derive(Debug)]
pub(crate) struct HeadEntry {
    pub(crate) trace: Trace,
    pub(crate) row: TraceRow,
    /// The approximate size of the trace's document in bytes.
    pub(crate) bytes: u64,
    /// The time of the last change of the trace.
    pub(crate) since: Instant,
}

impl HeadEntry {
    pub(crate) fn new(trace: Trace) -> Self {
        let row = TraceRow::of(&trace);
        let spans = trace.spans().iter().map(|span| span.wire.bytes.len() as u64);
        let fragments = trace.fragments().iter().map(|fragment| fragment.event.len() as u64);
        let bytes = spans.chain(fragments).sum();
        Self { trace, row, bytes, since: Instant::now() }
    }

    /// Returns the approximate memory of the trace and its row in bytes. Measured with traces of one to eight
    /// spans of 200 to 2,000 bytes.
    pub(crate) fn memory(&self) -> u64 {
        const BYTES_PER_TRACE: u64 = 740;
        const BYTES_PER_SPAN: u64 = 330;
        let fragments = size_of_val(self.trace.fragments()) as u64;
        self.bytes + BYTES_PER_TRACE + BYTES_PER_SPAN * self.trace.spans().len() as u64 + fragments
    }
}

/// Traces in search order, with their rows as an Arrow batch.
#[derive(Debug)]
pub(crate) struct HeadBatch {
    batch: RecordBatch,
    entries: Vec<Arc<HeadEntry>>,
    /// A hash map, because every commit looks up each of its traces in every batch, nearly always without a
    /// hit.
    by_trace_id: HashMap<TraceId, u32>,
    /// The rows of traces that have only fragments.
    without_spans: RoaringBitmap,
    /// The sessions of the rows, computed on first use.
    sessions: OnceLock<RowSessions>,
    /// For each integer field, the rows sorted by it, computed on first use.
    orders: [OnceLock<ScalarBuffer<u32>>; FIELDS.len()],
    /// For each text field, its texts by code, computed on first use.
    texts: [OnceLock<CodedTexts>; Field::TraceId as usize],
    /// The costs of the traces, computed on first use.
    costs: OnceLock<Arc<CostColumn>>,
    /// The most recent result of [`HeadBatch::known_sessions`], with the id of its ordinals.
    known_sessions: Mutex<Option<(u64, KnownSessions)>>,
    /// The indexes for conditions on spans, if they were built.
    indexes: Option<PartIndexes>,
}

impl HeadBatch {
    /// Returns a batch of these traces, which must be distinct.
    pub(crate) fn of_traces(traces: Vec<Trace>) -> Self {
        Self::new(traces.into_iter().map(|trace| Arc::new(HeadEntry::new(trace))).collect())
    }

    pub(crate) fn new(mut entries: Vec<Arc<HeadEntry>>) -> Self {
        entries.sort_unstable_by(|left, right| left.row.newest_first(&right.row));
        let rows: Vec<&TraceRow> = entries.iter().map(|entry| &entry.row).collect();
        let by_trace_id = entries.iter().map(|entry| entry.trace.trace_id).zip(0u32..).collect();
        let batch = to_batch(&rows);
        let without_spans = (0..).zip(&rows).filter(|(_, row)| row.total_spans == 0).map(|(row, _)| row);
        Self {
            without_spans: without_spans.collect(),
            batch,
            entries,
            by_trace_id,
            sessions: OnceLock::new(),
            orders: std::array::from_fn(|_| OnceLock::new()),
            texts: std::array::from_fn(|_| OnceLock::new()),
            costs: OnceLock::new(),
            known_sessions: Mutex::default(),
            indexes: None,
        }
    }

    pub(super) fn with_indexes(self, indexes: PartIndexes) -> Self {
        Self { indexes: Some(indexes), ..self }
    }

    /// Returns the indexes of the batch, if they were built.
    pub(crate) fn indexes(&self) -> Option<&PartIndexes> {
        self.indexes.as_ref()
    }

    pub(crate) fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    pub(crate) fn entries(&self) -> &[Arc<HeadEntry>] {
        &self.entries
    }

    /// Returns the rows of traces that have only fragments. Searches exclude them.
    pub(crate) fn without_spans(&self) -> &RoaringBitmap {
        &self.without_spans
    }

    pub(crate) fn sessions(&self) -> &RowSessions {
        self.sessions.get_or_init(|| RowSessions::of(&self.batch))
    }

    /// Returns the rows sorted by an integer field, equal ones ascending; `None` for other fields.
    pub(crate) fn order(&self, field: Field) -> Option<ScalarBuffer<u32>> {
        let numbers = self.batch.column(field.column()).as_primitive_opt::<Int64Type>()?.values();
        Some(self.orders[field.column()].get_or_init(|| order_of(numbers).into()).clone())
    }

    /// Returns the texts of a field by code; `None` for `trace_id` and for fields that are not text.
    pub(crate) fn texts(&self, field: Field) -> Option<&CodedTexts> {
        let texts = self.texts.get(field.column())?;
        Some(texts.get_or_init(|| CodedTexts::of(self.batch.column(field.column()))))
    }

    /// Returns the values of an integer field; empty for other fields.
    pub(crate) fn integers(&self, field: Field) -> &[i64] {
        let column = self.batch.column(field.column()).as_primitive_opt::<Int64Type>();
        column.map_or(&[], |integers| integers.values())
    }

    /// Returns the value of an integer or an instant (microseconds since 1970); 0 for other fields.
    pub(crate) fn number(&self, field: Field, row: usize) -> i64 {
        let column = self.batch.column(field.column());
        let integer = column.as_primitive_opt::<Int64Type>().map(|numbers| numbers.value(row));
        let instant =
            || column.as_primitive_opt::<TimestampMicrosecondType>().map(|instants| instants.value(row));
        integer.or_else(instant).unwrap_or(0)
    }

    /// Returns the location of each session of the batch in the segments of `ordinals`. The result is cached.
    pub(crate) fn known_sessions(&self, ordinals: &GlobalOrdinals) -> KnownSessions {
        let mut known = self.known_sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, known)) = known.as_ref()
            && *id == ordinals.id()
        {
            return known.clone();
        }
        let keys = self.sessions().keys.iter();
        let found: Arc<[_]> = keys.map(|key| ordinals.find(key.as_bytes())).collect();
        *known = Some((ordinals.id(), found.clone()));
        found
    }

    /// Returns the costs of the traces.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if the bytes of a span are malformed.
    pub(crate) fn costs(&self) -> Result<Arc<CostColumn>> {
        if let Some(costs) = self.costs.get() {
            return Ok(costs.clone());
        }
        let cost = |entry: &Arc<HeadEntry>| TraceView::of(&entry.trace.assembled()).cost().map(Some);
        let costs: CostColumn = self.entries.iter().map(cost).collect::<Result<_>>()?;
        Ok(self.costs.get_or_init(|| Arc::new(costs)).clone())
    }

    pub(crate) fn find(&self, trace_id: TraceId) -> Option<u32> {
        self.by_trace_id.get(&trace_id).copied()
    }

    pub(crate) fn trace(&self, row: usize) -> &Trace {
        &self.entries[row].trace
    }

    pub(crate) fn document_bytes(&self, row: usize) -> u64 {
        self.entries[row].bytes
    }
}
