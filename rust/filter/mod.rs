//! Compiles filter expressions and finds the rows they match.
//!
//! A condition on a missing value is neither true nor false but unknown, as with NULL in SQL:
//!
//! | `a` | `b` | `NOT a` | `a AND b` | `a OR b` |
//! |---|---|---|---|---|
//! | true | true | false | true | true |
//! | true | false | false | false | true |
//! | true | unknown | false | unknown | true |
//! | false | false | true | false | false |
//! | false | unknown | true | false | unknown |
//! | unknown | unknown | unknown | unknown | unknown |
//!
//! `AND` and `OR` are commutative. Only `EXISTS` is always true or false. A filter matches a row if it is
//! true; an unknown result is no match.
//!
//! Each phase is a file: `parse` (bytes -> [`Expr`]), `bind` (-> predicate), `simplify` (-> a smaller
//! predicate), then either `evaluate` (over a record batch) or `planner` (over an index). Both find the same
//! rows. Conditions on spans (`spans`) need document checks for the rows that the columns leave open.
//! `matches` finds the spans and texts that make a filter match a trace. See
//! `docs/reference/filter.md#filter-expression`.

mod axis;
mod bind;
mod columns;
mod description;
mod error;
mod evaluate;
mod expr;
mod intervals;
mod json;
mod leaf;
mod matches;
mod parse;
mod planner;
mod predicate;
mod simplify;
mod spans;
mod text;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};

pub use axis::{Axis, AxisOptions, OrderFrom, OrderScope};
pub use description::filter_schema_json;
pub use expr::{AxisExpr, Condition, Expr, Operand, SpanExpr};
pub use json::Json;
pub use matches::{MatchedSpans, MatchedText, Matcher, Matches, OneSpanMatcher};
pub use parse::{
    MAX_AXES, MAX_BYTES, MAX_CONDITIONS, MAX_LEVELS, MAX_PATTERN_BYTES, MAX_SPAN_CONDITIONS, MAX_VALUES,
};
pub use planner::{INLINE_ROW_BUDGET, Indexes, RowVerdicts, SpanCounter, Verifier};
pub use spans::{MAX_PATTERNS, SpanFilter};

use crate::bitmap::RowSet;
use crate::error::{FilterError, Result};
use crate::index::columns::{Index, Projection};
use crate::schema::Field;
use crate::trace::Trace;
use columns::SpanSource;
use error::LocatedError;
use planner::{SpanRows, TextRows};
use predicate::Predicate;

/// A compiled filter: immutable, shared by threads.
#[derive(Debug, Clone)]
pub struct Filter {
    /// `None` for the filter that matches everything.
    expr: Option<Arc<Expr>>,
    /// The expression without the restrictions.
    unrestricted: Option<Arc<Expr>>,
    /// The fields and values of the restrictions.
    restrictions: Vec<(String, String)>,
    /// The tenant that pays for cached results; empty for internal searches.
    caller: Arc<str>,
    predicate: Arc<Predicate>,
}

impl Filter {
    /// Returns the filter that matches everything.
    pub fn all() -> Self {
        Self {
            expr: None,
            unrestricted: None,
            restrictions: Vec::new(),
            caller: Arc::default(),
            predicate: Arc::new(Predicate::And(Vec::new())),
        }
    }

    /// Compiles a filter expression in JSON; `null` and `{}` match everything.
    ///
    /// # Errors
    /// The problem with the expression and its path.
    ///
    /// # Examples
    /// ```
    /// use spanwise::filter::Filter;
    /// let filter = Filter::compile(br#"{"op": "IN", "key": "status", "value": ["ERROR"]}"#)?;
    /// assert_eq!(filter.canonical(), r#"{"op":"IN","key":"status","values":["ERROR"]}"#);
    /// let error = Filter::compile(br#"{"op": "GTT", "key": "duration_ms", "value": 5}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "unknown operator `GTT` - at `$.op`");
    /// # Ok::<(), spanwise::error::FilterError>(())
    /// ```
    pub fn compile(source: &[u8]) -> std::result::Result<Self, FilterError> {
        let json = parse::read(source)?;
        let Some(expr) = parse::parse(&json).map_err(|error| error.spelled_as(&json))? else {
            return Ok(Self::all());
        };
        Self::of_expr(expr).map_err(|error| error.spelled_as(&json))
    }

    fn of_expr(expr: Expr) -> std::result::Result<Self, LocatedError> {
        let predicate = Arc::new(simplify::simplify(bind::bind(&expr)?));
        let expr = Some(Arc::new(expr));
        Ok(Self {
            unrestricted: expr.clone(),
            expr,
            restrictions: Vec::new(),
            caller: Arc::default(),
            predicate,
        })
    }

