//! Resolves a predicate against an index.
//!
//! Cheap lookups are done here: a text becomes the matching codes, a number a range of positions in number
//! order, a start time a range of rows. The number of rows of such a leaf is therefore known before a row is
//! read. Expensive lookups stay a [`DeferredLookup`]. `NOT` is pushed down into the leaves, where it excludes
//! rows without a value, as in `evaluate`.

use std::borrow::Cow;

use super::cost::{MAX_COST_AT_ONCE, is_every_row, max_rows, max_rows_read};
use super::deferred_lookup::DeferredLookup;
use super::flatten::flattened;
use super::plan_node::{CodeRanges, PlanNode, union};
use super::text_rows::TextRows;
use crate::filter::intervals::IntervalSet;
use crate::filter::predicate::Predicate;
use crate::index::columns::Index;
use crate::schema::Field;

/// Nanoseconds in a microsecond, the unit of instants in an index.
const NANOS_PER_MICRO: i128 = 1_000;

/// A predicate in terms of one index, with the expensive lookups still to do.
#[derive(Debug)]
pub(super) enum PartialPlan<'i, 'p> {
    /// No lookup remains.
    Resolved(PlanNode),
    /// A single lookup remains.
    Deferred(DeferredLookup<'i, 'p>),
    /// Every part matches.
    All(Operands<'i, 'p>),
    /// At least one part matches.
    Any(Operands<'i, 'p>),
}

/// The parts of an `AND` or an `OR`.
#[derive(Debug, Default)]
pub(super) struct Operands<'i, 'p> {
    pub(super) resolved: Vec<PlanNode>,
    /// The unresolved parts, cheapest lookup first.
    pub(super) open: Vec<PartialPlan<'i, 'p>>,
}

impl PartialPlan<'_, '_> {
    fn joined(parts: Vec<Self>, is_all: bool) -> Self {
        let mut joined = Operands::default();
        for part in parts {
            match (part, is_all) {
                (Self::Resolved(part), _) => joined.resolved.push(part),
                // The resolved parts of such a part also leave fewer rows for the open parts.
                (Self::All(parts), true) | (Self::Any(parts), false) => {
                    joined.resolved.extend(parts.resolved);
                    joined.open.extend(parts.open);
                }
                (open, _) => joined.open.push(open),
            }
        }
        joined.open.sort_by_key(Self::cost);
        match (joined.open.is_empty(), is_all) {
            (true, true) => Self::Resolved(PlanNode::All(joined.resolved)),
            (true, false) => Self::Resolved(PlanNode::Any(joined.resolved)),
            (false, true) => Self::All(joined),
            (false, false) => Self::Any(joined),
        }
    }

    /// Flattens a plan that is completely resolved.
    pub(super) fn flattened(self, rows: u32) -> Self {
        match self {
            Self::Resolved(node) => Self::Resolved(flattened(node, rows)),
            open => open,
        }
    }

    /// Returns the cost of the remaining lookups.
    pub(super) fn cost(&self) -> usize {
        match self {
            Self::Resolved(_) => 0,
            Self::Deferred(leaf) => leaf.cost(),
            Self::All(parts) | Self::Any(parts) => parts.cost(),
        }
    }

    /// Returns `true` if testing `rows` rows takes less time than the remaining lookups.
    pub(super) fn is_sooner_tested(&self, rows: usize) -> bool {
        match self {
            Self::Resolved(_) => true,
            Self::Deferred(leaf) => leaf.is_sooner_tested(rows),
            Self::All(parts) | Self::Any(parts) => parts.open.iter().all(|part| part.is_sooner_tested(rows)),
        }
    }

    /// Returns an upper bound on the number of rows that are read to evaluate the plan.
    pub(super) fn max_rows_read(&self, rows: u32) -> usize {
        match self {
            Self::Resolved(node) => max_rows_read(node, rows),
            // The open parts are evaluated on the rows that the resolved parts leave.
            Self::All(parts) => {
                parts.resolved.iter().map(|part| max_rows(part, rows)).min().unwrap_or(rows as usize)
            }
            Self::Deferred(_) | Self::Any(_) => rows as usize,
        }
    }

