//! Three-valued truth.

use std::ops::Range;

use crate::bitmap::Bitmap;

/// The result of a condition, ordered so that `AND` is the minimum and `OR` the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::filter) enum Truth {
    False,
    /// A value is missing.
    Unknown,
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

/// The three-valued results for span ordinals, or for rows by position. Results in neither set are unknown.
#[derive(Debug)]
pub(in crate::filter) struct TernaryMask {
    pub(in crate::filter) yes: Bitmap,
    pub(in crate::filter) no: Bitmap,
}

impl TernaryMask {
    /// Returns a mask in which every result is unknown.
    pub(in crate::filter) fn unknown(ordinals: Range<usize>) -> Self {
        Self { yes: Bitmap::none(ordinals.clone()), no: Bitmap::none(ordinals) }
    }

    /// Returns a mask in which every result is true.
    pub(in crate::filter) fn all(ordinals: Range<usize>) -> Self {
        Self { yes: Bitmap::all(ordinals.clone()), no: Bitmap::none(ordinals) }
    }

    /// Sets the result for an ordinal or position, which must be unknown so far.
    pub(in crate::filter) fn insert(&mut self, ordinal: usize, truth: Truth) {
        match truth {
            Truth::True => self.yes.insert(ordinal),
            Truth::False => self.no.insert(ordinal),
            Truth::Unknown => {}
        }
    }

    /// Combines the results with `other` by `AND`.
    pub(in crate::filter) fn and(&mut self, other: &Self) {
        self.yes.intersect(&other.yes);
        self.no.unite(&other.no);
    }

    pub(super) fn not(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }

    /// Negates the results if `is_negated`.
    pub(in crate::filter) fn negated_if(self, is_negated: bool) -> Self {
        if is_negated { self.not() } else { self }
    }
}
