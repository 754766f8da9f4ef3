//! The numbers of sessions in every part of a search, segments and batches of the head.

use std::collections::HashMap;

use super::selection::Selection;
use crate::error::Result;
use crate::storage::{Ordinals, Snapshot};

/// For each selection the number of every code of a session. Equal sessions have equal numbers.
pub(super) struct Numbered<'a> {
    ordinals: &'a Ordinals,
    parts: Vec<Source>,
    count: usize,
}

/// Where the numbers of a part stand.
enum Source {
    Segment(usize),
    Head(Vec<u32>),
}

impl<'a> Numbered<'a> {
    /// Numbers the sessions of all selections.
    ///
    /// # Errors
    /// Damage met while an index is built anew.
    pub(super) fn new(snapshot: &'a Snapshot, selections: &[Selection<'_>]) -> Result<Self> {
        let ordinals = snapshot.ordinals()?;
        // Sessions that no segment has are numbered behind the others, anew in every search.
        let mut others: HashMap<&[u8], u32> = HashMap::new();
        let mut parts = Vec::with_capacity(selections.len());
        for selection in selections {
            let Some(known) = selection.part.known_sessions(ordinals) else {
                parts.push(Source::Segment(snapshot.segments_before(selection.place)));
                continue;
            };
            let number = |(code, known): (usize, &Option<u32>)| {
                known.unwrap_or_else(|| {
                    let next =
                        ordinals.count().saturating_add(u32::try_from(others.len()).unwrap_or(u32::MAX));
                    *others.entry(selection.view.session(code)).or_insert(next)
                })
            };
            parts.push(Source::Head(known.iter().enumerate().map(number).collect()));
        }
        Ok(Self { ordinals, parts, count: ordinals.count() as usize + others.len() })
    }

    /// Returns how many numbers there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns how many sessions the segments have; their numbers come first.
    pub(super) fn sealed(&self) -> usize {
        self.ordinals.count() as usize
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
            Source::Head(numbers) => numbers,
        }
    }
}
