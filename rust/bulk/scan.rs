//! Trace rows as a stream of Arrow record batches.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader, UInt64Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take_record_batch;

use super::matches::MatchingRows;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::schema::trace_schema;
use crate::storage::Snapshot;

/// The maximum number of rows in a batch.
const ROWS: usize = 65_536;

/// The rows of the traces that a filter matches, in [`trace_schema`] and in no particular order.
#[derive(Debug)]
pub struct RowScan {
    matches: MatchingRows,
    /// The current part, with all of its rows.
    open: Option<(usize, RecordBatch)>,
}

/// Returns the rows of the traces of `snapshot` that `filter` matches.
pub fn scan(snapshot: Arc<Snapshot>, filter: Filter) -> RowScan {
    RowScan { matches: MatchingRows::new(snapshot, filter), open: None }
}

impl RowScan {
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        let Some((part_number, part, rows)) = self.matches.next(ROWS, u64::MAX)? else { return Ok(None) };
        let batch = match self.open.take() {
            Some((open, batch)) if open == part_number => batch,
            _ => part.batch()?,
        };
        let rows = UInt64Array::from_iter_values(rows.into_iter().map(|row| row as u64));
        let taken = take_record_batch(&batch, &rows).map_err(|error| Error::Batch(error.to_string()))?;
        self.open = Some((part_number, batch));
        Ok(Some(taken))
    }
}

impl Iterator for RowScan {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl RecordBatchReader for RowScan {
    fn schema(&self) -> SchemaRef {
        trace_schema()
    }
}
