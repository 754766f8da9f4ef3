//! The column of trace ids: 16 bytes a row, and the rows in the order of their ids.

use std::cmp::Ordering;

use arrow_buffer::{Buffer, ScalarBuffer};

use super::layout::{Piece, Sections};
use super::packed::Words;
use crate::otlp::TraceId;
use crate::schema::Field;

/// Bytes of an id.
pub(super) const WIDTH: usize = 16;

/// So many places are guessed before the rest is halved.
const GUESSES: usize = 8;

/// The trace ids of a segment.
#[derive(Debug)]
pub struct Ids {
    values: Buffer,
    order: Words<u32>,
}

impl Ids {
    pub(super) fn open(sections: &Sections) -> Option<Self> {
        let column = Field::TraceId.column();
        let (values, order) =
            (sections.buffer(column, Piece::Values)?, sections.plain(column, Piece::Order)?);
        let rows = sections.rows() as usize;
        (values.len() == rows.checked_mul(WIDTH)? && order.len() == rows).then_some(Self { values, order })
    }

    /// Returns the bytes of the id of a row.
    pub fn bytes(&self, row: usize) -> &[u8] {
        &self.values.as_slice()[row * WIDTH..][..WIDTH]
    }

    /// Returns the id of a row; `None` for one that no trace has.
    pub fn id(&self, row: usize) -> Option<TraceId> {
        TraceId::from_bytes(self.bytes(row))
    }

    /// Returns the rows in the order of their ids.
    pub fn order(&self) -> &ScalarBuffer<u32> {
        &self.order
    }

    /// Returns the row with this id.
    ///
    /// Every look costs two misses of the processor's cache. Ids are random as a rule, so where one
    /// stands is guessed from its first bytes: six looks instead of twenty among a million. Ids that
    /// are not random cost a few looks more.
    pub fn find(&self, id: TraceId) -> Option<u32> {
        let wanted = first_bytes(id.as_bytes());
        let (mut low, mut high) = (0, self.order.len());
        let (mut least, mut most) = (0, u64::MAX);
        let mut guesses = 0..GUESSES;
        while low < high {
            let place = match guesses.next() {
                Some(_) => low + share(high - low, wanted.saturating_sub(least), most.saturating_sub(least)),
                None => low.midpoint(high),
            };
            let row = self.order[place];
            let own = self.bytes(row as usize);
            match own.cmp(id.as_bytes()) {
                Ordering::Equal => return Some(row),
                Ordering::Less => (low, least) = (place + 1, first_bytes(own)),
                Ordering::Greater => (high, most) = (place, first_bytes(own)),
            }
        }
        None
    }
}

fn first_bytes(id: &[u8]) -> u64 {
    id.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns the place among `places` that lies `part` of `whole` from their beginning.
#[allow(clippy::cast_possible_truncation, reason = "it is less than `places`")]
fn share(places: usize, part: u64, whole: u64) -> usize {
    let exact = places as u128 * u128::from(part) / (u128::from(whole) + 1);
    (exact as usize).min(places - 1)
}
