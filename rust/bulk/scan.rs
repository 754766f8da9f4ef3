//! Trace rows as a stream of Arrow batches.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader, UInt64Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take_record_batch;

use super::matches::Matches;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::schema::trace_schema;
use crate::storage::Snapshot;

/// Rows of a batch.
const ROWS: usize = 65_536;

/// The rows of the traces that a filter matches: [`trace_schema`], in no order.
#[derive(Debug)]
pub struct Scan {
    matches: Matches,
    /// The part that is being read, and its rows.
    open: Option<(usize, RecordBatch)>,
}

/// Returns the rows of the traces of `snapshot` that `filter` matches.
pub fn scan(snapshot: Arc<Snapshot>, filter: Filter) -> Scan {
    Scan { matches: Matches::new(snapshot, filter), open: None }
}

impl Scan {
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        let Some((place, part, rows)) = self.matches.next(ROWS, u64::MAX)? else { return Ok(None) };
        let batch = match self.open.take() {
            Some((open, batch)) if open == place => batch,
            _ => part.batch()?,
        };
        let rows = UInt64Array::from_iter_values(rows.into_iter().map(|row| row as u64));
        let taken = take_record_batch(&batch, &rows).map_err(|fault| Error::Batch(fault.to_string()))?;
        self.open = Some((place, batch));
        Ok(Some(taken))
    }
}

impl Iterator for Scan {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().map_err(|fault| ArrowError::ExternalError(Box::new(fault))).transpose()
    }
}

impl RecordBatchReader for Scan {
    fn schema(&self) -> SchemaRef {
        trace_schema()
    }
}
