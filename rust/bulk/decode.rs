//! Decodes a batch of spans and checks each span by the same rules as the spans of a request.
//!
//! Spans share the memory of their batch. Text and bytes may have any Arrow layout, plain or
//! dictionary-encoded, so that spans can be read from files of any writer.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use rayon::prelude::*;

use super::columns::{CREATED_AT, RESOURCE, RESOURCE_SCHEMA_URL, SCOPE, SCOPE_SCHEMA_URL, SPAN};
use crate::error::{Error, Result};
use crate::otlp::check::{check_origin, check_span};
use crate::otlp::{Origin, WireSpan};
use crate::trace::Span;

/// A span, or the reason for its rejection.
pub(super) type CheckedSpan = std::result::Result<Arc<Span>, String>;

/// The spans of a batch, in order, and the receipt times of their traces (microseconds since 1970), if the
/// batch has them.
pub(super) struct DecodedBatch {
    pub(super) spans: Vec<CheckedSpan>,
    pub(super) created_at: Vec<Option<i64>>,
}

/// Decodes and checks every span of `batch`, on all cores; `now_nanos` is the current time since 1970.
///
/// # Errors
/// [`Error::Batch`] if the column of spans is missing, or a column has an unsupported type.
pub(super) fn decode_batch(batch: &RecordBatch, now_nanos: u64) -> Result<DecodedBatch> {
    let spans = ByteColumn::of(batch, SPAN)?.ok_or_else(|| {
        let found: Vec<&str> =
            batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
        Error::Batch(format!("expected a column `{SPAN}` of encoded spans, found `{}`", found.join("`, `")))
    })?;
    let origins = BatchOrigins::of(batch)?;
    let rows = 0..batch.num_rows();
    let checked_spans = rows.into_par_iter().with_min_len(256).map(|row| {
        let Some(bytes) = spans.value(row) else { return Err(format!("no `{SPAN}`")) };
        let origin = match &origins.checked[origins.of_row[row]] {
            (origin, Ok(())) => origin.clone(),
            (_, Err(reason)) => return Err(reason.clone()),
        };
        let accepted = check_span(&WireSpan { bytes, origin }, now_nanos)?;
        Span::from_wire(accepted.wire).map(Arc::new).map_err(|error| error.to_string())
    });
    Ok(DecodedBatch { spans: checked_spans.collect(), created_at: created_at_micros(batch)? })
}

/// The distinct origins of a batch. Each is checked once.
struct BatchOrigins {
    checked: Vec<(Arc<Origin>, std::result::Result<(), String>)>,
    of_row: Vec<usize>,
}

impl BatchOrigins {
    fn of(batch: &RecordBatch) -> Result<Self> {
        let columns = [RESOURCE, RESOURCE_SCHEMA_URL, SCOPE, SCOPE_SCHEMA_URL];
        let [resource, resource_url, scope, scope_url] = columns.map(|name| ByteColumn::of(batch, name));
        let parts = [resource?, resource_url?, scope?, scope_url?];
        let (mut checked, mut of_row) = (Vec::new(), Vec::with_capacity(batch.num_rows()));
        let mut known: HashMap<[Bytes; 4], usize> = HashMap::new();
        let mut last: Option<([Bytes; 4], usize)> = None;
        for row in 0..batch.num_rows() {
            let key = parts
                .each_ref()
                .map(|part| part.as_ref().and_then(|part| part.value(row)).unwrap_or_default());
            if let Some((same, index)) = last.as_ref().filter(|(same, _)| are_same(same, &key)) {
                debug_assert_eq!(same, &key);
                of_row.push(*index);
                continue;
            }
            let index = *known.entry(key.clone()).or_insert_with(|| {
                checked.push(origin_of(&key));
                checked.len() - 1
            });
            of_row.push(index);
            last = Some((key, index));
        }
        Ok(Self { checked, of_row })
    }
}

/// Returns `true` if two origins are equal. Usually they share the same memory.
fn are_same(one: &[Bytes; 4], other: &[Bytes; 4]) -> bool {
    let is_same = |(one, other): (&Bytes, &Bytes)| {
        one.len() == other.len() && (one.as_ptr() == other.as_ptr() || one == other)
    };
    one.iter().zip(other).all(is_same)
}

fn origin_of(
    [resource, resource_url, scope, scope_url]: &[Bytes; 4],
) -> (Arc<Origin>, std::result::Result<(), String>) {
    let urls = [resource_url, scope_url].map(|url| std::str::from_utf8(url).map(str::to_owned));
    let [Ok(resource_schema_url), Ok(scope_schema_url)] = urls else {
        return (Arc::default(), Err("a schema URL that is not UTF-8".to_owned()));
    };
    let origin =
        Origin { resource: resource.clone(), resource_schema_url, scope: scope.clone(), scope_schema_url };
    let checked = check_origin(&origin);
    (Arc::new(origin), checked)
}

/// A column of text or bytes, and the memory of its values.
struct ByteColumn {
    column: ArrayRef,
    /// For each row, the row of its value in the dictionary; `None` if the column is not dictionary-encoded.
    keys: Option<Vec<Option<usize>>>,
    memory: Memory,
}