    /// Returns this filter AND-ed with `field EQ value`, which is evaluated first.
    ///
    /// # Errors
    /// If `field` is unknown or `value` does not have its type.
    pub fn restrict(&self, field: &str, value: &str) -> std::result::Result<Self, FilterError> {
        let restriction = Expr::equal(field, value);
        let restricted = bind::bind(&restriction).map_err(|error| error.spelled_as(&Json::Null))?;
        let own = self.expr.as_deref().cloned();
        let expr = Expr::And([restriction].into_iter().chain(own).collect());
        // Not simplified: simplification would move cheap parts before the restriction.
        let predicate = Predicate::And(vec![restricted, self.predicate.as_ref().clone()]);
        let mut restrictions = self.restrictions.clone();
        restrictions.push((field.to_owned(), value.to_owned()));
        let (expr, predicate) = (Some(Arc::new(expr)), Arc::new(predicate));
        Ok(Self { expr, restrictions, predicate, ..self.clone() })
    }

    /// Returns this filter for a tenant: its cached results count against the tenant's quota, and only this
    /// tenant gets cache hits from them.
    #[must_use]
    pub fn for_tenant(&self, caller: &str) -> Self {
        Self { caller: caller.into(), ..self.clone() }
    }

    /// Returns the tenant of the filter; empty for internal searches.
    pub(crate) fn caller(&self) -> &str {
        &self.caller
    }

    /// Returns this filter AND-ed with `SPAN` of a condition, which is evaluated last.
    #[must_use]
    pub fn with_span(&self, spans: &SpanFilter) -> Self {
        let Some((span, test)) = spans.of_trace() else { return self.clone() };
        let span = Expr::Span(Box::new(span));
        let and = |expr: Option<&Arc<Expr>>| {
            let own = expr.map(|expr| expr.as_ref().clone());
            Some(Arc::new(Expr::And(own.into_iter().chain([span.clone()]).collect())))
        };
        let predicate =
            Predicate::And(vec![self.predicate.as_ref().clone(), Predicate::Spans(Arc::new(test))]);
        Self {
            expr: and(self.expr.as_ref()),
            unrestricted: and(self.unrestricted.as_ref()),
            predicate: Arc::new(predicate),
            ..self.clone()
        }
    }

    /// Returns this filter without its conditions on `field`; restrictions stay. The conditions must be
    /// members of the outermost `AND`, or the whole expression. `None` if such a condition is also about
    /// another field.
    ///
    /// # Errors
    /// Never for a compiled filter.
    pub fn without(&self, field: Field) -> std::result::Result<Option<Self>, FilterError> {
        let Some(expr) = self.unrestricted.as_deref() else { return Ok(Some(self.clone())) };
        let Some(rest) = expr.without(field.key()) else { return Ok(None) };
        let rest =
            Self::of_expr(rest).map_err(|error| error.spelled_as(&Json::Null))?.for_tenant(&self.caller);
        let mut restrictions = self.restrictions.iter();
        restrictions.try_fold(rest, |filter, (field, value)| filter.restrict(field, value)).map(Some)
    }

    /// Returns `true` if a condition other than a restriction is about `field`.
    pub fn mentions(&self, field: Field) -> bool {
        self.unrestricted.as_deref().is_some_and(|expr| expr.keys().contains(field.key()))
    }

    /// Returns one value per row, true if the filter matches; never NULL.
    ///
    /// Columns are found by name; a column of type `Null` has no values. Text may be plain (`Utf8`,
    /// `LargeUtf8`, `Utf8View`) or dictionary-encoded. Numbers may be integers or floating-point (`NaN` is
    /// treated as missing). Times may be timestamps or dates of any unit (without a time zone: UTC).
    ///
    /// # Errors
    /// [`crate::error::Error::Batch`] if a column that the filter reads is absent or has a type its field
    /// cannot have.
    pub fn mask(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        Ok(BooleanArray::new(evaluate::evaluate(&self.predicate, batch, SpanSource::None)?, None))
    }

