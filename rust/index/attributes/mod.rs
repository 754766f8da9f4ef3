//! The attribute index of a segment: columns that decide conditions on attributes without reading documents.
//!
//! It identifies spans by their ordinals in the span table of the same segment. Like that table, it is
//! derived from the documents.
//!
//! | column | content |
//! |---|---|
//! | `Names` | the names of all keys, sorted, as filters spell them: `attributes.<key>` and `resource.<key>` |
//! | `Values` | the distinct values of each key, sorted |
//! | `KeySpans`, `Codes` | for each key of spans: the ordinals with a value (a bitmap or a list), and their value codes |
//! | `Rows` | for each key: the rows with a span that has a value (a roaring bitmap), and their number |
//! | `Resources` | the distinct resources as value codes, and the resource of each span |
//! | `Roots` | for each row: the position of its run root among its spans, plus 1; 0 if the trace has no spans |
//! | `Beyond` | the ordinals with a key beyond [`MAX_KEYS`] |
//!
//! For texts longer than [`MAX_VALUE_BYTES`] the index stores only their presence. Numbered keys, such as
//! `llm.input_messages.0.message.content`, are not indexed ([`is_indexed`]): they hold message contents, and
//! their number is unlimited.

mod build;
mod layout;
mod merge;
mod open;
mod key_spans;
mod value;
mod write;

pub use build::AttributeIndexBuilder;
pub use layout::{MAX_KEYS, MAX_VALUE_BYTES, is_indexed, names_of};
pub use open::{AttributeIndex, IS_FALSE, IS_OPEN, IS_TRUE, KnownAttribute, MarkedAttribute, Marks};
pub use value::StoredValue;
