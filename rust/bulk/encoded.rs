//! The columns of an import: encoded spans, their shared parts, and their receipt times.
//!
//! The spans of a batch are views: their bytes stay in the buffer where they were decoded or created.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow_array::builder::{BinaryViewBuilder, Int32Builder, TimestampMicrosecondBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BinaryArray, DictionaryArray, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Schema, SchemaRef};
use bytes::Bytes;

use super::columns::{CREATED_AT, RESOURCE, RESOURCE_SCHEMA_URL, SCOPE, SCOPE_SCHEMA_URL, SPAN, span_schema};
use crate::error::{Error, Result};
use crate::otlp::{Origin, WireSpan};

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let spans = span_schema();
    let names = [CREATED_AT, SPAN, RESOURCE, RESOURCE_SCHEMA_URL, SCOPE, SCOPE_SCHEMA_URL];
    let fields = names.iter().filter_map(|name| spans.field_with_name(name).ok());
    let fields = fields.map(|field| match field.name().as_str() {
        SPAN => field.clone().with_data_type(DataType::BinaryView),
        // Every span of an export has a receipt time; in other sources it may be missing.
        _ => field.clone().with_nullable(true),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
});

/// Returns the schema of import batches.
pub fn import_schema() -> SchemaRef {
    SCHEMA.clone()
}

/// The keys of a resource, its schema URL, a scope and its schema URL in their columns.
type OriginKeys = [Option<i32>; 4];

/// Encoded spans under construction as a batch.
pub(super) struct EncodedBatch<'a> {
    created_at: TimestampMicrosecondBuilder,
    span: BinaryViewBuilder,
    shared: [SharedColumn<'a>; 4],
    /// The number of bytes of the shared parts.
    bytes: usize,
}

/// A dictionary-encoded column.
#[derive(Default)]
struct SharedColumn<'a> {
    keys: Int32Builder,
    values: Vec<&'a [u8]>,
    known: HashMap<&'a [u8], i32>,
}

impl<'a> EncodedBatch<'a> {
    /// Returns a batch with capacity for `spans` spans.
    pub(super) fn with_capacity(spans: usize) -> Self {
        Self {
            created_at: TimestampMicrosecondBuilder::with_capacity(spans).with_timezone("UTC"),
            span: BinaryViewBuilder::with_capacity(spans),
            shared: Default::default(),
            bytes: 0,
        }
    }

    /// Adds a buffer of spans, and returns its number among the added ones.
    pub(super) fn add_block(&mut self, bytes: Buffer) -> u32 {
        self.span.append_block(bytes)
    }

    /// Returns the keys of the shared parts: resource, schema URL of the resource, scope, schema URL of the
    /// spans. Empty ones are `None`.
    ///
    /// # Errors
    /// [`Error::Batch`] if their bytes exceed the limit of a batch.
    pub(super) fn origin(&mut self, origin: [&'a [u8]; 4]) -> Result<OriginKeys> {
        let mut keys = OriginKeys::default();
        for ((key, column), value) in keys.iter_mut().zip(&mut self.shared).zip(origin) {
            let known = column.values.len();
            *key = column.key(value);
            if column.values.len() > known {
                count(&mut self.bytes, value.len())?;
            }
        }
        Ok(keys)
    }

    /// Appends the span at `range` in a block.
    ///
    /// # Errors
    /// [`Error::Batch`] if the block is too large for the offsets of a view.
    pub(super) fn append(
        &mut self,
        (block, range): (u32, Range<usize>),
        created_at: Option<i64>,
        origin: OriginKeys,
    ) -> Result<()> {
        let (Ok(offset), Ok(length)) = (u32::try_from(range.start), u32::try_from(range.len())) else {
            return Err(Error::Batch("expected less than 4 GiB of spans at once".to_owned()));
        };
        self.span.try_append_view(block, offset, length).map_err(|error| Error::Batch(error.to_string()))?;
        self.created_at.append_option(created_at);
        self.shared.iter_mut().zip(origin).for_each(|(column, key)| column.keys.append_option(key));
        Ok(())
    }

    /// Returns the batch.
    ///
    /// # Errors
    /// [`Error::Batch`] if its columns do not match.
    pub(super) fn finish(mut self) -> Result<RecordBatch> {
        let [resource, resource_url, scope, scope_url] = self.shared;
        let columns = vec![
            Arc::new(self.created_at.finish()) as _,
            Arc::new(self.span.finish()) as _,
            resource.finish_bytes()?,
            resource_url.finish_text()?,
            scope.finish_bytes()?,
            scope_url.finish_text()?,
        ];
        RecordBatch::try_new(SCHEMA.clone(), columns).map_err(|error| Error::Batch(error.to_string()))
    }
}

impl<'a> SharedColumn<'a> {
    fn key(&mut self, value: &'a [u8]) -> Option<i32> {
        if value.is_empty() {
            return None;
        }
        if let Some(key) = self.known.get(value) {
            return Some(*key);
        }
        let key = i32::try_from(self.values.len()).ok()?;
        self.values.push(value);
        self.known.insert(value, key);
        Some(key)
    }

