//! Checks spans individually. A rejected span does not affect the other spans of its request.

use std::sync::Arc;

use ahash::HashSet;
use bytes::Bytes;
use prost::Message;
use prost::encoding::WireType;

use super::limits::{MAX_DECODED_BYTES, MessageShape, Survey, survey};
use super::span_ref::SpanRef;
use super::wire::{self, WireField, WireFields};
use super::{AcceptedSpan, DecodedRequest, Origin, SpanId, TraceId, WireSpan, proto};
use crate::error::{Error, Result};
use crate::time::{NANOS_PER_MICRO, write_instant};

/// The maximum time by which a span's times may be in the future: 24 hours, in nanoseconds.
pub const MAX_AHEAD_NANOS: u64 = 24 * 3_600 * 1_000_000_000;

/// The maximum length of a rejection reason in characters. A reason may quote the sent data.
const MAX_REASON_CHARS: usize = 500;

/// A value that passed its check, or the reason for its rejection.
pub(super) type Validated<T> = std::result::Result<T, String>;

/// Collects the spans of one request into a [`DecodedRequest`].
pub(super) struct RequestChecker {
    now_nanos: u64,
    request: DecodedRequest,
    received: u64,
    decoded_bytes: usize,
    /// The last origin, and the result of its check.
    origin: Option<(Arc<Origin>, Validated<()>)>,
    /// The pairs of a trace and an origin that the trace stores.
    copies: HashSet<(TraceId, *const Origin)>,
}

impl RequestChecker {
    /// Returns a checker without spans; `now_nanos` is the current time since 1970.
    pub(super) fn new(now_nanos: u64) -> Self {
        Self {
            now_nanos,
            request: DecodedRequest::default(),
            received: 0,
            decoded_bytes: 0,
            origin: None,
            copies: HashSet::default(),
        }
    }

    /// Accepts or rejects one span.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the request as a whole takes too much memory.
    pub(super) fn add(&mut self, span: Validated<WireSpan>) -> Result<()> {
        self.received += 1;
        let wire = match span {
            Ok(wire) => wire,
            Err(reason) => return self.reject(None, &reason),
        };
        let origin = self.origin_result(&wire.origin)?;
        let survey = match origin.and_then(|()| survey(MessageShape::Span, &wire.bytes)) {
            Ok(survey) => survey,
            Err(reason) => return self.reject(Some(&wire), &reason),
        };
        self.reserve(survey.bytes)?;
        match accept(&wire, survey, self.now_nanos) {
            Ok(span) => self.keep(span),
            Err(reason) => self.reject(Some(&wire), &reason),
        }
    }

    /// Returns the decoded request. `message` is the body, if the spans are slices of it.
    pub(super) fn finish(mut self, message: Option<Bytes>) -> DecodedRequest {
        let accepted_bytes: usize = self.request.spans.iter().map(|span| span.wire.bytes.len()).sum();
        // A slice keeps the whole body in memory, which is wasteful for a few spans.
        if accepted_bytes < message.as_ref().map_or(0, Bytes::len) / 2 {
            wire::detach(self.request.spans.iter_mut().map(|span| &mut span.wire));
        } else if self.request.rejected == 0 {
            self.request.message = message;
        }
        let first = &self.request.reason;
        self.request.reason = match self.request.rejected {
            0 => String::new(),
            1 => format!("1 span rejected: {first}"),
            count => format!("{count} spans rejected; the first: {first}"),
        };
        self.request
    }

    fn keep(&mut self, span: AcceptedSpan) -> Result<()> {
        let origin = &span.wire.origin;
        if self.copies.insert((span.trace_id, Arc::as_ptr(origin))) {
            self.reserve(size_of_origin(origin))?;
        }
        self.request.spans.push(span);
        Ok(())
    }

