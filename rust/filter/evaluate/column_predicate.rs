//! A predicate that is bound to the columns of one batch. All names are resolved and `NOT` is pushed down.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::super::columns::Columns;
use super::super::predicate::Predicate;
use super::super::spans::SpanTest;
use super::test::ColumnTest;
use super::words::nulls;
use super::{dictionary, layouts, numbers};
use crate::error::Result;

/// A part of a predicate, evaluated for one truth value.
pub(super) enum ColumnPredicate {
    All(Vec<ColumnPredicate>),
    Any(Vec<ColumnPredicate>),
    /// The column has a value, or it is NULL if negated. Without bits no row is NULL.
    Present {
        present: Option<BooleanBuffer>,
        is_negated: bool,
    },
    /// The value is not NULL, and the test is true for it, or false if negated.
    Test {
        test: Box<dyn ColumnTest>,
        present: Option<BooleanBuffer>,
        is_negated: bool,
    },
    /// The condition on spans has this truth. A true condition also implies a condition on columns.
    Spans {
        test: Arc<SpanTest>,
        truth: bool,
        implied: Option<Box<ColumnPredicate>>,
    },
}

impl ColumnPredicate {
    /// Binds `predicate` to find the rows for which it is `truth`.
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
                let array = columns.get(*field);
                let present = || Self::Present { present: nulls(array), is_negated };
                Ok(match Self::is_number(array, is_negated) {
                    None => present(),
                    Some(is_number) if truth => is_number,
                    Some(is_number) => Self::Any(vec![present(), is_number]),
                })
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
                let test =
                    Self::over(numbers::number_test(*field, array, numbers)?, nulls(array), is_negated);
                // `NaN` is in no set, so it only matters if a number has to be outside the set.
                Ok(match Self::is_number(array, false).filter(|_| is_negated) {
                    Some(is_number) => Self::All(vec![test, is_number]),
                    None => test,
                })
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

    fn over(test: Option<Box<dyn ColumnTest>>, present: Option<BooleanBuffer>, is_negated: bool) -> Self {
        match test {
            Some(test) => Self::Test { test, present, is_negated },
            None => Self::Any(Vec::new()),
        }
    }

    /// Returns a test for a number, or for `NaN` if negated. `NaN` counts as missing. `None` if the column
    /// has no `NaN`.
    fn is_number(array: &ArrayRef, is_negated: bool) -> Option<Self> {
        let test = numbers::nan_test(array)?;
        Some(Self::Test { test, present: nulls(array), is_negated: !is_negated })
    }

    /// Returns `true` if a condition on spans remains.
    pub(super) fn reads_spans(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::reads_spans),
            Self::Spans { .. } => true,
            Self::Present { .. } | Self::Test { .. } => false,
        }
    }
}
