//! The numbers of sessions in every part of a search, segments and batches of the head.

use std::collections::HashMap;

use super::selection::Selection;
use crate::error::Result;
use crate::storage::{GlobalOrdinals, KnownSessions, Snapshot};

/// For each selection the number of every code of a session. Equal sessions have equal numbers.
pub(super) struct Numbered<'a> {
    ordinals: &'a GlobalOrdinals,
    parts: Vec<Source>,
    end: usize,
}

/// Where the numbers of a part stand.
enum Source {
    Segment(usize),
    Head { numbers: Vec<u32>, known: KnownSessions },
}

impl<'a> Numbered<'a> {
    /// Numbers the sessions of all selections.
    ///
    /// # Errors
    /// Damage met while an index is built anew.
    pub(super) fn new(snapshot: &'a Snapshot, selections: &[Selection<'_>]) -> Result<Self> {
        let ordinals = snapshot.global_ordinals()?;
        // Sessions that no segment has are numbered behind the others, anew in every search.
        let mut others: HashMap<&[u8], u32> = HashMap::new();
        let mut parts = Vec::with_capacity(selections.len());
        for selection in selections {
            let Some(known) = selection.part.known_sessions(ordinals) else {
                parts.push(Source::Segment(snapshot.segments_before(selection.place)));
                continue;
            };
            let number = |(code, known): (usize, &Option<(usize, u32)>)| {
                if let Some((segment, code)) = *known {
                    return ordinals.of_segment(segment)[code as usize];
                }
                let next = ordinals.end().saturating_add(u32::try_from(others.len()).unwrap_or(u32::MAX));
                *others.entry(selection.view.session(code)).or_insert(next)
            };
            let numbers = known.iter().enumerate().map(number).collect();
            parts.push(Source::Head { numbers, known });
        }
        Ok(Self { ordinals, parts, end: ordinals.end() as usize + others.len() })
    }

    /// Returns a number above those of all sessions.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Returns how many sessions the segments have.
    pub(super) fn sealed(&self) -> u64 {
        u64::from(self.ordinals.count())
    }

    /// Whether a selection is of a segment.
    pub(super) fn is_segment(&self, part: usize) -> bool {
        matches!(self.parts[part], Source::Segment(_))
    }

    /// Whether there is a selection of every segment.
    pub(super) fn is_every_segment(&self) -> bool {
        let segments = self.parts.iter().filter(|part| matches!(part, Source::Segment(_)));
        segments.count() == self.ordinals.segments()
    }

    /// Returns the number of every code of a selection.
    pub(super) fn of_part(&self, part: usize) -> &[u32] {
        match &self.parts[part] {
            Source::Segment(segment) => self.ordinals.of_segment(*segment),
            Source::Head { numbers, .. } => numbers,
        }
    }

    /// Returns a bit for every code of a selection, set if several segments have that session; `None` of a batch of
    /// the head.
    pub(super) fn shared(&self, part: usize) -> Option<&[u64]> {
        match &self.parts[part] {
            Source::Segment(segment) => Some(self.ordinals.shared(*segment)),
            Source::Head { .. } => None,
        }
    }

    /// Returns the only segment that has a session, as the selection it is and the session's code there. `None` if
    /// there are several, or none, or no row of it is selected.
    pub(super) fn only_segment(&self, part: usize, code: usize) -> Option<(usize, usize)> {
        let (segment, code) = self.home(part, code)?;
        let selection =
            self.parts.iter().position(|part| matches!(part, Source::Segment(own) if *own == segment))?;
        (!is_set(self.ordinals.shared(segment), code)).then_some((selection, code))
    }

    /// Whether a segment has the session that is `code` in `part`.
    pub(super) fn is_sealed(&self, part: usize, code: usize) -> bool {
        self.home(part, code).is_some()
    }

    /// Whether a selection may have rows of the session that is `code` in `part`.
    pub(super) fn may_have(&self, other: usize, (part, code): (usize, usize)) -> bool {
        let Source::Segment(other) = self.parts[other] else { return true };
        let home = self.home(part, code);
        home.is_some_and(|(segment, code)| segment == other || is_set(self.ordinals.shared(segment), code))
    }

    /// Returns a segment that has a session, and its code there.
    fn home(&self, part: usize, code: usize) -> Option<(usize, usize)> {
        match &self.parts[part] {
            Source::Segment(segment) => Some((*segment, code)),
            Source::Head { known, .. } => known[code].map(|(segment, code)| (segment, code as usize)),
        }
    }
}

/// Whether the bit at `place` is set.
pub(super) fn is_set(words: &[u64], place: usize) -> bool {
    words[place / 64] >> (place % 64) & 1 == 1
}

/// Sets the bit at `place`; returns whether it was not set before.
pub(super) fn set(words: &mut [u64], place: usize) -> bool {
    let is_new = !is_set(words, place);
    words[place / 64] |= 1 << (place % 64);
    is_new
}
