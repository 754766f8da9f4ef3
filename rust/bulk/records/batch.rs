//! Encoded spans as an Arrow batch.

use std::sync::{Arc, LazyLock};

use arrow_array::RecordBatch;
use arrow_array::builder::{BinaryBuilder, BinaryDictionaryBuilder, TimestampMicrosecondBuilder};
use arrow_array::types::Int32Type;
use arrow_schema::{Schema, SchemaRef};

use super::super::columns::{CREATED_AT, RESOURCE, SCOPE, SPAN, span_schema};
use super::{Checked, EncodedSpan, RecordSpans};
use crate::error::{Error, Result};

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let spans = span_schema();
    let names = [CREATED_AT, SPAN, RESOURCE, SCOPE];
    let fields = names.iter().filter_map(|name| spans.field_with_name(name).ok());
    // Of an export every span says when it was received; others need not know.
    let fields = fields.map(|field| field.clone().with_nullable(field.name() != SPAN));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
});

/// Returns the spans among `spans` as a batch, and the others with their positions.
///
/// # Errors
/// [`Error::Batch`] if there are more bytes than a batch can hold.
pub(super) fn batch_of(spans: impl IntoIterator<Item = Checked<EncodedSpan>>) -> Result<RecordSpans> {
    let mut created_at = TimestampMicrosecondBuilder::new().with_timezone("UTC");
    let mut span = BinaryBuilder::new();
    let mut shared: [BinaryDictionaryBuilder<Int32Type>; 2] =
        std::array::from_fn(|_| BinaryDictionaryBuilder::new());
    let (mut rejected, mut count, mut bytes) = (Vec::new(), 0, 0_usize);
    for (position, encoded) in spans.into_iter().enumerate() {
        count += 1;
        let encoded = match encoded {
            Ok(encoded) => encoded,
            Err(reason) => {
                rejected.push((position, reason));
                continue;
            }
        };
        bytes += encoded.span.len() + encoded.resource.len() + encoded.scope.len();
        if i32::try_from(bytes).is_err() {
            return Err(Error::Batch("expected less than 2 GiB of spans at once".to_owned()));
        }
        created_at.append_option(encoded.created_at);
        span.append_value(&encoded.span);
        let [resources, scopes] = &mut shared;
        resources.append_option((!encoded.resource.is_empty()).then_some(&encoded.resource));
        scopes.append_option((!encoded.scope.is_empty()).then_some(&encoded.scope));
    }
    let [mut resources, mut scopes] = shared;
    let columns = vec![
        Arc::new(created_at.finish()) as _,
        Arc::new(span.finish()) as _,
        Arc::new(resources.finish()) as _,
        Arc::new(scopes.finish()) as _,
    ];
    let batch =
        RecordBatch::try_new(SCHEMA.clone(), columns).map_err(|error| Error::Batch(error.to_string()))?;
    Ok(RecordSpans { batch, rejected, count })
}
