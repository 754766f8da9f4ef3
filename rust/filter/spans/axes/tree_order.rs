//! The spans of traces by ordinal, as axes need them.

use std::iter;
use std::ops::Range;

use crate::index::spans::SpanBlock;
use crate::trace::view::TraceView;

/// The order of two spans that start at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filter::spans) enum Ties {
    /// The one that is first in tree order is first.
    Ordered,
    /// The order is unknown, and an upper bound is computed: each counts as before and after the other.
    Count,
    /// The order is unknown, and a lower bound is computed: neither counts as before the other.
    DoNotCount,
}

/// The spans of one or several traces by ordinal. A parent comes before its children, and a subtree is a
/// range of ordinals.
pub(in crate::filter::spans) trait TreeOrder {
    /// Returns the range of ordinals of each trace.
    fn traces(&self) -> impl Iterator<Item = Range<usize>>;

    /// Returns the ordinal of the parent; `None` for a root.
    fn parent(&self, ordinal: usize) -> Option<usize>;

    /// Returns the first ordinal after the subtree.
    fn end_of_subtree(&self, ordinal: usize) -> usize;

    /// Returns the start, in any unit after any instant of the trace.
    fn start(&self, ordinal: usize) -> u64;

    /// Returns the end in the same unit; 0 if the span has not ended.
    fn end(&self, ordinal: usize) -> u64;

    /// Returns the order of two spans that start at the same time.
    fn ties(&self) -> Ties;
}

impl TreeOrder for TraceView<'_> {
    fn traces(&self) -> impl Iterator<Item = Range<usize>> {
        iter::once(0..self.len())
    }

    fn parent(&self, ordinal: usize) -> Option<usize> {
        TraceView::parent(self, ordinal)
    }

    fn end_of_subtree(&self, ordinal: usize) -> usize {
        self.subtree(ordinal).end
    }

    fn start(&self, ordinal: usize) -> u64 {
        self.span(ordinal).start
    }

    fn end(&self, ordinal: usize) -> u64 {
        self.span(ordinal).end
    }

    fn ties(&self) -> Ties {
        Ties::Ordered
    }
}

/// The spans of a block of a table.
pub(in crate::filter::spans) struct BlockOrdinals<'b> {
    pub(in crate::filter::spans) block: &'b SpanBlock<'b>,
    /// The order of two times in the same microsecond.
    pub(in crate::filter::spans) ties: Ties,
}

impl TreeOrder for BlockOrdinals<'_> {
    fn traces(&self) -> impl Iterator<Item = Range<usize>> {
        self.block.rows().map(|row| self.block.ordinals_of(row))
    }

    #[inline]
    fn parent(&self, ordinal: usize) -> Option<usize> {
        self.block.parent(ordinal)
    }

    #[inline]
    fn end_of_subtree(&self, ordinal: usize) -> usize {
        self.block.end_of_subtree(ordinal)
    }

    #[inline]
    fn start(&self, ordinal: usize) -> u64 {
        self.block.start(ordinal)
    }

    #[inline]
    fn end(&self, ordinal: usize) -> u64 {
        let end = self.block.end(ordinal);
        if end == 0 { 0 } else { end + u64::from(self.ties == Ties::DoNotCount) }
    }

    fn ties(&self) -> Ties {
        self.ties
    }
}
