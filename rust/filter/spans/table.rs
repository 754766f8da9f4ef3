//! Decides conditions on spans by the span table of a segment and the index of its attributes, for many traces at once.
//!
//! They have no texts, nor long attributes, and no times finer than a microsecond. So a predicate has two answers: what
//! holds at least, as if every open question were answered against it, and what may hold. Where they differ, the trace
//! itself is looked at. Both are sets of places, as bitmaps.

use super::axes::{BlockPlaces, Narrowing, SameInTable, Ties, related};
use super::evaluate::of_text;
use super::numbers::{NumberTest, Numbers};
use super::predicate::{AxisPredicate, SpanPredicate, SpanTest};
use super::truth::{Truth, Truths};
use crate::attribute_index::{AttributeIndex, MarkedAttribute};
use crate::filter::axis::{Axis, OrderFrom, OrderScope};
use crate::filter::leaf::Leaf;
use crate::index::RowBlock;
use crate::span_table::{PlaceSet, SpanBlock, SpanTable};
use crate::trace::view::{Derived, SpanColumn, SpanField};

/// Nanoseconds in a microsecond, the unit of instants in a table.
const NANOS_PER_MICRO: i128 = 1_000;
/// The most rows of a block: what is known of its spans fits into the first-level cache.
const BLOCK_ROWS: u32 = 4_096;
/// Rows that are at most so far from each other are decided together, those between them included.
const MAX_GAP: u32 = 8;

/// What is known of the spans of a segment.
#[derive(Debug, Clone, Copy)]
pub(in crate::filter) struct SpanIndexes<'t> {
    /// Their table.
    pub(in crate::filter) table: &'t SpanTable,
    /// The index of their attributes, if it is of the same spans.
    pub(in crate::filter) attributes: Option<&'t AttributeIndex>,
}

/// A test of traces in terms of one segment.
#[derive(Debug)]
pub(in crate::filter) struct SpansTest<'t> {
    table: &'t SpanTable,
    node: Node<'t>,
    asked: Asked<'t>,
    /// Whether no trace has to be looked at.
    is_decided: bool,
}

/// Which spans are asked.
#[derive(Debug)]
enum Asked<'t> {
    /// How many of all the predicate is true of.
    Count { at_least: u64, at_most: Option<u64> },
    /// The run root.
    RunRoot(&'t AttributeIndex),
}

/// Which answer is asked for.
#[derive(Debug, Clone, Copy)]
struct Sought {
    bound: Bound,
    /// Whether it is enough to find some place of each trace that has one.
    is_any: bool,
}

impl Sought {
    fn all(bound: Bound) -> Self {
        Self { bound, is_any: false }
    }
}

/// How open questions are answered.
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

/// A predicate in terms of one table.
#[derive(Debug)]
enum Node<'t> {
    /// Every part holds, the cheap ones first; or, if `is_or`, at least one.
    Join {
        parts: Vec<Node<'t>>,
        is_or: bool,
    },
    Not(Box<Node<'t>>),
    /// What holds of each combination of words: bit 0 if it is true, bit 1 if it is false.
    Words(Vec<u8>),
    Numbers(Numbers, NumberTest),
    IsRoot(bool),
    Attribute(MarkedAttribute<'t>),
    /// A question that is not answered here.
    Open,
    Axis(Box<AxisNode<'t>>),
}

/// An axis in terms of one table.
#[derive(Debug)]
struct AxisNode<'t> {
    axis: Axis,
    from: OrderFrom,
    scope: OrderScope,
    same: Option<SameInTable>,
    without: Option<Node<'t>>,
    part: Node<'t>,
}

impl SpanTest {
    /// Returns the test in terms of a segment; `None` if what is known of its spans says nothing of it.
    pub(super) fn spans_in_table<'t>(&self, indexes: SpanIndexes<'t>) -> Option<SpansTest<'t>> {
        let table = indexes.table;
        let (node, asked) = match self {
            Self::Count { predicate, at_least, at_most } => {
                let asked = Asked::Count { at_least: *at_least, at_most: *at_most };
                (Node::of(predicate, indexes), asked)
            }
            Self::Attribute(test) => {
                let attributes = indexes.attributes?;
                (Node::Attribute(test.marked(attributes)?), Asked::RunRoot(attributes))
            }
            _ => return None,
        };
        let is_decided = node.is_decided(table);
        Some(SpansTest { table, node, asked, is_decided })
    }
}

