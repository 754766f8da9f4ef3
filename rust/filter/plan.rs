//! Predicate x index -> the rows where it holds, by whichever way costs least.
//!
//! One value's rows are taken as they lie in the index; nothing is copied or counted. Parts of an
//! `AND` are intersected from the smallest on: its rows are looked up in the others one by one, or, if
//! they are many, all become bitmaps. What a way costs is estimated in words of a bitmap.

use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use super::predicate::Predicate;
use super::resolve::{Codes, Node, resolve};
use crate::index::{Bits, Index, Numbers, Rows, Texts};

/// So many lists are walked side by side; of more, one set is made.
const FEW_LISTS: usize = 16;
/// Looking one row up in one part costs about as much as so many words of a bitmap.
const PROBE: usize = 8;
/// Rows are sorted as long as they are fewer than one in so many; else they become a bitmap.
const SPARSE: usize = 256;

/// Returns the rows of `index` of which `predicate` is true.
pub(super) fn rows(predicate: &Predicate, index: &Index) -> Rows {
    Plan { rows: index.rows() }.rows(simplified(resolve(predicate, true, index), index.rows()))
}

/// Whether `predicate` is true of a row.
pub(super) fn holds(predicate: &Predicate, index: &Index, row: u32) -> bool {
    contains(&resolve(predicate, true, index), row)
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

/// Returns how many rows a node holds at most.
fn size(node: &Node<'_>, rows: u32) -> usize {
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

/// How to intersect parts as bitmaps.
struct Way<'p, 'i> {
    /// These become bitmaps, in this order.
    united: Vec<&'p Node<'i>>,
    /// In these every row that is left is looked up.
    looked_up: Vec<&'p Node<'i>>,
    cost: usize,
}

/// Makes sets of the rows of one index.
#[derive(Clone, Copy)]
struct Plan {
    rows: u32,
}

impl Plan {
    fn rows(self, node: Node<'_>) -> Rows {
        match node {
            Node::Range(range) => Rows::Range(range),
            Node::Texts(texts, codes) if codes.count() == 1 => Rows::List(texts.rows(&codes.ranges[0])),
            Node::Texts(texts, codes) if codes.count() <= FEW_LISTS => {
                let each = codes.ranges.iter().flat_map(Clone::clone);
                Rows::Lists(each.map(|code| texts.rows(&(code..code + 1))).collect())
            }
            Node::All(parts) => self.all(&parts),
            node if size(&node, self.rows) < self.rows as usize / SPARSE => self.sparse(&node),
            node => Rows::Bits(Bits::new(self.bits(&node))),
        }
    }

    /// Returns the rows of a node that holds few, sorted.
    fn sparse(self, node: &Node<'_>) -> Rows {
        let mut found = Vec::new();
        self.gather(node, &mut found);
        found.sort_unstable();
        found.dedup();
        Rows::List(ScalarBuffer::from(found))
    }

    /// Appends the rows of a node, in no order; one that several parts hold may come several times.
    fn gather(self, node: &Node<'_>, found: &mut Vec<u32>) {
        match node {
            Node::Any(parts) => parts.iter().for_each(|part| self.gather(part, found)),
            Node::All(parts) => self.all(parts).for_each(|row| found.push(row)),
            Node::Range(range) => found.extend(range.clone()),
            Node::Texts(texts, codes) => {
                codes.ranges.iter().for_each(|range| found.extend_from_slice(&texts.rows(range)));
            }
            Node::Ordered { order, places, .. } => {
                found.extend(places.iter().flat_map(|range| &order[range.clone()]));
            }
            Node::Ids(ids, places) => {
                found.extend(places.iter().flat_map(|range| &ids.order()[range.clone()]));
            }
            Node::Scanned(_, _) => Rows::Bits(Bits::new(self.bits(node))).for_each(|row| found.push(row)),
        }
    }

    /// Returns the rows that all parts hold; the smallest part comes first.
    fn all(self, parts: &[Node<'_>]) -> Rows {
        let Some((smallest, others)) = parts.split_first() else { return Rows::Range(0..self.rows) };
        let few = size(smallest, self.rows);
        if few == 0 {
            return Rows::NONE;
        }
        if let (Node::Range(range), [Node::Texts(texts, codes)])
        | (Node::Texts(texts, codes), [Node::Range(range)]) = (smallest, others)
            && codes.count() == 1
        {
            return Rows::List(within(&texts.rows(&codes.ranges[0]), range));
        }
        let way = self.way(parts);
        if self.cost_one_by_one(parts) > way.cost {
            return Rows::Bits(Bits::new(self.intersected(&way)));
        }
        let mut found = Vec::new();
        let is_in_others = |row: &u32| others.iter().all(|part| contains(part, *row));
        if let Node::Range(range) = smallest {
            found.extend(range.clone().filter(is_in_others));
        } else {
            self.gather(smallest, &mut found);
            found.retain(is_in_others);
            found.sort_unstable();
            found.dedup();
        }
        Rows::List(ScalarBuffer::from(found))
    }

    /// Returns what it costs to look up the rows of the first part in the others; each lets through about
    /// as many as it holds of all.
    fn cost_one_by_one(self, parts: &[Node<'_>]) -> usize {
        let Some((smallest, others)) = parts.split_first() else { return 0 };
        let mut left = size(smallest, self.rows);
        let mut cost = 2 * left;
        for part in others {
            cost += left * PROBE;
            left = self.portion(left, part);
        }
        cost
    }

    /// Returns which parts become bitmaps, the cheapest first, and in which the rows that are left by
    /// then are looked up.
    fn way<'p, 'i>(self, parts: &'p [Node<'i>]) -> Way<'p, 'i> {
        let mut by_cost: Vec<_> = parts.iter().map(|part| (self.cost(part), part)).collect();
        by_cost.sort_by_key(|(cost, _)| *cost);
        let mut way = Way { united: Vec::new(), looked_up: Vec::new(), cost: 0 };
        let mut left = self.rows as usize;
        for (cost, part) in by_cost {
            if way.united.is_empty() || cost <= left * PROBE {
                way.united.push(part);
                way.cost += cost;
            } else {
                way.looked_up.push(part);
                way.cost += left * PROBE;
            }
            left = self.portion(left, part);
        }
        way
    }

    fn portion(self, rows: usize, part: &Node<'_>) -> usize {
        rows * size(part, self.rows) / (self.rows as usize).max(1)
    }

    fn intersected(self, way: &Way<'_, '_>) -> Vec<u64> {
        let mut words = vec![u64::MAX; (self.rows as usize).div_ceil(64)];
        if let Some((first, others)) = way.united.split_first() {
            words = self.bits(first);
            for part in others {
                self.intersect(part, &mut words);
            }
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

    /// Returns about how many words of a bitmap it costs to make one of a node.
    fn cost(self, node: &Node<'_>) -> usize {
        let rows = self.rows as usize;
        let words = rows / 64 + 1;
        match node {
            Node::All(parts) => words + self.cost_one_by_one(parts).min(self.way(parts).cost),
            Node::Any(parts) => parts.iter().map(|part| self.cost(part)).sum(),
            Node::Range(_) => words,
            Node::Texts(texts, codes) => words + cost_of_codes(texts, codes, rows),
            Node::Ordered { .. } => words + (2 * size(node, self.rows)).min(rows / 4),
            Node::Ids(_, _) => words + 2 * size(node, self.rows),
            Node::Scanned(_, _) => words + rows / 4,
        }
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
            Node::Any(parts) => parts.iter().for_each(|part| self.unite(part, words)),
            Node::All(parts) => match self.all(parts) {
                Rows::Bits(bits) => words.iter_mut().zip(bits.words()).for_each(|(word, own)| *word |= own),
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

/// Returns about how many words it costs to add the rows of some codes, or to take out those of the
/// others if these are most.
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
    (bitmaps + usize::from(is_most)) * (rows / 64) + 2 * all.saturating_sub(by_bitmap)
}

fn scan(numbers: &Numbers, spans: impl Iterator<Item = (i64, i64)>, words: &mut [u64]) {
    spans.for_each(|span| numbers.mark_between(span, words));
}

fn set(words: &mut [u64], row: u32) {
    words[row as usize / 64] |= 1 << (row % 64);
}

/// Returns the rows of an ascending list that lie in a range.
fn within(list: &ScalarBuffer<u32>, range: &Range<u32>) -> ScalarBuffer<u32> {
    let start = list.partition_point(|row| *row < range.start);
    let end = list.partition_point(|row| *row < range.end);
    list.slice(start, end.saturating_sub(start))
}
