//! Evaluates conditions on the spans of a trace.
//!
//! A predicate is evaluated for all spans at once, so an axis is one pass over the tree. The parts of an
//! `AND` are evaluated only for spans that are still open. Their results for other spans are not used.

use super::attribute::AttributeTest;
use super::axes::{Narrowing, classes_of_trace, related};
use super::content::Pattern;
use super::predicate::{Relation, SpanPredicate, SpanTest};
use super::truth::Truth;
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::filter::leaf::Leaf;
use crate::trace::view::{Channel, SpanField, SpanValue, TraceView};

/// The truth values that a caller must distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needed {
    /// Only true from not true.
    IsTrue,
    /// Also false from unknown, because the result is negated.
    Truth,
}

impl SpanTest {
    /// Returns `true` if the truth for a trace is `wanted`, true or false.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if a stored span cannot be decoded.
    pub(in crate::filter) fn is(&self, wanted: Truth, view: &TraceView<'_>) -> Result<bool> {
        let needed = if wanted == Truth::True { Needed::IsTrue } else { Needed::Truth };
        Ok(self.truth(view, needed)? == wanted)
    }

    fn truth(&self, view: &TraceView<'_>, needed: Needed) -> Result<Truth> {
        match self {
            Self::Count { predicate, at_least, at_most } => {
                let found = true_of(predicate, view, &vec![true; view.len()])?;
                let count = found.iter().filter(|is_true| **is_true).count() as u64;
                Ok(Truth::of(count >= *at_least && at_most.is_none_or(|most| count <= most)))
            }
            Self::Contains(channel, pattern) => {
                let mut found = Truth::Unknown;
                for ordinal in 0..view.len() {
                    match contains(view, ordinal, (*channel, pattern), needed)? {
                        Truth::True => return Ok(Truth::True),
                        Truth::False => found = Truth::False,
                        Truth::Unknown => {}
                    }
                }
                Ok(found)
            }
            Self::HasText(channel) => {
                for ordinal in 0..view.len() {
                    if view.texts(ordinal, *channel)?.next().is_some() {
                        return Ok(Truth::True);
                    }
                }
                Ok(Truth::False)
            }
            Self::Attribute(test) => match view.run_root() {
                Some(root) => of_attribute(test, view, root),
                None => Ok(Truth::Unknown),
            },
            Self::Cost(_, _) | Self::HasCost(_) => Ok(self.of_cost(view.cost()?).unwrap_or(Truth::Unknown)),
        }
    }
}

/// Returns one flag per span: whether a predicate is true. It is `false` for spans that are not candidates.
pub(super) fn true_of(
    predicate: &SpanPredicate,
    view: &TraceView<'_>,
    candidates: &[bool],
) -> Result<Vec<bool>> {
    let truths = truths(predicate, view, candidates, Needed::IsTrue)?;
    Ok(truths
        .into_iter()
        .zip(candidates)
        .map(|(truth, is_candidate)| *is_candidate && truth == Truth::True)
        .collect())
}

/// Returns the truth for each span. Only the results for candidates are valid.
fn truths(
    predicate: &SpanPredicate,
    view: &TraceView<'_>,
    candidates: &[bool],
    needed: Needed,
) -> Result<Vec<Truth>> {
    match predicate {
        SpanPredicate::And(parts) => join(parts, (view, needed), candidates, (Truth::True, Truth::min)),
        SpanPredicate::Or(parts) => join(parts, (view, needed), candidates, (Truth::False, Truth::max)),
        SpanPredicate::Not(part) => {
            Ok(truths(part, view, candidates, Needed::Truth)?.into_iter().map(Truth::not).collect())
        }
        SpanPredicate::Axis(axis) => {
            let targets = true_of(&axis.part, view, &vec![true; view.len()])?;
            let found = on_axis(&axis.relation, view, candidates, &targets)?;
            Ok(found.into_iter().map(Truth::of).collect())
        }
        SpanPredicate::Field(field, leaf) => each(candidates, |ordinal| of_field(field, leaf, view, ordinal)),
        SpanPredicate::Contains(channel, pattern) => {
            each(candidates, |ordinal| contains(view, ordinal, (*channel, pattern), needed))
        }
        SpanPredicate::HasText(channel) => {
            each(candidates, |ordinal| Ok(Truth::of(view.texts(ordinal, *channel)?.next().is_some())))
        }
        SpanPredicate::Attribute(test) => each(candidates, |ordinal| of_attribute(test, view, ordinal)),
    }
}

