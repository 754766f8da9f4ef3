//! Truth of three values.

use std::ops::Range;

use crate::span_table::Bitmap;

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

/// What holds of some places, or of rows by their position among those that are asked; of those in neither set it is unknown.
#[derive(Debug)]
pub(in crate::filter) struct TernaryMask {
    pub(in crate::filter) yes: Bitmap,
    pub(in crate::filter) no: Bitmap,
}

impl TernaryMask {
    /// Returns that nothing is known.
    pub(in crate::filter) fn unknown(places: Range<usize>) -> Self {
        Self { yes: Bitmap::none(places.clone()), no: Bitmap::none(places) }
    }

    /// Returns that it is true of all places.
    pub(in crate::filter) fn all(places: Range<usize>) -> Self {
        Self { yes: Bitmap::all(places.clone()), no: Bitmap::none(places) }
    }

    /// Says what holds of a place of which nothing was known.
    pub(in crate::filter) fn insert(&mut self, place: usize, truth: Truth) {
        match truth {
            Truth::True => self.yes.insert(place),
            Truth::False => self.no.insert(place),
            Truth::Unknown => {}
        }
    }

    /// Narrows what holds to what `other` says, too.
    pub(in crate::filter) fn and(&mut self, other: &Self) {
        self.yes.intersect(&other.yes);
        self.no.unite(&other.no);
    }

    pub(super) fn not(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }

    /// Returns the opposite if `is_negated`.
    pub(in crate::filter) fn negated_if(self, is_negated: bool) -> Self {
        if is_negated { self.not() } else { self }
    }
}
