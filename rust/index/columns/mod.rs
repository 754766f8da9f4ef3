//! The index of a segment: the columns that a search reads instead of the segment's rows.
//!
//! [`build`] derives it from the rows of a segment, which are numbered as in the segment: newest first.
//!
//! | field | content |
//! |---|---|
//! | text fields | sorted distinct values, a code per row, the rows sorted by code, bitmaps of frequent codes |
//! | `trace_id` | 16 bytes per row, the rows sorted by id |
//! | integers | a number per row, the rows sorted by number |
//! | `start_time` | an instant per row; the rows are sorted by it, so a time range is a range of rows |
//! | `end_time`, `created_at` | an instant per row, the minimum and maximum of every 4,096 rows |
//! | sessions | as a text field: one key for the session id and the user ([`RowSessions`]) |
//! | documents | the location of each row's document |

mod build;
mod ids;
mod numbers;
mod sessions;
mod texts;

use std::sync::Arc;

use arrow_buffer::Buffer;

pub use build::{CodedTexts, build, order_of};
pub use ids::Ids;
pub use numbers::Numbers;
pub use sessions::{RowSessions, split_session_key};
pub use texts::Texts;

use super::layout::{INDEX, SESSIONS_COLUMN, SectionKind, Sections, TEXT_COLUMNS};
use super::packed::PackedInts;
use crate::otlp::TraceId;
use crate::schema::{FIELDS, Field};

/// The first column of an integer or an instant. These columns follow the texts and the trace id.
const FIRST_NUMBER: usize = Field::DurationMs as usize;

/// A set of columns to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projection(u32);

impl Projection {
    /// The columns that order and identify rows.
    pub const SORT_KEY: Self = Self(1 << Field::StartTime as usize | 1 << Field::TraceId as usize);
    /// The sessions of the rows.
    pub const SESSIONS: Self = Self(1 << SESSIONS_COLUMN);
    /// The locations of the documents.
    pub const DOCUMENTS: Self = Self(1 << FIELDS.len());

    /// All columns.
    pub const ALL: Self = Self(u32::MAX);

    /// Returns the union with `others`.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns the union with the column of `field`.
    #[must_use]
    pub fn and(self, field: Field) -> Self {
        Self(self.0 | 1 << field.column())
    }
}

/// An open index. Only columns that [`Index::is_sound`] has verified may be read.
#[derive(Debug)]
pub struct Index {
    sections: Sections,
    rows: u32,
    texts: [Arc<Texts>; TEXT_COLUMNS],
    sessions: Texts,
    ids: Arc<Ids>,
    /// The integers and instants, in the order of their fields.
    numbers: [Arc<Numbers>; FIELDS.len() - FIRST_NUMBER],
    locations: [PackedInts; 3],
}

impl Index {
    /// Opens the index that was built for `identity`. Reads only its section table.
    ///
    /// Returns `None` if the index is incomplete, of another format or built for another identity.
    pub fn open(content: Buffer, identity: &str) -> Option<Self> {
        let sections = Sections::open(INDEX, content, identity)?;
        let rows = sections.rows();
        let texts: Vec<Arc<Texts>> = (0..TEXT_COLUMNS)
            .map(|column| Texts::open(&sections, column).map(Arc::new))
            .collect::<Option<_>>()?;
        let numbers: Vec<Arc<Numbers>> = (FIRST_NUMBER..FIELDS.len())
            .map(|column| Numbers::open(&sections, column).map(Arc::new))
            .collect::<Option<_>>()?;
        let locations = [SectionKind::Offsets, SectionKind::Codes, SectionKind::Whole];
        let [offsets, lengths, sizes] =
            locations.map(|kind| sections.packed(FIELDS.len(), kind, rows as usize));
        Some(Self {
            rows,
            texts: texts.try_into().ok()?,
            sessions: Texts::open(&sections, SESSIONS_COLUMN)?,
            ids: Arc::new(Ids::open(&sections)?),
            numbers: numbers.try_into().ok()?,
            locations: [offsets?, lengths?, sizes?],
            sections,
        })
    }

    /// Returns `true` if a file that ends with `end` can probably be opened for `identity`. Only the end is
    /// checked.
    pub fn may_end_with(end: &[u8], identity: &str) -> bool {
        Sections::may_end_with(INDEX, end, identity)
    }

    /// Returns `true` if the columns of `projection` match their checksums. Each column is verified once, at
    /// its first use.
    pub fn is_sound(&self, projection: Projection) -> bool {
        self.sections.are_sound(projection.0)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the size of the index in bytes.
    pub fn bytes(&self) -> u64 {
        self.sections.bytes()
    }

    /// Returns the bytes of the index file.
    pub fn content(&self) -> &[u8] {
        self.sections.content()
    }

    /// Returns the column of a text field; `None` for other fields and for `trace_id`.
    pub fn texts(&self, field: Field) -> Option<&Arc<Texts>> {
        self.texts.get(field.column())
    }

    /// Returns the sessions of the rows as keys, which [`split_session_key`] splits.
    pub fn sessions(&self) -> &Texts {
        &self.sessions
    }

    /// Returns the column of trace ids.
    pub fn ids(&self) -> &Arc<Ids> {
        &self.ids
    }

    /// Returns the column of a field of integers or instants (microseconds since 1970); `None` for other fields.
    pub fn numbers(&self, field: Field) -> Option<&Arc<Numbers>> {
        self.numbers.get(field.column().checked_sub(FIRST_NUMBER)?)
    }

    /// Returns the row of a trace.
    pub fn find(&self, trace_id: TraceId) -> Option<u32> {
        self.ids.find(trace_id)
    }

    /// Returns the location of a row's document: offset, stored length and decoded size.
    pub fn document_location(&self, row: usize) -> [u64; 3] {
        [0, 1, 2].map(|at: usize| self.locations[at].get(row))
    }
}
