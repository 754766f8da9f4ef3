//! Truth of three values.

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