    /// Returns [`Filter::mask`] and also decides conditions on spans, texts and attributes. `trace` returns
    /// the trace of a row of `batch`.
    ///
    /// # Errors
    /// As [`Filter::mask`]; [`crate::error::Error::Decode`] if a stored span cannot be decoded.
    pub fn mask_of_traces<'a>(
        &self,
        batch: &'a RecordBatch,
        trace: &'a (dyn Fn(usize) -> &'a Trace + Sync),
    ) -> Result<BooleanArray> {
        Ok(BooleanArray::new(evaluate::evaluate(&self.predicate, batch, SpanSource::Traces(trace))?, None))
    }

    /// Returns two masks without document checks: the rows that match by their columns alone, and a superset
    /// of the matching rows.
    ///
    /// # Errors
    /// As [`Filter::mask`].
    pub fn masks_of_columns(&self, batch: &RecordBatch) -> Result<[BooleanArray; 2]> {
        let mask = |rows| evaluate::evaluate(&self.predicate, batch, SpanSource::Rows(rows));
        Ok([mask(SpanRows::Certain)?, mask(SpanRows::Possible)?].map(|rows| BooleanArray::new(rows, None)))
    }

    /// Returns `true` if matches also depend on spans. For such filters [`Filter::rows`] is a superset.
    pub fn reads_spans(&self) -> bool {
        self.predicate.reads_spans()
    }

    /// Returns the rows of an index that the filter matches: the rows that [`Filter::mask`] selects in the
    /// batch from which the index was built. A superset if the filter [reads spans](Filter::reads_spans).
    ///
    /// The columns of [`Filter::projection`] must be sound. Returns `None` once `is_cancelled`, which is
    /// called repeatedly, returns `true`.
    pub fn rows(&self, index: &Index, is_cancelled: &dyn Fn() -> bool) -> Option<RowSet> {
        let texts = TextRows::default();
        planner::rows(&self.predicate, (index, &texts), SpanRows::Possible, is_cancelled)
    }

    /// Returns the rows as [`Filter::rows`] does, and an upper bound on the number of rows read to find them.
    ///
    /// `None` if that bound exceeds `most`, if many texts are looked up, or if the filter [reads
    /// spans](Filter::reads_spans). Reading [`INLINE_ROW_BUDGET`] rows takes about as long as waking another
    /// thread.
    pub fn try_cheap_rows(&self, index: &Index, most: usize) -> Option<(RowSet, usize)> {
        let is_soon = !self.reads_spans() && self.predicate.looks_up_few();
        if is_soon { planner::try_cheap_rows(&self.predicate, index, most) } else { None }
    }

    /// Returns two sets of rows from the row index and the text index: the rows that certainly match, and a
    /// superset of the matching rows. Both are the same if the filter does not [read
    /// spans](Filter::reads_spans). `None` as for [`Filter::rows`].
    pub fn bounds(&self, indexes: Indexes<'_>, is_cancelled: &dyn Fn() -> bool) -> Option<[RowSet; 2]> {
        /// Document checks of one row in this many take about as long as a lookup in the text index.
        const FEW: usize = 8_192;
        let by_columns = self.rows(indexes.rows, is_cancelled)?;
        if !self.reads_spans() {
            return Some([by_columns.clone(), by_columns]);
        }
        let texts =
            TextRows::new(indexes.texts.filter(|_| by_columns.count() >= indexes.rows.rows() as usize / FEW));
        let rows = |of| planner::rows(&self.predicate, (indexes.rows, &texts), of, is_cancelled);
        Some([rows(SpanRows::Certain)?, rows(SpanRows::Possible)?])
    }

    /// Returns the verifier that decides single rows of a segment.
    pub fn verifier<'i>(&self, indexes: Indexes<'i>) -> Verifier<'i> {
        Verifier::new(&self.predicate, indexes)
    }

    /// Returns the matcher that finds the spans and texts that make this filter match a trace.
    ///
    /// # Errors
    /// Never for a compiled filter.
    pub fn matcher(&self) -> std::result::Result<Matcher, FilterError> {
        Matcher::of(self.unrestricted.as_deref()).map_err(|error| error.spelled_as(&Json::Null))
    }

    /// Returns `true` if no row with a value of `field` can match, as in `NOT (session_id EXISTS)`.
    pub(crate) fn excludes(&self, field: Field) -> bool {
        self.predicate.known_with(field) == Some(false)
    }

    /// Returns `projection` with the columns that this filter reads.
    pub fn projection(&self, mut projection: Projection) -> Projection {
        self.predicate.for_each_field(&mut |field| projection = projection.and(field));
        projection
    }

    /// Returns the names of the columns that [`Filter::mask`] reads.
    pub fn columns(&self) -> BTreeSet<&'static str> {
        let mut keys = BTreeSet::new();
        self.predicate.for_each_field(&mut |field| {
            keys.insert(field.key());
        });
        keys
    }

    /// Returns the expression as canonical JSON, `null` if it matches everything. A restriction appears as
    /// the outer `AND`. Compiling the result gives an equal filter, unless restrictions have made it deeper
    /// than [`MAX_LEVELS`].
    pub fn canonical(&self) -> String {
        self.expr.as_ref().map_or_else(|| "null".to_owned(), ToString::to_string)
    }

    /// Returns the canonical JSON of the expression without restrictions, and the restrictions in order as
    /// fields and values. Compiling the expression and applying the restrictions gives this filter again,
    /// with restrictions evaluated first.
    pub fn unrestricted(&self) -> (String, &[(String, String)]) {
        let expr = self.unrestricted.as_ref().map_or_else(|| "null".to_owned(), ToString::to_string);
        (expr, &self.restrictions)
    }

    /// Returns the number of conditions, including `AND`, `OR` and `NOT`.
    pub fn conditions(&self) -> usize {
        self.expr.as_ref().map_or(0, |expr| expr.conditions())
    }

    /// Returns the expression; `None` if the filter matches everything.
    pub fn expr(&self) -> Option<&Expr> {
        self.expr.as_deref()
    }
}
