//! The spans of a trace by their places.
//!
//! A place is a position in the order in which the tree shows the spans. So a subtree is a range of places, and a parent
//! stands before its children. What is read from a span's attributes is read when it is first asked for.

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

/// Where an attribute is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeScope {
    /// On the span.
    Span,
    /// On the resource of the span.
    Resource,
}

/// The spans of a trace by their places.
#[derive(Debug)]
pub struct TraceView<'t> {
    spans: &'t [Arc<Span>],
    /// By place: the index of the span.
    order: Vec<usize>,
    parents: Vec<Option<usize>>,
    /// By place: the first place after the subtree.
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
        let mut places = vec![0; spans.len()];
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
        for (place, index) in view.order.iter().copied().enumerate() {
            places[index] = place;
            let parent = forest.parent(index).map(|parent| places[parent]);
            view.depths.push(parent.map_or(0, |parent| view.depths[parent] + 1));
            view.parents.push(parent);
        }
        for place in (0..spans.len()).rev() {
            if let Some(parent) = view.parents[place] {
                view.ends[parent] = view.ends[parent].max(view.ends[place]);
                view.child_counts[parent] += 1;
            }
        }
        view.run_root = run_root(spans, &forest).map(|index| places[index]);
        view
    }

    /// Returns the number of spans.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are no spans.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the place of the run root (`docs/reference/traces.md#run-root`); `None` without spans.
    pub fn run_root(&self) -> Option<usize> {
        self.run_root
    }

    /// Returns the span at a place.
    pub fn span(&self, place: usize) -> &'t Span {
        &self.spans[self.order[place]]
    }

    /// Returns the place of the parent; `None` of a root.
    pub fn parent(&self, place: usize) -> Option<usize> {
        self.parents[place]
    }

    /// Returns the places of a span and all below it.
    pub fn subtree(&self, place: usize) -> Range<usize> {
        place..self.ends[place]
    }

    /// Returns the attributes of a span, in the order in which they were sent.
    ///
    /// # Errors
    /// [`Error::Decode`] if the stored bytes are not a span, although they were one when they were stored.
    pub fn attributes(&self, place: usize) -> Result<&[AttributeRef<'t>]> {
        Ok(&self.decoded(place)?.attributes)
    }

    /// Returns the encoded resource of a span.
    pub fn resource(&self, place: usize) -> &'t [u8] {
        &self.span(place).wire.origin.resource
    }

    /// Returns the value of an attribute, the first of that key that has one.
    ///
    /// # Errors
    /// [`Error::Decode`] if the stored bytes are not a span, although they were one when they were stored.
    pub fn attribute(&self, place: usize, scope: AttributeScope, key: &str) -> Result<ValueRef<'t>> {
        let is_found = |own: &[u8], value: ValueRef<'_>| own == key.as_bytes() && value != ValueRef::Missing;
        let found = match scope {
            AttributeScope::Span => {
                let mut attributes = self.attributes(place)?.iter();
                attributes.find(|own| is_found(own.key, own.value)).copied()
            }
            AttributeScope::Resource => {
                let mut attributes = attributes_of_resource(self.resource(place));
                attributes.find_map(|own| own.ok().filter(|own| is_found(own.key, own.value)))
            }
        };
        Ok(found.unwrap_or_default().value)
    }

    /// Returns the texts of a span in a channel (`docs/reference/filter.md#texts`).
    ///
    /// # Errors
    /// As [`TraceView::attribute`].
    pub fn texts(&self, place: usize, channel: Channel) -> Result<impl Iterator<Item = &str>> {
        self.texts[place].of(self.span(place), Some(self.decoded(place)?), channel)
    }

    pub(super) fn decoded(&self, place: usize) -> Result<&SpanRef<'t>> {
        let cell = &self.decoded[place];
        if let Some(decoded) = cell.get() {
            return Ok(decoded);
        }
        let span = self.span(place);
        let decoded = SpanRef::of(&span.wire.bytes).map_err(|error| {
            Error::Decode(format!("span {} of trace {}: {error}", span.span_id, span.trace_id))
        })?;
        Ok(cell.get_or_init(|| decoded))
    }
}