impl SpansTest<'_> {
    /// Returns whether what holds of each of these rows, which ascend, is `wanted`; unknown where the trace itself must be
    /// looked at.
    pub(super) fn are(&self, wanted: Truth, rows: &RowBlock<'_>) -> Truths {
        let mut truths = Truths::unknown(0..rows.len());
        let mut first = 0;
        while first < rows.len() {
            let end = first + length_of_run(&rows.slice(first..rows.len()));
            let run = rows.slice(first..end);
            let block = self.table.block(run.row(0)..run.row(run.len() - 1) + 1);
            match &self.asked {
                Asked::Count { .. } => self.of_counted((&block, &run), first, &mut truths),
                Asked::RunRoot(attributes) => {
                    let run_root = |row| Some(block.places_of(row).start + attributes.run_root(row)?);
                    let of_roots = self.of_run_roots(&block, wanted, &run, run_root);
                    (first..).zip(of_roots).for_each(|(position, truth)| truths.insert(position, truth));
                }
            }
            first = end;
        }
        let is_negated = wanted == Truth::False && matches!(self.asked, Asked::Count { .. });
        truths.negated_if(is_negated)
    }

    /// Says of the rows of a block, by their positions from `first` on, whether the predicate is true of as many spans as
    /// asked.
    fn of_counted(&self, (block, run): (&SpanBlock<'_>, &RowBlock<'_>), first: usize, truths: &mut Truths) {
        let is_any = matches!(self.asked, Asked::Count { at_least: 1, at_most: None });
        let all = PlaceSet::all(block.places());
        let found = |bound| self.node.truths(block, &all, Sought { bound, is_any }).yes;
        let least = found(Bound::Least);
        let most = (!self.is_decided).then(|| found(Bound::Most));
        let is_none = least.is_empty() && most.as_ref().is_none_or(PlaceSet::is_empty);
        let count = |set: &PlaceSet, places| {
            if is_any { u64::from(set.has_any(places)) } else { set.count(places) }
        };
        for (position, row) in (first..).zip(run.iter()) {
            let counts = if is_none {
                [0, 0]
            } else {
                let places = block.places_of(row);
                let at_least = count(&least, places.clone());
                [at_least, most.as_ref().map_or(at_least, |most| count(most, places))]
            };
            truths.insert(position, self.of_counts(row, counts));
        }
    }

    /// Returns what holds of a row of which the predicate is true of at least and at most so many spans.
    fn of_counts(&self, row: u32, [least, most]: [u64; 2]) -> Truth {
        let Asked::Count { at_least, at_most } = self.asked else { return Truth::Unknown };
        let fits = |count| at_most.is_none_or(|at_most| count <= at_most);
        if self.table.is_unreadable(row) {
            Truth::Unknown
        } else if least >= at_least && fits(most) {
            Truth::True
        } else if most < at_least || !fits(least) {
            Truth::False
        } else {
            Truth::Unknown
        }
    }

    /// Returns whether what holds of the run roots of these rows of a block is `wanted`.
    fn of_run_roots(
        &self,
        block: &SpanBlock<'_>,
        wanted: Truth,
        rows: &RowBlock<'_>,
        run_root: impl Fn(u32) -> Option<usize>,
    ) -> Vec<Truth> {
        let mut asked = PlaceSet::none(block.places());
        rows.iter().filter_map(&run_root).for_each(|place| asked.insert(place));
        let [least, most] = [Bound::Least, Bound::Most].map(|bound| {
            let bound = if wanted == Truth::True { bound } else { bound.other() };
            let truths = self.node.truths(block, &asked, Sought::all(bound));
            if wanted == Truth::True { truths.yes } else { truths.no }
        });
        let of_row = |row: u32| match run_root(row) {
            _ if self.table.is_unreadable(row) => Truth::Unknown,
            Some(place) if least.contains(place) => Truth::True,
            Some(place) if most.contains(place) => Truth::Unknown,
            Some(_) | None => Truth::False,
        };
        rows.iter().map(of_row).collect()
    }
}

