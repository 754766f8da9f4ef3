//! The attribute names of instrumented programs, and the values that are read from them
//! (`docs/reference/traces.md#attributes`).
//!
//! All names are in tables. [`TABLE`] lists the names of each attribute in order of precedence. [`TYPES`]
//! lists the attributes whose values determine the type of a span. An empty text is treated as missing.
//! Attributes without a line are shown verbatim.

mod by_name;
mod index;
mod member;
mod reader;
mod resource;
mod summary;
mod table;
mod types;

pub use by_name::{conventions_identity, may_hold, set_conventions};
pub use index::AttributePositions;
pub use member::JsonObject;
pub use reader::AttributeReader;
pub use resource::ResourceTexts;
pub use summary::SpanSummary;
pub use table::{Attribute, Line, NUMBERED, SYSTEM_INSTRUCTIONS, TABLE, VERBATIM, WHOLE};
pub use types::{ANY, NAMED_BY_SPAN, TYPE_WORDS, TYPES, TypeLine};
