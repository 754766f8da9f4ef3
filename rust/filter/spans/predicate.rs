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
    /// The number of spans for which the predicate is true is between the bounds. True or false, never unknown.
    Count { predicate: SpanPredicate, at_least: u64, at_most: Option<u64> },
    /// Some text of the trace contains the pattern; unknown of a trace without such texts.
    Contains(Channel, Pattern),
    /// The trace has such a text.
    Said(Channel),
    /// A condition on an attribute of the run root.
    Attribute(AttributeTest),
    /// What the trace cost is in the set; unknown of a trace without this field.
    Cost(CostField, NumberSet),
    /// The trace has this field.
    HasCost(CostField),
}

/// What a condition on texts asks of a text index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filter) struct TextKey {
    /// Which texts.
    pub(in crate::filter) channel: Channel,
    /// What they contain; `None` if they only have to be there.
    pub(in crate::filter) pattern: Option<String>,
    /// Whether case is ignored.
    pub(in crate::filter) ignore_case: bool,
}

impl SpanTest {
    /// Returns what holds of a trace that cost this; `None` if the test is not on costs.
    pub(super) fn of_cost(&self, cost: TraceCost) -> Option<Truth> {
        match self {
            Self::Cost(field, numbers) => {
                let is_in = |amount: i64| Truth::of(numbers.whole.contains(amount.into()));
                Some(cost.value(*field).map_or(Truth::Unknown, is_in))
            }
            Self::HasCost(field) => Some(Truth::of(cost.value(*field).is_some())),
            Self::Count { .. } | Self::Contains(_, _) | Self::Said(_) | Self::Attribute(_) => None,
        }
    }

    /// Returns what a text index is asked; `None` of a condition that is not on texts.
    pub(in crate::filter) fn text_key(&self) -> Option<TextKey> {
        match self {
            Self::Contains(channel, pattern) => {
                let Pattern { text, ignore_case, .. } = pattern;
                Some(TextKey { channel: *channel, pattern: Some(text.clone()), ignore_case: *ignore_case })
            }
            Self::Said(channel) => Some(TextKey { channel: *channel, pattern: None, ignore_case: true }),
            Self::Count { .. } | Self::Attribute(_) | Self::Cost(_, _) | Self::HasCost(_) => None,
        }
    }
}

/// A condition on one span.
#[derive(Debug, Clone)]
pub(in crate::filter) enum SpanPredicate {
    /// Every part holds.
    And(Vec<SpanPredicate>),
    /// At least one part holds.
    Or(Vec<SpanPredicate>),
    /// The part does not hold.
    Not(Box<SpanPredicate>),
    /// The value of a field.
    Field(&'static SpanField, Leaf),
    /// Some text of the span contains the pattern; unknown of a span without such texts.
    Contains(Channel, Pattern),
    /// The span has such a text.
    Said(Channel),
    /// A condition on an attribute.
    Attribute(AttributeTest),
    /// A span on the axis for which the part is true. True or false, never unknown.
    Axis(Box<AxisPredicate>),
}

/// A condition that there is a span on an axis.
#[derive(Debug, Clone)]
pub(in crate::filter) struct AxisPredicate {
    pub(super) relation: Relation,
    /// What is true of the span on the axis.
    pub(super) part: SpanPredicate,
}

/// An axis with what narrows it.
#[derive(Debug, Clone)]
pub(in crate::filter) struct Relation {
    pub(super) axis: Axis,
    pub(super) from: OrderFrom,
    pub(super) scope: OrderScope,
    /// The fields in which both spans are the same.
    pub(super) same: Vec<&'static SpanField>,
    /// What is true of no span that starts between the two.
    pub(super) without: Option<SpanPredicate>,
}

impl SpanPredicate {
    /// Estimates the cost of a look at one span, to order the parts by.
    pub(super) fn cost(&self) -> usize {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::cost).sum(),
            Self::Not(part) => part.cost(),
            Self::Field(_, _) => 1,
            Self::Attribute(_) => 4,
            Self::Axis(axis) => {
                let without = axis.relation.without.as_ref().map_or(0, Self::cost);
                // What was said is compared whole.
                let asks_texts = axis.relation.same.iter().any(|field| field.channel().is_some());
                2 + axis.part.cost() + without + if asks_texts { 1_000 } else { 0 }
            }
            Self::Contains(_, _) | Self::Said(_) => 1_000,
        }
    }
}
