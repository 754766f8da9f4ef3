//! Reads one trace, or a part of it.

use std::hint::black_box;

use super::{LookupPart, LookupRequest, LookupResponse, OneSpan, OneValue, WholeTrace};
use crate::error::Result;
use crate::filter::Filter;
use crate::otlp::{SpanId, TraceId};
use crate::query::items::{damaged_item, item};
use crate::query::leaf::SnapshotLeaf;
use crate::query::messages::{size, unexpected};
use crate::query::pool::on_threads;
use crate::storage::{Snapshot, SnapshotPart};
use crate::trace::detail::{self, Detail};
use crate::trace::values::{ValuePart, write_truncated, write_value_page};

impl SnapshotLeaf<'_> {
    /// Returns the requested part of a trace; absent if it does not exist or the filter does not match the trace.
    ///
    /// # Errors
    /// Damage of the document, unless the request reads only the row; damage of the rows.
    pub(crate) fn look_up(self, request: &LookupRequest) -> Result<LookupResponse> {
        let Some(trace_id) = TraceId::from_hex(&request.trace_id) else {
            return Ok(LookupResponse { json: None });
        };
        let part = request.part.as_ref().ok_or_else(unexpected)?;
        let Some(position) = find_matching(self.snapshot, trace_id, &self.query.filter)? else {
            return Ok(LookupResponse { json: None });
        };
        let json = match part {
            LookupPart::Whole(whole) => read_trace(position, whole)?,
            LookupPart::Span(OneSpan { span_id, max_bytes }) => {
                read_span(position, span_id, max_bytes.map(size))?
            }
            LookupPart::Value(value) => read_value(position, value)?,
        };
        Ok(LookupResponse { json })
    }
}

fn read_trace((part, row): (&SnapshotPart, usize), request: &WholeTrace) -> Result<Option<Vec<u8>>> {
    let level = Detail::from_word(&request.detail)?;
    if request.is_damaged {
        return Ok(damaged_item(&part.batch()?, row, level));
    }
    let trace = part.trace(row)?;
    on_threads(|| item(&trace, level)).map(Some)
}

/// Returns a span without its children. Values longer than `max_bytes` are truncated.
fn read_span(
    (part, row): (&SnapshotPart, usize),
    span_id: &str,
    max_bytes: Option<usize>,
) -> Result<Option<Vec<u8>>> {
    let Some(span_id) = SpanId::from_hex(span_id) else { return Ok(None) };
    let trace = part.trace(row)?;
    let mut item = Vec::new();
    if !detail::write_span(&mut item, &trace, span_id)? {
        return Ok(None);
    }
    let Some(max_bytes) = max_bytes else { return Ok(Some(item)) };
    let mut truncated = Vec::new();
    write_truncated(&mut truncated, &item, max_bytes);
    Ok(Some(truncated))
}

fn read_value(position: (&SnapshotPart, usize), request: &OneValue) -> Result<Option<Vec<u8>>> {
    let Some(span) = read_span(position, &request.span_id, None)? else { return Ok(None) };
    let max_bytes = request.max_bytes.map(size);
    let part = ValuePart { path: &request.path, from: size(request.from), max_bytes };
    let mut page = Vec::new();
    Ok(write_value_page(&mut page, &span, &part).then_some(page))
}

/// Returns the part and the row of a trace if the filter matches it.
///
/// Timing must not distinguish a trace of another user from a trace that does not exist. Therefore every part is
/// searched for the id, and the filter is always evaluated on one row of a segment and on one row of the head, if both
/// exist.
fn find_matching<'a>(
    snapshot: &'a Snapshot,
    trace_id: TraceId,
    filter: &Filter,
) -> Result<Option<(&'a SnapshotPart, usize)>> {
    let parts = snapshot.parts();
    let mut found = None;
    for part in parts {
        found = part.find(trace_id).map(|row| (part, row)).or(found);
    }
    let other = parts.last().filter(|last| last.is_segment() != parts[0].is_segment());
    for part in parts.first().into_iter().chain(other).filter(|part| part.count() > 0) {
        if found.is_none_or(|(at, _)| at.is_segment() != part.is_segment()) {
            let _unused = black_box(part.is_match(filter, 0));
        }
    }
    let Some((part, row)) = found else { return Ok(None) };
    Ok(part.is_match(filter, row)?.then_some((part, row)))
}