/// Returns how many rows, from the first on, are decided together.
fn length_of_run(rows: &RowBlock<'_>) -> usize {
    let last_of_block = |row: u32| row / BLOCK_ROWS * BLOCK_ROWS + (BLOCK_ROWS - 1);
    match rows {
        RowBlock::Range(range) => {
            (last_of_block(range.start) - range.start + 1).min(range.end - range.start) as usize
        }
        RowBlock::List(rows) => {
            let last = last_of_block(rows[0]);
            let is_near = |pair: &[u32]| pair[1] - pair[0] <= MAX_GAP && pair[1] <= last;
            1 + rows.windows(2).take_while(|pair| is_near(pair)).count()
        }
    }
}

impl<'t> Node<'t> {
    /// Recursion is bounded by the depth of the predicate.
    fn of(predicate: &SpanPredicate, indexes: SpanIndexes<'t>) -> Self {
        let join = |parts: &[SpanPredicate], is_or| {
            let mut parts =
                parts.iter().map(|part| Self::of(part, indexes)).fold(Vec::new(), |mut parts, part| {
                    match (parts.last_mut(), part) {
                        (Some(Self::Words(sets)), Self::Words(others)) => join_words(sets, &others, is_or),
                        (_, part) => parts.push(part),
                    }
                    parts
                });
            parts.sort_by_key(Self::cost);
            Self::Join { parts, is_or }
        };
        match predicate {
            SpanPredicate::And(parts) => join(parts, false),
            SpanPredicate::Or(parts) => join(parts, true),
            SpanPredicate::Not(part) => Self::Not(Box::new(Self::of(part, indexes))),
            SpanPredicate::Axis(axis) => Self::Axis(Box::new(AxisNode::of(axis, indexes))),
            SpanPredicate::Field(field, leaf) => Self::of_field(field, leaf, indexes.table),
            SpanPredicate::Attribute(test) => {
                let marked = indexes.attributes.and_then(|attributes| test.marked(attributes));
                marked.map_or(Self::Open, Self::Attribute)
            }
            SpanPredicate::Contains(_, _) | SpanPredicate::Said(_) => Self::Open,
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
            Self::Axis(axis) => axis.is_decided(table),
            Self::Not(part) => part.is_decided(table),
            Self::Words(_) | Self::Numbers(_, _) | Self::IsRoot(_) => true,
            Self::Attribute(marked) => marked.is_decided(),
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
            Self::Numbers(_, _) | Self::Attribute(_) => 4,
            Self::Axis(axis) => 8 + axis.part.cost() + axis.without.as_ref().map_or(0, Self::cost),
        }
    }

    /// Returns what holds of the places of a block that are `asked`.
    fn truths(&self, block: &SpanBlock<'_>, asked: &PlaceSet, sought: Sought) -> Truths {
        let bound = sought.bound;
        match self {
            Self::Join { parts, is_or } => join(parts, *is_or, block, asked, sought),
            Self::Not(part) => part.truths(block, asked, Sought::all(bound.other())).not(),
            Self::Words(sets) => {
                let [mut yes, mut no] = block.of_combinations(sets);
                yes.intersect(asked);
                no.intersect(asked);
                Truths { yes, no }
            }
            Self::Numbers(numbers, test) => numbers.truths(test, block, asked),
            Self::IsRoot(wanted) => Truths::two_valued(asked, block.roots()).negated_if(!wanted),
            Self::Attribute(marked) => {
                let [mut yes, mut no, open] = marked.sets(asked.places());
                let unsure = if bound == Bound::Most { &mut yes } else { &mut no };
                unsure.unite(&open);
                yes.intersect(asked);
                no.intersect(asked);
                Truths { yes, no }
            }
            Self::Open => {
                let none = PlaceSet::none(asked.places());
                Truths { yes: asked.clone(), no: none }.negated_if(bound == Bound::Least)
            }
            Self::Axis(axis) => Truths::two_valued(asked, axis.found(block, asked, sought)),
        }
    }
}

