//! The column of trace ids: 16 bytes a row, and the rows in the order of their ids.

use arrow_buffer::{Buffer, ScalarBuffer};

use super::Words;
use super::layout::{Piece, Sections};
use crate::otlp::TraceId;
use crate::schema::Field;

/// Bytes of an id.
pub(super) const WIDTH: usize = 16;

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
    pub fn find(&self, id: TraceId) -> Option<u32> {
        let of_row = |row: &u32| self.bytes(*row as usize).cmp(id.as_bytes());
        let place = self.order.binary_search_by(of_row).ok()?;
        Some(self.order[place])
    }
}
