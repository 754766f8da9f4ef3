//! Decides conditions on spans by the span table of a segment, for many traces at once.
//!
//! The table has no texts and no attributes, and no times finer than a microsecond. So a predicate has two answers: what
//! holds at least, as if every open question were answered against it, and what may hold. Where they differ, the trace
//! itself is looked at. Both are sets of places, as bitmaps.

use super::axes::{BlockPlaces, related};
use super::evaluate::of_text;
use super::predicate::{SpanPredicate, SpanTest};
use super::truth::Truth;
use crate::filter::expr::Axis;
use crate::filter::intervals::IntervalSet;
use crate::filter::leaf::Leaf;
use crate::span_table::{PlaceSet, SpanBlock, SpanTable};
use crate::trace::view::{Derived, SpanColumn, SpanField};

/// Nanoseconds in a microsecond, the unit of instants in a table.
const NANOS_PER_MICRO: i128 = 1_000;
/// The most rows of a block: what is known of its spans fits into the first-level cache.
const BLOCK_ROWS: u32 = 4_096;
/// Rows that are at most so far from each other are decided together, those between them included.
const MAX_GAP: u32 = 8;

/// How many spans a predicate must be true of, in terms of one table.
#[derive(Debug)]
pub(in crate::filter) struct SpanCountTest<'t> {
    table: &'t SpanTable,
    node: Node,
    at_least: u64,
    at_most: Option<u64>,
    /// Whether the table answers every question.
    is_decided: bool,
}

/// Which answer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// What holds whatever the open questions say.
    Least,
    /// What may hold.
    Most,
}

impl Bound {
    fn other(self) -> Self {
        if self == Self::Least { Self::Most } else { Self::Least }
    }
}

/// What holds of some places; of those in neither set it is unknown.
struct Truths {
    yes: PlaceSet,
    no: PlaceSet,
}

impl Truths {
    /// Returns what is true of `yes`, and false of all other places that are asked.
    fn two_valued(asked: &PlaceSet, mut yes: PlaceSet) -> Self {
        yes.intersect(asked);
        let mut no = asked.clone();
        no.subtract(&yes);
        Self { yes, no }
    }

    fn not(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }

    /// Returns the opposite if `is_negated`.
    fn negated_if(self, is_negated: bool) -> Self {
        if is_negated { self.not() } else { self }
    }
}

/// A predicate in terms of one table.
#[derive(Debug)]
enum Node {
    /// Every part holds, the cheap ones first; or, if `is_or`, at least one.
    Join {
        parts: Vec<Node>,
        is_or: bool,
    },
    Not(Box<Node>),
    /// What holds of each combination of words: bit 0 if it is true, bit 1 if it is false.
    Words(Vec<u8>),
    Numbers(Numbers, NumberTest),
    IsRoot(bool),
    /// A question that the table does not answer.
    Open,
    Axis(Axis, Box<Node>),
}

/// Numbers of spans.
#[derive(Debug, Clone, Copy)]
enum Numbers {
    Column(usize),
    Duration,
    Start,
    Depth,
    ChildCount,
}

/// What is asked of a number.
#[derive(Debug)]
enum NumberTest {
    Exists,
    Within(IntervalSet<i64>),
}

impl SpanTest {
    /// Returns the test in terms of a table; `None` if the table says nothing of it.
    pub(super) fn count_in_table<'t>(&self, table: &'t SpanTable) -> Option<SpanCountTest<'t>> {
        let Self::Count { predicate, at_least, at_most } = self else { return None };
        let node = Node::of(predicate, table);
        let is_decided = node.is_decided(table);
        Some(SpanCountTest { table, node, at_least: *at_least, at_most: *at_most, is_decided })
    }
}