    fn finish_bytes(self) -> Result<ArrayRef> {
        let values = BinaryArray::from_iter_values(&self.values);
        finish(self.keys, Arc::new(values))
    }

    fn finish_text(self) -> Result<ArrayRef> {
        let values: std::result::Result<Vec<&str>, _> =
            self.values.iter().map(|value| std::str::from_utf8(value)).collect();
        let values = values.map_err(|error| Error::Batch(error.to_string()))?;
        finish(self.keys, Arc::new(StringArray::from(values)))
    }
}

fn finish(mut keys: Int32Builder, values: Arc<dyn Array>) -> Result<ArrayRef> {
    let column = DictionaryArray::<Int32Type>::try_new(keys.finish(), values);
    Ok(Arc::new(column.map_err(|error| Error::Batch(error.to_string()))?))
}

/// Counts bytes of the shared parts, whose offsets have 32 bits.
fn count(bytes: &mut usize, more: usize) -> Result<()> {
    *bytes += more;
    match i32::try_from(*bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::Batch("expected less than 2 GiB of resources and scopes at once".to_owned())),
    }
}

/// Returns the spans of `message` as an import batch with the receipt time `created_at` (microseconds since
/// 1970). It includes spans that cannot be decoded; an import rejects them with a reason.
///
/// # Errors
/// [`Error::Batch`] if the bytes exceed the limit of a batch.
pub fn batch_of(message: &Bytes, spans: &[WireSpan], created_at: i64) -> Result<RecordBatch> {
    let mut batch = EncodedBatch::with_capacity(spans.len());
    let within: Option<Vec<_>> = spans.iter().map(|span| range_in(message, &span.bytes)).collect();
    let (bytes, ranges) = within.map_or_else(|| joined(spans), |ranges| (message.clone(), ranges));
    let block = batch.add_block(Buffer::from(bytes));
    let mut last: Option<(&Arc<Origin>, OriginKeys)> = None;
    for (WireSpan { origin, .. }, range) in spans.iter().zip(ranges) {
        let keys = match last {
            Some((same, keys)) if Arc::ptr_eq(same, origin) => keys,
            _ => {
                let urls = [&origin.resource_schema_url, &origin.scope_schema_url].map(String::as_bytes);
                batch.origin([&origin.resource, urls[0], &origin.scope, urls[1]])?
            }
        };
        last = Some((origin, keys));
        batch.append((block, range), Some(created_at), keys)?;
    }
    batch.finish()
}

/// Returns the range of these bytes within `message`; `None` if they are elsewhere.
fn range_in(message: &Bytes, bytes: &Bytes) -> Option<Range<usize>> {
    let start = bytes.as_ptr().addr().checked_sub(message.as_ptr().addr())?;
    let end = start.checked_add(bytes.len())?;
    (end <= message.len()).then_some(start..end)
}

/// Returns the concatenated bytes of spans, and the range of each.
fn joined(spans: &[WireSpan]) -> (Bytes, Vec<Range<usize>>) {
    let mut bytes = Vec::with_capacity(spans.iter().map(|span| span.bytes.len()).sum());
    let ranges = spans.iter().map(|span| {
        let start = bytes.len();
        bytes.extend_from_slice(&span.bytes);
        start..bytes.len()
    });
    let ranges = ranges.collect();
    (bytes.into(), ranges)
}
