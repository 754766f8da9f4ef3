//! Truth of three values.

use crate::span_table::PlaceSet;

/// What holds: `AND` is the least, `OR` the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::filter) enum Truth {
    /// It does not hold.
    False,
    /// A value is missing.
    Unknown,
    /// It holds.
    True,
}

impl Truth {
    pub(in crate::filter) fn of(truth: bool) -> Self {
        if truth { Self::True } else { Self::False }
    }

    pub(in crate::filter) fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::True => Self::False,
        }
    }
}

/// What holds of some places; of those in neither set it is unknown.
pub(super) struct Truths {
    pub(super) yes: PlaceSet,
    pub(super) no: PlaceSet,
}

impl Truths {
    /// Returns what is true of `yes`, and false of all other places that are asked.
    pub(super) fn two_valued(asked: &PlaceSet, mut yes: PlaceSet) -> Self {
        yes.intersect(asked);
        let mut no = asked.clone();
        no.subtract(&yes);
        Self { yes, no }
    }

    pub(super) fn not(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }

    /// Returns the opposite if `is_negated`.
    pub(super) fn negated_if(self, is_negated: bool) -> Self {
        if is_negated { self.not() } else { self }
    }
}
