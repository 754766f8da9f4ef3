//! Lookups of one trace, or of a part of it.

use super::{PinnedSearch, size};
use crate::error::Result;
use crate::otlp::{SpanId, TraceId};
use crate::search::gather::wire::{AskedTrace, OfTrace, TraceJson, unexpected};
use crate::search::runs;
use crate::trace::detail::Detail;
use crate::trace::values::ValuePart;

impl PinnedSearch {
    pub(super) fn trace(&self, asked: &AskedTrace) -> Result<TraceJson> {
        let none = TraceJson { json: None };
        let Some(trace_id) = TraceId::from_hex(&asked.trace_id) else { return Ok(none) };
        let (snapshot, filter) = (self.snapshot.as_ref(), &self.filter);
        let json = match asked.of.as_ref().ok_or_else(unexpected)? {
            OfTrace::Whole(asked) => {
                let read = if asked.is_damaged { runs::damaged_trace } else { runs::trace };
                read(snapshot, trace_id, filter, Detail::from_word(&asked.detail)?)?
            }
            OfTrace::Span(asked) => {
                let Some(span_id) = SpanId::from_hex(&asked.span_id) else { return Ok(none) };
                runs::span(snapshot, trace_id, span_id, filter, asked.max_bytes.map(size))?
            }
            OfTrace::Value(asked) => {
                let Some(span_id) = SpanId::from_hex(&asked.span_id) else { return Ok(none) };
                let max_bytes = asked.max_bytes.map(size);
                let wanted = ValuePart { path: &asked.path, from: size(asked.from), max_bytes };
                runs::value(snapshot, trace_id, span_id, filter, &wanted)?
            }
        };
        Ok(TraceJson { json })
    }
}