impl SpanCountTest<'_> {
    /// Returns what holds of each of these rows, which ascend; unknown where the trace itself must be looked at.
    pub(super) fn truths(&self, rows: &[u32]) -> Vec<Truth> {
        let mut truths = Vec::with_capacity(rows.len());
        let near = |one: &u32, next: &u32| next - one <= MAX_GAP && one / BLOCK_ROWS == next / BLOCK_ROWS;
        for run in rows.chunk_by(near) {
            let block = self.table.block(run[0]..run[run.len() - 1] + 1);
            let asked = PlaceSet::all(block.places());
            let least = self.node.truths(&block, &asked, Bound::Least).yes;
            let most = (!self.is_decided).then(|| self.node.truths(&block, &asked, Bound::Most).yes);
            truths.extend(run.iter().map(|row| {
                let places = block.places_of(*row);
                let at_least = least.count(places.clone());
                let at_most = most.as_ref().map_or(at_least, |most| most.count(places));
                self.truth(*row, [at_least, at_most])
            }));
        }
        truths
    }

    /// Returns what holds of a row of which the predicate is true of at least and at most so many spans.
    fn truth(&self, row: u32, [least, most]: [u64; 2]) -> Truth {
        let fits = |count| self.at_most.is_none_or(|at_most| count <= at_most);
        if self.table.is_unreadable(row) {
            Truth::Unknown
        } else if least >= self.at_least && fits(most) {
            Truth::True
        } else if most < self.at_least || !fits(least) {
            Truth::False
        } else {
            Truth::Unknown
        }
    }
}

impl Node {
    /// Recursion is bounded by the depth of the predicate.
    fn of(predicate: &SpanPredicate, table: &SpanTable) -> Self {
        let join = |parts: &[SpanPredicate], is_or| {
            let mut parts: Vec<_> = parts.iter().map(|part| Self::of(part, table)).collect();
            parts.sort_by_key(Self::cost);
            Self::Join { parts, is_or }
        };
        match predicate {
            SpanPredicate::And(parts) => join(parts, false),
            SpanPredicate::Or(parts) => join(parts, true),
            SpanPredicate::Not(part) => Self::Not(Box::new(Self::of(part, table))),
            SpanPredicate::Axis(axis, part) => Self::Axis(*axis, Box::new(Self::of(part, table))),
            SpanPredicate::Field(field, leaf) => Self::of_field(field, leaf, table),
            SpanPredicate::Contains(_, _) | SpanPredicate::Said(_) | SpanPredicate::Attribute(_) => {
                Self::Open
            }
        }
    }

    fn of_field(field: &SpanField, leaf: &Leaf, table: &SpanTable) -> Self {
        let numbers = match field.column {
            SpanColumn::Word => {
                let bits = |truth| u8::from(truth == Truth::True) | u8::from(truth == Truth::False) << 1;
                return Self::Words(table.of_combinations(field, |word| bits(of_text(leaf, word))));
            }
            SpanColumn::Derived(Derived::IsRoot) => {
                return match leaf {
                    Leaf::Boolean(wanted) => Self::IsRoot(*wanted),
                    // Every span is a root or is none.
                    _ => Self::Join { parts: Vec::new(), is_or: false },
                };
            }
            SpanColumn::Number => SpanTable::number_column(field).map(Numbers::Column),
            SpanColumn::Derived(Derived::Duration) => Some(Numbers::Duration),
            SpanColumn::Derived(Derived::Start) => Some(Numbers::Start),
            SpanColumn::Derived(Derived::Depth) => Some(Numbers::Depth),
            SpanColumn::Derived(Derived::ChildCount) => Some(Numbers::ChildCount),
            SpanColumn::Absent => None,
        };
        let test = match leaf {
            Leaf::Exists => Some(NumberTest::Exists),
            Leaf::Number(numbers) => Some(NumberTest::Within(numbers.whole.in_units(1, i64::MIN, i64::MAX))),
            Leaf::Time(instants) => {
                Some(NumberTest::Within(instants.in_units(NANOS_PER_MICRO, i64::MIN, i64::MAX)))
            }
            Leaf::Text(_) | Leaf::Boolean(_) => None,
        };
        numbers.zip(test).map_or(Self::Open, |(numbers, test)| Self::Numbers(numbers, test))
    }

