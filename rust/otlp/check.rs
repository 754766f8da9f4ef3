//! Which spans may come in: each is checked by itself, and a bad one does not keep the others out.

use std::sync::Arc;

use ahash::HashSet;
use bytes::Bytes;
use prost::Message;
use prost::encoding::WireType;

use super::limits::{MAX_DECODED_BYTES, Shape, Survey, survey};
use super::span_ref::SpanRef;
use super::wire::{self, WireField, WireFields};
use super::{AcceptedSpan, DecodedRequest, Origin, SpanId, TraceId, WireSpan, proto};
use crate::error::{Error, Result};
use crate::time::{NANOS_PER_MICRO, write_instant};

/// How far a span's times may lie ahead of the present: 24 hours, in nanoseconds.
pub const MAX_AHEAD_NANOS: u64 = 24 * 3_600 * 1_000_000_000;

/// The most characters of a reason; it may quote what was sent.
const MAX_REASON_CHARS: usize = 500;

/// What passed, or why it did not.
pub(super) type Verdict<T> = std::result::Result<T, String>;

/// The spans of one request on their way into an [`DecodedRequest`].
pub(super) struct Intake {
    now_nanos: u64,
    export: DecodedRequest,
    arrived: u64,
    decoded_bytes: usize,
    /// The last origin met, and whether it may be kept.
    origin: Option<(Arc<Origin>, Verdict<()>)>,
    /// Which trace will hold a copy of which origin.
    copies: HashSet<(TraceId, *const Origin)>,
}

impl Intake {
    /// Returns an intake without spans, at `now_nanos` since 1970.
    pub(super) fn new(now_nanos: u64) -> Self {
        Self {
            now_nanos,
            export: DecodedRequest::default(),
            arrived: 0,
            decoded_bytes: 0,
            origin: None,
            copies: HashSet::default(),
        }
    }

    /// Accepts or rejects one span.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the request as a whole takes too much memory.
    pub(super) fn take(&mut self, arrival: Verdict<WireSpan>) -> Result<()> {
        self.arrived += 1;
        let wire = match arrival {
            Ok(wire) => wire,
            Err(reason) => return self.reject(None, &reason),
        };
        let origin = self.check_origin(&wire.origin)?;
        let surveyed = match origin.and_then(|()| survey(Shape::Span, &wire.bytes)) {
            Ok(surveyed) => surveyed,
            Err(reason) => return self.reject(Some(&wire), &reason),
        };
        self.reserve(surveyed.bytes)?;
        match accept(&wire, surveyed, self.now_nanos) {
            Ok(span) => self.keep(span),
            Err(reason) => self.reject(Some(&wire), &reason),
        }
    }

    /// Returns what the request brought; its spans are slices of `message`, if they came in one.
    pub(super) fn finish(mut self, message: Option<Bytes>) -> DecodedRequest {
        let kept_bytes: usize = self.export.spans.iter().map(|span| span.wire.bytes.len()).sum();
        // A slice keeps the whole body in memory, which a few spans are not worth.
        if kept_bytes < message.as_ref().map_or(0, Bytes::len) / 2 {
            wire::detach(self.export.spans.iter_mut().map(|span| &mut span.wire));
        } else if self.export.rejected == 0 {
            self.export.message = message;
        }
        let first = &self.export.reason;
        self.export.reason = match self.export.rejected {
            0 => String::new(),
            1 => format!("1 span rejected: {first}"),
            count => format!("{count} spans rejected; the first: {first}"),
        };
        self.export
    }

    fn keep(&mut self, span: AcceptedSpan) -> Result<()> {
        let origin = &span.wire.origin;
        if self.copies.insert((span.trace_id, Arc::as_ptr(origin))) {
            self.reserve(bytes_of(origin))?;
        }
        self.export.spans.push(span);
        Ok(())
    }

    fn reject(&mut self, wire: Option<&WireSpan>, reason: &str) -> Result<()> {
        self.export.rejected += 1;
        if self.export.rejected == 1 {
            let span = match wire.and_then(span_id_of) {
                Some(id) => format!("span `{id}`"),
                None => format!("span {} of the request", self.arrived),
            };
            self.export.reason = format!("{span}: {}", clip(reason));
        }
        // A bad span is charged as a good one: millions of them take time, if not memory.
        self.reserve(size_of::<AcceptedSpan>())
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.decoded_bytes = self.decoded_bytes.saturating_add(bytes);
        if self.decoded_bytes > MAX_DECODED_BYTES {
            return Err(Error::TooLarge(format!(
                "the request takes over {MAX_DECODED_BYTES} bytes once decoded, send fewer spans in one"
            )));
        }
        Ok(())
    }

