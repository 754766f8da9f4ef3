//! The measures of model calls.

use crate::query::aggregate::measure::Operation;
use crate::schema::Field;
use crate::trace::cost::{CallCost, CostField, SpanUsage, Tokens, TraceNumber};

/// A measure of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallMeasure {
    /// The number of calls.
    Count,
    /// The sum of their tokens.
    Tokens(Field),
    /// The sum of their costs.
    Cost(CostField),
}

impl CallMeasure {
    /// Returns the measure of an operation; `None` if it does not apply to calls.
    pub(crate) fn of(operation: Operation) -> Option<Self> {
        let is_tokens = |field: Field| TOKENS.contains(&field);
        match operation {
            Operation::Count => Some(Self::Count),
            Operation::Sum(TraceNumber::Column(field)) if is_tokens(field) => Some(Self::Tokens(field)),
            Operation::Sum(TraceNumber::Cost(field)) => Some(Self::Cost(field)),
            _ => None,
        }
    }
}

const TOKENS: [Field; 5] = [
    Field::InputTokens,
    Field::OutputTokens,
    Field::TotalTokens,
    Field::CachedTokens,
    Field::ReasoningTokens,
];

/// The sums of some model calls.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CallSums {
    pub(super) calls: u64,
    tokens: Tokens,
    /// Nanodollars.
    cost: u64,
    has_unknown_cost: bool,
}

/// The value of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallValue {
    Count(u64),
    /// Nanodollars; `None` if unknown.
    Cost(Option<u64>),
}

/// The number of integers in [`CallSums::to_numbers`].
pub(crate) const CALL_NUMBERS: usize = 7;

impl CallSums {
    /// Returns these sums as the numbers of a message.
    pub(crate) fn to_numbers(self) -> [u64; CALL_NUMBERS] {
        let Tokens { input, output, cached, reasoning } = self.tokens;
        [self.calls, input, output, cached, reasoning, self.cost, u64::from(self.has_unknown_cost)]
    }

    /// Returns the sums of [`CallSums::to_numbers`].
    pub(crate) fn of_numbers(numbers: [u64; CALL_NUMBERS]) -> Self {
        let [calls, input, output, cached, reasoning, cost, unknown] = numbers;
        Self {
            calls,
            tokens: Tokens { input, output, cached, reasoning },
            cost,
            has_unknown_cost: unknown > 0,
        }
    }

    /// Adds the part of one call to the sums of its trace.
    pub(super) fn add(&mut self, counted: &SpanUsage, cost: CallCost) {
        self.calls += u64::from(counted.is_innermost);
        self.tokens.add(counted.tokens);
        match cost {
            CallCost::Known(cost) => self.cost = self.cost.saturating_add(cost),
            CallCost::Unknown => self.has_unknown_cost = true,
        }
    }

    /// True if there are calls, or parts of a call that its inner calls do not have.
    pub(super) fn has_calls(&self) -> bool {
        self.calls > 0 || self.cost > 0 || self.has_unknown_cost || !self.tokens.is_empty()
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.tokens.add(other.tokens);
        self.cost = self.cost.saturating_add(other.cost);
        self.has_unknown_cost |= other.has_unknown_cost;
    }

    /// Returns the value of a measure. As for traces, calls have either a cost or, if the cost of a call is unknown, a
    /// partial cost.
    pub(super) fn value(&self, measure: CallMeasure) -> CallValue {
        let Tokens { input, output, cached, reasoning } = self.tokens;
        match measure {
            CallMeasure::Count => CallValue::Count(self.calls),
            CallMeasure::Tokens(Field::InputTokens) => CallValue::Count(input),
            CallMeasure::Tokens(Field::OutputTokens) => CallValue::Count(output),
            CallMeasure::Tokens(Field::CachedTokens) => CallValue::Count(cached),
            CallMeasure::Tokens(Field::ReasoningTokens) => CallValue::Count(reasoning),
            CallMeasure::Tokens(_) => CallValue::Count(input.saturating_add(output)),
            CallMeasure::Cost(field) => {
                let is_there = self.has_unknown_cost == (field == CostField::Partial);
                CallValue::Cost(is_there.then_some(self.cost))
            }
        }
    }
}
