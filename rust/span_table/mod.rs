//! The span table of a segment: what conditions on spans are decided by, instead of documents.
//!
//! Spans stand trace by trace in the order of the segment's rows, those of a trace as its tree shows them; a span is
//! known by its place in that order. It is derived data, as an index is: built from the documents, and again if it is
//! missing or damaged.
//!
//! | column | what is stored |
//! |---|---|
//! | words | the distinct values of each field that is a [`SpanColumn::Word`]; a code into these for each combination |
//! | `Codes` | the combination of words of each span: a condition on words is decided once for each combination |
//! | `Parents` | how many places before it the parent of each span stands; 0 of a root |
//! | `Subtrees` | how many spans are below each span: they are the ones after it |
//! | `Starts`, `Ends` | microseconds after the base of the trace, plus 1; an end of 0 is none |
//! | `Magnitudes` | about how long each span took: what most conditions on durations are decided by |
//! | numbers | each field that is a [`SpanColumn::Number`], plus 1; 0 is a missing value; money in nanodollars |
//! | `Firsts`, `Bases` | for each row, the place of its first span, and its base in microseconds since 1970 |
//! | `Unreadable` | the rows whose documents could not be read |
//! | `Fractions` | a bitmap of the rows that have a time with a fraction of a microsecond, which the table does not have |

mod block;
mod build;
mod calls;
mod cost_column;
mod durations;
mod layout;
mod merge;
mod bitmap;
mod table;
mod words;

pub use bitmap::Bitmap;
pub use block::SpanBlock;
pub use build::SpanTableBuilder;
pub use calls::TableCalls;
pub use cost_column::CostColumn;
pub use table::SpanTable;
