//! The span table of a segment: columns that decide conditions on spans without reading documents.
//!
//! Spans are stored trace by trace in the order of the segment's rows, and within a trace in tree order. The
//! position of a span in this order is its ordinal. Like an index, the table is derived from the documents
//! and is rebuilt if it is missing or damaged.
//!
//! | column | content |
//! |---|---|
//! | words | the distinct values of each [`SpanColumn::Word`] field, and a code for each combination of words |
//! | `Codes` | the combination of words of each span; a condition on words is decided once per combination |
//! | `Parents` | the distance in ordinals back to the parent of each span; 0 for a root |
//! | `Subtrees` | the number of descendants of each span; they follow it directly |
//! | `Starts`, `Ends` | microseconds after the base of the trace, plus 1; an end of 0 is missing |
//! | `Magnitudes` | the approximate duration of each span; it decides most conditions on durations |
//! | numbers | each [`SpanColumn::Number`] field, plus 1; 0 is missing; money is in nanodollars |
//! | `Firsts`, `Bases` | for each row, the ordinal of its first span, and its base in microseconds since 1970 |
//! | `Unreadable` | the rows whose documents are unreadable |
//! | `Fractions` | a bitmap of the rows with a fraction of a microsecond in a time; the table drops the fraction |

mod block;
mod build;
mod calls;
mod cost_column;
mod durations;
mod layout;
mod merge;
mod table;
mod words;

pub use block::SpanBlock;
pub use build::SpanTableBuilder;
pub use calls::TableCalls;
pub use cost_column::CostColumn;
pub use table::SpanTable;
