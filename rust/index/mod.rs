//! The indexed form of a segment's rows: what a search reads instead of the rows themselves.
//!
//! One run of bytes, mapped from a file of the cache or held in memory. It is no truth: it is built
//! from the rows of a segment ([`build`]), and built again when it is missing or not as it was
//! written. RowSet are numbered as in the segment, newest first.
//!
//! | field | what is kept |
//! |---|---|
//! | texts | sorted distinct values, a code a row, the rows in the order of their codes, bitmaps of frequent codes |
//! | `trace_id` | 16 bytes a row, the rows in the order of their ids |
//! | `duration_ms` | a number a row, the rows in the order of their durations |
//! | `start_time` | an instant a row; the rows are in its order, so a time range is a range of rows |
//! | `end_time`, `created_at` | an instant a row, the least and the greatest of every 4,096 rows |
//! | places | where each trace's document stands |

mod build;
mod ids;
mod layout;
mod numbers;
mod packed;
mod row_set;
mod texts;

use arrow_buffer::Buffer;

pub use build::build;
pub use ids::Ids;
pub use numbers::Numbers;
pub use packed::Ints;
pub use row_set::{Bits, LiveRows, RowSet, fill, ones};
pub use texts::Texts;

use crate::otlp::TraceId;
use crate::schema::{FIELDS, Field};
use layout::{Piece, Sections, TEXT_COLUMNS};

/// The columns that a reader needs, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projection(u32);

impl Projection {
    /// What orders rows and names them.
    pub const SORT_KEY: Self = Self(1 << Field::StartTime as usize | 1 << Field::TraceId as usize);
    /// Where the documents stand.
    pub const DOCUMENTS: Self = Self(1 << FIELDS.len());

    /// Returns these columns and those.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns these columns and that of `field`.
    #[must_use]
    pub fn and(self, field: Field) -> Self {
        Self(self.0 | 1 << field.column())
    }
}

/// An opened index. What is read of it must have been verified ([`Index::is_sound`]).
#[derive(Debug)]
pub struct Index {
    sections: Sections,
    rows: u32,
    texts: [Texts; TEXT_COLUMNS],
    ids: Ids,
    start_times: Numbers,
    durations: Numbers,
    end_times: Numbers,
    created: Numbers,
    places: [Ints; 3],
}

impl Index {
    /// Opens an index that was built for `identity`; `None` if it is not one, not whole, of another
    /// format, or of something else. Only its table is read.
    pub fn open(content: Buffer, identity: &str) -> Option<Self> {
        let sections = Sections::open(content, identity)?;
        let rows = sections.rows();
        let texts: Vec<Texts> =
            (0..TEXT_COLUMNS).map(|column| Texts::open(&sections, column)).collect::<Option<_>>()?;
        let numbers = |field: Field| Numbers::open(&sections, field.column());
        let places = [Piece::Offsets, Piece::Codes, Piece::Whole];
        let [offsets, lengths, sizes] = places.map(|piece| sections.ints(FIELDS.len(), piece, rows as usize));
        Some(Self {
            rows,
            texts: texts.try_into().ok()?,
            ids: Ids::open(&sections)?,
            start_times: numbers(Field::StartTime)?,
            durations: numbers(Field::DurationMs)?,
            end_times: numbers(Field::EndTime)?,
            created: numbers(Field::CreatedAt)?,
            places: [offsets?, lengths?, sizes?],
            sections,
        })
    }

    /// Whether the columns in `projection` are as they were written. Each is read once, when it is first
    /// asked about.
    pub fn is_sound(&self, projection: Projection) -> bool {
        self.sections.are_sound(projection.0)
    }

    /// Returns how many rows there are.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the size of the whole index.
    pub fn bytes(&self) -> u64 {
        self.sections.bytes()
    }

    /// Returns the column of a text field; `None` for any other, `trace_id` too.
    pub fn texts(&self, field: Field) -> Option<&Texts> {
        self.texts.get(field.column())
    }

    /// Returns the column of trace ids.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Returns the column of a field of numbers or instants (microseconds since 1970); else `None`.
    pub fn numbers(&self, field: Field) -> Option<&Numbers> {
        match field {
            Field::DurationMs => Some(&self.durations),
            Field::StartTime => Some(&self.start_times),
            Field::EndTime => Some(&self.end_times),
            Field::CreatedAt => Some(&self.created),
            _ => None,
        }
    }

    /// Returns the row in which a trace stands.
    pub fn find(&self, trace_id: TraceId) -> Option<u32> {
        self.ids.find(trace_id)
    }

    /// Returns where the document of a row begins, its length as it is stored, and its size decoded.
    pub fn document_location(&self, row: usize) -> [u64; 3] {
        [0, 1, 2].map(|at: usize| self.places[at].get(row))
    }
}
