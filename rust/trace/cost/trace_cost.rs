//! The cost of a trace (`docs/reference/traces.md#cost`): the reported costs of its model calls, and
//! otherwise the cost of their tokens.
//!
//! A report covers all nested calls of its type, because they are the same call or parts of it. It also
//! covers the tokens that the enclosing call counts for the same work. Without a report and a price the cost
//! is unknown, never zero. Only a call without tokens costs nothing.

use std::ops::Range;

use super::calls::{CallType, SpanUsage, Tokens, counted_calls};
use super::prices::Price;

/// A span as input of the cost computation.
#[derive(Debug, Clone, Copy)]
pub struct CallSpan {
    /// The call type, if the span is a model call.
    pub call_type: Option<CallType>,
    /// The reported tokens.
    pub tokens: Tokens,
    /// The reported cost in nanodollars.
    pub report: Option<u64>,
    /// The number of the parent, which is less than the span's own number; `None` for a root.
    pub parent: Option<usize>,
    /// The end of the subtree: the number after the last span below.
    pub end: usize,
}

/// The contribution of one span to the cost of its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallCost {
    /// Nanodollars; zero if an enclosing call reports a cost.
    Known(u64),
    /// The call has no report, and its model has no price.
    Unknown,
}

/// The contribution of one span to the cost of its trace, with its source.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum CostShare {
    /// Zero: the span is not a model call, or adds no tokens.
    #[default]
    Nothing,
    /// The span reports these nanodollars.
    Reported(u64),
    /// The tokens that the span adds cost these nanodollars at the price of its model.
    Computed(u64),
    /// Zero: a call of the same type around or inside the span reports the cost.
    Covered,
    /// The call has no report, and its model has no price.
    Unpriced,
}

impl CostShare {
    /// Returns the contribution without its source.
    pub fn cost(self) -> CallCost {
        match self {
            Self::Reported(amount) | Self::Computed(amount) => CallCost::Known(amount),
            Self::Nothing | Self::Covered => CallCost::Known(0),
            Self::Unpriced => CallCost::Unknown,
        }
    }
}

/// The cost of a trace in nanodollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceCost {
    /// The complete cost.
    Whole(u64),
    /// The known part of the cost. The cost of at least one call is unknown.
    Partial(u64),
}

impl TraceCost {
    /// The cost of a trace without calls.
    pub const NONE: Self = Self::Whole(0);

    /// Returns this cost plus the cost of another call.
    #[must_use]
    pub fn with(self, call: CallCost) -> Self {
        match (self, call) {
            (Self::Whole(known), CallCost::Known(more)) => Self::Whole(known.saturating_add(more)),
            (Self::Partial(known), CallCost::Known(more)) => Self::Partial(known.saturating_add(more)),
            (Self::Whole(known) | Self::Partial(known), CallCost::Unknown) => Self::Partial(known),
        }
    }
}

/// Calls `visit` with the number of each model call of a trace, its contribution to the sums, and its cost.
/// The spans are in tree order. `price` returns the price of a span's model.
pub fn for_each_call<E>(
    spans: &[CallSpan],
    price: impl Fn(usize) -> Result<Option<Price>, E>,
    mut visit: impl FnMut(usize, SpanUsage, CallCost),
) -> Result<(), E> {
    for_each_share(spans, price, |number, counted, share| visit(number, counted, share.cost()))
}

/// Like [`for_each_call`], with the sources of the costs.
pub fn for_each_share<E>(
    spans: &[CallSpan],
    price: impl Fn(usize) -> Result<Option<Price>, E>,
    mut visit: impl FnMut(usize, SpanUsage, CostShare),
) -> Result<(), E> {
    let call = |span: usize| Some((spans[span].call_type?, spans[span].tokens));
    let counted = counted_calls(spans.len(), (0..spans.len()).rev(), call, |span| spans[span].parent);
    // By call type: the spans below the last span that reports a cost.
    let mut covered: [Range<usize>; 2] = [0..0, 0..0];
    for (number, (span, counted)) in spans.iter().zip(counted).enumerate() {
        let Some(call_type) = span.call_type else { continue };
        let covered = &mut covered[call_type as usize];
        let is_covered = covered.contains(&number);
        let share = match span.report {
            Some(report) if !is_covered => {
                *covered = number..span.end;
                CostShare::Reported(report)
            }
            None if counted.tokens.is_empty() => CostShare::Nothing,
            _ if is_covered || has_report_inside(spans, number) => CostShare::Covered,
            _ => price(number)?
                .map_or(CostShare::Unpriced, |price| CostShare::Computed(price.of(&counted.tokens))),
        };
        visit(number, counted, share);
    }
    Ok(())
}

/// Returns `true` if a nested call of the same type reports a cost.
fn has_report_inside(spans: &[CallSpan], number: usize) -> bool {
    let CallSpan { call_type, end, .. } = spans[number];
    spans[number + 1..end].iter().any(|inside| inside.call_type == call_type && inside.report.is_some())
}

/// Returns the cost of a trace. The arguments are the same as for [`for_each_call`].
pub fn cost_of<E>(
    spans: &[CallSpan],
    price: impl Fn(usize) -> Result<Option<Price>, E>,
) -> Result<TraceCost, E> {
    let mut cost = TraceCost::NONE;
    for_each_call(spans, price, |_, _, call| cost = cost.with(call))?;
    Ok(cost)
}
