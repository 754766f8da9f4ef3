//! A predicate on spans in terms of one table, evaluated to bitmaps over a block.

use super::numbers::{NumberTest, SpanNumbers};
use crate::bitmap::{Bitmap, CodeSet};
use crate::filter::axis::{Axis, OrderFrom, OrderScope};
use crate::filter::leaf::Leaf;
use crate::filter::spans::axes::{BlockOrdinals, Narrowing, SameInTable, Ties, related};
use crate::filter::spans::evaluate::of_text;
use crate::filter::spans::predicate::{AxisPredicate, SpanPredicate};
use crate::filter::spans::truth::Truth;
use crate::index::attributes::{AttributeIndex, MarkedAttribute};
use crate::index::spans::{SpanBlock, SpanTable};
use crate::trace::view::{Derived, SpanColumn, SpanField};

/// Nanoseconds in a microsecond, the unit of instants in a table.
const NANOS_PER_MICRO: i128 = 1_000;

/// The indexes of the spans of a segment.
#[derive(Debug, Clone, Copy)]
pub(in crate::filter) struct SpanIndexes<'t> {
    /// The span table.
    pub(in crate::filter) table: &'t SpanTable,
    /// The attribute index, if it has the same spans.
    pub(in crate::filter) attributes: Option<&'t AttributeIndex>,
}

/// The kind of result that is requested.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpanQuery {
    /// True for spans that satisfy the predicate, false for spans that do not.
    pub(super) wanted: bool,
    pub(super) bound: EvalMode,
    /// True if a subset with at least one span of each matching trace is enough.
    pub(super) is_any: bool,
}

impl SpanQuery {
    /// Requests all spans for which the predicate is true.
    pub(super) fn all(bound: EvalMode) -> Self {
        Self { wanted: true, bound, is_any: false }
    }
}

/// The bound to compute. Undecided conditions are false for a lower bound and true for an upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvalMode {
    /// Only spans that certainly match.
    LowerBound,
    /// All spans that may match.
    UpperBound,
}

impl EvalMode {
    pub(super) fn other(self) -> Self {
        if self == Self::LowerBound { Self::UpperBound } else { Self::LowerBound }
    }
}

