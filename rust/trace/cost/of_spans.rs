//! The contributions of the spans of a trace to its sums.

use std::sync::Arc;

use super::calls::{CallType, Tokens};
use super::prices::prices;
use super::trace_cost::{CallSpan, CostShare, TraceCost, for_each_share};
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

/// The contribution of one span to the tokens and the cost of its trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::trace) struct SpanShare {
    pub(in crate::trace) tokens: Tokens,
    pub(in crate::trace) cost: CostShare,
}

impl SpanShare {
    /// Returns the sums of spans with these contributions.
    pub(in crate::trace) fn sum<'s>(shares: impl IntoIterator<Item = &'s Self>) -> (Tokens, TraceCost) {
        let mut sums = (Tokens::default(), TraceCost::NONE);
        for share in shares {
            sums.0.add(share.tokens);
            sums.1 = sums.1.with(share.cost.cost());
        }
        sums
    }
}

/// Returns the cost of a trace with these spans and their forest.
///
/// # Errors
/// [`Error::Decode`] if the stored bytes of a span are damaged.
pub(in crate::trace) fn cost_of_trace(spans: &[Arc<Span>], forest: &Forest) -> Result<TraceCost> {
    Ok(SpanShare::sum(&shares_of_trace(spans, forest)?).1)
}

/// Returns the contribution of each span by its index.
///
/// # Errors
/// [`Error::Decode`] if the stored bytes of a span are damaged.
pub(in crate::trace) fn shares_of_trace(spans: &[Arc<Span>], forest: &Forest) -> Result<Vec<SpanShare>> {
    shares_of_spans(spans, forest, |index| model_of(&spans[index]))
}

/// Returns the contributions of the span at `root` and of all spans below it, with that of `root` first.
///
/// # Errors
/// [`Error::Decode`] if the stored bytes of one of these spans are damaged.
pub(in crate::trace) fn shares_of_subtree(
    spans: &[Arc<Span>],
    forest: &Forest,
    root: usize,
) -> Result<Vec<SpanShare>> {
    let mut within = vec![root];
    let mut is_within = vec![false; spans.len()];
    let mut next = 0;
    while let Some(index) = within.get(next).copied() {
        is_within[index] = true;
        within.extend_from_slice(forest.children(index));
        next += 1;
    }
    // Nested calls and reports outside decide what counts inside, but the prices outside do not matter.
    let model = |index: usize| if is_within[index] { model_of(&spans[index]) } else { Ok(None) };
    let shares = shares_of_spans(spans, forest, model)?;
    Ok(within.into_iter().map(|index| shares[index]).collect())
}

/// Returns the contribution of each span by its index. `model` returns the model of a span by its index, and
/// is called for calls without a reported cost.
///
/// # Errors
/// The errors of `model`.
pub(in crate::trace) fn shares_of_spans(
    spans: &[Arc<Span>],
    forest: &Forest,
    model: impl Fn(usize) -> Result<Option<String>>,
) -> Result<Vec<SpanShare>> {
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
    let price = |number: usize| Ok(model(order[number])?.and_then(|model| prices().price_of(&model)));
    let mut shares = vec![SpanShare::default(); spans.len()];
    for_each_share::<Error>(&calls, price, |number, counted, cost| {
        shares[order[number]] = SpanShare { tokens: counted.tokens, cost };
    })?;
    Ok(shares)
}

/// Returns the model of a span.
///
/// # Errors
/// [`Error::Decode`] if the stored bytes are damaged.
pub(in crate::trace) fn model_of(span: &Span) -> Result<Option<String>> {
    let decoded = SpanRef::of(&span.wire.bytes).map_err(|error| {
        Error::Decode(format!("span {} of trace {}: {error}", span.span_id, span.trace_id))
    })?;
    Ok(AttributeReader::of(&decoded.attributes).text(Attribute::Model).map(String::from))
}
