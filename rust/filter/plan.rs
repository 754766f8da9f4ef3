//! Predicate x index -> the rows where it holds, by whichever way costs least.
//!
//! One value's rows are taken as they lie in the index; nothing is copied or counted. Parts of an
//! `AND` are intersected from the smallest on: its rows are looked up in the others one by one, or, if
//! they are many, all become bitmaps ([`super::cost`]). A range of times cuts whatever it stands beside.

use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use super::cost::{FEW_LISTS, Parts, Way, size};
use super::predicate::Predicate;
use super::resolve::{Asked, Codes, Node, resolve};
use crate::index::{Bits, Index, Numbers, RowSet, Texts};

/// RowSet are sorted as long as they are fewer than one in so many; else they become a bitmap.
const SPARSE: usize = 256;

/// Returns the rows of `index` of which `predicate` is true; `None` if they are not wanted any more before
/// they are found.
pub(super) fn rows(predicate: &Predicate, index: &Index, is_cancelled: &dyn Fn() -> bool) -> Option<RowSet> {
    let question = resolve(predicate, true, &Asked { index, is_cancelled });
    let rows = Plan { rows: index.rows(), is_cancelled }.rows(simplified(question, index.rows()));
    (!is_cancelled()).then_some(rows)
}

/// Whether `predicate` is true of a row.
pub(super) fn holds(predicate: &Predicate, index: &Index, row: u32) -> bool {
    contains(&resolve(predicate, true, &Asked { index, is_cancelled: &|| false }), row)
}

/// Flattens parts within parts of their kind, joins the ranges of an `AND` into one, and puts what is
/// smallest first.
fn simplified(node: Node<'_>, rows: u32) -> Node<'_> {
    let (parts, is_all) = match node {
        Node::All(parts) => (parts, true),
        Node::Any(parts) => (parts, false),
        leaf => return leaf,
    };
    let (mut flat, mut window) = (Vec::with_capacity(parts.len()), 0..rows);
    for part in parts {
        match (simplified(part, rows), is_all) {
            (Node::All(inner), true) | (Node::Any(inner), false) => flat.extend(inner),
            (part, _) => flat.push(part),
        }
    }
    if is_all {
        flat.retain(|part| {
            let Node::Range(range) = part else { return true };
            window = window.start.max(range.start)..window.end.min(range.end);
            false
        });
        if window != (0..rows) || flat.is_empty() {
            flat.push(Node::Range(window.start..window.end.max(window.start)));
        }
    }
    flat.sort_by_key(|part| size(part, rows));
    match flat.len() {
        1 => flat.remove(0),
        _ if is_all => Node::All(flat),
        _ => Node::Any(flat),
    }
}

/// Whether a node holds a row.
fn contains(node: &Node<'_>, row: u32) -> bool {
    let place = row as usize;
    match node {
        Node::All(parts) => parts.iter().all(|part| contains(part, row)),
        Node::Any(parts) => parts.iter().any(|part| contains(part, row)),
        Node::Range(range) => range.contains(&row),
        Node::Texts(texts, codes) => codes.contains(texts.code(place)),
        Node::Ordered { numbers, spans, .. } | Node::Scanned(numbers, spans) => {
            spans.contains(numbers.value(place))
        }
        Node::Ids(ids, places) => {
            let at = ids.order().binary_search_by(|own| ids.bytes(*own as usize).cmp(ids.bytes(place)));
            at.is_ok_and(|at| places.iter().any(|range| range.contains(&at)))
        }
    }
}

/// Makes sets of the rows of one index. Once these are not wanted any more, what is left is taken for empty.
#[derive(Clone, Copy)]
struct Plan<'w> {
    rows: u32,
    is_cancelled: &'w dyn Fn() -> bool,
}

