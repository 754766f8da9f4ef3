//! Global ordinals of sessions: one number per session (an id with its owner) across all segments.
//!
//! Each segment has its own session codes. Global ordinals are computed once for a set of segments, by
//! merging their sorted sessions. Searches then compare sessions by number instead of by id. When segments
//! are added or removed, the other segments keep their ordinals, and the sessions of a new segment are looked
//! up in the others. Most sessions occur in one segment only. The shared ones are marked, so that a search
//! counts the others by the codes of their segment.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use rayon::prelude::*;

use super::merged_texts::{common, merge, range_bounds};
use crate::index::Boundary;
use crate::index::columns::{Index, Texts};

/// For each session code, the first segment that has the session and its code there; `None` if no segment has it.
pub type KnownSessions = Arc<[Option<(usize, u32)>]>;

/// The ordinals of the sessions of some segments.
#[derive(Debug)]
pub struct GlobalOrdinals {
    /// A unique id of these ordinals.
    id: u64,
    segments: Vec<Arc<Index>>,
    /// For each segment, the ordinal of every code.
    by_code: Vec<Arc<[u32]>>,
    /// For each segment, a bit per code that is set if another segment has the session as well.
    shared: Vec<Vec<u64>>,
    /// An exclusive upper bound of all ordinals.
    end: u32,
    /// The number of sessions; some ordinals below `end` may be unused.
    count: u32,
}

/// The ordinals of an earlier set of segments. Does not keep removed segments alive.
#[derive(Debug)]
pub(crate) struct PreviousOrdinals {
    by_segment: Vec<(Weak<Index>, Arc<[u32]>)>,
    end: u32,
}

/// A placeholder for an unassigned ordinal.
const UNASSIGNED: u32 = u32::MAX;

impl GlobalOrdinals {
    /// Computes the ordinals of the sessions of `segments`, whose session ids must be verified. Extends the `previous`
    /// ordinals if these cover most sessions.
    pub(crate) fn new(segments: Vec<Arc<Index>>, previous: Option<&PreviousOrdinals>) -> Self {
        let texts: Vec<&Texts> = segments.iter().map(|index| index.sessions()).collect();
        let (by_code, end) = previous
            .and_then(|previous| previous.extend(&segments, &texts))
            .unwrap_or_else(|| merge_all(&texts));
        Self::from_codes(segments, by_code, end)
    }

    fn from_codes(segments: Vec<Arc<Index>>, by_code: Vec<Arc<[u32]>>, end: u32) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut holders = vec![0_u8; end as usize];
        for ordinal in by_code.iter().flat_map(|ordinals| ordinals.iter()) {
            let holders = &mut holders[*ordinal as usize];
            *holders = holders.saturating_add(1);
        }
        let shared = by_code.par_iter().map(|ordinals| {
            let shared = |ordinal: &u32| u64::from(holders[*ordinal as usize] > 1);
            let word = |ordinals: &[u32]| ordinals.iter().rev().fold(0, |word, own| word << 1 | shared(own));
            ordinals.chunks(64).map(word).collect()
        });
        let shared = shared.collect();
        let count = holders.iter().filter(|holders| **holders > 0).count();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), segments, by_code, shared, end, count }
    }

    /// Returns these ordinals as the base for those of later segments.
    pub(crate) fn to_previous(&self) -> PreviousOrdinals {
        let known = self.segments.iter().map(Arc::downgrade).zip(self.by_code.iter().cloned());
        PreviousOrdinals { by_segment: known.collect(), end: self.end }
    }

    /// Returns the number of sessions.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns a number greater than all ordinals.
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Returns the number of segments.
    pub fn segments(&self) -> usize {
        self.by_code.len()
    }

    /// Returns the ordinal of every code of a segment. Segments are in the order of the snapshot.
    pub fn of_segment(&self, segment: usize) -> &[u32] {
        &self.by_code[segment]
    }

    /// Returns a bit per code of a segment, which is set if another segment has the session as well.
    pub fn shared(&self, segment: usize) -> &[u64] {
        &self.shared[segment]
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the first segment that has the session with this key, and the session's code there.
    pub(crate) fn find(&self, session: &[u8]) -> Option<(usize, u32)> {
        self.segments.iter().enumerate().find_map(|(segment, index)| {
            let texts = index.sessions();
            let code = texts.first_code(Boundary::Before(session));
            (code < texts.distinct() && texts.value(code) == session).then_some((segment, code))
        })
    }
}