impl<'t> AxisNode<'t> {
    fn of(predicate: &AxisPredicate, indexes: SpanIndexes<'t>) -> Self {
        let AxisPredicate { relation, part } = predicate;
        let fields = Some(&relation.same).filter(|fields| !fields.is_empty());
        Self {
            axis: relation.axis,
            from: relation.from,
            scope: relation.scope,
            same: fields.map(|fields| SameInTable::of(fields, indexes.table)),
            without: relation.without.as_ref().map(|without| Node::of(without, indexes)),
            part: Node::of(part, indexes),
        }
    }

    /// Whether the table answers every question.
    fn is_decided(&self, table: &SpanTable) -> bool {
        let is_of_times = matches!(self.axis, Axis::FollowedBy | Axis::PrecededBy);
        (table.has_whole_times() || !is_of_times)
            && self.same.as_ref().is_none_or(|same| same.is_decided)
            && self.without.as_ref().is_none_or(|without| without.is_decided(table))
            && self.part.is_decided(table)
    }

    /// Returns which of the places that are `asked` have a span on the axis.
    fn found(&self, block: &SpanBlock<'_>, asked: &PlaceSet, sought: Sought) -> PlaceSet {
        let bound = sought.bound;
        let all = PlaceSet::all(block.places());
        let is_least = bound == Bound::Least;
        // Fields that the table lacks may be equal or not; so may times of which it has only the microsecond.
        let lacks_fields = self.same.as_ref().is_some_and(|same| !same.is_decided);
        let lacks_times = self.without.is_some() && !block.has_whole_times();
        if is_least && (lacks_fields || lacks_times) {
            return PlaceSet::none(block.places());
        }
        let targets = self.part.truths(block, &all, Sought::all(bound)).yes;
        let mut members = asked.clone();
        members.unite(&targets);
        let without = self.without.as_ref().filter(|_| !lacks_times);
        let narrowing = Narrowing {
            from: self.from,
            scope: self.scope,
            classes: self.same.as_ref().map(|same| same.classes(block, &members)),
            // The fewer spans are between, the more are related.
            without: without.map(|without| without.truths(block, &all, Sought::all(bound.other())).yes),
        };
        let ties = match (block.has_whole_times(), bound) {
            (true, _) => Ties::Ordered,
            (false, Bound::Least) => Ties::DoNotCount,
            (false, Bound::Most) => Ties::Count,
        };
        related((self.axis, &narrowing, sought.is_any), &BlockPlaces { block, ties }, asked, &targets)
    }
}

/// Joins what holds of each combination of words with what else is asked of it.
fn join_words(sets: &mut [u8], others: &[u8], is_or: bool) {
    for (set, other) in sets.iter_mut().zip(others) {
        let (both, either) = (*set & other, *set | other);
        let (yes, no) = if is_or { (either, both) } else { (both, either) };
        *set = yes & 1 | no & 2;
    }
}

/// Joins the truths of parts: an `OR` is the opposite of the `AND` of opposites. A part is asked only of places that the
/// ones before it have left open.
fn join(parts: &[Node<'_>], is_or: bool, block: &SpanBlock<'_>, asked: &PlaceSet, sought: Sought) -> Truths {
    let (mut yes, mut no, mut open) = (asked.clone(), PlaceSet::none(asked.places()), asked.clone());
    for (number, part) in (1..).zip(parts) {
        if open.is_empty() {
            break;
        }
        // Any place of a trace is enough of a part that no later one can reject.
        let is_any = sought.is_any && (is_or || number == parts.len());
        let truths = part.truths(block, &open, Sought { is_any, ..sought }).negated_if(is_or);
        yes.intersect(&truths.yes);
        no.unite(&truths.no);
        open.subtract(&truths.no);
    }
    Truths { yes, no }.negated_if(is_or)
}
