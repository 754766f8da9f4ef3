//! One immutable batch of the head: rows in memory, each pointing to its trace.

use std::sync::{Arc, Mutex, PoisonError};

use ahash::HashMap;
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, RecordBatch};

use crate::otlp::TraceId;
use crate::schema::Field;
use crate::storage::global_ordinals::{KnownSessions, Ordinals};
use crate::trace::row::to_batch;
use crate::trace::{Trace, TraceRow};

/// A trace of the head with the row derived from it, once.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) trace: Trace,
    pub(crate) row: TraceRow,
    /// About the size of the trace's document.
    pub(crate) bytes: u64,
}

impl Entry {
    pub(crate) fn new(trace: Trace) -> Self {
        let row = TraceRow::of(&trace);
        let bytes = trace.spans().iter().map(|span| span.wire.bytes.len() as u64).sum();
        Self { trace, row, bytes }
    }

    /// About what it takes in memory, with its row among others: measured with traces of one span to eight, of
    /// 200 bytes to 2,000.
    pub(crate) fn memory(&self) -> u64 {
        const OF_A_TRACE: u64 = 740;
        const OF_A_SPAN: u64 = 330;
        self.bytes + OF_A_TRACE + OF_A_SPAN * self.trace.spans().len() as u64
    }
}

/// Traces in the order of search results, with their rows as Arrow.
#[derive(Debug)]
pub(crate) struct HeadBatch {
    batch: RecordBatch,
    entries: Vec<Arc<Entry>>,
    /// Every commit asks each batch for each of its traces, nearly always in vain.
    by_trace_id: HashMap<TraceId, u32>,
    /// Which segments have its sessions, as they were looked up last, and by whose numbers.
    known_sessions: Mutex<Option<(u64, KnownSessions)>>,
}

impl HeadBatch {
    pub(crate) fn of_traces(traces: Vec<Trace>) -> Self {
        Self::new(traces.into_iter().map(|trace| Arc::new(Entry::new(trace))).collect())
    }

    pub(crate) fn new(mut entries: Vec<Arc<Entry>>) -> Self {
        entries.sort_unstable_by(|left, right| left.row.newest_first(&right.row));
        let rows: Vec<&TraceRow> = entries.iter().map(|entry| &entry.row).collect();
        let by_trace_id = entries.iter().map(|entry| entry.trace.trace_id).zip(0u32..).collect();
        let batch = to_batch(&rows);
        Self { batch, entries, by_trace_id, known_sessions: Mutex::default() }
    }

    pub(crate) fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    pub(crate) fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// Returns what `ordinals` know of each code of a session; looked up once.
    pub(crate) fn known_sessions(&self, ordinals: &Ordinals) -> KnownSessions {
        let mut known = self.known_sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, known)) = known.as_ref()
            && *id == ordinals.id()
        {
            return known.clone();
        }
        let sessions = self.batch.column(Field::SessionId.column()).as_any_dictionary().values();
        let sessions = sessions.as_string::<i32>();
        let found: Arc<[_]> =
            (0..sessions.len()).map(|code| ordinals.find(sessions.value(code).as_bytes())).collect();
        *known = Some((ordinals.id(), found.clone()));
        found
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
