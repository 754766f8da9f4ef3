//! Conditions on the spans of a trace: which spans there are, how they are related, and what was said in them.
//!
//! A condition is decided on the trace itself ([`evaluate`]), or on as much of its document as it needs ([`stored`]), of which the
//! columns say at most that it cannot hold ([`implied`]), or on the span table of its segment ([`table`]), as far as that has
//! what it asks for. Which spans and texts make it true is asked of the traces of a page ([`matches`]).

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
