//! Looks up conditions as far as they matter.
//!
//! Of an `AND`, what is soon looked up comes first. Of the rows that it leaves, few are tested one by one by what takes
//! long to look up, and without any left that is not looked up at all. An `OR` is the same about the rows that none of its
//! parts matches yet.

use super::cost::{cost, max_rows};
use super::flatten::flattened;
use super::plan::Planner;
use super::plan_node::{PlanNode, opposite};
use super::resolve::{Operands, PartialPlan};
use crate::index::RowSet;

/// What is resolved is evaluated before the rest is looked up if it costs less than one part in so many of that.
const SOONER: usize = 4;

impl Planner<'_> {
    /// Returns those of `rows` that match.
    pub(super) fn narrowed(self, question: PartialPlan<'_, '_>, rows: RowSet) -> RowSet {
        match question {
            _ if rows.count() == 0 || (self.is_cancelled)() => RowSet::NONE,
            PartialPlan::Resolved(node) => self.among(node, rows),
            PartialPlan::Deferred(leaf) if leaf.is_sooner_tested(rows.count()) => leaf.tested(&rows),
            PartialPlan::Deferred(leaf) => self.among(leaf.read(), rows),
            PartialPlan::All(parts) => self.all_of(parts, rows),
            PartialPlan::Any(Operands { resolved, open }) => {
                let others = opposite(&PlanNode::Any(resolved), self.rows);
                let mut left = self.among(others, rows.clone());
                for part in open {
                    left = left.without(&self.narrowed(part, left.clone()));
                }
                rows.without(&left)
            }
        }
    }

    fn all_of(self, parts: Operands<'_, '_>, rows: RowSet) -> RowSet {
        let reading_cost = parts.cost();
        let Operands { resolved, open } = parts;
        let node = flattened(PlanNode::All(resolved.into_iter().chain([of_rows(rows)]).collect()), self.rows);
        let most = max_rows(&node, self.rows);
        let are_sooner_tested = open.iter().all(|part| part.is_sooner_tested(most));
        if !are_sooner_tested && cost(&node, self.rows) > reading_cost / SOONER {
            let open = open.into_iter().map(PartialPlan::read);
            return self.rows(flattened(PlanNode::All(open.chain([node]).collect()), self.rows));
        }
        open.into_iter().fold(self.rows(node), |left, part| self.narrowed(part, left))
    }

    /// Returns those of `rows` that a node matches.
    fn among(self, node: PlanNode, rows: RowSet) -> RowSet {
        self.rows(flattened(PlanNode::All(vec![node, of_rows(rows)]), self.rows))
    }
}

fn of_rows(rows: RowSet) -> PlanNode {
    match rows {
        RowSet::Range(range) => PlanNode::one_range(range),
        rows => PlanNode::Rows(rows),
    }
}
