//! Encoded spans as an Arrow batch.

use arrow_buffer::Buffer;

use super::super::encoded::EncodedBatch;
use super::{Checked, EncodedSpan, RecordSpans};
use crate::error::Result;

/// The spans of some records. Their bytes are concatenated. Thus the buffer of each span is freed by the
/// thread that allocated it, while it is still in the cache of its core.
#[derive(Debug, Default)]
pub(super) struct EncodedSpans {
    bytes: Vec<u8>,
    records: Vec<Checked<EncodedRecord>>,
    /// Resources and scopes. Each differs from the previous one.
    origins: Vec<[Vec<u8>; 2]>,
}

/// A span among [`EncodedSpans`].
#[derive(Debug)]
struct EncodedRecord {
    bytes: usize,
    /// The index of its resource and scope.
    origin: usize,
    created_at: Option<i64>,
}

impl FromIterator<Checked<EncodedSpan>> for EncodedSpans {
    fn from_iter<I: IntoIterator<Item = Checked<EncodedSpan>>>(spans: I) -> Self {
        /// The number of spans from which the size of the others is estimated.
        const MEASURED: usize = 16;
        let spans = spans.into_iter();
        let (expected, _) = spans.size_hint();
        let mut encoded = Self { records: Vec::with_capacity(expected), ..Self::default() };
        for span in spans {
            encoded.push(span);
            if encoded.records.len() == MEASURED {
                // A buffer that grows is copied each time, to memory that the kernel must clear first.
                let others = expected.saturating_sub(MEASURED);
                encoded.bytes.reserve(encoded.bytes.len().div_ceil(MEASURED) * (others + others / 4));
            }
        }
        encoded
    }
}

impl EncodedSpans {
    fn push(&mut self, span: Checked<EncodedSpan>) {
        let record = span.map(|EncodedSpan { span, resource, scope, created_at }| {
            self.bytes.extend_from_slice(&span);
            let origin = [resource, scope];
            if self.origins.last() != Some(&origin) {
                self.origins.push(origin);
            }
            EncodedRecord { bytes: span.len(), origin: self.origins.len() - 1, created_at }
        });
        self.records.push(record);
    }
}

/// Returns the spans of `parts` as a batch, and the rejected records with their positions.
///
/// # Errors
/// [`crate::error::Error::Batch`] if the bytes exceed the limit of a batch.
pub(super) fn batch_of(mut parts: Vec<EncodedSpans>) -> Result<RecordSpans> {
    let count = parts.iter().map(|part| part.records.len()).sum();
    let mut batch = EncodedBatch::with_capacity(count);
    let blocks: Vec<Buffer> =
        parts.iter_mut().map(|part| Buffer::from_vec(std::mem::take(&mut part.bytes))).collect();
    let (mut rejected, mut position) = (Vec::new(), 0);
    for (part, bytes) in parts.iter().zip(blocks) {
        let block = batch.add_block(bytes);
        let origins = part.origins.iter().map(|[resource, scope]| batch.origin([resource, &[], scope, &[]]));
        let origins = origins.collect::<Result<Vec<_>>>()?;
        let mut end = 0;
        for record in &part.records {
            match record {
                Ok(EncodedRecord { bytes, origin, created_at }) => {
                    let start = end;
                    end += bytes;
                    batch.append((block, start..end), *created_at, origins[*origin])?;
                }
                Err(reason) => rejected.push((position, reason.clone())),
            }
            position += 1;
        }
    }
    Ok(RecordSpans { batch: batch.finish()?, rejected, count })
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::TimestampMicrosecondType;
    use arrow_array::{Array, RecordBatch};
    use arrow_cast::cast;
    use arrow_schema::DataType;
    use proptest::prelude::*;

    use super::*;

    fn encoded() -> impl Strategy<Value = Checked<EncodedSpan>> {
        // Few resources and scopes, so that they repeat.
        let shared = || prop::collection::vec(0_u8..2, 0..2);
        let span = prop::collection::vec(any::<u8>(), 0..20);
        let encoded = (span, shared(), shared(), any::<Option<i64>>());
        let encoded = encoded.prop_map(|(span, resource, scope, created_at)| EncodedSpan {
            span,
            resource,
            scope,
            created_at,
        });
        prop_oneof![4 => encoded.prop_map(Ok), 1 => ".{3}".prop_map(Err)]
    }

    /// Returns the bytes in a row of a column; empty for null.
    fn bytes(batch: &RecordBatch, column: &str, row: usize) -> Vec<u8> {
        let column = batch.column_by_name(column).expect("a column");
        let plain = cast(column, &DataType::Binary).expect("bytes");
        if plain.is_null(row) { Vec::new() } else { plain.as_binary::<i32>().value(row).to_vec() }
    }

    proptest! {
        #[test]
        fn a_batch_has_every_span_that_is_one_and_names_the_others(
            parts in prop::collection::vec(prop::collection::vec(encoded(), 0..6), 0..4),
        ) {
            let all: Vec<_> = parts.iter().flatten().collect();
            let encoded: Vec<EncodedSpans> =
                parts.iter().map(|part| part.iter().cloned().collect()).collect();
            let found = batch_of(encoded).expect("a batch");
            prop_assert_eq!(found.count, all.len());
            let reasons = all.iter().enumerate();
            let reasons: Vec<_> =
                reasons.filter_map(|(at, span)| Some((at, span.as_ref().err()?.clone()))).collect();
            prop_assert_eq!(found.rejected, reasons);
            let spans: Vec<_> = all.iter().filter_map(|span| span.as_ref().ok()).collect();
            prop_assert_eq!(found.batch.num_rows(), spans.len());
            let received = found.batch.column(0).as_primitive::<TimestampMicrosecondType>();
            for (row, span) in spans.into_iter().enumerate() {
                prop_assert_eq!(&bytes(&found.batch, "span", row), &span.span);
                prop_assert_eq!(&bytes(&found.batch, "resource", row), &span.resource);
                prop_assert_eq!(&bytes(&found.batch, "scope", row), &span.scope);
                prop_assert_eq!(received.is_valid(row).then(|| received.value(row)), span.created_at);
            }
        }
    }
}
