//! The trace id column: 16 bytes per row, and the rows in order of their ids.

use std::cmp::Ordering;

use arrow_buffer::{Buffer, ScalarBuffer};

use super::in_step::{IN_STEP, MIN_IN_STEP};
use super::layout::{SectionKind, Sections};
use super::packed::FixedWidth;
use crate::otlp::TraceId;
use crate::schema::Field;

/// Length of an id, in bytes.
pub(super) const WIDTH: usize = 16;

/// How many probes are interpolated before [`Ids::find`] falls back to binary search.
const MAX_INTERPOLATIONS: usize = 8;

/// The trace ids of a segment.
#[derive(Debug)]
pub struct Ids {
    values: Buffer,
    order: FixedWidth<u32>,
}

impl Ids {
    pub(super) fn open(sections: &Sections) -> Option<Self> {
        let column = Field::TraceId.column();
        let (values, order) =
            (sections.buffer(column, SectionKind::Values)?, sections.plain(column, SectionKind::Order)?);
        let rows = sections.rows() as usize;
        (values.len() == rows.checked_mul(WIDTH)? && order.len() == rows).then_some(Self { values, order })
    }

    /// Returns the id of a row as bytes.
    pub fn bytes(&self, row: usize) -> &[u8] {
        &self.values.as_slice()[row * WIDTH..][..WIDTH]
    }

    /// Returns the ids of all rows as bytes, one after another.
    pub fn all(&self) -> &[u8] {
        &self.values
    }

    /// Returns the id of a row; `None` if it is all zero, which no trace id is.
    pub fn id(&self, row: usize) -> Option<TraceId> {
        TraceId::from_bytes(self.bytes(row))
    }

    /// Returns the rows in order of their ids.
    pub fn order(&self) -> &ScalarBuffer<u32> {
        &self.order
    }

    /// Returns the row with this id.
    pub fn find(&self, id: TraceId) -> Option<u32> {
        let mut search = Search::of(id, self.order.len());
        while let Some(position) = search.position() {
            let row = self.order[position];
            if search.ends_at(position, self.bytes(row as usize)) {
                return Some(row);
            }
        }
        None
    }

    /// Calls `visit` with the row of each of `wanted` that there is, in no particular order. Several are searched for in
    /// step.
    pub fn find_each(&self, wanted: &[TraceId], mut visit: impl FnMut(u32)) {
        let mut probes = Vec::with_capacity(IN_STEP);
        for wanted in wanted.chunks(IN_STEP) {
            if wanted.len() < MIN_IN_STEP {
                wanted.iter().filter_map(|id| self.find(*id)).for_each(&mut visit);
                continue;
            }
            let mut searches: Vec<Search> =
                wanted.iter().map(|id| Search::of(*id, self.order.len())).collect();
            while !searches.is_empty() {
                searches.retain_mut(|search| {
                    let position = search.position();
                    probes.extend(position.map(|position| (position, self.order[position])));
                    position.is_some()
                });
                for (search, (position, row)) in searches.iter_mut().zip(probes.drain(..)) {
                    if search.ends_at(position, self.bytes(row as usize)) {
                        visit(row);
                    }
                }
            }
        }
    }
}

/// Where an id may still be among the rows in order of their ids.
///
/// Each probe costs two cache misses. Ids are usually random, so their position is interpolated from their
/// first bytes: six probes instead of twenty among a million ids. Ids that are not random cost a few probes
/// more.
struct Search {
    id: TraceId,
    /// The first position that is left, and the one behind the last.
    low: usize,
    high: usize,
    /// The first bytes of the ids beside these positions.
    min: u64,
    max: u64,
    interpolations: usize,
}

impl Search {
    fn of(id: TraceId, rows: usize) -> Self {
        Self { id, low: 0, high: rows, min: 0, max: u64::MAX, interpolations: MAX_INTERPOLATIONS }
    }

    /// Returns the position to look at next; `None` if no position is left.
    fn position(&mut self) -> Option<usize> {
        if self.low >= self.high {
            return None;
        }
        if self.interpolations == 0 {
            return Some(self.low.midpoint(self.high));
        }
        self.interpolations -= 1;
        let wanted = first_bytes(self.id.as_bytes());
        let (part, whole) = (wanted.saturating_sub(self.min), self.max.saturating_sub(self.min));
        Some(self.low + interpolate(self.high - self.low, part, whole))
    }

    /// Takes the id at a position into account; returns whether it is the one searched for.
    fn ends_at(&mut self, position: usize, own: &[u8]) -> bool {
        let order = own.cmp(self.id.as_bytes());
        match order {
            Ordering::Less => (self.low, self.min) = (position + 1, first_bytes(own)),
            Ordering::Greater => (self.high, self.max) = (position, first_bytes(own)),
            Ordering::Equal => self.high = self.low,
        }
        order == Ordering::Equal
    }
}

fn first_bytes(id: &[u8]) -> u64 {
    id.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns `length * part / whole`, capped at the last position.
#[allow(clippy::cast_possible_truncation, reason = "it is less than `length`")]
fn interpolate(length: usize, part: u64, whole: u64) -> usize {
    let exact = length as u128 * u128::from(part) / (u128::from(whole) + 1);
    (exact as usize).min(length - 1)
}