/// A predicate in terms of one table.
#[derive(Debug)]
pub(super) enum SpanTableNode<'t> {
    /// Every part is true, or at least one if `is_or`. Cheap parts come first.
    Join {
        parts: Vec<SpanTableNode<'t>>,
        is_or: bool,
    },
    Not(Box<SpanTableNode<'t>>),
    Words(WordSets),
    Numbers(SpanNumbers, NumberTest),
    IsRoot(bool),
    Attribute(MarkedAttribute<'t>),
    /// A condition that the indexes cannot decide.
    Open,
    Axis(Box<AxisNode<'t>>),
}

/// The combinations of words for which a condition is true, and those for which it is false.
#[derive(Debug)]
pub(super) struct WordSets {
    is_true: CodeSet,
    is_false: CodeSet,
}

/// An axis in terms of one table.
#[derive(Debug)]
pub(super) struct AxisNode<'t> {
    axis: Axis,
    from: OrderFrom,
    scope: OrderScope,
    same: Option<SameInTable>,
    without: Option<SpanTableNode<'t>>,
    part: SpanTableNode<'t>,
}

impl<'t> SpanTableNode<'t> {
    /// Recursion is bounded by the depth of the predicate.
    pub(super) fn of(predicate: &SpanPredicate, indexes: SpanIndexes<'t>) -> Self {
        let join = |parts: &[SpanPredicate], is_or| {
            let mut parts =
                parts.iter().map(|part| Self::of(part, indexes)).fold(Vec::new(), |mut parts, part| {
                    match (parts.last_mut(), part) {
                        (Some(Self::Words(sets)), Self::Words(others)) => sets.join(&others, is_or),
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
            SpanPredicate::Contains(_, _) | SpanPredicate::HasText(_) => Self::Open,
        }
    }

    fn of_field(field: &SpanField, leaf: &Leaf, table: &SpanTable) -> Self {
        let numbers = match field.column {
            SpanColumn::Word => {
                let truths = table.of_combinations(field, |word| of_text(leaf, word));
                let are = |wanted| truths.iter().map(|truth| *truth == wanted).collect();
                return Self::Words(WordSets { is_true: are(Truth::True), is_false: are(Truth::False) });
            }
            SpanColumn::Derived(Derived::IsRoot) => {
                return match leaf {
                    Leaf::Boolean(wanted) => Self::IsRoot(*wanted),
                    // Every span is a root or not, so the value always exists.
                    _ => Self::Join { parts: Vec::new(), is_or: false },
                };
            }
            SpanColumn::Number => SpanTable::number_column(field).map(SpanNumbers::Column),
            SpanColumn::Derived(Derived::Duration) => Some(SpanNumbers::Duration),
            SpanColumn::Derived(Derived::Start) => Some(SpanNumbers::Start),
            SpanColumn::Derived(Derived::Depth) => Some(SpanNumbers::Depth),
            SpanColumn::Derived(Derived::ChildCount) => Some(SpanNumbers::ChildCount),
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

    /// Returns `true` if the indexes decide every condition.
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

    /// Estimates the cost per span, to order the parts. Columns come first, because they decide all
    /// candidates spans at once.
    fn cost(&self) -> usize {
        match self {
            Self::Join { parts, .. } => parts.iter().map(Self::cost).sum(),
            Self::Not(part) => part.cost(),
            Self::Open => 0,
            Self::Words(_) | Self::IsRoot(_) | Self::Numbers(SpanNumbers::Column(_), _) => 1,
            Self::Numbers(_, _) | Self::Attribute(_) => 4,
            Self::Axis(axis) => 8 + axis.part.cost() + axis.without.as_ref().map_or(0, Self::cost),
        }
    }

    /// Returns the subset of `candidates` in a block with the requested result: certainly or possibly.
    pub(super) fn ordinals(&self, block: &SpanBlock<'_>, candidates: &Bitmap, sought: SpanQuery) -> Bitmap {
        let SpanQuery { wanted, bound, .. } = sought;
        match self {
            // All parts of an `AND` are true, or all parts of an `OR` are false.
            Self::Join { parts, is_or } if *is_or != wanted => of_all(parts, block, candidates, sought),
            Self::Join { parts, .. } => of_any(parts, block, candidates, sought),
            Self::Not(part) => part.ordinals(block, candidates, SpanQuery { wanted: !wanted, ..sought }),
            Self::Words(sets) => {
                block.of_combinations(if wanted { &sets.is_true } else { &sets.is_false }, candidates)
            }
            Self::Numbers(numbers, test) => numbers.ordinals(test, (block, candidates), wanted),
            Self::IsRoot(is_root) if *is_root == wanted => block.roots(candidates),
            Self::IsRoot(_) => candidates.without(&block.roots(candidates)),
            Self::Attribute(marked) => {
                let [is_true, is_false, open] = marked.sets(candidates.ordinals());
                let mut matching = if wanted { is_true } else { is_false };
                if bound == EvalMode::UpperBound {
                    matching.unite(&open);
                }
                matching.intersect(candidates);
                matching
            }
            Self::Open if bound == EvalMode::UpperBound => candidates.clone(),
            Self::Open => Bitmap::none(candidates.ordinals()),
            Self::Axis(axis) if wanted => axis.matching(block, candidates, sought),
            Self::Axis(axis) => {
                candidates.without(&axis.matching(block, candidates, SpanQuery::all(bound.other())))
            }
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
            without: relation.without.as_ref().map(|without| SpanTableNode::of(without, indexes)),
            part: SpanTableNode::of(part, indexes),
        }
    }

    /// Returns `true` if the indexes decide every condition.
    fn is_decided(&self, table: &SpanTable) -> bool {
        let is_of_times = matches!(self.axis, Axis::FollowedBy | Axis::PrecededBy);
        (table.has_whole_times() || !is_of_times)
            && self.same.as_ref().is_none_or(|same| same.is_decided)
            && self.without.as_ref().is_none_or(|without| without.is_decided(table))
            && self.part.is_decided(table)
    }

    /// Returns the subset of `candidates` that has a span on the axis.
    fn matching(&self, block: &SpanBlock<'_>, candidates: &Bitmap, sought: SpanQuery) -> Bitmap {
        let bound = sought.bound;
        let all = block.all();
        let is_least = bound == EvalMode::LowerBound;
        // Fields that the table lacks may be equal or not. So may times within the same microsecond.
        let lacks_fields = self.same.as_ref().is_some_and(|same| !same.is_decided);
        let lacks_times = self.without.is_some() && !block.has_whole_times();
        if is_least && (lacks_fields || lacks_times) {
            return Bitmap::none(block.ordinals());
        }
        let targets = self.part.ordinals(block, &all, SpanQuery::all(bound));
        let mut members = candidates.clone();
        members.unite(&targets);
        let without = self.without.as_ref().filter(|_| !lacks_times);
        let narrowing = Narrowing {
            from: self.from,
            scope: self.scope,
            classes: self.same.as_ref().map(|same| same.classes(block, &members)),
            // Fewer spans between two spans mean more related spans, so this is the opposite bound.
            without: without.map(|without| without.ordinals(block, &all, SpanQuery::all(bound.other()))),
        };
        let ties = match (block.has_whole_times(), bound) {
            (true, _) => Ties::Ordered,
            (false, EvalMode::LowerBound) => Ties::DoNotCount,
            (false, EvalMode::UpperBound) => Ties::Count,
        };
        related((self.axis, &narrowing, sought.is_any), &BlockOrdinals { block, ties }, candidates, &targets)
    }
}

impl WordSets {
    /// Joins the sets with those of another condition on words, by `AND` or by `OR`.
    fn join(&mut self, other: &Self, is_or: bool) {
        let (narrowed, widened) = if is_or {
            ((&mut self.is_false, &other.is_false), (&mut self.is_true, &other.is_true))
        } else {
            ((&mut self.is_true, &other.is_true), (&mut self.is_false, &other.is_false))
        };
        narrowed.0.intersect(narrowed.1);
        widened.0.unite(widened.1);
    }
}

/// Returns the spans for which all parts have the requested result. Each part is evaluated only for the spans
/// that earlier parts leave.
fn of_all(
    parts: &[SpanTableNode<'_>],
    block: &SpanBlock<'_>,
    candidates: &Bitmap,
    sought: SpanQuery,
) -> Bitmap {
    let mut left = candidates.clone();
    for (number, part) in (1..).zip(parts) {
        // For the last part, one span per trace is enough if the caller needs only one.
        let is_any = sought.is_any && number == parts.len();
        left = part.ordinals(block, &left, SpanQuery { is_any, ..sought });
        if left.is_empty() {
            break;
        }
    }
    left
}

/// Returns the spans for which at least one part has the requested result. Each part is evaluated only for
/// the spans that earlier parts have not matched.
fn of_any(
    parts: &[SpanTableNode<'_>],
    block: &SpanBlock<'_>,
    candidates: &Bitmap,
    sought: SpanQuery,
) -> Bitmap {
    let (mut matching, mut open) = (Bitmap::none(candidates.ordinals()), candidates.clone());
    for part in parts {
        let own = part.ordinals(block, &open, sought);
        matching.unite(&own);
        open.subtract(&own);
        if open.is_empty() {
            break;
        }
    }
    matching
}
