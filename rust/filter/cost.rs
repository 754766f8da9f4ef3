//! What a way to a set of rows costs, in words of a bitmap.
//!
//! A word that is combined with another costs least: neighbours come from memory together. A row that is looked up
//! by itself costs many words, since where it stands nothing else is wanted. The numbers were measured over segments of a
//! million rows that had just been pushed out of the processor's caches by other work.

use std::ops::Range;

use super::resolve::{Codes, Node};
use crate::index::Texts;

/// So many lists are walked side by side; of more, one set is made.
pub(super) const FEW_LISTS: usize = 16;
/// Looking a row up in a column.
const PROBE: usize = 32;
/// Looking a row up among ids, which are searched.
const SEARCH: usize = 20 * PROBE;
/// Taking a row from a list, or setting its bit.
const STEP: usize = 3;
/// Putting a row into its order.
const SORT: usize = 32;

/// Returns how many rows a node holds at most, of `rows`.
pub(super) fn size(node: &Node<'_>, rows: u32) -> usize {
    let most = rows as usize;
    match node {
        Node::All(parts) => parts.iter().map(|part| size(part, rows)).min().unwrap_or(most),
        Node::Any(parts) => parts.iter().map(|part| size(part, rows)).sum::<usize>().min(most),
        Node::Range(range) => range.len(),
        Node::Texts(_, codes) => codes.rows,
        Node::Ordered { places, .. } | Node::Ids(_, places) => {
            places.iter().map(ExactSizeIterator::len).sum()
        }
        Node::Scanned(_, _) => most,
    }
}

/// Parts that must all hold: the neighbours among which they are asked about, and what is asked, the smallest first.
pub(super) struct Parts<'p, 'i> {
    pub(super) window: Range<u32>,
    pub(super) asked: Vec<&'p Node<'i>>,
    rows: u32,
}

/// How to intersect parts as bitmaps.
pub(super) struct Way<'p, 'i> {
    /// These become bitmaps, in this order.
    pub(super) united: Vec<&'p Node<'i>>,
    /// In these every row that is left is looked up.
    pub(super) looked_up: Vec<&'p Node<'i>>,
    pub(super) cost: usize,
}

impl<'p, 'i> Parts<'p, 'i> {
    /// Takes the parts of an `AND` over `rows` rows.
    pub(super) fn new(parts: &'p [Node<'i>], rows: u32) -> Self {
        let (mut window, mut asked) = (0..rows, Vec::with_capacity(parts.len()));
        for part in parts {
            match part {
                Node::Range(range) => {
                    window.start = window.start.max(range.start);
                    window.end = window.end.min(range.end).max(window.start);
                }
                part => asked.push(part),
            }
        }
        Self { window, asked, rows }
    }

    /// Whether the rows of the window are fewer than those of the smallest part.
    pub(super) fn is_window_first(&self) -> bool {
        self.asked.first().is_none_or(|first| self.cost_of_window(first) < self.cost_of_gathering(first))
    }

    /// Returns what it costs to take the rows of the smallest part, or of the window, and to look them up in the
    /// others; each lets through about as many as it holds of all.
    pub(super) fn cost_one_by_one(&self) -> usize {
        let Some((first, others)) = self.asked.split_first() else { return 0 };
        let mut cost = self.cost_of_window(first).min(self.cost_of_gathering(first));
        let mut left = portion(self.window.len(), first, self.rows);
        for part in others {
            cost += left * probe(part);
            left = portion(left, part, self.rows);
        }
        cost + left * SORT
    }

    /// Returns which parts become bitmaps, the cheapest first, and in which the rows that are left by then are
    /// looked up.
    pub(super) fn way(&self) -> Way<'p, 'i> {
        let mut by_cost: Vec<_> = self.asked.iter().map(|part| (cost(part, self.rows), *part)).collect();
        by_cost.sort_by_key(|(cost, _)| *cost);
        let mut way = Way { united: Vec::new(), looked_up: Vec::new(), cost: 0 };
        let mut left = self.window.len();
        for (cost, part) in by_cost {
            let one_by_one = left * probe(part);
            if way.united.is_empty() || cost <= one_by_one {
                way.united.push(part);
                way.cost += cost;
            } else {
                way.looked_up.push(part);
                way.cost += one_by_one;
            }
            left = portion(left, part, self.rows);
        }
        way
    }

    fn cost_of_window(&self, first: &Node<'_>) -> usize {
        self.window.len() * probe(first)
    }

    fn cost_of_gathering(&self, first: &Node<'_>) -> usize {
        let all = size(first, self.rows);
        match first {
            // Each of its lists is cut to the window.
            Node::Texts(_, codes) if codes.count() <= FEW_LISTS => {
                STEP * portion(self.window.len(), first, self.rows)
            }
            _ => STEP * all,
        }
    }
}

/// Returns about how many of some rows a part holds.
fn portion(some: usize, part: &Node<'_>, rows: u32) -> usize {
    some * size(part, rows) / (rows as usize).max(1)
}

/// Returns what it costs to look one row up in a node.
fn probe(node: &Node<'_>) -> usize {
    match node {
        Node::All(parts) | Node::Any(parts) => parts.iter().map(probe).sum(),
        Node::Range(_) => 1,
        Node::Texts(_, _) | Node::Ordered { .. } | Node::Scanned(_, _) => PROBE,
        Node::Ids(_, _) => SEARCH,
    }
}

/// Returns what it costs to make a bitmap of a node.
fn cost(node: &Node<'_>, count: u32) -> usize {
    let rows = count as usize;
    let words = rows / 64 + 1;
    match node {
        Node::All(parts) => {
            let parts = Parts::new(parts, count);
            words + parts.cost_one_by_one().min(parts.way().cost)
        }
        Node::Any(parts) => parts.iter().map(|part| cost(part, count)).sum(),
        Node::Range(_) => words,
        Node::Texts(texts, codes) => words + cost_of_codes(texts, codes, rows),
        Node::Ordered { .. } => words + (STEP * size(node, count)).min(rows / 2),
        Node::Ids(_, _) => words + STEP * size(node, count),
        Node::Scanned(_, _) => words + rows / 2,
    }
}

/// Returns what it costs to add the rows of some codes, or to take out those of the others if these are most.
fn cost_of_codes(texts: &Texts, codes: &Codes, rows: usize) -> usize {
    let is_most = codes.rows > rows / 2;
    let frequent = texts.frequent(&(0..texts.distinct() + 1));
    let changed = frequent.iter().filter(|code| codes.contains(**code) != is_most);
    let (mut bitmaps, mut by_bitmap) = (0, 0);
    for code in changed {
        bitmaps += 1;
        by_bitmap += texts.count(&(*code..code + 1));
    }
    let all = if is_most { rows - codes.rows } else { codes.rows };
    (bitmaps + usize::from(is_most)) * (rows / 64) + STEP * all.saturating_sub(by_bitmap)
}
