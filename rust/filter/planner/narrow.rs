//! Looks up conditions only as far as they can still change the result.
//!
//! In an `AND`, cheap lookups come first. If few rows remain, an expensive condition tests them one by one.
//! If no row remains, it is not looked up at all. An `OR` does the same for the rows that no part has matched
//! yet.

use super::cost::{cost, max_rows};
use super::flatten::flattened;
use super::plan::Planner;
use super::plan_node::{PlanNode, opposite};
use super::resolve::{Operands, PartialPlan};
use crate::bitmap::RowSet;

/// The resolved parts are evaluated before the remaining lookups if those cost over this many times as much.
const SOONER: usize = 4;

impl Planner<'_> {
    /// Returns the subset of `rows` that matches.
    pub(super) fn narrowed(self, plan: PartialPlan<'_, '_>, rows: RowSet) -> RowSet {
        match plan {
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

    /// Returns the subset of `rows` that a node matches.
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