impl Plan<'_> {
    fn rows(self, node: Node<'_>) -> RowSet {
        match node {
            Node::Range(range) => RowSet::Range(range),
            Node::Texts(texts, codes) if codes.count() <= FEW_LISTS => lists(texts, &codes, &(0..self.rows)),
            Node::All(parts) => self.all(&parts),
            node if size(&node, self.rows) < self.rows as usize / SPARSE => self.sparse(&node),
            node => RowSet::Bits(Bits::new(self.bits(&node))),
        }
    }

    /// Returns the rows of a node that holds few, sorted.
    fn sparse(self, node: &Node<'_>) -> RowSet {
        let mut found = Vec::new();
        self.gather(node, &(0..self.rows), &mut found);
        sorted(found)
    }

    /// Appends the rows of a node, in no order; one that several parts hold may come several times, and
    /// some may lie outside of `window`.
    fn gather(self, node: &Node<'_>, window: &Range<u32>, found: &mut Vec<u32>) {
        match node {
            Node::Any(parts) => parts.iter().for_each(|part| self.gather(part, window, found)),
            Node::All(parts) => self.all(parts).for_each(|row| found.push(row)),
            Node::Range(range) => found.extend(range.clone()),
            Node::Texts(texts, codes) if codes.count() <= FEW_LISTS => {
                lists(texts, codes, window).for_each(|row| found.push(row));
            }
            Node::Texts(texts, codes) => {
                codes.ranges.iter().for_each(|range| found.extend_from_slice(&texts.rows(range)));
            }
            Node::Ordered { order, places, .. } => {
                found.extend(places.iter().flat_map(|range| &order[range.clone()]));
            }
            Node::Ids(ids, places) => {
                found.extend(places.iter().flat_map(|range| &ids.order()[range.clone()]));
            }
            Node::Scanned(_, _) => RowSet::Bits(Bits::new(self.bits(node))).for_each(|row| found.push(row)),
        }
    }

    /// Returns the rows that all parts hold; the smallest part comes first.
    fn all(self, parts: &[Node<'_>]) -> RowSet {
        let parts = Parts::new(parts, self.rows);
        let window = parts.window.clone();
        let Some((smallest, others)) = parts.asked.split_first() else { return RowSet::Range(window) };
        if size(smallest, self.rows) == 0 || (self.is_cancelled)() {
            return RowSet::NONE;
        }
        if let (Node::Texts(texts, codes), []) = (smallest, others)
            && codes.count() <= FEW_LISTS
        {
            return lists(texts, codes, &window);
        }
        let way = parts.way();
        if parts.cost_one_by_one() > way.cost {
            return RowSet::Bits(Bits::new(self.intersected(&window, &way)));
        }
        if parts.is_window_first() {
            let rows = window.filter(|row| parts.asked.iter().all(|part| contains(part, *row)));
            return RowSet::List(rows.collect::<Vec<_>>().into());
        }
        let mut found = Vec::new();
        self.gather(smallest, &window, &mut found);
        found.retain(|row| window.contains(row) && others.iter().all(|part| contains(part, *row)));
        sorted(found)
    }

    fn intersected(self, window: &Range<u32>, way: &Way<'_, '_>) -> Vec<u64> {
        let mut words = vec![0; (self.rows as usize).div_ceil(64)];
        crate::index::fill(&mut words, window.start as usize..window.end as usize);
        for part in &way.united {
            self.intersect(part, &mut words);
        }
        let is_in_all = |row| way.looked_up.iter().all(|part| contains(part, row));
        for (first_row, word) in (0..).step_by(64).zip(&mut words) {
            let mut left = if way.looked_up.is_empty() { 0 } else { *word };
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !is_in_all(first_row + bit) {
                    *word &= !(1 << bit);
                }
            }
        }
        words
    }

    /// Returns the rows of a node as a bitmap.
    fn bits(self, node: &Node<'_>) -> Vec<u64> {
        let mut words = vec![0; (self.rows as usize).div_ceil(64)];
        self.unite(node, &mut words);
        words
    }

    /// Leaves in `words` only rows that the node holds.
    fn intersect(self, node: &Node<'_>, words: &mut [u64]) {
        if let Node::Texts(texts, codes) = node
            && codes.count() == 1
            && let Some(bits) = texts.bits(codes.ranges[0].start)
        {
            words.iter_mut().zip(bits).for_each(|(word, own)| *word &= own);
            return;
        }
        let own = self.bits(node);
        words.iter_mut().zip(own).for_each(|(word, own)| *word &= own);
    }

    /// Adds the rows of a node to `words`.
    fn unite(self, node: &Node<'_>, words: &mut [u64]) {
        match node {
            _ if (self.is_cancelled)() => {}
            Node::Any(parts) => parts.iter().for_each(|part| self.unite(part, words)),
            Node::All(parts) => match self.all(parts) {
                RowSet::Bits(bits) => words.iter_mut().zip(bits.words()).for_each(|(word, own)| *word |= own),
                rows => rows.for_each(|row| set(words, row)),
            },
            Node::Range(range) => crate::index::fill(words, range.start as usize..range.end as usize),
            Node::Texts(texts, codes) => self.unite_texts(texts, codes, words),
            Node::Ordered { numbers, order, places, spans } => {
                let count: usize = places.iter().map(ExactSizeIterator::len).sum();
                if count > self.rows as usize / 8 {
                    scan(numbers, spans.iter(), words);
                } else {
                    places.iter().flat_map(|range| &order[range.clone()]).for_each(|row| set(words, *row));
                }
            }
            Node::Scanned(numbers, spans) => scan(numbers, spans.iter(), words),
            Node::Ids(ids, places) => {
                places.iter().flat_map(|range| &ids.order()[range.clone()]).for_each(|row| set(words, *row));
            }
        }
    }

    /// Adds the rows of some codes; if they are most, all rows without those of the other codes.
    fn unite_texts(self, texts: &Texts, codes: &Codes, words: &mut [u64]) {
        if codes.rows <= self.rows as usize / 2 {
            return change(texts, &codes.ranges, words, |word, bits| *word |= bits);
        }
        let mut own = vec![0; words.len()];
        crate::index::fill(&mut own, 0..self.rows as usize);
        change(texts, &codes.others(texts), &mut own, |word, bits| *word &= !bits);
        words.iter_mut().zip(own).for_each(|(word, own)| *word |= own);
    }
}

