//! Numbers of spans in the span table of a segment.

use crate::bitmap::Bitmap;
use crate::filter::intervals::IntervalSet;
use crate::filter::spans::truth::Truth;
use crate::index::spans::SpanBlock;

/// A number of spans: a column, or derived from other columns.
#[derive(Debug, Clone, Copy)]
pub(in crate::filter::spans) enum SpanNumbers {
    Column(usize),
    Duration,
    Start,
    Depth,
    ChildCount,
}

/// A test of a number.
#[derive(Debug)]
pub(super) enum NumberTest {
    Exists,
    Within(IntervalSet<i64>),
}

impl SpanNumbers {
    /// Returns the subset of `candidates` for whose number the test is `wanted`.
    pub(super) fn ordinals(
        self,
        test: &NumberTest,
        (block, candidates): (&SpanBlock<'_>, &Bitmap),
        wanted: bool,
    ) -> Bitmap {
        let present = || match self {
            Self::Column(column) => Some(block.with_number(column, candidates)),
            Self::Duration => Some(block.ended(candidates)),
            Self::Start | Self::Depth | Self::ChildCount => None,
        };
        let within = |intervals: &IntervalSet<i64>| match self {
            Self::Column(column) => Some(block.with_numbers(column, intervals.iter(), candidates)),
            Self::Duration => Some(block.with_durations(intervals.iter(), candidates)),
            Self::Start | Self::Depth | Self::ChildCount => None,
        };
        let in_columns = match (test, wanted) {
            (NumberTest::Exists, true) => present(),
            (NumberTest::Exists, false) => present().map(|present| candidates.without(&present)),
            (NumberTest::Within(intervals), true) => within(intervals),
            // For a missing number it is unknown.
            (NumberTest::Within(intervals), false) => {
                present().zip(within(intervals)).map(|(present, within)| present.without(&within))
            }
        };
        in_columns.unwrap_or_else(|| {
            let mut matching = Bitmap::none(candidates.ordinals());
            self.for_each(block, candidates, |ordinal, number| {
                if test.truth(number) == Truth::of(wanted) {
                    matching.insert(ordinal);
                }
            });
            matching
        })
    }

    /// Calls `visit` with each candidate and its number.
    pub(in crate::filter::spans) fn for_each(
        self,
        block: &SpanBlock<'_>,
        candidates: &Bitmap,
        mut visit: impl FnMut(usize, Option<i64>),
    ) {
        let ordinals = block.ordinals();
        let all = match self {
            Self::Depth => block.depths(),
            Self::ChildCount => block.child_counts(),
            Self::Column(_) | Self::Duration | Self::Start => Vec::new(),
        };
        for row in block.rows() {
            for ordinal in candidates.iter(block.ordinals_of(row)) {
                visit(
                    ordinal,
                    match self {
                        Self::Duration => block.duration_ms(ordinal),
                        Self::Start => Some(block.start_micros(row, ordinal)),
                        Self::Column(column) => block.number(column, ordinal),
                        Self::Depth | Self::ChildCount => all.get(ordinal - ordinals.start).copied(),
                    },
                );
            }
        }
    }
}

impl NumberTest {
    fn truth(&self, number: Option<i64>) -> Truth {
        match (self, number) {
            (Self::Exists, number) => Truth::of(number.is_some()),
            (Self::Within(_), None) => Truth::Unknown,
            (Self::Within(intervals), Some(number)) => Truth::of(intervals.contains(number)),
        }
    }
}
