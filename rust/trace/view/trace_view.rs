//! The spans of a trace by ordinal.
//!
//! The ordinal of a span is its position in tree order. So a subtree is a range of ordinals, and a parent
//! comes before its children. The attributes of a span are read on first use.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::super::row::run_root;
use super::super::tree::Forest;
use super::super::{Span, Trace};
use super::texts::{Channel, SpanTexts};
use crate::error::{Error, Result};
use crate::otlp::SpanRef;
use crate::otlp::span_ref::{AttributeRef, ValueRef, attributes_of_resource};

/// The owner of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeScope {
    /// On the span.
    Span,
    /// On the resource of the span.
    Resource,
}

/// The spans of a trace by ordinal.
#[derive(Debug)]
pub struct TraceView<'t> {
    spans: &'t [Arc<Span>],
    /// By ordinal: the index of the span.
    order: Vec<usize>,
    parents: Vec<Option<usize>>,
    /// By ordinal: the first ordinal after the subtree.
    ends: Vec<usize>,
    pub(super) depths: Vec<u32>,
    pub(super) child_counts: Vec<u32>,
    run_root: Option<usize>,
    decoded: Vec<OnceCell<SpanRef<'t>>>,
    texts: Vec<SpanTexts>,
}

impl<'t> TraceView<'t> {
    /// Returns the view of an assembled trace.
    pub fn of(trace: &'t Trace) -> Self {
        let spans = trace.spans();
        let forest = Forest::of(spans);
        let order = forest.preorder();
        let mut ordinals = vec![0; spans.len()];
        let mut view = Self {
            spans,
            parents: Vec::with_capacity(spans.len()),
            ends: (1..=spans.len()).collect(),
            depths: Vec::with_capacity(spans.len()),
            child_counts: vec![0; spans.len()],
            run_root: None,
            decoded: (0..spans.len()).map(|_| OnceCell::new()).collect(),
            texts: (0..spans.len()).map(|_| SpanTexts::default()).collect(),
            order,
        };
        for (ordinal, index) in view.order.iter().copied().enumerate() {
            ordinals[index] = ordinal;
            let parent = forest.parent(index).map(|parent| ordinals[parent]);
            view.depths.push(parent.map_or(0, |parent| view.depths[parent] + 1));
            view.parents.push(parent);
        }
        for ordinal in (0..spans.len()).rev() {
            if let Some(parent) = view.parents[ordinal] {
                view.ends[parent] = view.ends[parent].max(view.ends[ordinal]);
                view.child_counts[parent] += 1;
            }
        }
        view.run_root = run_root(spans, &forest).map(|index| ordinals[index]);
        view
    }

    /// Returns the number of spans.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns `true` if there are no spans.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the ordinal of the run root (`docs/reference/traces.md#run-root`); `None` without spans.
    pub fn run_root(&self) -> Option<usize> {
        self.run_root
    }

    /// Returns the span at an ordinal.
    pub fn span(&self, ordinal: usize) -> &'t Span {
        &self.spans[self.order[ordinal]]
    }

    /// Returns the ordinal of the parent; `None` for a root.
    pub fn parent(&self, ordinal: usize) -> Option<usize> {
        self.parents[ordinal]
    }

    /// Returns the ordinals of a span and all spans below it.
    pub fn subtree(&self, ordinal: usize) -> Range<usize> {
        ordinal..self.ends[ordinal]
    }

    /// Returns the attributes of a span, in the order in which they were sent.
    ///
    /// # Errors
    /// [`Error::Decode`] if the stored bytes are damaged.
    pub fn attributes(&self, ordinal: usize) -> Result<&[AttributeRef<'t>]> {
        Ok(&self.decoded(ordinal)?.attributes)
    }

    /// Returns the encoded resource of a span.
    pub fn resource(&self, ordinal: usize) -> &'t [u8] {
        &self.span(ordinal).wire.origin.resource
    }

    /// Returns the value of an attribute. If the key is repeated, the first value counts.
    ///
    /// # Errors
    /// [`Error::Decode`] if the stored bytes are damaged.
    pub fn attribute(&self, ordinal: usize, scope: AttributeScope, key: &str) -> Result<ValueRef<'t>> {
        let is_found = |own: &[u8], value: ValueRef<'_>| own == key.as_bytes() && value != ValueRef::Missing;
        let found = match scope {
            AttributeScope::Span => {
                let mut attributes = self.attributes(ordinal)?.iter();
                attributes.find(|own| is_found(own.key, own.value)).copied()
            }
            AttributeScope::Resource => {
                let mut attributes = attributes_of_resource(self.resource(ordinal));
                attributes.find_map(|own| own.ok().filter(|own| is_found(own.key, own.value)))
            }
        };
        Ok(found.unwrap_or_default().value)
    }

    /// Returns the texts of a span in a channel (`docs/reference/filter.md#texts`).
    ///
    /// # Errors
    /// The errors of [`TraceView::attribute`].
    pub fn texts(&self, ordinal: usize, channel: Channel) -> Result<impl Iterator<Item = &str>> {
        self.texts[ordinal].of(self.span(ordinal), Some(self.decoded(ordinal)?), channel)
    }

    pub(super) fn decoded(&self, ordinal: usize) -> Result<&SpanRef<'t>> {
        let cell = &self.decoded[ordinal];
        if let Some(decoded) = cell.get() {
            return Ok(decoded);
        }
        let span = self.span(ordinal);
        let decoded = SpanRef::of(&span.wire.bytes).map_err(|error| {
            Error::Decode(format!("span {} of trace {}: {error}", span.span_id, span.trace_id))
        })?;
        Ok(cell.get_or_init(|| decoded))
    }
}
