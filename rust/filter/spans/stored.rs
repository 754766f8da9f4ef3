//! Evaluates conditions on the texts of stored traces. Only spans that may have the text are decoded.

use super::content::Pattern;
use super::predicate::{SpanPredicate, SpanTest};
use super::truth::Truth;
use crate::error::Result;
use crate::trace::Trace;
use crate::trace::view::{Channel, StoredSpan, StoredTrace, TraceView};

impl Pattern {
    /// Returns `true` if a text of a span may contain the pattern, by the bytes of the span. `false` is
    /// certain.
    pub(super) fn may_be_in(&self, span: &[u8]) -> bool {
        self.probe.as_ref().is_none_or(|probe| probe.may_be_in_span(span))
    }

    /// Returns `true` if a text of a span may contain the pattern, by the bytes of several spans or
    /// fragments. `false` is certain.
    fn may_be_among(&self, spans: &[u8]) -> bool {
        self.probe.as_ref().is_none_or(|probe| probe.may_be_among(spans))
    }
}

impl SpanTest {
    /// Returns `true` if the truth for a trace is `wanted`, true or false.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if a span cannot be decoded.
    pub(in crate::filter) fn is_of_trace(&self, trace: &Trace, wanted: Truth) -> Result<bool> {
        if wanted == Truth::True && !self.may_be_true(trace) {
            return Ok(false);
        }
        // Joining the bytes of all spans costs less than decoding one of them.
        if matches!(self, Self::Contains(_, _) | Self::HasText(_)) && !trace.spans().is_empty() {
            let stored = StoredTrace::new(trace.trace_id, trace.created_at, trace.document().into(), true);
            if let Some(holds) = self.is_of_spans(&stored, wanted)? {
                return Ok(holds);
            }
        }
        self.is(wanted, &TraceView::of(&trace.assembled()))
    }

    /// Returns `true` if the test may be true for a trace, by the bytes of its spans and fragments. `false`
    /// is certain.
    fn may_be_true(&self, trace: &Trace) -> bool {
        let spans = trace.spans().iter().map(|span| &span.wire.bytes);
        let all: Vec<_> = spans.chain(trace.fragments().iter().map(|fragment| &fragment.event)).collect();
        self.may_hold(&|pattern| all.iter().any(|bytes| pattern.may_be_among(bytes)))
    }

    /// Returns whether the truth for a stored trace is `wanted`, true or false. `None` if the whole trace
    /// must be decoded.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if the document is invalid.
    pub(in crate::filter) fn is_of_stored(&self, trace: &StoredTrace, wanted: Truth) -> Result<Option<bool>> {
        if wanted == Truth::True && !self.may_hold(&|pattern| pattern.may_be_among(trace.document())) {
            return Ok(Some(false));
        }
        self.is_of_spans(trace, wanted)
    }

    /// As [`SpanTest::is_of_stored`], span by span.
    fn is_of_spans(&self, trace: &StoredTrace, wanted: Truth) -> Result<Option<bool>> {
        let (channel, pattern) = match self {
            Self::Contains(channel, pattern) => (*channel, Some(pattern)),
            Self::HasText(channel) => (*channel, None),
            Self::Count { .. } | Self::Attribute(_) | Self::Cost(_, _) | Self::HasCost(_) => return Ok(None),
        };
        let Some(spans) = trace.spans()? else { return Ok(None) };
        if let Some(pattern) = pattern
            && is_sent(&spans, channel, pattern)?
        {
            return Ok(Some(wanted == Truth::True));
        }
        let mut channel_texts = ChannelTexts { channel, pattern, wanted, has_texts: false };
        for span in &spans {
            if channel_texts.is_found_in(span)? {
                return Ok(Some(wanted == Truth::True));
            }
        }
        let otherwise =
            if pattern.is_none() || channel_texts.has_texts { Truth::False } else { Truth::Unknown };
        Ok(Some(otherwise == wanted))
    }

    /// Returns `true` if the test may be true. `may_be` decides whether a text may contain a pattern.
    fn may_hold(&self, may_be: &dyn Fn(&Pattern) -> bool) -> bool {
        match self {
            Self::Count { predicate, at_least: 1.., .. } => predicate.may_hold(may_be),
            Self::Contains(_, pattern) => may_be(pattern),
            Self::Count { .. }
            | Self::HasText(_)
            | Self::Attribute(_)
            | Self::Cost(_, _)
            | Self::HasCost(_) => true,
        }
    }
}

impl SpanPredicate {
    /// Returns `true` if the predicate may be true for a span. `may_be` decides whether a text may contain a
    /// pattern.
    fn may_hold(&self, may_be: &dyn Fn(&Pattern) -> bool) -> bool {
        match self {
            Self::And(parts) => parts.iter().all(|part| part.may_hold(may_be)),
            Self::Or(parts) => parts.iter().any(|part| part.may_hold(may_be)),
            Self::Axis(axis) => axis.part.may_hold(may_be),
            Self::Contains(_, pattern) => may_be(pattern),
            Self::Not(_) | Self::Field(_, _) | Self::HasText(_) | Self::Attribute(_) => true,
        }
    }
}

/// A search for a text in the spans of a stored trace, one after the other.
struct ChannelTexts<'p> {
    channel: Channel,
    /// The pattern; `None` if any text matches.
    pattern: Option<&'p Pattern>,
    wanted: Truth,
    /// True if a span without a match has other texts. Computed only if it changes the result.
    has_texts: bool,
}

impl ChannelTexts<'_> {
    /// Searches the texts of a span.
    fn is_found_in(&mut self, span: &StoredSpan<'_>) -> Result<bool> {
        let Some(pattern) = self.pattern else { return has_texts(span, self.channel) };
        if !may_have(span, self.channel, pattern)? {
            if self.wanted == Truth::False && !self.has_texts {
                self.has_texts = has_texts(span, self.channel)?;
            }
            return Ok(false);
        }
        let mut scratch = String::new();
        for text in span.decoded()?.texts(self.channel)? {
            if pattern.is_in(text, &mut scratch) {
                return Ok(true);
            }
            self.has_texts = true;
        }
        Ok(false)
    }
}

/// Returns `true` if a text of a span may contain a pattern.
fn may_have(span: &StoredSpan<'_>, channel: Channel, pattern: &Pattern) -> Result<bool> {
    let Some(probe) = &pattern.probe else { return Ok(true) };
    let is_possible = probe.may_be_in_span(span.bytes());
    Ok(is_possible && span.has_source(channel, |source| probe.may_be_in_source(source))?)
}

/// Returns `true` if a text that is stored in its final form contains a pattern. Usually one does, and no
/// span is decoded.
fn is_sent(spans: &[StoredSpan<'_>], channel: Channel, pattern: &Pattern) -> Result<bool> {
    let mut scratch = String::new();
    for span in spans.iter().filter(|span| pattern.may_be_in(span.bytes())) {
        if span.has_sent_text(channel, |text| pattern.is_in(text, &mut scratch))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if a span has a text in a channel.
fn has_texts(span: &StoredSpan<'_>, channel: Channel) -> Result<bool> {
    Ok(span.has_sent_text(channel, |_| true)? || span.decoded()?.texts(channel)?.next().is_some())
}