    /// Whether the table answers every question.
    fn is_decided(&self, table: &SpanTable) -> bool {
        match self {
            Self::Join { parts, .. } => parts.iter().all(|part| part.is_decided(table)),
            Self::Axis(Axis::FollowedBy | Axis::PrecededBy, part) => {
                table.has_whole_times() && part.is_decided(table)
            }
            Self::Not(part) | Self::Axis(_, part) => part.is_decided(table),
            Self::Words(_) | Self::Numbers(_, _) | Self::IsRoot(_) => true,
            Self::Open => false,
        }
    }

    /// Estimates what a place costs, to order the parts by: what is a column first, for all that is asked is decided then.
    fn cost(&self) -> usize {
        match self {
            Self::Join { parts, .. } => parts.iter().map(Self::cost).sum(),
            Self::Not(part) => part.cost(),
            Self::Open => 0,
            Self::Words(_) | Self::IsRoot(_) | Self::Numbers(Numbers::Column(_), _) => 1,
            Self::Numbers(_, _) => 4,
            Self::Axis(_, part) => 8 + part.cost(),
        }
    }

    /// Returns what holds of the places of a block that are `asked`.
    fn truths(&self, block: &SpanBlock<'_>, asked: &PlaceSet, bound: Bound) -> Truths {
        match self {
            Self::Join { parts, is_or } => join(parts, *is_or, block, asked, bound),
            Self::Not(part) => part.truths(block, asked, bound.other()).not(),
            Self::Words(sets) => {
                let [mut yes, mut no] = block.of_combinations(sets);
                yes.intersect(asked);
                no.intersect(asked);
                Truths { yes, no }
            }
            Self::Numbers(numbers, test) => numbers.truths(test, block, asked),
            Self::IsRoot(wanted) => Truths::two_valued(asked, block.roots()).negated_if(!wanted),
            Self::Open => {
                let none = PlaceSet::none(asked.places());
                Truths { yes: asked.clone(), no: none }.negated_if(bound == Bound::Least)
            }
            Self::Axis(axis, part) => {
                let targets = part.truths(block, &PlaceSet::all(block.places()), bound).yes;
                let is_delayed = bound == Bound::Least && !block.has_whole_times();
                let spans = BlockPlaces { block, delay: u64::from(is_delayed) };
                Truths::two_valued(asked, related(*axis, &spans, asked, &targets))
            }
        }
    }
}

/// Joins the truths of parts: an `OR` is the opposite of the `AND` of opposites. A part is asked only of places that the
/// ones before it have left open.
fn join(parts: &[Node], is_or: bool, block: &SpanBlock<'_>, asked: &PlaceSet, bound: Bound) -> Truths {
    let (mut yes, mut no, mut open) = (asked.clone(), PlaceSet::none(asked.places()), asked.clone());
    for part in parts {
        if open.is_empty() {
            break;
        }
        let truths = part.truths(block, &open, bound).negated_if(is_or);
        yes.intersect(&truths.yes);
        no.unite(&truths.no);
        open.subtract(&truths.no);
    }
    Truths { yes, no }.negated_if(is_or)
}

impl Numbers {
    fn truths(self, test: &NumberTest, block: &SpanBlock<'_>, asked: &PlaceSet) -> Truths {
        if let Self::Column(column) = self {
            let intervals = match test {
                NumberTest::Exists => None,
                NumberTest::Within(intervals) => Some(intervals.iter()),
            };
            let [within, mut present] = block.with_numbers(column, intervals.into_iter().flatten());
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
    fn for_each(self, block: &SpanBlock<'_>, asked: &PlaceSet, mut visit: impl FnMut(usize, Option<i64>)) {
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
                        Self::Column(_) | Self::Depth | Self::ChildCount => {
                            all.get(place - places.start).copied()
                        }
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
