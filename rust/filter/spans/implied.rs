//! Conditions on columns that a condition on spans implies. Rows that fail them need no document check.

use std::sync::Arc;

use super::predicate::{SpanPredicate, SpanTest};
use crate::filter::intervals::{IntervalSet, Point};
use crate::filter::leaf::{Leaf, NumberSet};
use crate::filter::predicate::Predicate;
use crate::filter::text::TextMatcher;
use crate::schema::{Field, Operator};
use crate::trace::view::Channel;

impl SpanTest {
    /// Returns a condition on columns that is true for every trace for which the test is true.
    pub(in crate::filter) fn implied(&self) -> Predicate {
        match self {
            Self::Count { at_least: 0, .. } | Self::Attribute(_) | Self::Cost(_, _) | Self::HasCost(_) => {
                nothing()
            }
            Self::Count { predicate, at_least, .. } => implied(predicate, *at_least),
            Self::Contains(channel, _) | Self::HasText(channel) => of_channel(*channel),
        }
    }
}

impl SpanTest {
    /// Returns conditions on texts that are true for every trace for which the test is true.
    pub(in crate::filter) fn implied_texts(&self) -> Predicate {
        match self {
            Self::Count { predicate, at_least: 1.., .. } => texts(predicate),
            _ => nothing(),
        }
    }
}

/// Returns conditions on the texts of a trace that follow if the predicate is true for one of its spans.
fn texts(predicate: &SpanPredicate) -> Predicate {
    match predicate {
        SpanPredicate::And(parts) => Predicate::And(parts.iter().map(texts).collect()),
        SpanPredicate::Or(parts) => Predicate::Or(parts.iter().map(texts).collect()),
        SpanPredicate::Axis(axis) => texts(&axis.part),
        SpanPredicate::Contains(channel, pattern) => {
            Predicate::Spans(Arc::new(SpanTest::Contains(*channel, pattern.clone())))
        }
        SpanPredicate::HasText(channel) => Predicate::Spans(Arc::new(SpanTest::HasText(*channel))),
        SpanPredicate::Not(_) | SpanPredicate::Attribute(_) | SpanPredicate::Field(_, _) => nothing(),
    }
}

fn nothing() -> Predicate {
    Predicate::And(Vec::new())
}

/// Returns conditions on the columns of a trace that follow if the predicate is true for `count` spans, at
/// least one.
fn implied(predicate: &SpanPredicate, count: u64) -> Predicate {
    let greater = |field, leaf: &Leaf| match leaf {
        Leaf::Number(numbers) => numbers.whole.least().map_or_else(nothing, |least| at_least(field, least)),
        _ => nothing(),
    };
    match predicate {
        SpanPredicate::And(parts) => Predicate::And(parts.iter().map(|part| implied(part, count)).collect()),
        // Each part may be true for only some of the spans.
        SpanPredicate::Or(parts) => Predicate::Or(parts.iter().map(|part| implied(part, 1)).collect()),
        SpanPredicate::Axis(axis) => implied(&axis.part, 1),
        SpanPredicate::Field(field, leaf) => match (field.key, leaf) {
            ("status", Leaf::Text(matcher)) if !matcher.matches("OK", &mut String::new()) => {
                at_least(Field::ErrorCount, count.into())
            }
            ("type", Leaf::Text(matcher)) if is_only(matcher, "TOOL") => {
                at_least(Field::ToolCalls, count.into())
            }
            // Of nested model calls, only the innermost one counts.
            ("type", Leaf::Text(matcher)) if is_only(matcher, "LLM") => at_least(Field::LlmCalls, 1),
            // A span is within the time of its trace.
            ("duration_ms", leaf) => greater(Field::DurationMs, leaf),
            _ => nothing(),
        },
        SpanPredicate::Contains(channel, _) | SpanPredicate::HasText(channel) => of_channel(*channel),
        SpanPredicate::Not(_) | SpanPredicate::Attribute(_) => nothing(),
    }
}

/// Returns `true` if a matcher lists only this text.
fn is_only(matcher: &TextMatcher, text: &str) -> bool {
    matcher.count() == Some(1) && matcher.matches(text, &mut String::new())
}

/// Only a failed span has an error.
fn of_channel(channel: Channel) -> Predicate {
    if channel == Channel::Error { at_least(Field::ErrorCount, 1) } else { nothing() }
}

fn at_least(field: Field, least: i128) -> Predicate {
    let whole = IntervalSet::of(Operator::Gte, &[Point::exactly(least)]);
    #[allow(clippy::cast_precision_loss, reason = "columns of rows are integers")]
    let floating = IntervalSet::of(Operator::Gte, &[Point::exactly(least as f64)]);
    Predicate::Number(field, NumberSet { whole, floating })
}
