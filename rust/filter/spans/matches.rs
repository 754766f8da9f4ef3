//! Finds the spans and texts that make conditions on spans true.
//!
//! Each condition is explained only for spans for which it is true, from the outermost condition inwards.
//! Every part of an `AND` is true for them. Each part of an `OR` is evaluated again. An axis leads to the
//! spans that it matched. A condition inside `NOT` has nothing to show.

use std::collections::BTreeSet;

use super::bind::SpanBinder;
use super::content::Pattern;
use super::evaluate::{on_axis, true_of};
use super::excerpt::Excerpt;
use super::predicate::{Relation, SpanPredicate, SpanTest};
use crate::error::Result;
use crate::filter::error::LocatedError;
use crate::filter::expr::{Condition, Expr, SpanExpr};
use crate::trace::view::{Channel, TraceView};

/// Maximum number of excerpts that one condition finds.
pub(in crate::filter) const MAX_PIECES: usize = 8;

/// The names and channels that the field `text` covers.
const SIDES: [(&str, Channel); 3] =
    [("input", Channel::Input), ("output", Channel::Output), ("error", Channel::Error)];

/// The names of the spans of one filter: the given names, and `span`, `span_2` and so on for each unnamed
/// `SPAN`.
#[derive(Debug)]
pub(in crate::filter) struct Names {
    given: BTreeSet<String>,
    defaults: usize,
}

impl Names {
    /// Returns the names of a filter.
    pub(in crate::filter) fn of(expr: &Expr) -> Self {
        let mut given = BTreeSet::new();
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            match expr {
                Expr::And(parts) | Expr::Or(parts) => open.extend(parts),
                Expr::Not(part) => open.push(part),
                Expr::Span(span) => {
                    given.extend(span.name.clone());
                    open.push(&span.condition);
                }
                Expr::Axis(axis) => {
                    given.extend(axis.name.clone());
                    open.push(&axis.condition);
                    open.extend(&axis.without);
                }
                Expr::Condition(_) => {}
            }
        }
        Self { given, defaults: 0 }
    }

    /// Returns the name of the next `SPAN` in the order of the filter.
    pub(in crate::filter) fn next(&mut self, span: &SpanExpr) -> String {
        if let Some(name) = &span.name {
            return name.clone();
        }
        loop {
            self.defaults += 1;
            let name = if self.defaults == 1 { "span".to_owned() } else { format!("span_{}", self.defaults) };
            if !self.given.contains(&name) {
                return name;
            }
        }
    }
}

/// The matches in one trace.
#[derive(Debug, Default)]
pub(in crate::filter) struct SpanMatches {
    /// Each name with its span ordinals, in the order of the filter.
    pub(in crate::filter) spans: Vec<(String, Vec<usize>)>,
    /// The excerpts of each condition on texts.
    pub(in crate::filter) pieces: Vec<Vec<Piece>>,
}

/// An excerpt of a text of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filter) struct Piece {
    /// The ordinal of the span.
    pub(in crate::filter) ordinal: usize,
    /// The field that has the text.
    pub(in crate::filter) field: &'static str,
    pub(in crate::filter) excerpt: Excerpt,
}

/// Finds the spans of a `SPAN`.
#[derive(Debug)]
pub(in crate::filter) struct SpanMatcher {
    name: String,
    predicate: SpanPredicate,
    part: SpanPart,
}

impl SpanMatcher {
    /// Returns the matcher for `span`.
    ///
    /// # Errors
    /// Never for a compiled filter.
    pub(in crate::filter) fn of(span: &SpanExpr, name: String) -> std::result::Result<Self, LocatedError> {
        let predicate = SpanBinder::default().condition(&span.condition)?;
        Ok(Self { name, predicate, part: SpanPart::of(&span.condition)? })
    }

    /// Adds the spans and texts that make the condition true. It must be true for the trace.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if a stored span cannot be decoded.
    pub(in crate::filter) fn find(&self, view: &TraceView<'_>, result: &mut SpanMatches) -> Result<()> {
        let spans = true_of(&self.predicate, view, &vec![true; view.len()])?;
        result.spans.push((self.name.clone(), ordinals(&spans)));
        self.part.find(view, &spans, result)
    }

    /// Adds the spans and texts that make the condition true for the span at `ordinal`. It must be true for
    /// this span.
    ///
    /// # Errors
    /// As [`SpanMatcher::find`].
    pub(in crate::filter) fn find_of(
        &self,
        view: &TraceView<'_>,
        ordinal: usize,
        result: &mut SpanMatches,
    ) -> Result<()> {
        let spans: Vec<bool> = (0..view.len()).map(|other| other == ordinal).collect();
        self.part.find(view, &spans, result)
    }
}

/// Finds the texts that match a `CONTAINS`.
#[derive(Debug)]
pub(in crate::filter) struct PatternMatcher(Channel, Pattern);

