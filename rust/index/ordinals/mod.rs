//! Ordinals across segments: equal values of a column have equal ordinals in all segments of a snapshot.
//!
//! Each segment has its own codes for the values of a column. A search that combines segments compares ordinals, so
//! that only the returned values are compared as texts. [`GlobalOrdinals`] number all sessions; [`SharedValues`] number
//! only the values that several segments have. Both are computed once for a set of segments and extended for later sets.

mod merged_texts;
mod sessions;
mod shared_values;

pub(crate) use sessions::PreviousOrdinals;
pub use sessions::{GlobalOrdinals, KnownSessions};
pub use shared_values::{SharedCodes, SharedValues};
