//! What a trace cost (`docs/reference/traces.md#cost`): what its model calls report, and of the others what their tokens cost.
//!
//! A report speaks for the calls of its type inside it too, for they are the same call, or parts of it, and for what the call
//! around it counts of the same tokens. What has neither a report nor a price is unknown, never nothing; only a call without
//! tokens costs nothing.

use std::ops::Range;

use super::calls::{CallType, SpanUsage, Tokens, counted_calls};
use super::prices::Price;

/// A span as its costs are reckoned.
#[derive(Debug, Clone, Copy)]
pub struct CallSpan {
    /// The type of call that it is, if it is one of a model.
    pub call_type: Option<CallType>,
    /// The tokens that it reports.
    pub tokens: Tokens,
    /// The cost that it reports, in nanodollars.
    pub report: Option<u64>,
    /// The number of the parent, which is less than its own; `None` of a root.
    pub parent: Option<usize>,
    /// The number after those of all spans below it.
    pub end: usize,
}

/// What one span adds to the cost of its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallCost {
    /// Nanodollars; nothing if a call around it reports a cost.
    Known(u64),
    /// A call without a report, and of a model without a price.
    Unknown,
}

/// What a trace cost, in nanodollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceCost {
    /// All of it.
    Whole(u64),
    /// What is known of it: the cost of some call is not.
    Partial(u64),
}

impl TraceCost {
    /// The cost of a trace without calls.
    pub const NONE: Self = Self::Whole(0);

    /// Returns this cost with that of another call.
    #[must_use]
    pub fn with(self, call: CallCost) -> Self {
        match (self, call) {
            (Self::Whole(known), CallCost::Known(more)) => Self::Whole(known.saturating_add(more)),
            (Self::Partial(known), CallCost::Known(more)) => Self::Partial(known.saturating_add(more)),
            (Self::Whole(known) | Self::Partial(known), CallCost::Unknown) => Self::Partial(known),
        }
    }
}

/// Calls `visit` with the number of each model call of a trace, what it adds to the sums, and what to the cost. The spans are
/// in the order of the tree; `price` returns the price of the model of a span.
pub fn for_each_call<E>(
    spans: &[CallSpan],
    price: impl Fn(usize) -> Result<Option<Price>, E>,
    mut visit: impl FnMut(usize, SpanUsage, CallCost),
) -> Result<(), E> {
    let call = |span: usize| Some((spans[span].call_type?, spans[span].tokens));
    let counted = counted_calls(spans.len(), (0..spans.len()).rev(), call, |span| spans[span].parent);
    // By type of call, the spans below the last one that reports a cost.
    let mut covered: [Range<usize>; 2] = [0..0, 0..0];
    for (number, (span, counted)) in spans.iter().zip(counted).enumerate() {
        let Some(call_type) = span.call_type else { continue };
        let covered = &mut covered[call_type as usize];
        let cost = match span.report {
            _ if covered.contains(&number) => CallCost::Known(0),
            Some(report) => {
                *covered = number..span.end;
                CallCost::Known(report)
            }
            None if counted.tokens.is_empty() || has_report_inside(spans, number) => CallCost::Known(0),
            None => {
                price(number)?.map_or(CallCost::Unknown, |price| CallCost::Known(price.of(&counted.tokens)))
            }
        };
        visit(number, counted, cost);
    }
    Ok(())
}

/// Whether a call of the same type inside one reports a cost.
fn has_report_inside(spans: &[CallSpan], number: usize) -> bool {
    let CallSpan { call_type, end, .. } = spans[number];
    spans[number + 1..end].iter().any(|inside| inside.call_type == call_type && inside.report.is_some())
}

/// Returns what a trace cost; the arguments are those of [`for_each_call`].
pub fn cost_of<E>(
    spans: &[CallSpan],
    price: impl Fn(usize) -> Result<Option<Price>, E>,
) -> Result<TraceCost, E> {
    let mut cost = TraceCost::NONE;
    for_each_call(spans, price, |_, _, call| cost = cost.with(call))?;
    Ok(cost)
}