impl PatternMatcher {
    /// Returns the matcher for a condition outside `SPAN`; `None` if the condition does not search texts.
    ///
    /// # Errors
    /// Never for a compiled filter.
    pub(in crate::filter) fn of(condition: &Condition) -> std::result::Result<Option<Self>, LocatedError> {
        Ok(match SpanBinder::default().of_trace(condition)? {
            Some(SpanTest::Contains(channel, pattern)) => Some(Self(channel, pattern)),
            _ => None,
        })
    }

    /// Adds excerpts of the texts of `spans`: the first occurrence in each text, without duplicates.
    ///
    /// # Errors
    /// As [`SpanMatcher::find`].
    pub(in crate::filter) fn find(
        &self,
        view: &TraceView<'_>,
        spans: impl IntoIterator<Item = usize>,
        result: &mut SpanMatches,
    ) -> Result<()> {
        let Self(channel, pattern) = self;
        let mut pieces: Vec<Piece> = Vec::new();
        'spans: for ordinal in spans {
            if !pattern.may_be_in(&view.span(ordinal).wire.bytes) {
                continue;
            }
            for (field, side) in SIDES.iter().filter(|(_, side)| [*side, Channel::Any].contains(channel)) {
                for text in view.texts(ordinal, *side)? {
                    let Some(excerpt) = pattern.excerpt(text) else { continue };
                    let piece = Piece { ordinal, field, excerpt };
                    // A message of a conversation may also be a text of the node.
                    if !pieces.contains(&piece) {
                        pieces.push(piece);
                    }
                    if pieces.len() == MAX_PIECES {
                        break 'spans;
                    }
                }
            }
        }
        result.pieces.push(pieces);
        Ok(())
    }
}

/// The parts of a condition on one span that have something to show.
#[derive(Debug)]
enum SpanPart {
    /// All are true for a span.
    All(Vec<SpanPart>),
    /// Each with the predicate that decides whether it is true for a span.
    Any(Vec<(SpanPredicate, SpanPart)>),
    /// The spans on an axis.
    Axis(Box<AxisPart>),
    /// The texts with a pattern.
    Pattern(PatternMatcher),
    /// Nothing to show.
    Nothing,
}

#[derive(Debug)]
struct AxisPart {
    /// The relation in the opposite direction: from a related span back to this one.
    converse: Relation,
    name: Option<String>,
    predicate: SpanPredicate,
    part: SpanPart,
}

impl SpanPart {
    /// Recursion is bounded by the depth of the expression.
    fn of(expr: &Expr) -> std::result::Result<Self, LocatedError> {
        let bind = |expr| SpanBinder::default().condition(expr);
        Ok(match expr {
            Expr::And(parts) => {
                let parts: Vec<Self> = parts.iter().map(Self::of).collect::<std::result::Result<_, _>>()?;
                if parts.iter().all(Self::is_nothing) { Self::Nothing } else { Self::All(parts) }
            }
            Expr::Or(parts) => {
                let parts = parts.iter().map(|part| Ok((bind(part)?, Self::of(part)?)));
                let parts: Vec<_> = parts.collect::<std::result::Result<_, LocatedError>>()?;
                if parts.iter().all(|(_, part)| part.is_nothing()) { Self::Nothing } else { Self::Any(parts) }
            }
            Expr::Axis(expr) => {
                let part = Self::of(&expr.condition)?;
                if expr.name.is_none() && part.is_nothing() {
                    return Ok(Self::Nothing);
                }
                let mut converse = SpanBinder::default().relation(expr)?;
                converse.axis = converse.axis.converse();
                let (name, predicate) = (expr.name.clone(), bind(&expr.condition)?);
                Self::Axis(Box::new(AxisPart { converse, name, predicate, part }))
            }
            Expr::Condition(_) => match bind(expr)? {
                SpanPredicate::Contains(channel, pattern) => Self::Pattern(PatternMatcher(channel, pattern)),
                _ => Self::Nothing,
            },
            Expr::Not(_) | Expr::Span(_) => Self::Nothing,
        })
    }

    fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Adds the spans and texts that make the part true. It must be true for all of `spans`.
    fn find(&self, view: &TraceView<'_>, spans: &[bool], result: &mut SpanMatches) -> Result<()> {
        if !spans.contains(&true) {
            return Ok(());
        }
        match self {
            Self::All(parts) => parts.iter().try_for_each(|part| part.find(view, spans, result)),
            Self::Any(parts) => parts
                .iter()
                .try_for_each(|(predicate, part)| part.find(view, &true_of(predicate, view, spans)?, result)),
            Self::Axis(axis) => {
                let all = vec![true; view.len()];
                let reached = on_axis(&axis.converse, view, &all, spans)?;
                let targets = true_of(&axis.predicate, view, &reached)?;
                result.spans.extend(axis.name.clone().map(|name| (name, ordinals(&targets))));
                axis.part.find(view, &targets, result)
            }
            Self::Pattern(matcher) => matcher.find(view, ordinals(spans), result),
            Self::Nothing => Ok(()),
        }
    }
}

fn ordinals(spans: &[bool]) -> Vec<usize> {
    (0..spans.len()).filter(|ordinal| spans[*ordinal]).collect()
}
