//! The fragments of a trace: collects them, and turns them into events of their spans.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Span, Trace};
use crate::otlp::fragment::with_events;
use crate::otlp::{Fragment, SpanId, WireSpan};

impl Trace {
    /// Returns the fragments, ordered by span, time and content.
    pub fn fragments(&self) -> &[Fragment] {
        &self.fragments
    }

    /// Returns the fragments of one span.
    pub fn fragments_of(&self, span_id: SpanId) -> &[Fragment] {
        let start = self.fragments.partition_point(|fragment| fragment.span_id < span_id);
        let rest = &self.fragments[start..];
        &rest[..rest.partition_point(|fragment| fragment.span_id == span_id)]
    }

    /// Returns the trace's copy of a fragment, if it has the fragment.
    pub fn fragment(&self, fragment: &Fragment) -> Option<&Fragment> {
        let index = self.fragments.binary_search_by(|known| known.key().cmp(&fragment.key())).ok()?;
        Some(&self.fragments[index])
    }

    /// Returns `true` if the trace has neither spans nor fragments.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.fragments.is_empty()
    }

    /// Returns this trace with `arrivals` added. The copy of a fragment with the lowest position wins, so the
    /// result does not depend on the order or repetition of arrivals.
    #[must_use]
    pub fn with_fragments(&self, arrivals: impl IntoIterator<Item = Fragment>) -> Self {
        let mut fragments = self.fragments.clone();
        fragments.extend(arrivals);
        fragments.sort_unstable();
        fragments.dedup_by(|one, kept| one.key() == kept.key());
        let Self { trace_id, created_at, spans, .. } = self;
        Self { trace_id: *trace_id, created_at: *created_at, spans: spans.clone(), fragments }
    }

    /// Returns this trace with its fragments as events of their spans. Fragments without a span in the trace
    /// are omitted. A trace without spans is returned unchanged.
    pub fn assembled(&self) -> Cow<'_, Self> {
        if self.fragments.is_empty() || self.spans.is_empty() {
            return Cow::Borrowed(self);
        }
        let spans = self.spans.iter().map(|span| match self.fragments_of(span.span_id) {
            [] => span.clone(),
            fragments => assemble(span, fragments),
        });
        Cow::Owned(Self { spans: spans.collect(), ..Self::new(self.trace_id, self.created_at) })
    }

    /// Like [`Trace::assembled`], but consumes the trace.
    #[must_use]
    pub fn into_assembled(self) -> Self {
        match self.assembled() {
            Cow::Owned(assembled) => assembled,
            Cow::Borrowed(_) => self,
        }
    }
}

fn assemble(span: &Arc<Span>, fragments: &[Fragment]) -> Arc<Span> {
    let bytes = with_events(&span.wire.bytes, fragments).into();
    let assembled = Span::from_wire(WireSpan { bytes, origin: span.wire.origin.clone() });
    // The span was decodable before, and only events are added.
    assembled.map_or_else(|_| span.clone(), Arc::new)
}