/// Returns one flag per span: whether the span is a candidate and has one of `targets` on an axis.
///
/// # Errors
/// [`crate::error::Error::Decode`] if a stored span cannot be decoded.
pub(super) fn on_axis(
    relation: &Relation,
    view: &TraceView<'_>,
    candidates: &[bool],
    targets: &[bool],
) -> Result<Vec<bool>> {
    let ordinals = |of: &[bool]| {
        let mut ordinals = Bitmap::none(0..of.len());
        (0..of.len()).filter(|ordinal| of[*ordinal]).for_each(|ordinal| ordinals.insert(ordinal));
        ordinals
    };
    let narrowing = Narrowing {
        from: relation.from,
        scope: relation.scope,
        classes: match relation.same.as_slice() {
            [] => None,
            fields => {
                Some(classes_of_trace(fields, view, |ordinal| candidates[ordinal] || targets[ordinal])?)
            }
        },
        without: match &relation.without {
            None => None,
            Some(without) => Some(ordinals(&true_of(without, view, &vec![true; view.len()])?)),
        },
    };
    let found = related((relation.axis, &narrowing, false), view, &ordinals(candidates), &ordinals(targets));
    Ok((0..view.len()).map(|ordinal| found.contains(ordinal)).collect())
}

/// Joins the truths of parts. `first` is the result for an empty list; its negation decides.
fn join(
    parts: &[SpanPredicate],
    (view, needed): (&TraceView<'_>, Needed),
    candidates: &[bool],
    (first, pick): (Truth, fn(Truth, Truth) -> Truth),
) -> Result<Vec<Truth>> {
    let (mut found, mut open) = (vec![first; view.len()], candidates.to_vec());
    for part in parts {
        if !open.contains(&true) {
            break;
        }
        for (ordinal, truth) in truths(part, view, &open, needed)?.into_iter().enumerate() {
            if open[ordinal] {
                found[ordinal] = pick(found[ordinal], truth);
                open[ordinal] = found[ordinal] != first.not();
            }
        }
    }
    Ok(found)
}

fn each(candidates: &[bool], truth: impl Fn(usize) -> Result<Truth>) -> Result<Vec<Truth>> {
    let of = |(ordinal, is_candidate): (usize, &bool)| {
        if *is_candidate { truth(ordinal) } else { Ok(Truth::Unknown) }
    };
    candidates.iter().enumerate().map(of).collect()
}

fn of_field(field: &SpanField, leaf: &Leaf, view: &TraceView<'_>, ordinal: usize) -> Result<Truth> {
    Ok(match (leaf, field.value(view, ordinal)?) {
        (Leaf::Exists, value) => Truth::of(value.is_some()),
        (Leaf::Text(_), Some(SpanValue::Text(text))) => of_text(leaf, Some(&text)),
        (Leaf::Number(numbers), Some(SpanValue::Whole(number) | SpanValue::Nanodollars(number))) => {
            Truth::of(numbers.whole.contains(number.into()))
        }
        (Leaf::Time(instants), Some(SpanValue::Nanos(instant))) => Truth::of(instants.contains(instant)),
        (Leaf::Boolean(wanted), Some(SpanValue::Boolean(truth))) => Truth::of(truth == *wanted),
        _ => Truth::Unknown,
    })
}

/// Returns the truth of a leaf for a text; `None` is a missing text.
pub(super) fn of_text(leaf: &Leaf, text: Option<&str>) -> Truth {
    match (leaf, text) {
        (Leaf::Exists, text) => Truth::of(text.is_some()),
        (Leaf::Text(matcher), Some(text)) => Truth::of(matcher.matches(text, &mut String::new())),
        _ => Truth::Unknown,
    }
}

fn contains(
    view: &TraceView<'_>,
    ordinal: usize,
    (channel, pattern): (Channel, &Pattern),
    needed: Needed,
) -> Result<Truth> {
    if needed == Needed::IsTrue && !pattern.may_be_in(&view.span(ordinal).wire.bytes) {
        return Ok(Truth::False);
    }
    let (mut found, mut scratch) = (Truth::Unknown, String::new());
    for text in view.texts(ordinal, channel)? {
        if pattern.is_in(text, &mut scratch) {
            return Ok(Truth::True);
        }
        found = Truth::False;
    }
    Ok(found)
}

fn of_attribute(test: &AttributeTest, view: &TraceView<'_>, ordinal: usize) -> Result<Truth> {
    Ok(test.truth(view.attribute(ordinal, test.scope, &test.key)?))
}
