//! Predicate -> a smaller predicate that answers the same of every row, missing values included.
//!
//! | from | to | because |
//! |---|---|---|
//! | `AND` in `AND`, `OR` in `OR` | one list | both are associative |
//! | `AND`, `OR` of one part | the part | |
//! | `NOT` of `NOT` | the part | unknown stays unknown |
//! | `NOT` of a set of numbers or instants | the other numbers, instants | a missing value is in neither |
//! | sets over one field in `AND`, `OR` | their intersection, union | they are unknown together |
//!
//! What is cheap to ask stands first, as the order of the parts changes no answer. An empty set is
//! left as it is: it holds no value, but of a missing one it is unknown.

use super::predicate::{Numbers, Predicate};
use super::spans::Spans;
use crate::schema::Field;

/// Returns the folded form of `predicate`.
pub(super) fn fold(predicate: Predicate) -> Predicate {
    match predicate {
        Predicate::And(parts) => fold_parts(parts, Join::And),
        Predicate::Or(parts) => fold_parts(parts, Join::Or),
        Predicate::Not(part) => match fold(*part) {
            Predicate::Not(part) => *part,
            Predicate::Number(field, numbers) => {
                let Numbers { whole, floating } = numbers;
                Predicate::Number(field, Numbers { whole: whole.not(), floating: floating.not() })
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
    fn of<T: super::spans::Ordinal>(self, one: &Spans<T>, other: &Spans<T>) -> Spans<T> {
        match self {
            Self::And => one.and(other),
            Self::Or => one.or(other),
        }
    }
}

fn fold_parts(parts: Vec<Predicate>, join: Join) -> Predicate {
    let mut folded = Vec::with_capacity(parts.len());
    for part in parts {
        match (fold(part), join) {
            (Predicate::And(inner), Join::And) | (Predicate::Or(inner), Join::Or) => {
                for part in inner {
                    take_in(&mut folded, part, join);
                }
            }
            (part, _) => take_in(&mut folded, part, join),
        }
    }
    folded.sort_by_key(cost);
    if folded.len() == 1
        && let Some(only) = folded.pop()
    {
        return only;
    }
    match join {
        Join::And => Predicate::And(folded),
        Join::Or => Predicate::Or(folded),
    }
}

/// Adds a part, into the set over the same field if there is one.
fn take_in(parts: &mut Vec<Predicate>, part: Predicate, join: Join) {
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

/// How much asking costs, for the order of parts.
fn cost(predicate: &Predicate) -> usize {
    match predicate {
        Predicate::Exists(_) | Predicate::Number(_, _) | Predicate::Time(_, _) => 1,
        Predicate::Text(Field::RunId | Field::TraceId, _) => 8,
        Predicate::Text(_, _) => 2,
        Predicate::Not(part) => cost(part),
        Predicate::And(parts) | Predicate::Or(parts) => 1 + parts.iter().map(cost).sum::<usize>(),
    }
}
