//! Column values of a part's rows, from the index of a segment or from a batch of the head.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{Array as _, DictionaryArray};

use crate::index::{Index, LiveRows};
use crate::schema::Field;
use crate::storage::head::batch::HeadBatch;

/// The column values of one part, deleted rows included.
#[derive(Debug, Clone)]
pub struct PartColumns {
    source: ColumnSource,
}

#[derive(Debug, Clone)]
enum ColumnSource {
    Sealed(Arc<Index>),
    Head(Arc<HeadBatch>),
}

impl PartColumns {
    pub(crate) fn sealed(index: Arc<Index>) -> Self {
        Self { source: ColumnSource::Sealed(index) }
    }

    pub(crate) fn head(batch: Arc<HeadBatch>) -> Self {
        Self { source: ColumnSource::Head(batch) }
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        match &self.source {
            ColumnSource::Sealed(index) => index.rows() as usize,
            ColumnSource::Head(batch) => batch.entries().len(),
        }
    }

    /// Returns the start time of a row's trace, in microseconds since 1970.
    pub fn start_time(&self, row: usize) -> i64 {
        match &self.source {
            ColumnSource::Sealed(index) => {
                index.numbers(Field::StartTime).map_or(0, |starts| starts.value(row))
            }
            ColumnSource::Head(batch) => batch.entries()[row].row.start_time,
        }
    }

    /// Returns the bytes of a row's trace id, which sort like the ids.
    pub fn trace_id(&self, row: usize) -> &[u8] {
        match &self.source {
            ColumnSource::Sealed(index) => index.ids().bytes(row),
            ColumnSource::Head(batch) => batch.entries()[row].trace.trace_id.as_bytes(),
        }
    }

    /// Returns the value of a dictionary-coded text field, or `None` if the row has none.
    pub fn text(&self, field: Field, row: usize) -> Option<&str> {
        match &self.source {
            ColumnSource::Sealed(index) => index.texts(field).and_then(|texts| texts.text(row)),
            ColumnSource::Head(batch) => {
                let column = batch.batch().column(field.column()).as_dictionary_opt::<Int32Type>()?;
                Some(column.values().as_string::<i32>().value(column.key(row)?))
            }
        }
    }

    /// Returns the number of distinct sessions, which is the number of session codes.
    pub fn session_codes(&self) -> usize {
        match &self.source {
            ColumnSource::Sealed(index) => {
                index.texts(Field::SessionId).map_or(0, |texts| texts.distinct() as usize)
            }
            ColumnSource::Head(batch) => sessions(batch).values().len(),
        }
    }

    /// Returns the code of a row's session, or `None` if it has none.
    pub fn session_code(&self, row: usize) -> Option<usize> {
        match &self.source {
            ColumnSource::Sealed(index) => {
                let texts = index.texts(Field::SessionId)?;
                let code = texts.code(row);
                (code < texts.distinct()).then_some(code as usize)
            }
            ColumnSource::Head(batch) => sessions(batch).key(row),
        }
    }

    /// Calls `visit` with the session code of each of `rows` that has a session.
    pub fn for_each_session(&self, rows: &LiveRows, mut visit: impl FnMut(usize)) {
        match &self.source {
            ColumnSource::Sealed(index) => {
                let Some(texts) = index.texts(Field::SessionId) else { return };
                let missing = texts.distinct();
                rows.for_each(|row| {
                    let code = texts.code(row as usize);
                    if code < missing {
                        visit(code as usize);
                    }
                });
            }
            ColumnSource::Head(batch) => {
                let sessions = sessions(batch);
                rows.for_each(|row| {
                    if let Some(code) = sessions.key(row as usize) {
                        visit(code);
                    }
                });
            }
        }
    }

    /// Returns the number of rows with this session code.
    pub fn rows_of_code(&self, code: usize) -> usize {
        match &self.source {
            ColumnSource::Sealed(index) => {
                let code = u32::try_from(code).unwrap_or(u32::MAX);
                index.texts(Field::SessionId).map_or(0, |texts| texts.count(&(code..code + 1)))
            }
            ColumnSource::Head(_) => {
                (0..self.count()).filter(|row| self.session_code(*row) == Some(code)).count()
            }
        }
    }

    /// Returns the rows of a session.
    pub fn rows_of_session(&self, session: &[u8]) -> Vec<u32> {
        match &self.source {
            ColumnSource::Sealed(index) => {
                let Some(texts) = index.texts(Field::SessionId) else { return Vec::new() };
                let code = texts.first_code(|text| text >= session);
                let is_there = code < texts.distinct() && texts.value(code) == session;
                texts.rows(&(code..code + u32::from(is_there))).to_vec()
            }
            ColumnSource::Head(_) => {
                let code = (0..self.session_codes()).find(|code| self.session(*code) == session);
                let rows = (0u32..).take(self.count());
                rows.filter(|row| code.is_some() && self.session_code(*row as usize) == code).collect()
            }
        }
    }

    /// Returns the bytes of the session id with this code.
    pub fn session(&self, code: usize) -> &[u8] {
        match &self.source {
            ColumnSource::Sealed(index) => {
                let code = u32::try_from(code).unwrap_or(u32::MAX);
                index.texts(Field::SessionId).map_or(&[], |texts| texts.value(code))
            }
            ColumnSource::Head(batch) => sessions(batch).values().as_string::<i32>().value(code).as_bytes(),
        }
    }
}

fn sessions(batch: &HeadBatch) -> &DictionaryArray<Int32Type> {
    batch.batch().column(Field::SessionId.column()).as_dictionary::<Int32Type>()
}
