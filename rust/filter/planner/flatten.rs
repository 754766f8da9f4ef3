//! Makes conditions flat before they are evaluated.

use std::sync::Arc;

use super::cost::{is_every_row, max_rows};
use super::resolved::{Resolved, joined};

/// Flattens nested nodes of the same kind, joins conditions on one column, and puts the smallest part first.
pub(super) fn flattened(node: Resolved, rows: u32) -> Resolved {
    let (parts, is_all) = match node {
        Resolved::All(parts) => (parts, true),
        Resolved::Any(parts) => (parts, false),
        leaf => return leaf,
    };
    let mut flat: Vec<Resolved> = Vec::with_capacity(parts.len());
    for part in parts {
        match (flattened(part, rows), is_all) {
            (Resolved::All(inner), true) | (Resolved::Any(inner), false) => {
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
        (0, true) => Resolved::one_range(0..rows),
        (1, _) => flat.remove(0),
        (_, true) => Resolved::All(flat),
        (_, false) => Resolved::Any(flat),
    }
}

/// Adds a part to an `AND` or an `OR`: joined with one on the same column, if there is any.
fn add(parts: &mut Vec<Resolved>, part: Resolved, (rows, is_all): (u32, bool)) {
    for known in parts.iter_mut() {
        match (known, &part) {
            (Resolved::Ranges(ranges), Resolved::Ranges(more)) => {
                *ranges = joined([ranges, more], rows, is_all);
            }
            (Resolved::Texts(texts, codes), Resolved::Texts(own, more)) if Arc::ptr_eq(texts, own) => {
                *codes = codes.joined(more, texts, is_all);
            }
            (Resolved::Ids(ids, positions), Resolved::Ids(_, more)) => {
                *positions = joined([positions, more], ids.order().len(), is_all);
            }
            _ => continue,
        }
        return;
    }
    parts.push(part);
}
