//! The attribute names that instrumented programs use, and what is read from them (`docs/reference/traces.md#attributes`).
//!
//! All knowledge of names is data: [`TABLE`] lists for each attribute its names, of which the first present one wins,
//! and [`TYPES`] lists the attributes whose values say what kind of operation a span is. An empty text counts as
//! absent. Attributes that no line names are shown as they were sent.

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
