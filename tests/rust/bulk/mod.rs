//! Tests of `rust/bulk/`.

mod clashes;
mod downloads;
mod imports;
mod kills;
mod round_trip;

use arrow_array::RecordBatch;
use spanwise::bulk::encoded::batch_of;
use spanwise::otlp::{proto, wire};

use crate::support::spans::body;

/// Returns `spans` as an import batch. `created_at` is the receipt time of their traces.
pub(crate) fn batch(spans: &[proto::Span], created_at: i64) -> RecordBatch {
    let message = body(spans);
    let spans = wire::split(message.clone()).expect("a good message");
    batch_of(&message, &spans, created_at).expect("a batch")
}