enum Memory {
    /// Slices of one buffer.
    Offsets(Bytes, Vec<usize>),
    /// Slices of several buffers. Short values are inlined in the views.
    Views(Vec<Bytes>, ScalarBuffer<u128>),
}

impl ByteColumn {
    /// Returns the column with this name; `None` if it is missing or all of its values are null.
    fn of(batch: &RecordBatch, name: &str) -> Result<Option<Self>> {
        let Some(column) = batch.column_by_name(name) else { return Ok(None) };
        if column.data_type() == &DataType::Null {
            return Ok(None);
        }
        let (values, keys) = match column.as_any_dictionary_opt() {
            None => (column.clone(), None),
            Some(coded) if coded.values().is_empty() => return Ok(None),
            Some(coded) => {
                let keys = coded.normalized_keys().into_iter().enumerate();
                let keys = keys.map(|(row, key)| (!coded.keys().is_null(row)).then_some(key)).collect();
                (coded.values().clone(), Some(keys))
            }
        };
        let shared = |values: &Buffer| Bytes::from_owner(BufferOwner(values.clone()));
        let offsets = |values: &Buffer, offsets: Vec<usize>| Memory::Offsets(shared(values), offsets);
        let views = |blocks: &[Buffer], views: &ScalarBuffer<u128>| {
            Memory::Views(blocks.iter().map(shared).collect(), views.clone())
        };
        let wide = |offsets: &[i64]| offsets.iter().map(|at| usize::try_from(*at).unwrap_or(0)).collect();
        let narrow = |offsets: &[i32]| offsets.iter().map(|at| usize::try_from(*at).unwrap_or(0)).collect();
        let memory = match values.data_type() {
            DataType::Binary => {
                offsets(values.as_binary::<i32>().values(), narrow(values.as_binary::<i32>().value_offsets()))
            }
            DataType::LargeBinary => {
                offsets(values.as_binary::<i64>().values(), wide(values.as_binary::<i64>().value_offsets()))
            }
            DataType::Utf8 => {
                offsets(values.as_string::<i32>().values(), narrow(values.as_string::<i32>().value_offsets()))
            }
            DataType::LargeUtf8 => {
                offsets(values.as_string::<i64>().values(), wide(values.as_string::<i64>().value_offsets()))
            }
            DataType::BinaryView => {
                views(values.as_binary_view().data_buffers(), values.as_binary_view().views())
            }
            DataType::Utf8View => {
                views(values.as_string_view().data_buffers(), values.as_string_view().views())
            }
            other => {
                return Err(Error::Batch(format!("expected `{name}` to hold text or bytes, found {other}")));
            }
        };
        Ok(Some(Self { column: values, keys, memory }))
    }

    /// Returns the value of a row. It shares the batch's memory unless it is inlined in a view.
    fn value(&self, row: usize) -> Option<Bytes> {
        let row = match &self.keys {
            None => row,
            Some(keys) => keys[row]?,
        };
        if self.column.is_null(row) {
            return None;
        }
        Some(match &self.memory {
            Memory::Offsets(content, offsets) => content.slice(offsets[row]..offsets[row + 1]),
            Memory::Views(blocks, views) => {
                let view = ByteView::from(views[row]);
                if view.length <= MAX_INLINE_VIEW_LEN {
                    let bytes = views[row].to_le_bytes();
                    Bytes::copy_from_slice(&bytes[INLINED_AT..][..view.length as usize])
                } else {
                    let start = view.offset as usize;
                    blocks[view.buffer_index as usize].slice(start..start + view.length as usize)
                }
            }
        })
    }
}

/// The offset of an inlined value in a view, after its length.
const INLINED_AT: usize = size_of::<u32>();

/// Makes an Arrow buffer the owner of a [`Bytes`].
struct BufferOwner(Buffer);

impl AsRef<[u8]> for BufferOwner {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Returns `created_at` as microseconds since 1970.
fn created_at_micros(batch: &RecordBatch) -> Result<Vec<Option<i64>>> {
    let Some(column) = batch.column_by_name(CREATED_AT) else { return Ok(vec![None; batch.num_rows()]) };
    Ok(match column.data_type() {
        DataType::Null => vec![None; batch.num_rows()],
        DataType::Timestamp(TimeUnit::Second, _) => {
            let seconds = column.as_primitive::<TimestampSecondType>().iter();
            seconds.map(|at| at.map(|at| at.saturating_mul(1_000_000))).collect()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            let millis = column.as_primitive::<TimestampMillisecondType>().iter();
            millis.map(|at| at.map(|at| at.saturating_mul(1_000))).collect()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            column.as_primitive::<TimestampMicrosecondType>().iter().collect()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = column.as_primitive::<TimestampNanosecondType>().iter();
            nanos.map(|at| at.map(|at| at.div_euclid(1_000))).collect()
        }
        other => {
            return Err(Error::Batch(format!("expected `{CREATED_AT}` to hold timestamps, found {other}")));
        }
    })
}
