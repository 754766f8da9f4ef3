//! A predicate bound to the columns of one batch: nothing is left to look up, and no `NOT` is left.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::super::columns::Columns;
use super::super::predicate::Predicate;
use super::super::spans::SpanTest;
use super::test::Test;
use super::words::{Words, nulls, words_of};
use super::{dictionary, layouts, numbers};
use crate::error::Result;

/// A part of a predicate, asked for one truth.
pub(super) enum Bound {
    All(Vec<Bound>),
    Any(Vec<Bound>),
    /// The column has a value, or it has none. Without words every row has a value.
    Present {
        present: Option<Words>,
        is_negated: bool,
    },
    /// The value is there, and the test is true of it, or false.
    Test {
        test: Box<dyn Test>,
        present: Option<Words>,
        is_negated: bool,
    },
    /// The condition on spans has this truth; if that is to be true, so is what it implies of the columns.
    Spans {
        test: Arc<SpanTest>,
        truth: bool,
        implied: Option<Box<Bound>>,
    },
}

impl Bound {
    /// Binds `predicate`, asked for the rows for which it is `truth`.
    pub(super) fn of(predicate: &Predicate, truth: bool, columns: &Columns<'_>) -> Result<Self> {
        let parts = |parts: &[Predicate]| -> Result<Vec<Self>> {
            parts.iter().map(|part| Self::of(part, truth, columns)).collect()
        };
        let is_negated = !truth;
        match predicate {
            Predicate::And(all) if truth => parts(all).map(Self::All),
            Predicate::Or(any) if !truth => parts(any).map(Self::All),
            Predicate::And(some) | Predicate::Or(some) => parts(some).map(Self::Any),
            Predicate::Not(part) => Self::of(part, !truth, columns),
            Predicate::Exists(field) => {
                Ok(Self::Present { present: present(columns.get(*field)), is_negated })
            }
            Predicate::Text(field, matcher) => {
                let array = columns.get(*field);
                let test = match array.data_type() {
                    DataType::Dictionary(_, _) => dictionary::test(*field, array, matcher)?,
                    _ => layouts::test(*field, array, matcher)?,
                };
                Ok(Self::over(test, nulls(array), is_negated))
            }
            Predicate::Number(field, numbers) => {
                let array = columns.get(*field);
                let test = numbers::number_test(*field, array, numbers)?;
                // `NaN` is in no set, so it only matters where a number has to be outside.
                let present = if is_negated { present(array) } else { nulls(array) };
                Ok(Self::over(test, present, is_negated))
            }
            Predicate::Time(field, instants) => {
                let array = columns.get(*field);
                Ok(Self::over(numbers::time_test(*field, array, instants)?, nulls(array), is_negated))
            }
            Predicate::Spans(test) => {
                let implied = truth.then(|| Self::of(&test.implied(), true, columns)).transpose()?;
                Ok(Self::Spans { test: Arc::clone(test), truth, implied: implied.map(Box::new) })
            }
        }
    }

    fn over(test: Option<Box<dyn Test>>, present: Option<Words>, is_negated: bool) -> Self {
        match test {
            Some(test) => Self::Test { test, present, is_negated },
            None => Self::Any(Vec::new()),
        }
    }

    /// Whether a condition on spans is left.
    pub(super) fn reads_spans(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::reads_spans),
            Self::Spans { .. } => true,
            Self::Present { .. } | Self::Test { .. } => false,
        }
    }
}

/// Returns the rows that have a value; `None` if all do. `NaN` counts as missing.
fn present(array: &ArrayRef) -> Option<Words> {
    let numbers = if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
        BooleanBuffer::collect_bool(floats.len(), |row| !floats.value(row).is_nan())
    } else if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
        BooleanBuffer::collect_bool(floats.len(), |row| !floats.value(row).is_nan())
    } else {
        return nulls(array);
    };
    match array.logical_nulls() {
        Some(nulls) => Some(words_of(&(&numbers & nulls.inner()))),
        None => Some(words_of(&numbers)),
    }
}
