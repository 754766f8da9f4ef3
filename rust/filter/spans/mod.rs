//! Conditions on the spans of a trace: which spans exist, how they are related, and which texts they have.
//!
//! There are three ways to decide a condition:
//!
//! - on the trace itself ([`evaluate`]),
//! - on as much of the document as it needs ([`stored`]),
//! - on the span table of the segment ([`table`]), if the table has the data.
//!
//! The columns of a row can only exclude a match ([`implied`]). The spans and texts that make a condition
//! true are computed only for the traces of a page ([`matches`]).

mod attribute;
mod axes;
mod bind;
mod content;
mod evaluate;
mod excerpt;
mod implied;
mod matches;
mod predicate;
mod span_filter;
mod stored;
mod table;
mod truth;

pub use bind::MAX_PATTERNS;
pub(super) use bind::{CONTENT_FIELDS, SpanBinder};
pub(super) use matches::{MAX_PIECES, Names, PatternMatcher, Piece, SpanMatcher, SpanMatches};
pub(super) use predicate::{SpanTest, TextKey};
pub use span_filter::SpanFilter;
pub(super) use table::{SpanIndexes, SpansTest, TableTest};
pub(super) use truth::{TernaryMask, Truth};