    fn check_origin(&mut self, origin: &Arc<Origin>) -> Result<Verdict<()>> {
        if let Some((_, verdict)) = self.origin.as_ref().filter(|(known, _)| Arc::ptr_eq(known, origin)) {
            return Ok(verdict.clone());
        }
        // Each scope has its resource looked into again; that, too, is paid for.
        self.reserve(bytes_of(origin))?;
        let verdict = inspect_origin(origin);
        self.origin = Some((origin.clone(), verdict.clone()));
        Ok(verdict)
    }
}

/// Returns a span that stands by itself, checked as one of a request is; `now_nanos` since 1970.
///
/// # Errors
/// Why it is refused.
pub fn inspect(wire: &WireSpan, now_nanos: u64) -> std::result::Result<AcceptedSpan, String> {
    let surveyed = survey(Shape::Span, &wire.bytes).and_then(|surveyed| match surveyed.bytes {
        0..=MAX_DECODED_BYTES => Ok(surveyed),
        _ => Err(format!("it takes over {MAX_DECODED_BYTES} bytes once decoded")),
    });
    surveyed.and_then(|surveyed| accept(wire, surveyed, now_nanos)).map_err(|reason| {
        let span = span_id_of(wire).map_or_else(|| "a span".to_owned(), |id| format!("span `{id}`"));
        format!("{span}: {}", clip(&reason))
    })
}

/// Checks what spans share.
///
/// # Errors
/// Why spans of this origin are refused.
pub fn inspect_origin(origin: &Origin) -> std::result::Result<(), String> {
    check_part::<proto::Resource>(Shape::Resource, &origin.resource, "resource")
        .and_then(|()| check_part::<proto::InstrumentationScope>(Shape::Scope, &origin.scope, "scope"))
}

fn bytes_of(origin: &Origin) -> usize {
    let texts = origin.resource_schema_url.len() + origin.scope_schema_url.len();
    size_of::<Origin>() + origin.resource.len() + origin.scope.len() + texts
}

/// Checks what spans share: that it can be decoded, within the limits.
fn check_part<M: Message + Default>(shape: Shape, message: &[u8], name: &str) -> Verdict<()> {
    survey(shape, message)
        .and_then(|part| if part.bytes > MAX_DECODED_BYTES { Err("too large".to_owned()) } else { Ok(()) })
        .and_then(|()| M::decode(message).map_err(|fault| wire::describe(&fault)))
        .map(drop)
        .map_err(|fault| format!("its {name}: {fault}"))
}

fn accept(wire: &WireSpan, surveyed: Survey, now_nanos: u64) -> Verdict<AcceptedSpan> {
    if !surveyed.is_sound {
        proto::Span::decode(wire.bytes.as_ref()).map_err(|fault| wire::describe(&fault))?;
    }
    let span = SpanRef::walk(&wire.bytes, |_| Ok(()))?;
    let trace_id =
        TraceId::from_bytes(span.trace_id).ok_or_else(|| unusable_id("trace id", span.trace_id, 16))?;
    let span_id = SpanId::from_bytes(span.span_id).ok_or_else(|| unusable_id("span id", span.span_id, 8))?;
    if !matches!(span.parent_span_id.len(), 0 | 8) {
        let length = span.parent_span_id.len();
        return Err(format!("parent span id of length {length}, expected 8 bytes or none"));
    }
    let latest = now_nanos.saturating_add(MAX_AHEAD_NANOS);
    for (name, nanos) in [("start", span.start), ("end", span.end)] {
        if nanos > latest {
            return Err(ahead(name, nanos));
        }
    }
    Ok(AcceptedSpan { trace_id, span_id, wire: wire.clone() })
}

fn unusable_id(name: &str, bytes: &[u8], expected: usize) -> String {
    match bytes.len() {
        length if length == expected => format!("{name} is all zero"),
        length => format!("{name} of length {length}, expected {expected} bytes"),
    }
}

fn ahead(name: &str, nanos: u64) -> String {
    let mut instant = String::new();
    let micros = i64::try_from(nanos / NANOS_PER_MICRO).expect("a thousandth of 64 bits");
    write_instant(&mut instant, micros);
    format!("{name} time {instant} lies more than 24 hours ahead")
}

/// Returns the id of a span that need not be decodable as a whole.
fn span_id_of(wire: &WireSpan) -> Option<SpanId> {
    let mut fields = WireFields::of(&wire.bytes).map_while(std::result::Result::ok);
    let is_id = |field: &WireField<'_>| field.number == 2 && field.wire_type == WireType::LengthDelimited;
    fields.find_map(|field| Some(field).filter(is_id).and_then(|field| SpanId::from_bytes(field.content)))
}

/// Returns `reason`, cut to a length that is fit for an answer.
pub(super) fn clip(reason: &str) -> String {
    match reason.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}...", &reason[..end]),
        None => reason.to_owned(),
    }
}
