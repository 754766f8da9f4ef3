//! The executable form of conditions on spans.

use super::attribute::AttributeTest;
use super::content::Pattern;
use super::truth::Truth;
use crate::filter::axis::{Axis, OrderFrom, OrderScope};
use crate::filter::leaf::{Leaf, NumberSet};
use crate::trace::cost::{CostField, TraceCost};
use crate::trace::view::{Channel, SpanField};

/// A condition on the spans of a trace.
#[derive(Debug, Clone)]
pub(in crate::filter) enum SpanTest {
    /// The number of matching spans is within bounds. True or false, never unknown.
    Count { predicate: SpanPredicate, at_least: u64, at_most: Option<u64> },
    /// A text of the trace contains the pattern; unknown if the trace has no texts in the channel.
    Contains(Channel, Pattern),
    /// The trace has a text in the channel.
    HasText(Channel),
    /// A condition on an attribute of the run root.
    Attribute(AttributeTest),
    /// The cost of the trace is in the set; NULL if the trace lacks the field.
    Cost(CostField, NumberSet),
    /// The trace has this cost field.
    HasCost(CostField),
}

/// The key of a condition on texts in a text index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filter) struct TextKey {
    /// The channel of the texts.
    pub(in crate::filter) channel: Channel,
    /// The pattern; `None` if any text matches.
    pub(in crate::filter) pattern: Option<String>,
    /// True if case is ignored.
    pub(in crate::filter) ignore_case: bool,
}

impl SpanTest {
    /// Returns the truth for a trace with this cost; `None` if the test is not on costs.
    pub(super) fn of_cost(&self, cost: TraceCost) -> Option<Truth> {
        match self {
            Self::Cost(field, numbers) => {
                let is_in = |amount: i64| Truth::of(numbers.whole.contains(amount.into()));
                Some(cost.value(*field).map_or(Truth::Unknown, is_in))
            }
            Self::HasCost(field) => Some(Truth::of(cost.value(*field).is_some())),
            Self::Count { .. } | Self::Contains(_, _) | Self::HasText(_) | Self::Attribute(_) => None,
        }
    }

    /// Returns the key for a text index; `None` if the condition is not on texts.
    pub(in crate::filter) fn text_key(&self) -> Option<TextKey> {
        match self {
            Self::Contains(channel, pattern) => {
                let Pattern { text, ignore_case, .. } = pattern;
                Some(TextKey { channel: *channel, pattern: Some(text.clone()), ignore_case: *ignore_case })
            }
            Self::HasText(channel) => Some(TextKey { channel: *channel, pattern: None, ignore_case: true }),
            Self::Count { .. } | Self::Attribute(_) | Self::Cost(_, _) | Self::HasCost(_) => None,
        }
    }
}

/// A condition on one span.
#[derive(Debug, Clone)]
pub(in crate::filter) enum SpanPredicate {
    /// True if every part is true.
    And(Vec<SpanPredicate>),
    /// True if at least one part is true.
    Or(Vec<SpanPredicate>),
    /// The negation of a part.
    Not(Box<SpanPredicate>),
    /// The value of a field.
    Field(&'static SpanField, Leaf),
    /// A text of the span contains the pattern; unknown if the span has no texts in the channel.
    Contains(Channel, Pattern),
    /// The span has a text in the channel.
    HasText(Channel),
    /// A condition on an attribute.
    Attribute(AttributeTest),
    /// The part is true for a span on the axis. True or false, never unknown.
    Axis(Box<AxisPredicate>),
}

/// A condition that a matching span exists on an axis.
#[derive(Debug, Clone)]
pub(in crate::filter) struct AxisPredicate {
    pub(super) relation: Relation,
    /// The condition on the span on the axis.
    pub(super) part: SpanPredicate,
}

/// An axis with its options.
#[derive(Debug, Clone)]
pub(in crate::filter) struct Relation {
    pub(super) axis: Axis,
    pub(super) from: OrderFrom,
    pub(super) scope: OrderScope,
    /// The fields in which both spans must be equal.
    pub(super) same: Vec<&'static SpanField>,
    /// A condition that is true for no span that starts between the two.
    pub(super) without: Option<SpanPredicate>,
}

impl SpanPredicate {
    /// Estimates the cost of evaluating one span. It determines the order of parts.
    pub(super) fn cost(&self) -> usize {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::cost).sum(),
            Self::Not(part) => part.cost(),
            Self::Field(_, _) => 1,
            Self::Attribute(_) => 4,
            Self::Axis(axis) => {
                let without = axis.relation.without.as_ref().map_or(0, Self::cost);
                // Equal texts need a comparison of whole texts.
                let reads_texts = axis.relation.same.iter().any(|field| field.channel().is_some());
                2 + axis.part.cost() + without + if reads_texts { 1_000 } else { 0 }
            }
            Self::Contains(_, _) | Self::HasText(_) => 1_000,
        }
    }
}