/// Changes the bits of the rows of some codes: of frequent ones by their bitmaps, of the others one
/// by one.
fn change(texts: &Texts, codes: &[Range<u32>], words: &mut [u64], change: impl Fn(&mut u64, u64)) {
    let one_by_one = |codes: Range<u32>, words: &mut [u64]| {
        for row in &texts.rows(&codes) {
            change(&mut words[*row as usize / 64], 1 << (row % 64));
        }
    };
    for range in codes {
        let mut from = range.start;
        for code in texts.frequent(range) {
            one_by_one(from..*code, words);
            if let Some(bits) = texts.bits(*code) {
                words.iter_mut().zip(bits).for_each(|(word, own)| change(word, *own));
            }
            from = code + 1;
        }
        one_by_one(from..range.end, words);
    }
}

fn scan(numbers: &Numbers, spans: impl Iterator<Item = (i64, i64)>, words: &mut [u64]) {
    spans.for_each(|span| numbers.mark_between(span, words));
}

fn set(words: &mut [u64], row: u32) {
    words[row as usize / 64] |= 1 << (row % 64);
}

/// Returns the rows of a few codes that lie in a range, as they lie in the index.
fn lists(texts: &Texts, codes: &Codes, window: &Range<u32>) -> RowSet {
    let each = codes.ranges.iter().flat_map(Clone::clone);
    let mut lists: Vec<_> = each.map(|code| within(&texts.rows(&(code..code + 1)), window)).collect();
    if lists.len() == 1 { RowSet::List(lists.remove(0)) } else { RowSet::Lists(lists) }
}

/// Returns the rows of an ascending list that lie in a range.
fn within(list: &ScalarBuffer<u32>, range: &Range<u32>) -> ScalarBuffer<u32> {
    let place = |bound: u32| list.partition_point(|row| *row < bound);
    // Most ranges hold the whole list, which is seen at its ends.
    let start = if range.start == 0 { 0 } else { place(range.start) };
    let end = if list.last().is_none_or(|last| *last < range.end) { list.len() } else { place(range.end) };
    list.slice(start, end.saturating_sub(start))
}

fn sorted(mut rows: Vec<u32>) -> RowSet {
    rows.sort_unstable();
    rows.dedup();
    RowSet::List(ScalarBuffer::from(rows))
}
