//! The trace id column: 16 bytes per row, and the rows in order of their ids.

use std::cmp::Ordering;

use arrow_buffer::{Buffer, ScalarBuffer};

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
    ///
    /// Each probe costs two cache misses. Ids are usually random, so their position is interpolated from their
    /// first bytes: six probes instead of twenty among a million ids. Ids that are not random cost a few probes
    /// more.
    pub fn find(&self, id: TraceId) -> Option<u32> {
        let wanted = first_bytes(id.as_bytes());
        let (mut low, mut high) = (0, self.order.len());
        let (mut min, mut max) = (0, u64::MAX);
        let mut interpolations = 0..MAX_INTERPOLATIONS;
        while low < high {
            let position = match interpolations.next() {
                Some(_) => low + interpolate(high - low, wanted.saturating_sub(min), max.saturating_sub(min)),
                None => low.midpoint(high),
            };
            let row = self.order[position];
            let own = self.bytes(row as usize);
            match own.cmp(id.as_bytes()) {
                Ordering::Equal => return Some(row),
                Ordering::Less => (low, min) = (position + 1, first_bytes(own)),
                Ordering::Greater => (high, max) = (position, first_bytes(own)),
            }
        }
        None
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
