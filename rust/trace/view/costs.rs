//! The costs of the model calls of a trace.

use std::borrow::Cow;

use super::super::conventions::{Attribute, AttributeReader};
use super::super::cost::{CallSpan, TraceCost, cost_of, prices};
use super::trace_view::TraceView;
use crate::error::Result;

impl TraceView<'_> {
    /// Returns the spans as input of the cost computation, by ordinal.
    pub fn call_spans(&self) -> Vec<CallSpan> {
        let of = |ordinal: usize| {
            CallSpan::of(self.span(ordinal), self.parent(ordinal), self.subtree(ordinal).end)
        };
        (0..self.len()).map(of).collect()
    }

    /// Returns the model of the span at an ordinal.
    ///
    /// # Errors
    /// The errors of [`TraceView::attribute`].
    pub fn model(&self, ordinal: usize) -> Result<Option<Cow<'_, str>>> {
        Ok(AttributeReader::of(&self.decoded(ordinal)?.attributes).text(Attribute::Model))
    }

    /// Returns the cost of the trace.
    ///
    /// # Errors
    /// The errors of [`TraceView::attribute`].
    pub fn cost(&self) -> Result<TraceCost> {
        cost_of(&self.call_spans(), |ordinal| {
            Ok(self.model(ordinal)?.and_then(|model| prices().price_of(&model)))
        })
    }
}
