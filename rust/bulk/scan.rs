//! Trace rows as a stream of Arrow batches.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader, UInt64Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take_record_batch;

use super::matches::Matches;
use crate::filter::Filter;
use crate::schema::trace_schema;
use crate::storage::Snapshot;

/// Rows of a batch.
const ROWS: usize = 65_536;

/// The rows of the traces that a filter matches: [`trace_schema`], in no order.
#[derive(Debug)]
pub struct Scan {
    matches: Matches,
}

/// Returns the rows of the traces of `snapshot` that `filter` matches.
pub fn scan(snapshot: Arc<Snapshot>, filter: Filter) -> Scan {
    Scan { matches: Matches::new(snapshot, filter) }
}

impl Scan {
    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let next = self.matches.next(ROWS, u64::MAX);
        let Some((part, rows)) = next.map_err(|fault| ArrowError::ExternalError(Box::new(fault)))? else {
            return Ok(None);
        };
        let rows = UInt64Array::from_iter_values(rows.into_iter().map(|row| row as u64));
        take_record_batch(part.batch(), &rows).map(Some)
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

impl RecordBatchReader for Scan {
    fn schema(&self) -> SchemaRef {
        trace_schema()
    }
}
