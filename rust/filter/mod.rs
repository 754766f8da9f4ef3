//! JSON -> expression -> predicate: which traces does a caller ask for?

use arrow_array::{BooleanArray, RecordBatch};

use crate::error::{FilterError, Result};

/// A compiled filter: immutable, shared by threads.
#[derive(Debug, Clone)]
pub struct Filter {}

impl Filter {
    /// Returns the filter that matches everything.
    pub fn all() -> Self {
        todo!()
    }

    /// Parses, checks and binds a filter expression; `null` and `{}` match everything.
    ///
    /// # Errors
    /// The fault, with its place.
    pub fn compile(_source: &[u8]) -> std::result::Result<Self, FilterError> {
        todo!()
    }

    /// Returns this filter AND-ed with `field EQ value`, evaluated before anything else.
    ///
    /// # Errors
    /// If `field` is unknown or `value` is not of its type.
    pub fn restrict(&self, _field: &str, _value: &str) -> std::result::Result<Self, FilterError> {
        todo!()
    }

    /// Returns one value a row, true where the filter matches; never null.
    ///
    /// # Errors
    /// [`crate::error::Error::Batch`] if a column asked for is absent or of a type its field cannot have.
    pub fn mask(&self, _batch: &RecordBatch) -> Result<BooleanArray> {
        todo!()
    }
}
