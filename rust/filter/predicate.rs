//! What runs: a closed list of tests, with nothing left to look up.

use super::intervals::IntervalSet;
use super::text::TextMatcher;
use crate::schema::Field;

/// A filter made ready to run. Every leaf says what is in a set; `NOT` says what is outside of it.
#[derive(Debug, Clone)]
pub(super) enum Predicate {
    /// Every part holds; of none: true.
    And(Vec<Predicate>),
    /// At least one part holds; of none: false.
    Or(Vec<Predicate>),
    /// The part does not hold.
    Not(Box<Predicate>),
    /// The field has a value.
    Exists(Field),
    /// The field's text is what the matcher asks for.
    Text(Field, TextMatcher),
    /// The field's number is in the set.
    Number(Field, Numbers),
    /// The field's instant, in nanoseconds since 1970, is in the set.
    Time(Field, IntervalSet<i128>),
}

/// A set of numbers, as columns of whole numbers and as columns of doubles see it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Numbers {
    pub(super) whole: IntervalSet<i128>,
    pub(super) floating: IntervalSet<f64>,
}

impl Predicate {
    /// Whether an index answers this from what lies in it, as it lies there: few values of one field, and
    /// any times of start.
    pub(super) fn is_light(&self) -> bool {
        const FEW: usize = 16;
        let mut others = 0;
        let mut parts = vec![self];
        while let Some(part) = parts.pop() {
            match part {
                Self::And(inner) => parts.extend(inner),
                Self::Time(Field::StartTime, _) => {}
                Self::Text(_, matcher) if matcher.count().is_some_and(|count| count <= FEW) => others += 1,
                _ => return false,
            }
        }
        others <= 1
    }

    /// Calls `visit` with every field that is asked about, once for each time it is.
    pub(super) fn for_each_field(&self, visit: &mut impl FnMut(Field)) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.for_each_field(visit)),
            Self::Not(part) => part.for_each_field(visit),
            Self::Exists(field) | Self::Text(field, _) | Self::Number(field, _) | Self::Time(field, _) => {
                visit(*field);
            }
        }
    }
}
