//! JSON -> expression -> predicate: which traces does a caller ask for?
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
//! `AND` and `OR` do not mind the order. Only `EXISTS` is always true or false. A filter matches where it is true: unknown is no match.
//!
//! The phases are files: `parse` (bytes -> [`Expr`]), `bind` (-> predicate), `fold` (the same,
//! smaller), then `evaluate` (x batch -> rows), or `resolve` and `plan` (x index -> the same rows). See the specification, "Filter expression".

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
    /// `None` matches everything.
    expr: Option<Arc<Expr>>,
    predicate: Arc<Predicate>,
}

impl Filter {
    /// Returns the filter that matches everything.
    pub fn all() -> Self {
        Self { expr: None, predicate: Arc::new(Predicate::And(Vec::new())) }
    }

    /// Parses, checks and binds a filter expression; `null` and `{}` match everything.
    ///
    /// # Errors
    /// The fault, with its place.
    ///
    /// # Examples
    /// ```
    /// use spanwise::filter::Filter;
    /// let filter = Filter::compile(br#"{"op": "IN", "key": "status", "value": ["ERROR"]}"#)?;
    /// assert_eq!(filter.canonical(), r#"{"op":"IN","key":"status","values":["ERROR"]}"#);
    /// let fault = Filter::compile(br#"{"op": "GTT", "key": "duration_ms", "value": 5}"#).unwrap_err();
    /// assert_eq!(fault.to_string(), "unknown operator `GTT` - at `$.op`");
    /// # Ok::<(), spanwise::error::FilterError>(())
    /// ```
    pub fn compile(source: &[u8]) -> std::result::Result<Self, FilterError> {
        let json = parse::read(source)?;
        let Some(expr) = parse::parse(&json).map_err(|fault| fault.spelled_as(&json))? else {
            return Ok(Self::all());
        };
        let predicate = bind::bind(&expr).map_err(|fault| fault.spelled_as(&json))?;
        Ok(Self { expr: Some(Arc::new(expr)), predicate: Arc::new(simplify::simplify(predicate)) })
    }

    /// Returns this filter AND-ed with `field EQ value`, evaluated before anything else.
    ///
    /// # Errors
    /// If `field` is unknown or `value` is not of its type.
    pub fn restrict(&self, field: &str, value: &str) -> std::result::Result<Self, FilterError> {
        let restriction = Expr::equal(field, value);
        let first = bind::bind(&restriction).map_err(|fault| fault.spelled_as(&Json::Null))?;
        let asked = self.expr.as_deref().cloned();
        let expr = Expr::And([restriction].into_iter().chain(asked).collect());
        // Not folded: what is cheap would be asked before the restriction.
        let predicate = Predicate::And(vec![first, self.predicate.as_ref().clone()]);
        Ok(Self { expr: Some(Arc::new(expr)), predicate: Arc::new(predicate) })
    }

    /// Returns one value a row, true where the filter matches; never null.
    ///
    /// Columns are found by name; a column of type `Null` has no values. Text may be plain (`Utf8`,
    /// `LargeUtf8`, `Utf8View`) or in a dictionary, numbers whole or floating-point (a `NaN` is no
    /// value), times timestamps or dates of any unit (without a time zone: UTC).
    ///
    /// # Errors
    /// [`crate::error::Error::Batch`] if a column asked for is absent or of a type its field cannot have.
    pub fn mask(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        Ok(BooleanArray::new(evaluate::evaluate(&self.predicate, batch)?, None))
    }

    /// Returns the rows of an index that the filter matches: those that [`Filter::mask`] gives for the
    /// rows the index was built from. The columns of [`Filter::projection`] must be sound. `None` if
    /// `is_cancelled`, which is asked again and again, has returned true by then.
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

    /// Returns `projection` with the columns that this filter asks about.
    pub fn projection(&self, mut projection: Projection) -> Projection {
        self.predicate.for_each_field(&mut |field| projection = projection.and(field));
        projection
    }

    /// Returns the expression as canonical JSON, `null` if it matches everything; a restriction
    /// shows as the outer `AND`. Compiling it gives an equal filter, if restrictions have not made it
    /// deeper than [`MAX_LEVELS`].
    pub fn canonical(&self) -> String {
        self.expr.as_ref().map_or_else(|| "null".to_owned(), ToString::to_string)
    }

    /// Returns what was asked; `None` asks for everything.
    pub fn expr(&self) -> Option<&Expr> {
        self.expr.as_deref()
    }
}
