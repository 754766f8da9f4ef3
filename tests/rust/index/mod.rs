//! The indexes of a segment.

pub(crate) mod texts;
