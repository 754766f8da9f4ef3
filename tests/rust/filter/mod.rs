//! Tests of `rust/filter/`: golden cases, limits, and laws against a naive evaluator.

mod golden;
mod ids;
pub(crate) mod indexed;
pub(crate) mod laws;
pub(crate) mod layouts;
mod limits;
pub(crate) mod oracle;
mod restrict;
mod cheap_rows;
pub(crate) mod spans;

use arrow_array::{Array, RecordBatch};
use spanwise::filter::Filter;

/// Compiles a valid filter.
fn compiled(source: &str) -> Filter {
    Filter::compile(source.as_bytes()).unwrap_or_else(|error| panic!("{source}: {error}"))
}

/// Returns the mask of a filter over a batch that has all columns of the filter.
fn mask(filter: &Filter, batch: &RecordBatch) -> Vec<bool> {
    let mask = filter.mask(batch).expect("every column is there");
    assert_eq!(mask.null_count(), 0, "a mask is never null");
    assert_eq!(mask.len(), batch.num_rows());
    mask.values().iter().collect()
}
