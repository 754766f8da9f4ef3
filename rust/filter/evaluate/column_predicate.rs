//! A predicate bound to the columns of one batch: nothing is left to look up, and no `NOT` is left.

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

/// A part of a predicate, asked for one truth.
pub(super) enum ColumnPredicate {
    All(Vec<ColumnPredicate>),
    Any(Vec<ColumnPredicate>),
    /// The column has a value, or it has none. Without bits every row has a value.
    Present {
        present: Option<BooleanBuffer>,
        is_negated: bool,
    },
    /// The value is there, and the test is true of it, or false.
    Test {
        test: Box<dyn ColumnTest>,
        present: Option<BooleanBuffer>,
        is_negated: bool,
    },
    /// The condition on spans has this truth; if that is to be true, so is what it implies of the columns.
    Spans {
        test: Arc<SpanTest>,
        truth: bool,
        implied: Option<Box<ColumnPredicate>>,
    },
}

impl ColumnPredicate {
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
                // `NaN` is in no set, so it only matters where a number has to be outside.
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

    /// Returns whether a value is a number, or whether it is `NaN`, which counts as missing; `None` if each is a number.
    fn is_number(array: &ArrayRef, is_negated: bool) -> Option<Self> {
        let test = numbers::nan_test(array)?;
        Some(Self::Test { test, present: nulls(array), is_negated: !is_negated })
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
