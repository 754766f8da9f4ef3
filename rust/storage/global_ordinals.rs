//! One number for each session, whatever segments it occurs in.
//!
//! A segment knows its sessions by codes of its own. Numbers that all segments share are found once for
//! a set of segments, by walking their sorted sessions side by side; so a search compares sessions without
//! looking at their ids. When segments come and go, those that stay keep their numbers: the sessions of a
//! new one are looked for among the others. Most sessions lie within one segment; which do not is known, so
//! that a search counts the others by the segment's own codes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use rayon::prelude::*;

use crate::index::{Index, Texts};
use crate::schema::Field;

/// For each code of a session the first segment that has the session, and its code there; `None` if none has it.
pub type KnownSessions = Arc<[Option<(usize, u32)>]>;

/// The sessions of some segments, each with a number.
#[derive(Debug)]
pub struct Ordinals {
    /// Tells these numbers from any others.
    id: u64,
    segments: Vec<Arc<Index>>,
    /// For each segment the number of every code.
    of_codes: Vec<Arc<[u32]>>,
    /// For each segment a bit for every code, set if another segment has the session too.
    shared: Vec<Vec<u64>>,
    /// All numbers are below.
    end: u32,
    /// How many of them are the number of a session.
    count: u32,
}

/// Numbers that segments had in an earlier state. Segments that are gone are not held.
#[derive(Debug)]
pub(crate) struct Earlier {
    of_segments: Vec<(Weak<Index>, Arc<[u32]>)>,
    end: u32,
}

/// Stands for a number that is not known yet.
const UNKNOWN: u32 = u32::MAX;

impl Ordinals {
    /// Numbers the sessions of `segments`, whose session ids are sound; as `earlier` did, if most of them
    /// were numbered there.
    pub(crate) fn new(segments: Vec<Arc<Index>>, earlier: Option<&Earlier>) -> Self {
        let texts: Vec<&Texts> = segments.iter().filter_map(|index| index.texts(Field::SessionId)).collect();
        let (of_codes, end) = earlier
            .and_then(|earlier| earlier.extended(&segments, &texts))
            .unwrap_or_else(|| numbered(&texts));
        Self::of(segments, of_codes, end)
    }

    fn of(segments: Vec<Arc<Index>>, of_codes: Vec<Arc<[u32]>>, end: u32) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut holders = vec![0_u8; end as usize];
        for number in of_codes.iter().flat_map(|numbers| numbers.iter()) {
            let holders = &mut holders[*number as usize];
            *holders = holders.saturating_add(1);
        }
        let shared = of_codes.par_iter().map(|numbers| {
            let shared = |number: &u32| u64::from(holders[*number as usize] > 1);
            let word = |numbers: &[u32]| numbers.iter().rev().fold(0, |word, own| word << 1 | shared(own));
            numbers.chunks(64).map(word).collect()
        });
        let shared = shared.collect();
        let count = holders.iter().filter(|holders| **holders > 0).count();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), segments, of_codes, shared, end, count }
    }

    /// Returns these numbers for later states.
    pub(crate) fn earlier(&self) -> Earlier {
        let known = self.segments.iter().map(Arc::downgrade).zip(self.of_codes.iter().cloned());
        Earlier { of_segments: known.collect(), end: self.end }
    }

    /// Returns how many sessions there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns a number above those of all sessions.
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Returns how many segments there are.
    pub fn segments(&self) -> usize {
        self.of_codes.len()
    }

    /// Returns the number of every code of a segment; segments stand in the order of a snapshot.
    pub fn of_segment(&self, segment: usize) -> &[u32] {
        &self.of_codes[segment]
    }

    /// Returns a bit for every code of a segment: whether other segments have that session too.
    pub fn shared(&self, segment: usize) -> &[u64] {
        &self.shared[segment]
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the first segment that has a session, and its code there.
    pub(crate) fn find(&self, session: &[u8]) -> Option<(usize, u32)> {
        self.segments.iter().enumerate().find_map(|(segment, index)| {
            let texts = index.texts(Field::SessionId)?;
            let code = texts.first_code(|text| text >= session);
            (code < texts.distinct() && texts.value(code) == session).then_some((segment, code))
        })
    }
}

impl Earlier {
    /// Returns the numbers of every segment and where they end, if most sessions are numbered already.
    fn extended(&self, segments: &[Arc<Index>], texts: &[&Texts]) -> Option<(Vec<Arc<[u32]>>, u32)> {
        let known = |index: &Arc<Index>| {
            let is_it = |(known, _): &&(Weak<Index>, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(index));
            self.of_segments.iter().find(is_it).map(|(_, numbers)| numbers.clone())
        };
        let mut of_codes: Vec<Option<Arc<[u32]>>> = segments.iter().map(known).collect();
        let all: usize = texts.iter().map(|texts| texts.distinct() as usize).sum();
        let old: usize = of_codes.iter().flatten().map(|numbers| numbers.len()).sum();
        // Numbers of segments that are gone are not given out again.
        if 2 * old < all || self.end as usize > 2 * all {
            return None;
        }
        let mut end = self.end;
        for place in 0..segments.len() {
            if of_codes[place].is_none() {
                let others =
                    texts.iter().zip(&of_codes).filter_map(|(texts, own)| Some((*texts, own.as_deref()?)));
                let mut numbers = looked_up(texts[place], &others.collect::<Vec<_>>());
                for number in numbers.iter_mut().filter(|number| **number == UNKNOWN) {
                    (*number, end) = (end, end + 1);
                }
                of_codes[place] = Some(numbers.into());
            }
        }
        Some((of_codes.into_iter().flatten().collect(), end))
    }
}

/// Returns the number of every session of a segment that one of the others has too; [`UNKNOWN`] of those that
/// none has.
fn looked_up(own: &Texts, others: &[(&Texts, &[u32])]) -> Vec<u32> {
    let found = others.par_iter().map(|(texts, numbers)| {
        let mut common = Vec::new();
        let swapped = texts.distinct() < own.distinct();
        let (few, many) = if swapped { (*texts, own) } else { (own, *texts) };
        let mut place = 0;
        for code in 0..few.distinct() {
            let text = few.value(code);
            place = many.first_code_from(place, |other| other >= text);
            if place < many.distinct() && many.value(place) == text {
                let (own, other) = if swapped { (place, code) } else { (code, place) };
                common.push((own, numbers[other as usize]));
            }
        }
        common
    });
    let mut numbers = vec![UNKNOWN; own.distinct() as usize];
    for (code, number) in found.collect::<Vec<_>>().into_iter().flatten() {
        numbers[code as usize] = number;
    }
    numbers
}

/// Returns the numbers of every segment, from zero in the order of the sessions, and where they end.
fn numbered(texts: &[&Texts]) -> (Vec<Arc<[u32]>>, u32) {
    let bounds = cuts(texts);
    let pieces: Vec<Piece> =
        bounds.par_windows(2).map(|pair| Piece::numbered(texts, &pair[0], &pair[1])).collect();
    let (mut of_codes, mut end) = (vec![Vec::new(); texts.len()], 0);
    for piece in pieces {
        for (all, own) in of_codes.iter_mut().zip(piece.of_codes) {
            all.extend(own.into_iter().map(|number| number + end));
        }
        end += piece.count;
    }
    (of_codes.into_iter().map(Arc::from).collect(), end)
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
