//! Numbers of spans, as the span table of a segment has them.

use crate::filter::intervals::IntervalSet;
use crate::filter::spans::truth::{Truth, Truths};
use crate::span_table::{PlaceSet, SpanBlock};

/// Numbers of spans.
#[derive(Debug, Clone, Copy)]
pub(in crate::filter::spans) enum Numbers {
    Column(usize),
    Duration,
    Start,
    Depth,
    ChildCount,
}

/// What is asked of a number.
#[derive(Debug)]
pub(super) enum NumberTest {
    Exists,
    Within(IntervalSet<i64>),
}

impl Numbers {
    pub(super) fn truths(self, test: &NumberTest, block: &SpanBlock<'_>, asked: &PlaceSet) -> Truths {
        let intervals = match test {
            NumberTest::Exists => None,
            NumberTest::Within(intervals) => Some(intervals.iter()),
        };
        let intervals = intervals.into_iter().flatten();
        let in_columns = match self {
            Self::Column(column) => Some(block.with_numbers(column, intervals)),
            Self::Duration => Some(block.with_durations(intervals)),
            Self::Start | Self::Depth | Self::ChildCount => None,
        };
        if let Some([within, mut present]) = in_columns {
            if matches!(test, NumberTest::Exists) {
                return Truths::two_valued(asked, present);
            }
            present.intersect(asked);
            return Truths::two_valued(&present, within);
        }
        let (mut yes, mut no) = (PlaceSet::none(asked.places()), PlaceSet::none(asked.places()));
        self.for_each(block, asked, |place, number| match test.truth(number) {
            Truth::True => yes.insert(place),
            Truth::False => no.insert(place),
            Truth::Unknown => {}
        });
        Truths { yes, no }
    }

    /// Calls `visit` with the places that are `asked`, and with their numbers.
    pub(in crate::filter::spans) fn for_each(
        self,
        block: &SpanBlock<'_>,
        asked: &PlaceSet,
        mut visit: impl FnMut(usize, Option<i64>),
    ) {
        let places = block.places();
        let all = match self {
            Self::Depth => block.depths(),
            Self::ChildCount => block.child_counts(),
            Self::Column(_) | Self::Duration | Self::Start => Vec::new(),
        };
        for row in block.rows() {
            for place in asked.iter(block.places_of(row)) {
                visit(
                    place,
                    match self {
                        Self::Duration => block.duration_ms(place),
                        Self::Start => Some(block.start_micros(row, place)),
                        Self::Column(column) => block.number(column, place),
                        Self::Depth | Self::ChildCount => all.get(place - places.start).copied(),
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