    fn reject(&mut self, wire: Option<&WireSpan>, reason: &str) -> Result<()> {
        self.request.rejected += 1;
        if self.request.rejected == 1 {
            let span = match wire.and_then(span_id_of) {
                Some(id) => format!("span `{id}`"),
                None => format!("span {} of the request", self.received),
            };
            self.request.reason = format!("{span}: {}", clip(reason));
        }
        // A rejected span is charged like an accepted one, because millions of them also take time.
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

    fn origin_result(&mut self, origin: &Arc<Origin>) -> Result<Validated<()>> {
        if let Some((_, checked)) = self.origin.as_ref().filter(|(known, _)| Arc::ptr_eq(known, origin)) {
            return Ok(checked.clone());
        }
        // The resource is checked again for each scope, so that it is charged again.
        self.reserve(size_of_origin(origin))?;
        let checked = check_origin(origin);
        self.origin = Some((origin.clone(), checked.clone()));
        Ok(checked)
    }
}

/// Checks a span outside of a request, by the same rules. `now_nanos` is the current time since 1970.
///
/// # Errors
/// The reason for the rejection.
pub fn check_span(wire: &WireSpan, now_nanos: u64) -> std::result::Result<AcceptedSpan, String> {
    let survey = survey(MessageShape::Span, &wire.bytes).and_then(|survey| match survey.bytes {
        0..=MAX_DECODED_BYTES => Ok(survey),
        _ => Err(format!("it takes over {MAX_DECODED_BYTES} bytes once decoded")),
    });
    survey.and_then(|survey| accept(wire, survey, now_nanos)).map_err(|reason| {
        let span = span_id_of(wire).map_or_else(|| "a span".to_owned(), |id| format!("span `{id}`"));
        format!("{span}: {}", clip(&reason))
    })
}

/// Checks the resource and scope that spans share.
///
/// # Errors
/// The reason for the rejection of all spans of this origin.
pub fn check_origin(origin: &Origin) -> std::result::Result<(), String> {
    check_part::<proto::Resource>(MessageShape::Resource, &origin.resource, "resource")
        .and_then(|()| check_part::<proto::InstrumentationScope>(MessageShape::Scope, &origin.scope, "scope"))
}

fn size_of_origin(origin: &Origin) -> usize {
    let texts = origin.resource_schema_url.len() + origin.scope_schema_url.len();
    size_of::<Origin>() + origin.resource.len() + origin.scope.len() + texts
}

/// Checks that a resource or scope can be decoded within the limits.
fn check_part<M: Message + Default>(shape: MessageShape, message: &[u8], name: &str) -> Validated<()> {
    survey(shape, message)
        .and_then(|part| if part.bytes > MAX_DECODED_BYTES { Err("too large".to_owned()) } else { Ok(()) })
        .and_then(|()| M::decode(message).map_err(|error| wire::describe_error(&error)))
        .map(drop)
        .map_err(|error| format!("its {name}: {error}"))
}

fn accept(wire: &WireSpan, survey: Survey, now_nanos: u64) -> Validated<AcceptedSpan> {
    if !survey.is_sound {
        proto::Span::decode(wire.bytes.as_ref()).map_err(|error| wire::describe_error(&error))?;
    }
    let span = SpanRef::walk(&wire.bytes, |_| Ok(()))?;
    let trace_id =
        TraceId::from_bytes(span.trace_id).ok_or_else(|| invalid_id("trace id", span.trace_id, 16))?;
    let span_id = SpanId::from_bytes(span.span_id).ok_or_else(|| invalid_id("span id", span.span_id, 8))?;
    if !matches!(span.parent_span_id.len(), 0 | 8) {
        let length = span.parent_span_id.len();
        return Err(format!("parent span id of length {length}, expected 8 bytes or none"));
    }
    let latest = now_nanos.saturating_add(MAX_AHEAD_NANOS);
    for (name, nanos) in [("start", span.start), ("end", span.end)] {
        if nanos > latest {
            return Err(too_far_ahead(name, nanos));
        }
    }
    Ok(AcceptedSpan { trace_id, span_id, wire: wire.clone() })
}

fn invalid_id(name: &str, bytes: &[u8], expected: usize) -> String {
    match bytes.len() {
        length if length == expected => format!("{name} is all zero"),
        length => format!("{name} of length {length}, expected {expected} bytes"),
    }
}

pub(super) fn too_far_ahead(name: &str, nanos: u64) -> String {
    let mut instant = String::new();
    let micros = i64::try_from(nanos / NANOS_PER_MICRO).expect("a thousandth of 64 bits");
    write_instant(&mut instant, micros);
    format!("{name} time {instant} lies more than 24 hours ahead")
}

/// Returns the id of a span even if other parts of the span are malformed.
fn span_id_of(wire: &WireSpan) -> Option<SpanId> {
    let mut fields = WireFields::of(&wire.bytes).map_while(std::result::Result::ok);
    let is_id = |field: &WireField<'_>| field.number == 2 && field.wire_type == WireType::LengthDelimited;
    fields.find_map(|field| Some(field).filter(is_id).and_then(|field| SpanId::from_bytes(field.content)))
}

/// Returns `reason`, truncated to [`MAX_REASON_CHARS`].
pub(super) fn clip(reason: &str) -> String {
    match reason.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}...", &reason[..end]),
        None => reason.to_owned(),
    }
}
