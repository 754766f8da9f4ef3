//! A predicate on spans in terms of one table: what holds of the places of a block, as bitmaps.

use super::numbers::{NumberTest, Numbers};
use crate::attribute_index::{AttributeIndex, MarkedAttribute};
use crate::filter::axis::{Axis, OrderFrom, OrderScope};
use crate::filter::leaf::Leaf;
use crate::filter::spans::axes::{BlockPlaces, Narrowing, SameInTable, Ties, related};
use crate::filter::spans::evaluate::of_text;
use crate::filter::spans::predicate::{AxisPredicate, SpanPredicate};
use crate::filter::spans::truth::{Truth, Truths};
use crate::span_table::{PlaceSet, SpanBlock, SpanTable};
use crate::trace::view::{Derived, SpanColumn, SpanField};

/// Nanoseconds in a microsecond, the unit of instants in a table.
const NANOS_PER_MICRO: i128 = 1_000;

/// What is known of the spans of a segment.
#[derive(Debug, Clone, Copy)]
pub(in crate::filter) struct SpanIndexes<'t> {
    /// Their table.
    pub(in crate::filter) table: &'t SpanTable,
    /// The index of their attributes, if it is of the same spans.
    pub(in crate::filter) attributes: Option<&'t AttributeIndex>,
}

/// Which answer is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sought {
    pub(super) bound: Bound,
    /// Whether it is enough to find some place of each trace that has one.
    pub(super) is_any: bool,
}

impl Sought {
    pub(super) fn all(bound: Bound) -> Self {
        Self { bound, is_any: false }
    }
}

/// How open questions are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// What holds whatever the open questions say.
    Least,
    /// What may hold.
    Most,
}

impl Bound {
    pub(super) fn other(self) -> Self {
        if self == Self::Least { Self::Most } else { Self::Least }
    }
}

/// A predicate in terms of one table.
#[derive(Debug)]
pub(super) enum Node<'t> {
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
pub(super) struct AxisNode<'t> {
    axis: Axis,
    from: OrderFrom,
    scope: OrderScope,
    same: Option<SameInTable>,
    without: Option<Node<'t>>,
    part: Node<'t>,
}

impl<'t> Node<'t> {
    /// Recursion is bounded by the depth of the predicate.
    pub(super) fn of(predicate: &SpanPredicate, indexes: SpanIndexes<'t>) -> Self {
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
    pub(super) fn is_decided(&self, table: &SpanTable) -> bool {
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
    pub(super) fn truths(&self, block: &SpanBlock<'_>, asked: &PlaceSet, sought: Sought) -> Truths {
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
        // Any place of a trace is enough of a part that no later one can reject, if the ones before it hold there.
        let is_any = sought.is_any && (is_or || number == parts.len());
        let asked = if is_any && !is_or { &yes } else { &open };
        let truths = part.truths(block, asked, Sought { is_any, ..sought }).negated_if(is_or);
        yes.intersect(&truths.yes);
        no.unite(&truths.no);
        open.subtract(&truths.no);
    }
    Truths { yes, no }.negated_if(is_or)
}
