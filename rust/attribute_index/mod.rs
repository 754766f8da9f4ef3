//! The index of a segment's attributes: what conditions on attributes are decided by, instead of documents.
//!
//! It knows spans by their places in the span table of the same segment, and as that is derived data.
//!
//! | column | what is stored |
//! |---|---|
//! | `Names` | the names of all keys, sorted, as filters spell them: `attributes.<key>` and `resource.<key>` |
//! | `Values` | the distinct values of each key, sorted |
//! | `KeySpans`, `Codes` | for each key of spans: the places that have a value (a bitmap or a list), and which value each has |
//! | `Rows` | for each key: the rows with a span that has a value (a roaring bitmap), and how many they are |
//! | `Resources` | the distinct resources as codes of values; the resource of each span |
//! | `Roots` | for each row: where its run root stands among its spans, plus 1; 0 of a trace without spans |
//! | `Beyond` | the places that have a key beyond [`MAX_KEYS`] |
//!
//! Of texts of more than [`MAX_VALUE_BYTES`] only their presence is known. Numbered keys, such as
//! `llm.input_messages.0.message.content`, are not in it ([`is_indexed`]): they hold what was said, and there is no end of them.

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