    /// Performs the remaining lookups.
    pub(super) fn read(self) -> PlanNode {
        match self {
            Self::Resolved(node) => node,
            Self::Deferred(leaf) => leaf.read(),
            Self::All(parts) => PlanNode::All(parts.read()),
            Self::Any(parts) => PlanNode::Any(parts.read()),
        }
    }
}

impl Operands<'_, '_> {
    /// Returns the cost of the remaining lookups.
    pub(super) fn cost(&self) -> usize {
        self.open.iter().map(PartialPlan::cost).sum()
    }

    /// Performs the remaining lookups.
    pub(super) fn read(self) -> Vec<PlanNode> {
        let Self { mut resolved, open } = self;
        resolved.extend(open.into_iter().map(PartialPlan::read));
        resolved
    }
}

/// The bound that stands for a condition on spans that no index decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filter) enum SpanRows {
    /// All rows that may match.
    Possible,
    /// Only rows that certainly match.
    Certain,
}

/// The indexes, the cancellation check and the bounds with which a part is resolved.
#[derive(Clone, Copy)]
pub(super) struct ResolveContext<'i, 'w> {
    pub(super) index: &'i Index,
    pub(super) texts: &'w TextRows<'i>,
    pub(super) is_cancelled: &'w dyn Fn() -> bool,
    pub(super) span_rows: SpanRows,
    /// Upper bound on the number of rows that the resolved parts of an `AND` leave.
    pub(super) rows_left: usize,
}

/// Returns `predicate` resolved to the rows for which it is `truth`; an empty range once the search is
/// cancelled. Recursion is bounded by the depth of the predicate.
pub(super) fn resolve<'i, 'p>(
    predicate: &'p Predicate,
    truth: bool,
    context: &ResolveContext<'i, '_>,
) -> PartialPlan<'i, 'p> {
    let ResolveContext { index, texts, is_cancelled, span_rows, rows_left } = *context;
    match predicate {
        _ if is_cancelled() => PartialPlan::Resolved(PlanNode::NONE),
        Predicate::And(parts) => resolve_parts(parts, (truth, truth), context),
        Predicate::Or(parts) => resolve_parts(parts, (truth, !truth), context),
        Predicate::Not(part) => resolve(part, !truth, context),
        Predicate::Exists(field) => PartialPlan::Resolved(match index.texts(*field) {
            Some(texts) => {
                let present = texts.distinct();
                let codes = if truth { 0..present } else { present..present + 1 };
                PlanNode::Texts(texts.clone(), CodeRanges::new(texts, vec![codes]))
            }
            None => PlanNode::one_range(0..if truth { index.rows() } else { 0 }),
        }),
        Predicate::Text(field, matcher) => {
            let leaf = match index.texts(*field) {
                Some(texts) => DeferredLookup::Texts { texts, matcher, truth },
                None => DeferredLookup::Ids { ids: index.ids(), matcher, truth },
            };
            soon(leaf, rows_left)
        }
        Predicate::Number(field, numbers) => resolve_intervals(context, *field, &numbers.whole, (1, truth)),
        Predicate::Time(field, instants) => {
            resolve_intervals(context, *field, instants, (NANOS_PER_MICRO, truth))
        }
        Predicate::Spans(test) => match texts.bounds(test, truth, is_cancelled) {
            Some([certain, possible]) => {
                let rows = if span_rows == SpanRows::Certain { certain } else { possible };
                PartialPlan::Resolved(PlanNode::Rows(rows))
            }
            None if span_rows == SpanRows::Certain => PartialPlan::Resolved(PlanNode::NONE),
            None if truth => {
                let implied = [test.implied(), test.implied_texts()];
                let parts = implied.iter().map(|part| resolve(part, true, context).read());
                PartialPlan::Resolved(PlanNode::All(parts.collect()))
            }
            None => PartialPlan::Resolved(PlanNode::one_range(0..index.rows())),
        },
    }
}

/// The number of values whose lookup takes about as long as the lookup of a range.
const FEW_VALUES: usize = 4;

