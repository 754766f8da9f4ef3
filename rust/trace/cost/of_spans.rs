//! The cost of the spans of a trace.

use std::sync::Arc;

use super::calls::CallType;
use super::prices::{Price, prices};
use super::trace_cost::{CallSpan, TraceCost, cost_of};
use crate::error::{Error, Result};
use crate::otlp::SpanRef;
use crate::trace::Span;
use crate::trace::conventions::{Attribute, AttributeReader};
use crate::trace::tree::Forest;

impl CallSpan {
    /// Returns the cost input of a span, with the number of its parent and the end of its subtree.
    pub(in crate::trace) fn of(span: &Span, parent: Option<usize>, end: usize) -> Self {
        Self {
            call_type: CallType::of(&span.summary.node_type),
            tokens: span.summary.tokens(),
            report: span.summary.cost,
            parent,
            end,
        }
    }
}

/// Returns the cost of a trace with these spans and their forest.
///
/// # Errors
/// [`Error::Decode`] if the stored bytes of a span are damaged.
pub(in crate::trace) fn cost_of_trace(spans: &[Arc<Span>], forest: &Forest) -> Result<TraceCost> {
    cost_of_spans(spans, forest, |index| model_of(&spans[index]))
}

/// Returns the cost of spans and their forest. `model` returns the model of a span by its index.
pub(in crate::trace) fn cost_of_spans(
    spans: &[Arc<Span>],
    forest: &Forest,
    model: impl Fn(usize) -> Result<Option<String>>,
) -> Result<TraceCost> {
    let order = forest.preorder();
    let mut numbers = vec![0; spans.len()];
    let mut calls = Vec::with_capacity(spans.len());
    for (number, index) in order.iter().copied().enumerate() {
        numbers[index] = number;
        let parent = forest.parent(index).map(|parent| numbers[parent]);
        calls.push(CallSpan::of(&spans[index], parent, number + 1));
    }
    for number in (0..calls.len()).rev() {
        let CallSpan { parent, end, .. } = calls[number];
        if let Some(parent) = parent {
            calls[parent].end = calls[parent].end.max(end);
        }
    }
    cost_of(&calls, |number| Ok(model(order[number])?.and_then(|model| price_of(&model))))
}

fn model_of(span: &Span) -> Result<Option<String>> {
    let decoded = SpanRef::of(&span.wire.bytes).map_err(|error| {
        Error::Decode(format!("span {} of trace {}: {error}", span.span_id, span.trace_id))
    })?;
    Ok(AttributeReader::of(&decoded.attributes).text(Attribute::Model).map(String::from))
}

fn price_of(model: &str) -> Option<Price> {
    prices().price_of(model)
}