impl PreviousOrdinals {
    /// Returns the ordinals of every segment and their end; `None` if too few sessions have an ordinal
    /// already.
    fn extend(&self, segments: &[Arc<Index>], texts: &[&Texts]) -> Option<(Vec<Arc<[u32]>>, u32)> {
        let known = |index: &Arc<Index>| {
            let is_it = |(known, _): &&(Weak<Index>, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(index));
            self.by_segment.iter().find(is_it).map(|(_, ordinals)| ordinals.clone())
        };
        let mut by_code: Vec<Option<Arc<[u32]>>> = segments.iter().map(known).collect();
        let all: usize = texts.iter().map(|texts| texts.distinct() as usize).sum();
        let old: usize = by_code.iter().flatten().map(|ordinals| ordinals.len()).sum();
        // The ordinals of removed segments are not reused, so too many may be unused.
        if 2 * old < all || self.end as usize > 2 * all {
            return None;
        }
        let mut end = self.end;
        for segment in 0..segments.len() {
            if by_code[segment].is_none() {
                let others =
                    texts.iter().zip(&by_code).filter_map(|(texts, own)| Some((*texts, own.as_deref()?)));
                let mut ordinals = look_up_common(texts[segment], &others.collect::<Vec<_>>());
                for ordinal in ordinals.iter_mut().filter(|ordinal| **ordinal == UNASSIGNED) {
                    (*ordinal, end) = (end, end + 1);
                }
                by_code[segment] = Some(ordinals.into());
            }
        }
        Some((by_code.into_iter().flatten().collect(), end))
    }
}

/// Returns the ordinal of every session of a segment that another segment has as well, and [`UNASSIGNED`] for
/// the others.
fn look_up_common(own: &Texts, others: &[(&Texts, &[u32])]) -> Vec<u32> {
    let found = others.par_iter().map(|(texts, ordinals)| {
        let common = common(own, texts).into_iter();
        common.map(|(own, other)| (own, ordinals[other as usize])).collect::<Vec<_>>()
    });
    let mut ordinals = vec![UNASSIGNED; own.distinct() as usize];
    for (code, ordinal) in found.collect::<Vec<_>>().into_iter().flatten() {
        ordinals[code as usize] = ordinal;
    }
    ordinals
}

/// Returns the ordinals of every segment, in the order of the sessions, and their end.
fn merge_all(texts: &[&Texts]) -> (Vec<Arc<[u32]>>, u32) {
    let bounds = range_bounds(texts);
    let ranges: Vec<SessionRange> =
        bounds.par_windows(2).map(|pair| SessionRange::merge(texts, &pair[0], &pair[1])).collect();
    let (mut by_code, mut end) = (vec![Vec::new(); texts.len()], 0);
    for range in ranges {
        for (all, own) in by_code.iter_mut().zip(range.by_code) {
            all.extend(own.into_iter().map(|ordinal| ordinal + end));
        }
        end += range.count;
    }
    (by_code.into_iter().map(Arc::from).collect(), end)
}

/// A contiguous range of sessions, with ordinals that start at zero.
struct SessionRange {
    by_code: Vec<Vec<u32>>,
    count: u32,
}

impl SessionRange {
    /// Merges the sessions of every segment from the codes `from` up to the codes `to`.
    fn merge(texts: &[&Texts], from: &[u32], to: &[u32]) -> Self {
        let mut by_code: Vec<Vec<u32>> =
            from.iter().zip(to).map(|(from, to)| Vec::with_capacity((to - from) as usize)).collect();
        let mut count = 0;
        merge(texts, from, to, |segment, _, is_new| {
            count += u32::from(is_new);
            by_code[segment].push(count - 1);
        });
        Self { by_code, count }
    }
}