/// Evaluation order of `AND` operands: first those that usually match no row of a segment and make the other
/// lookups unnecessary.
fn resolve_rank(part: &Predicate, truth: bool) -> u8 {
    match part {
        Predicate::Not(part) => resolve_rank(part, !truth),
        // `EXISTS` and an empty interval need no lookup. An id has its row in one segment, a time in few,
        // other texts in some. A long list needs as many lookups as it has values.
        Predicate::Exists(_) => 0,
        Predicate::Number(_, numbers) if numbers.whole.is_never(truth) => 0,
        part if part.values() > FEW_VALUES => 4,
        Predicate::Text(Field::RunId | Field::TraceId, matcher) if truth && matcher.is_of_whole_texts() => 0,
        Predicate::Time(Field::StartTime, _) => 1,
        Predicate::Text(_, matcher) if truth && matcher.is_of_whole_texts() => 2,
        _ => 3,
    }
}

/// Returns the conjunction or the disjunction of parts that are each `truth`. Stops at a part that decides
/// the result: no rows in an `AND`, all rows in an `OR`.
fn resolve_parts<'i, 'p>(
    parts: &'p [Predicate],
    (truth, is_all): (bool, bool),
    context: &ResolveContext<'i, '_>,
) -> PartialPlan<'i, 'p> {
    let rows = context.index.rows();
    let mut parts: Vec<&Predicate> = parts.iter().collect();
    if is_all {
        parts.sort_by_key(|part| resolve_rank(part, truth));
    }
    let mut nodes = Vec::with_capacity(parts.len());
    let mut rows_left = context.rows_left;
    for part in parts {
        let plan = resolve(part, truth, &ResolveContext { rows_left, ..*context });
        if let PartialPlan::Resolved(node) = &plan {
            let (most, is_every) = (max_rows(node, rows), is_every_row(node, rows));
            let is_none = most == 0;
            if is_all {
                rows_left = rows_left.min(most);
            }
            if is_all && is_none || !is_all && is_every {
                return plan;
            }
            if is_none || is_every {
                continue;
            }
        }
        nodes.push(plan);
    }
    if nodes.is_empty() {
        return PartialPlan::Resolved(PlanNode::one_range(0..if is_all { rows } else { 0 }));
    }
    PartialPlan::joined(nodes, is_all)
}

/// Performs a cheap lookup, unless testing the remaining rows is even cheaper. Defers all other lookups.
fn soon<'i, 'p>(leaf: DeferredLookup<'i, 'p>, rows_left: usize) -> PartialPlan<'i, 'p> {
    let is_soon = leaf.cost() <= MAX_COST_AT_ONCE && !leaf.is_sooner_tested(rows_left);
    if is_soon { PartialPlan::Resolved(leaf.read()) } else { PartialPlan::Deferred(leaf) }
}

fn resolve_intervals<'i, 'p>(
    &ResolveContext { index, rows_left, .. }: &ResolveContext<'i, '_>,
    field: Field,
    intervals: &IntervalSet<i128>,
    (unit, truth): (i128, bool),
) -> PartialPlan<'i, 'p> {
    let wanted = if truth { Cow::Borrowed(intervals) } else { Cow::Owned(intervals.not()) };
    let in_units = |wanted: &IntervalSet<i128>| wanted.in_units(unit, i64::MIN, i64::MAX);
    let numbers = index.numbers(field).expect("numbers and instants have a column");
    if field == Field::StartTime {
        // Rows are sorted newest first, so the last interval has the first rows.
        let Some(oldest) = index.rows().checked_sub(1) else { return PartialPlan::Resolved(PlanNode::NONE) };
        let [first, last] = [oldest as usize, 0].map(|row| i128::from(numbers.value(row)) * unit);
        let near = in_units(&wanted.overlapping(first, last));
        let ranges = numbers.rows_between_each(near.as_slice());
        return PartialPlan::Resolved(PlanNode::Ranges(union(ranges.into_iter().rev())));
    }
    let intervals = in_units(&wanted);
    match numbers.order() {
        Some(order) => soon(DeferredLookup::Numbers { numbers, order, intervals }, rows_left),
        None => PartialPlan::Resolved(PlanNode::Scanned(numbers.clone(), intervals)),
    }
}
