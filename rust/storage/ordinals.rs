//! One number for each session, whatever segments it occurs in.
//!
//! A segment knows its sessions by codes of its own. Numbers that all segments share are found once for
//! a set of segments, by walking their sorted sessions side by side; so a search counts and compares
//! sessions without looking at their ids.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::index::{Index, Texts};
use crate::schema::Field;

/// The sessions of some segments, numbered from zero.
#[derive(Debug)]
pub struct Ordinals {
    /// Tells these numbers from any others.
    id: u64,
    segments: Vec<Arc<Index>>,
    /// For each segment the number of every code.
    of_codes: Vec<Vec<u32>>,
    count: u32,
}

impl Ordinals {
    /// Numbers the sessions of `segments`, whose session ids are sound.
    pub(super) fn new(segments: Vec<Arc<Index>>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let texts: Vec<&Texts> = segments.iter().filter_map(|index| index.texts(Field::SessionId)).collect();
        let bounds = cuts(&texts);
        let pieces: Vec<Piece> =
            bounds.par_windows(2).map(|pair| Piece::numbered(&texts, &pair[0], &pair[1])).collect();
        let (mut of_codes, mut count) = (vec![Vec::new(); texts.len()], 0);
        for piece in pieces {
            for (all, own) in of_codes.iter_mut().zip(piece.of_codes) {
                all.extend(own.into_iter().map(|number| number + count));
            }
            count += piece.count;
        }
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), segments, of_codes, count }
    }

    /// Returns how many sessions there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns how many segments there are.
    pub fn segments(&self) -> usize {
        self.of_codes.len()
    }

    /// Returns the number of every code of a segment; segments stand in the order of a snapshot.
    pub fn of_segment(&self, segment: usize) -> &[u32] {
        &self.of_codes[segment]
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the number of a session, if a segment has it.
    pub(super) fn find(&self, session: &[u8]) -> Option<u32> {
        self.segments.iter().zip(&self.of_codes).find_map(|(index, numbers)| {
            let texts = index.texts(Field::SessionId)?;
            let code = texts.first_code(|text| text >= session);
            let is_there = code < texts.distinct() && texts.value(code) == session;
            is_there.then(|| numbers[code as usize])
        })
    }
}

/// Returns, for each of a few neighbouring pieces of all sessions, the first code of every segment.
fn cuts(texts: &[&Texts]) -> Vec<Vec<u32>> {
    const PIECES: u32 = 8;
    let largest = texts.iter().max_by_key(|texts| texts.distinct());
    let between = (1..PIECES).filter_map(|piece| {
        let largest = largest.filter(|largest| largest.distinct() > PIECES)?;
        let cut = largest.value(largest.distinct() / PIECES * piece);
        Some(texts.iter().map(|texts| texts.first_code(|text| text >= cut)).collect())
    });
    let first = std::iter::once(vec![0; texts.len()]);
    let last = std::iter::once(texts.iter().map(|texts| texts.distinct()).collect());
    first.chain(between).chain(last).collect()
}

/// Some neighbouring sessions, numbered from zero.
struct Piece {
    of_codes: Vec<Vec<u32>>,
    count: u32,
}

impl Piece {
    fn numbered(texts: &[&Texts], from: &[u32], to: &[u32]) -> Self {
        let common = common_prefix(texts, from, to);
        let next = |segment: usize, code: u32| {
            let text = texts[segment].value(code);
            Reverse((leading(text, common), text, segment, code))
        };
        let mut of_codes: Vec<Vec<u32>> =
            from.iter().zip(to).map(|(from, to)| Vec::with_capacity((to - from) as usize)).collect();
        let begun = (0..texts.len()).filter(|segment| from[*segment] < to[*segment]);
        let mut heads: BinaryHeap<_> = begun.map(|segment| next(segment, from[segment])).collect();
        let (mut count, mut last) = (0, None);
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((_, text, segment, code)) = *head;
            if last != Some(text) {
                (count, last) = (count + 1, Some(text));
            }
            of_codes[segment].push(count - 1);
            if code + 1 < to[segment] {
                *head = next(segment, code + 1);
            } else {
                std::collections::binary_heap::PeekMut::pop(head);
            }
        }
        Self { of_codes, count }
    }
}

/// Returns how many bytes all texts of a piece begin with.
fn common_prefix(texts: &[&Texts], from: &[u32], to: &[u32]) -> usize {
    let ends = texts.iter().zip(from.iter().zip(to)).filter(|(_, (from, to))| from < to);
    let ends: Vec<&[u8]> =
        ends.flat_map(|(texts, (from, to))| [texts.value(*from), texts.value(*to - 1)]).collect();
    let (Some(least), Some(greatest)) = (ends.iter().min(), ends.iter().max()) else { return 0 };
    least.iter().zip(greatest.iter()).take_while(|(one, other)| one == other).count()
}

/// Returns eight bytes of a text as a number in the order of texts; unequal numbers tell texts apart.
fn leading(text: &[u8], common: usize) -> u64 {
    let mut bytes = [0; 8];
    let rest = text.get(common..).unwrap_or_default();
    let length = rest.len().min(8);
    bytes[..length].copy_from_slice(&rest[..length]);
    u64::from_be_bytes(bytes)
}
