//! Numbers the sessions of a search across all its parts, segments and batches of the head.

use std::collections::HashMap;

use crate::bitmap::{is_set, set};
use crate::error::Result;
use crate::index::ordinals::{GlobalOrdinals, KnownSessions};
use crate::query::rows::selection::Selection;
use crate::storage::Snapshot;

/// The number of every session code of each selection. Equal sessions have equal numbers.
pub(crate) struct SessionNumbers<'a> {
    ordinals: &'a GlobalOrdinals,
    parts: Vec<PartNumbers>,
    end: usize,
}

/// The source of the numbers of a part.
enum PartNumbers {
    Segment(usize),
    Head { numbers: Vec<u32>, known: KnownSessions },
}

impl<'a> SessionNumbers<'a> {
    /// Numbers the sessions of all selections.
    ///
    /// # Errors
    /// Damage found while an index is rebuilt.
    pub(crate) fn new(snapshot: &'a Snapshot, selections: &[Selection<'_>]) -> Result<Self> {
        let ordinals = snapshot.global_ordinals()?;
        // Sessions of the head alone get the following numbers, which are assigned anew in every search.
        let mut head_only: HashMap<&[u8], u32> = HashMap::new();
        let mut parts = Vec::with_capacity(selections.len());
        for selection in selections {
            let Some(known) = selection.part.known_sessions(ordinals) else {
                parts.push(PartNumbers::Segment(snapshot.segments_before(selection.index)));
                continue;
            };
            let number = |(code, known): (usize, &Option<(usize, u32)>)| {
                if let Some((segment, code)) = *known {
                    return ordinals.of_segment(segment)[code as usize];
                }
                let next = ordinals.end().saturating_add(u32::try_from(head_only.len()).unwrap_or(u32::MAX));
                *head_only.entry(selection.view.session(code)).or_insert(next)
            };
            let numbers = known.iter().enumerate().map(number).collect();
            parts.push(PartNumbers::Head { numbers, known });
        }
        Ok(Self { ordinals, parts, end: ordinals.end() as usize + head_only.len() })
    }

    /// Returns the exclusive upper bound of all numbers.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// Returns one bit per number, set if a batch of the head has the session; `None` without such a batch.
    pub(crate) fn in_head(&self) -> Option<Vec<u64>> {
        let mut words: Option<Vec<u64>> = None;
        for part in &self.parts {
            let PartNumbers::Head { numbers, .. } = part else { continue };
            let words = words.get_or_insert_with(|| vec![0; self.end.div_ceil(64)]);
            for number in numbers {
                set(words, *number as usize);
            }
        }
        words
    }

    /// Returns the number of sessions in all segments together.
    pub(crate) fn segment_sessions(&self) -> u64 {
        u64::from(self.ordinals.count())
    }

    /// True if a selection belongs to a segment.
    pub(crate) fn is_segment(&self, part: usize) -> bool {
        matches!(self.parts[part], PartNumbers::Segment(_))
    }

    /// True if every segment has a selection.
    pub(crate) fn is_every_segment(&self) -> bool {
        let segments = self.parts.iter().filter(|part| matches!(part, PartNumbers::Segment(_)));
        segments.count() == self.ordinals.segments()
    }

    /// Returns the number of every session code of a selection.
    pub(crate) fn of_part(&self, part: usize) -> &[u32] {
        match &self.parts[part] {
            PartNumbers::Segment(segment) => self.ordinals.of_segment(*segment),
            PartNumbers::Head { numbers, .. } => numbers,
        }
    }

    /// Returns one bit per session code of a selection, set if several segments have the session; `None` for a batch of
    /// the head.
    pub(crate) fn shared(&self, part: usize) -> Option<&[u64]> {
        match &self.parts[part] {
            PartNumbers::Segment(segment) => Some(self.ordinals.shared(*segment)),
            PartNumbers::Head { .. } => None,
        }
    }

    /// Returns the selection of the only segment that has a session, and the session's code there; `None` if no segment
    /// or several segments have it, or if none of its rows is selected.
    pub(crate) fn only_segment(&self, part: usize, code: usize) -> Option<(usize, usize)> {
        let (segment, code) = self.home(part, code)?;
        let selection = self
            .parts
            .iter()
            .position(|part| matches!(part, PartNumbers::Segment(own) if *own == segment))?;
        (!is_set(self.ordinals.shared(segment), code)).then_some((selection, code))
    }

    /// True if any segment has the session that is `code` in `part`.
    pub(crate) fn is_in_segment(&self, part: usize, code: usize) -> bool {
        self.home(part, code).is_some()
    }

    /// True if the selection `other` may have rows of the session that is `code` in `part`.
    pub(crate) fn may_have(&self, other: usize, (part, code): (usize, usize)) -> bool {
        let PartNumbers::Segment(other) = self.parts[other] else { return true };
        let home = self.home(part, code);
        home.is_some_and(|(segment, code)| segment == other || is_set(self.ordinals.shared(segment), code))
    }

    /// Returns a segment that has a session, and its code there.
    fn home(&self, part: usize, code: usize) -> Option<(usize, usize)> {
        match &self.parts[part] {
            PartNumbers::Segment(segment) => Some((*segment, code)),
            PartNumbers::Head { known, .. } => known[code].map(|(segment, code)| (segment, code as usize)),
        }
    }
}
