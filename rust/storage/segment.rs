//! A sealed segment: rows that never change, and the documents behind them.

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::otlp::TraceId;
use crate::trace::Trace;

/// An open segment.
#[derive(Debug)]
pub(super) struct Segment {
    batch: RecordBatch,
}

impl Segment {
    pub(super) fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    pub(super) fn find(&self, _trace_id: TraceId) -> Option<u32> {
        todo!()
    }

    pub(super) fn trace(&self, _row: usize) -> Result<Trace> {
        todo!()
    }

    pub(super) fn document_bytes(&self, _row: usize) -> u64 {
        todo!()
    }
}
