//! Compiled conditions on one span, used by searches whose rows are spans.

use std::sync::Arc;

use super::bind::SpanBinder;
use super::evaluate::true_of;
use super::predicate::{SpanPredicate, SpanTest};
use super::table::{SpanIndexes, SpansTest};
use crate::error::{FilterError, Result};
use crate::filter::expr::{Expr, SpanExpr};
use crate::filter::parse;
use crate::trace::view::TraceView;

/// A compiled condition on one span: immutable, shared by threads.
#[derive(Debug, Clone)]
pub struct SpanFilter(Option<Arc<CompiledSpanFilter>>);

#[derive(Debug)]
struct CompiledSpanFilter {
    expr: Expr,
    predicate: SpanPredicate,
}

impl SpanFilter {
    /// Compiles a condition on a span in JSON, in the form of the `where` of `SPAN`. `null` and `{}` match
    /// every span.
    ///
    /// # Errors
    /// The problem with the condition and its path.
    ///
    /// # Examples
    /// ```
    /// use spanwise::filter::SpanFilter;
    /// let slow = SpanFilter::compile(br#"{"op": "GT", "key": "duration_ms", "value": 1000}"#)?;
    /// assert!(!slow.is_all());
    /// assert!(SpanFilter::compile(br#"{"op": "EQ", "key": "total_spans", "value": 3}"#).is_err());
    /// # Ok::<(), spanwise::error::FilterError>(())
    /// ```
    pub fn compile(source: &[u8]) -> std::result::Result<Self, FilterError> {
        let json = parse::read(source)?;
        let Some(expr) = parse::parse_span(&json).map_err(|error| error.spelled_as(&json))? else {
            return Ok(Self(None));
        };
        let bound = SpanBinder::default().condition(&expr).map_err(|error| error.spelled_as(&json))?;
        Ok(Self(Some(Arc::new(CompiledSpanFilter { expr, predicate: bound }))))
    }

    /// Returns the condition as canonical JSON, `null` if it matches every span. Compiling the result gives
    /// an equal condition.
    pub fn canonical(&self) -> String {
        self.0.as_ref().map_or_else(|| "null".to_owned(), |bound| bound.expr.to_string())
    }

    /// Returns `true` if the condition matches every span.
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the ordinals of matching spans, in tree order.
    ///
    /// # Errors
    /// [`crate::error::Error::Decode`] if a stored span cannot be decoded.
    pub fn ordinals(&self, view: &TraceView<'_>) -> Result<Vec<usize>> {
        let Some(bound) = &self.0 else { return Ok((0..view.len()).collect()) };
        let found = true_of(&bound.predicate, view, &vec![true; view.len()])?;
        Ok((0..view.len()).filter(|ordinal| found[*ordinal]).collect())
    }

    /// Returns the condition in terms of one segment.
    pub(in crate::filter) fn in_table<'t>(&self, indexes: SpanIndexes<'t>) -> Option<SpansTest<'t>> {
        let every = || SpanPredicate::And(Vec::new());
        let predicate = self.0.as_deref().map_or_else(every, |bound| bound.predicate.clone());
        SpanTest::Count { predicate, at_least: 1, at_most: None }.spans_in_table(indexes)
    }

    /// Returns the condition that a trace has such a span, as expression and as test; `None` if every trace
    /// has one.
    pub(in crate::filter) fn of_trace(&self) -> Option<(SpanExpr, SpanTest)> {
        let CompiledSpanFilter { expr, predicate } = self.0.as_deref()?;
        let span = SpanExpr { name: None, at_least: None, at_most: None, condition: expr.clone() };
        let test = SpanTest::Count { predicate: predicate.clone(), at_least: 1, at_most: None };
        Some((span, test))
    }
}
