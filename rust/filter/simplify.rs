//! Rewrites a predicate into a smaller one with the same result for every row, including rows with missing
//! values.
//!
//! | from | to | reason |
//! |---|---|---|
//! | `AND` in `AND`, `OR` in `OR` | one list | both are associative |
//! | `AND`, `OR` of one part | the part | |
//! | `NOT` of `NOT` | the part | unknown stays unknown |
//! | `NOT` of a set of numbers or instants | its complement | a missing value is in neither set |
//! | sets over one field in `AND`, `OR` | their intersection, union | they are unknown together |
//!
//! Cheap parts come first, because the order of the parts does not change the result. An empty set is kept:
//! it is false for a value, but unknown for a missing one.

use super::intervals::IntervalSet;
use super::leaf::NumberSet;
use super::predicate::Predicate;
use crate::schema::Field;

/// Returns the simplified form of `predicate`.
pub(super) fn simplify(predicate: Predicate) -> Predicate {
    match predicate {
        Predicate::And(parts) => simplify_parts(parts, Join::And),
        Predicate::Or(parts) => simplify_parts(parts, Join::Or),
        Predicate::Not(part) => match simplify(*part) {
            Predicate::Not(part) => *part,
            Predicate::Number(field, numbers) => {
                let NumberSet { whole, floating } = numbers;
                Predicate::Number(field, NumberSet { whole: whole.not(), floating: floating.not() })
            }
            Predicate::Time(field, instants) => Predicate::Time(field, instants.not()),
            part => Predicate::Not(Box::new(part)),
        },
        leaf => leaf,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    And,
    Or,
}

impl Join {
    fn of<T: super::intervals::Ordinal>(
        self,
        one: &IntervalSet<T>,
        other: &IntervalSet<T>,
    ) -> IntervalSet<T> {
        match self {
            Self::And => one.and(other),
            Self::Or => one.or(other),
        }
    }
}

fn simplify_parts(parts: Vec<Predicate>, join: Join) -> Predicate {
    let mut simplified = Vec::with_capacity(parts.len());
    for part in parts {
        match (simplify(part), join) {
            (Predicate::And(inner), Join::And) | (Predicate::Or(inner), Join::Or) => {
                for part in inner {
                    add_part(&mut simplified, part, join);
                }
            }
            (part, _) => add_part(&mut simplified, part, join),
        }
    }
    simplified.sort_by_key(cost);
    if simplified.len() == 1
        && let Some(only) = simplified.pop()
    {
        return only;
    }
    match join {
        Join::And => Predicate::And(simplified),
        Join::Or => Predicate::Or(simplified),
    }
}

/// Adds a part, merged into the set over the same field if there is one.
fn add_part(parts: &mut Vec<Predicate>, part: Predicate, join: Join) {
    match &part {
        Predicate::Number(field, more) => {
            let same = parts.iter_mut().find_map(|own| match own {
                Predicate::Number(own, numbers) if own == field => Some(numbers),
                _ => None,
            });
            if let Some(numbers) = same {
                numbers.whole = join.of(&numbers.whole, &more.whole);
                numbers.floating = join.of(&numbers.floating, &more.floating);
                return;
            }
        }
        Predicate::Time(field, more) => {
            let same = parts.iter_mut().find_map(|own| match own {
                Predicate::Time(own, instants) if own == field => Some(instants),
                _ => None,
            });
            if let Some(instants) = same {
                *instants = join.of(instants, more);
                return;
            }
        }
        _ => {}
    }
    parts.push(part);
}

/// Estimates the cost of evaluating a predicate. It determines the order of parts.
fn cost(predicate: &Predicate) -> usize {
    match predicate {
        Predicate::Exists(_) | Predicate::Number(_, _) | Predicate::Time(_, _) => 1,
        // These have nearly as many distinct values as rows; the other fields have far fewer.
        Predicate::Text(Field::RunId | Field::TraceId, _) => 8,
        Predicate::Text(_, _) => 2,
        // A document check costs as much as thousands of rows.
        Predicate::Spans(_) => 10_000,
        Predicate::Not(part) => cost(part),
        Predicate::And(parts) | Predicate::Or(parts) => 1 + parts.iter().map(cost).sum::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
    use arrow_schema::{Field as ArrowField, Schema};
    use proptest::prelude::*;

    use super::super::columns::SpanSource;
    use super::super::evaluate::evaluate;
    use super::super::intervals::Point;
    use super::super::text::TextMatcher;
    use super::*;
    use crate::schema::Operator;

    /// Every combination of a number from 0 to 5, a name and an instant, each of them also missing.
    fn batch() -> RecordBatch {
        let each = |row: i64, width: i64| Some(row % width).filter(|value| *value != 0);
        let rows = || 0..(7 * 3 * 4);
        let names = rows().map(|row| each(row, 3).map(|name| if name == 1 { "a" } else { "b" }));
        let instants = rows().map(|row| each(row, 4));
        let columns: [(&str, ArrayRef); 3] = [
            ("duration_ms", Arc::new(rows().map(|row| each(row, 7)).collect::<Int64Array>())),
            ("name", Arc::new(names.collect::<StringArray>())),
            ("start_time", Arc::new(instants.collect::<TimestampMicrosecondArray>())),
        ];
        let fields =
            columns.iter().map(|(key, array)| ArrowField::new(*key, array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        RecordBatch::try_new(schema, columns).expect("a batch")
    }

    fn leaves() -> impl Strategy<Value = Predicate> {
        let points = |values: Vec<i32>, unit: i128| -> Vec<Point<i128>> {
            values.into_iter().map(|value| Point::exactly(i128::from(value) * unit)).collect()
        };
        let operator = prop::sample::select(vec![
            Operator::In,
            Operator::Gt,
            Operator::Gte,
            Operator::Lt,
            Operator::Lte,
        ]);
        let values = prop::collection::vec(-1..8, 0..4);
        (0..4, operator, values).prop_map(move |(kind, operator, values)| match kind {
            0 => {
                let floating: Vec<_> = values.iter().map(|value| Point::exactly(f64::from(*value))).collect();
                let whole = IntervalSet::of(operator, &points(values, 1));
                Predicate::Number(
                    Field::DurationMs,
                    NumberSet { whole, floating: IntervalSet::of(operator, &floating) },
                )
            }
            1 => Predicate::Time(Field::StartTime, IntervalSet::of(operator, &points(values, 1_000))),
            2 => {
                let texts = values.iter().map(|value| if *value > 3 { "a" } else { "b" }.into());
                Predicate::Text(Field::Name, TextMatcher::new(Operator::In, texts.collect(), false))
            }
            _ => Predicate::Exists(Field::Name),
        })
    }

    fn predicates() -> impl Strategy<Value = Predicate> {
        leaves().prop_recursive(5, 32, 4, |part| {
            let parts = || prop::collection::vec(part.clone(), 0..4);
            prop_oneof![
                parts().prop_map(Predicate::And),
                parts().prop_map(Predicate::Or),
                part.clone().prop_map(|part| Predicate::Not(Box::new(part))),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_simplified_predicate_holds_for_the_same_rows(predicate in predicates()) {
            let batch = batch();
            for predicate in [predicate.clone(), Predicate::Not(Box::new(predicate))] {
                let original = evaluate(&predicate, &batch, SpanSource::None).expect("every column is there");
                let simplified = evaluate(&simplify(predicate), &batch, SpanSource::None).expect("every column is there");
                prop_assert_eq!(simplified, original);
            }
        }
    }
}
