//! Compiles filter expressions and finds the rows they match.
//!
//! A condition on a missing value is neither true nor false but unknown:
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
//! `AND` and `OR` are commutative. Only `EXISTS` is always true or false. A filter matches where it is true:
//! unknown is no match.
//!
//! Each phase is a file: `parse` (bytes -> [`Expr`]), `bind` (-> predicate), `simplify` (-> a smaller predicate),
//! then either `evaluate` (over a record batch) or `resolve` and `plan` (over an index), which find the same rows.
//! See `docs/reference/filter.md#filter-expression`.

mod bind;
mod columns;
mod cost;
mod evaluate;
mod expr;
mod error;
mod simplify;
mod json;
mod parse;
mod plan;
mod predicate;
mod resolve;
mod intervals;
mod text;

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};

pub use expr::{Condition, Expr, Operand};
pub use json::Json;
pub use parse::{MAX_BYTES, MAX_CONDITIONS, MAX_LEVELS, MAX_PATTERN_BYTES, MAX_VALUES};

use crate::error::{FilterError, Result};
use crate::index::{Index, Projection, RowSet};
use predicate::Predicate;

/// A compiled filter: immutable, shared by threads.
#[derive(Debug, Clone)]
pub struct Filter {
    /// `None` for the filter that matches everything.
    expr: Option<Arc<Expr>>,
    predicate: Arc<Predicate>,
}

impl Filter {
    /// Returns the filter that matches everything.
    pub fn all() -> Self {
        Self { expr: None, predicate: Arc::new(Predicate::And(Vec::new())) }
    }

    /// Compiles a filter expression given as JSON; `null` and `{}` match everything.
    ///
    /// # Errors
    /// What is wrong with the expression, and where.
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
        let predicate = bind::bind(&expr).map_err(|error| error.spelled_as(&json))?;
        Ok(Self { expr: Some(Arc::new(expr)), predicate: Arc::new(simplify::simplify(predicate)) })
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
        // Not simplified: that would move cheap parts in front of the restriction.
        let predicate = Predicate::And(vec![restricted, self.predicate.as_ref().clone()]);
        Ok(Self { expr: Some(Arc::new(expr)), predicate: Arc::new(predicate) })
    }

    /// Returns one value per row, true where the filter matches; never null.
    ///
    /// Columns are found by name; a column of type `Null` has no values. Text may be plain (`Utf8`, `LargeUtf8`,
    /// `Utf8View`) or dictionary-encoded, numbers may be integers or floating-point (`NaN` is treated as missing),
    /// and times may be timestamps or dates of any unit (without a time zone: UTC).
    ///
    /// # Errors
    /// [`crate::error::Error::Batch`] if a column that the filter reads is absent or has a type its field cannot
    /// have.
    pub fn mask(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        Ok(BooleanArray::new(evaluate::evaluate(&self.predicate, batch)?, None))
    }

    /// Returns the rows of an index that the filter matches: the rows that [`Filter::mask`] selects in the batch
    /// the index was built from. The columns of [`Filter::projection`] must be sound. Returns `None` if
    /// `is_cancelled`, which is called repeatedly, has returned true.
    pub fn rows(&self, index: &Index, is_cancelled: &dyn Fn() -> bool) -> Option<RowSet> {
        plan::rows(&self.predicate, index, is_cancelled)
    }

    /// Whether [`Filter::rows`] takes no longer than handing it to another thread would.
    pub fn is_light(&self) -> bool {
        self.predicate.is_light()
    }

    /// Whether the filter matches a row of an index.
    pub fn holds(&self, index: &Index, row: u32) -> bool {
        plan::holds(&self.predicate, index, row)
    }

    /// Returns `projection` with the columns that this filter reads.
    pub fn projection(&self, mut projection: Projection) -> Projection {
        self.predicate.for_each_field(&mut |field| projection = projection.and(field));
        projection
    }

    /// Returns the expression as canonical JSON, `null` if it matches everything; a restriction appears as the
    /// outer `AND`. Compiling the result gives an equal filter, unless restrictions have made it deeper than
    /// [`MAX_LEVELS`].
    pub fn canonical(&self) -> String {
        self.expr.as_ref().map_or_else(|| "null".to_owned(), ToString::to_string)
    }

    /// Returns the expression; `None` if the filter matches everything.
    pub fn expr(&self) -> Option<&Expr> {
        self.expr.as_deref()
    }
}
