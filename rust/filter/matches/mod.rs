//! Explains why a filter matches a trace: the spans of its `SPAN` and axes, and excerpts of the texts that it
//! searches for (`docs/reference/api-search.md#matches`).

mod result;

use std::cell::OnceCell;

use arrow_array::RecordBatch;

pub use result::{MatchedSpans, MatchedText, Matches};

use super::bind::bind;
use super::columns::SpanSource;
use super::error::LocatedError;
use super::evaluate::evaluate;
use super::expr::Expr;
use super::json::Json;
use super::predicate::Predicate;
use super::spans::{Names, PatternMatcher, SpanFilter, SpanMatcher, SpanMatches};
use crate::error::{FilterError, Result};
use crate::trace::row::to_batch;
use crate::trace::view::TraceView;
use crate::trace::{Trace, TraceRow};

/// Finds the spans and texts that make a filter match a trace.
#[derive(Debug)]
pub struct Matcher(FilterPart);

impl Matcher {
    /// Returns the matcher for an expression. `None` matches every trace without spans or texts to show.
    pub(super) fn of(expr: Option<&Expr>) -> std::result::Result<Self, LocatedError> {
        let part = expr.map(|expr| FilterPart::of(expr, &mut Names::of(expr)));
        Ok(Self(part.transpose()?.unwrap_or(FilterPart::Nothing)))
    }

    /// Returns the spans and texts that make the filter match a trace. The filter must match the trace.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if a stored span cannot be decoded.
    pub fn matches(&self, trace: &Trace) -> Result<Matches> {
        if self.0.is_nothing() {
            return Ok(Matches::default());
        }
        let trace = &*trace.assembled();
        let target = MatchedTrace { trace, view: TraceView::of(trace), row: OnceCell::new() };
        let mut result = SpanMatches::default();
        self.0.find(&target, &mut result)?;
        Ok(Matches::of(result, &target.view))
    }
}

/// Finds the spans and texts that make a condition true for one span.
#[derive(Debug)]
pub struct OneSpanMatcher(Option<SpanMatcher>);

impl OneSpanMatcher {
    /// Returns the matcher for a condition. A condition that is true for every span has nothing to show.
    ///
    /// # Errors
    /// Never for a compiled filter.
    pub fn of(spans: &SpanFilter) -> std::result::Result<Self, FilterError> {
        let matcher = spans.of_trace().map(|(span, _)| SpanMatcher::of(&span, String::new())).transpose();
        Ok(Self(matcher.map_err(|error| error.spelled_as(&Json::Null))?))
    }

    /// Returns the spans and texts that make the condition true for the span at `ordinal`. The condition must
    /// be true for the span.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if a stored span cannot be decoded.
    pub fn matches(&self, view: &TraceView<'_>, ordinal: usize) -> Result<Matches> {
        let mut result = SpanMatches::default();
        if let Some(matcher) = &self.0 {
            matcher.find_of(view, ordinal, &mut result)?;
        }
        Ok(Matches::of(result, view))
    }
}

/// A trace against which parts of a filter are evaluated.
struct MatchedTrace<'t> {
    trace: &'t Trace,
    view: TraceView<'t>,
    row: OnceCell<RecordBatch>,
}

impl MatchedTrace<'_> {
    fn is_match(&self, predicate: &Predicate) -> Result<bool> {
        let row = self.row.get_or_init(|| to_batch(&[TraceRow::of(self.trace)]));
        Ok(evaluate(predicate, row, SpanSource::Traces(&|_| self.trace))?.value(0))
    }
}

/// The parts of a filter that have something to show.
#[derive(Debug)]
enum FilterPart {
    /// All are true.
    All(Vec<FilterPart>),
    /// Each with the predicate that decides whether it is true.
    Any(Vec<(Predicate, FilterPart)>),
    Span(SpanMatcher),
    Pattern(PatternMatcher),
    /// Nothing to show: columns, attributes, and the parts of `NOT`.
    Nothing,
}

impl FilterPart {
    /// Recursion is bounded by the depth of the expression.
    fn of(expr: &Expr, names: &mut Names) -> std::result::Result<Self, LocatedError> {
        Ok(match expr {
            Expr::And(parts) => {
                let parts = parts.iter().map(|part| Self::of(part, names));
                let parts: Vec<Self> = parts.collect::<std::result::Result<_, _>>()?;
                if parts.iter().all(Self::is_nothing) { Self::Nothing } else { Self::All(parts) }
            }
            Expr::Or(parts) => {
                let parts = parts.iter().map(|part| Ok((bind(part)?, Self::of(part, names)?)));
                let parts: Vec<_> = parts.collect::<std::result::Result<_, LocatedError>>()?;
                if parts.iter().all(|(_, part)| part.is_nothing()) { Self::Nothing } else { Self::Any(parts) }
            }
            Expr::Not(part) => {
                // The spans inside `NOT` also count in the order of names.
                Self::of(part, names)?;
                Self::Nothing
            }
            Expr::Span(span) => Self::Span(SpanMatcher::of(span, names.next(span))?),
            Expr::Condition(condition) => PatternMatcher::of(condition)?.map_or(Self::Nothing, Self::Pattern),
            Expr::Axis(_) => Self::Nothing,
        })
    }

    fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Adds the spans and texts that make the part true. The part must be true for the trace.
    fn find(&self, target: &MatchedTrace<'_>, result: &mut SpanMatches) -> Result<()> {
        match self {
            Self::All(parts) => parts.iter().try_for_each(|part| part.find(target, result)),
            Self::Any(parts) => parts.iter().try_for_each(|(predicate, part)| {
                if !part.is_nothing() && target.is_match(predicate)? {
                    part.find(target, result)
                } else {
                    Ok(())
                }
            }),
            Self::Span(matcher) => matcher.find(&target.view, result),
            Self::Pattern(matcher) => matcher.find(&target.view, 0..target.view.len(), result),
            Self::Nothing => Ok(()),
        }
    }
}
