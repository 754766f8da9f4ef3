//! Flattens conditions before evaluation.

use std::sync::Arc;

use super::cost::{is_every_row, max_rows};
use super::plan_node::{PlanNode, joined};

/// Flattens nested nodes of the same kind, joins conditions on one column, and moves the smallest part to the
/// front.
pub(super) fn flattened(node: PlanNode, rows: u32) -> PlanNode {
    let (parts, is_all) = match node {
        PlanNode::All(parts) => (parts, true),
        PlanNode::Any(parts) => (parts, false),
        leaf => return leaf,
    };
    let mut flat: Vec<PlanNode> = Vec::with_capacity(parts.len());
    for part in parts {
        match (flattened(part, rows), is_all) {
            (PlanNode::All(inner), true) | (PlanNode::Any(inner), false) => {
                for part in inner {
                    add(&mut flat, part, (rows, is_all));
                }
            }
            (part, _) => add(&mut flat, part, (rows, is_all)),
        }
    }
    if is_all {
        flat.retain(|part| !is_every_row(part, rows));
    }
    flat.sort_by_key(|part| max_rows(part, rows));
    match (flat.len(), is_all) {
        (0, true) => PlanNode::one_range(0..rows),
        (1, _) => flat.remove(0),
        (_, true) => PlanNode::All(flat),
        (_, false) => PlanNode::Any(flat),
    }
}

/// Adds a part to an `AND` or an `OR`. It is joined with a part on the same column, if there is one.
fn add(parts: &mut Vec<PlanNode>, part: PlanNode, (rows, is_all): (u32, bool)) {
    for known in parts.iter_mut() {
        match (known, &part) {
            (PlanNode::Ranges(ranges), PlanNode::Ranges(more)) => {
                *ranges = joined([ranges, more], rows, is_all);
            }
            (PlanNode::Texts(texts, codes), PlanNode::Texts(own, more)) if Arc::ptr_eq(texts, own) => {
                *codes = codes.joined(more, texts, is_all);
            }
            (PlanNode::Ids(ids, positions), PlanNode::Ids(_, more)) => {
                *positions = joined([positions, more], ids.order().len(), is_all);
            }
            _ => continue,
        }
        return;
    }
    parts.push(part);
}
