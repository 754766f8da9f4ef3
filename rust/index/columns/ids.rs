//! The trace id column: 16 bytes per row, and the rows sorted by id.

use std::cmp::Ordering;

use arrow_buffer::{Buffer, ScalarBuffer};

use crate::index::batched_binary_search::{IN_STEP, MIN_IN_STEP};
use crate::index::interpolation::Interpolation;
use crate::index::layout::{SectionKind, Sections};
use crate::index::packed::FixedWidth;
use crate::otlp::TraceId;
use crate::schema::Field;

/// The length of an id in bytes.
pub(super) const WIDTH: usize = 16;

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

    /// Returns the id of a row; `None` if it is all zero, which is not a valid trace id.
    pub fn id(&self, row: usize) -> Option<TraceId> {
        TraceId::from_bytes(self.bytes(row))
    }

    /// Returns the rows sorted by id.
    pub fn order(&self) -> &ScalarBuffer<u32> {
        &self.order
    }

    /// Returns the row with this id.
    pub fn find(&self, id: TraceId) -> Option<u32> {
        let mut search = self.search(first_bytes(id.as_bytes()));
        while let Some(position) = search.position() {
            let row = self.order[position];
            if self.is_at(&mut search, position, (row, id)) {
                return Some(row);
            }
        }
        None
    }

    /// Calls `visit` with the row of each id in `wanted` that exists, in no particular order. Several ids are
    /// searched for in a batch.
    pub fn find_each(&self, wanted: &[TraceId], mut visit: impl FnMut(u32)) {
        let mut probes = Vec::with_capacity(IN_STEP);
        for wanted in wanted.chunks(IN_STEP) {
            if wanted.len() < MIN_IN_STEP {
                wanted.iter().filter_map(|id| self.find(*id)).for_each(&mut visit);
                continue;
            }
            let mut searches: Vec<(TraceId, Interpolation)> =
                wanted.iter().map(|id| (*id, self.search(first_bytes(id.as_bytes())))).collect();
            while !searches.is_empty() {
                searches.retain_mut(|(_, search)| {
                    let position = search.position();
                    probes.extend(position.map(|position| (position, self.order[position])));
                    position.is_some()
                });
                for ((id, search), (position, row)) in searches.iter_mut().zip(probes.drain(..)) {
                    if self.is_at(search, position, (row, *id)) {
                        visit(row);
                    }
                }
            }
        }
    }

    /// Returns the first position in id order at which the monotonic predicate `is_reached` is true. The
    /// search is fast if that id begins with `near`.
    pub fn first_position(&self, near: u64, is_reached: impl Fn(&[u8]) -> bool) -> usize {
        self.search(near).first_position(|position| {
            let own = self.bytes(self.order[position] as usize);
            (first_bytes(own), is_reached(own))
        })
    }

    /// Starts a search for an id by its first eight bytes.
    fn search(&self, wanted: u64) -> Interpolation {
        Interpolation::new(wanted, 0..self.order.len(), (0, u64::MAX))
    }

    /// Narrows a search by the row at a position. Returns `true` if the row has the wanted id.
    fn is_at(&self, search: &mut Interpolation, position: usize, (row, id): (u32, TraceId)) -> bool {
        let own = self.bytes(row as usize);
        let order = own.cmp(id.as_bytes());
        search.narrow(position, first_bytes(own), order);
        order == Ordering::Equal
    }
}

fn first_bytes(id: &[u8]) -> u64 {
    id.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}
