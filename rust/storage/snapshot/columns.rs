//! Column values of a part's rows, from the index of a segment or from a head batch.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;

use crate::bitmap::{LiveRows, RowBlock};
use crate::index::Boundary;
use crate::index::columns::{Index, Texts};
use crate::index::spans::CostColumn;
use crate::schema::Field;
use crate::storage::head::batch::HeadBatch;
use crate::storage::snapshot::value_order::ValueOrder;
use crate::trace::cost::TraceNumber;

/// The column values of one part, including deleted rows.
#[derive(Debug, Clone)]
pub struct PartColumns {
    source: ColumnSource,
    /// The costs of the traces, if requested.
    costs: Option<Arc<CostColumn>>,
}

#[derive(Debug, Clone)]
enum ColumnSource {
    Index(Arc<Index>),
    Head(Arc<HeadBatch>),
}

impl PartColumns {
    pub(crate) fn of_index(index: Arc<Index>) -> Self {
        Self { source: ColumnSource::Index(index), costs: None }
    }

    pub(crate) fn head(batch: Arc<HeadBatch>) -> Self {
        Self { source: ColumnSource::Head(batch), costs: None }
    }

    /// Returns these columns with the costs of the traces.
    #[must_use]
    pub fn with_costs(self, costs: Arc<CostColumn>) -> Self {
        Self { costs: Some(costs), ..self }
    }

    /// Returns the costs of the traces; `None` if they were not requested.
    pub fn costs(&self) -> Option<&CostColumn> {
        self.costs.as_deref()
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        match &self.source {
            ColumnSource::Index(index) => index.rows() as usize,
            ColumnSource::Head(batch) => batch.entries().len(),
        }
    }

    /// Returns the start time of a row's trace, in microseconds since 1970.
    pub fn start_time(&self, row: usize) -> i64 {
        match &self.source {
            ColumnSource::Index(index) => {
                index.numbers(Field::StartTime).map_or(0, |starts| starts.value(row))
            }
            ColumnSource::Head(batch) => batch.entries()[row].row.start_time,
        }
    }

    /// Returns the value of an integer field, of a cost (nanodollars) or of an instant (microseconds since
    /// 1970); 0 for other fields. A missing cost is negative.
    pub fn number(&self, number: impl Into<TraceNumber>, row: usize) -> i64 {
        let field = match number.into() {
            TraceNumber::Column(field) => field,
            TraceNumber::Cost(field) => {
                return self.costs().and_then(|costs| costs.value(field, row)).unwrap_or(-1);
            }
        };
        match &self.source {
            ColumnSource::Index(index) => index.numbers(field).map_or(0, |numbers| numbers.value(row)),
            ColumnSource::Head(batch) => batch.number(field, row),
        }
    }

    /// Returns the rows sorted by an integer field, a cost or the start time; `None` for other fields. Rows
    /// without a cost come first.
    pub fn value_order(&self, number: impl Into<TraceNumber>) -> Option<ValueOrder> {
        let field = match number.into() {
            TraceNumber::Column(field) => field,
            TraceNumber::Cost(field) => {
                return self.costs().map(|costs| ValueOrder::of_rows(costs.order(field)));
            }
        };
        if field == Field::StartTime {
            return Some(ValueOrder::descending(self.count()));
        }
        match &self.source {
            ColumnSource::Index(index) => index.numbers(field)?.order().cloned(),
            ColumnSource::Head(batch) => batch.order(field),
        }
        .map(ValueOrder::of_rows)
    }

    /// Returns the bytes of a row's trace id, which sort like the ids.
    pub fn trace_id(&self, row: usize) -> &[u8] {
        match &self.source {
            ColumnSource::Index(index) => index.ids().bytes(row),
            ColumnSource::Head(batch) => batch.entries()[row].trace.trace_id.as_bytes(),
        }
    }

    /// Returns the value of a dictionary-coded text field; `None` if it is NULL.
    pub fn text(&self, field: Field, row: usize) -> Option<&str> {
        match &self.source {
            ColumnSource::Index(index) => index.texts(field).and_then(|texts| texts.text(row)),
            ColumnSource::Head(batch) => {
                let column = batch.batch().column(field.column()).as_dictionary_opt::<Int32Type>()?;
                Some(column.values().as_string::<i32>().value(column.key(row)?))
            }
        }
    }

    /// Calls `visit` with an integer field or a cost of each of `rows`; 0 if it is NULL.
    pub fn for_each_number(&self, number: TraceNumber, rows: &RowBlock<'_>, mut visit: impl FnMut(i64)) {
        let field = match number {
            TraceNumber::Column(field) => field,
            TraceNumber::Cost(field) => {
                let costs = self.costs().into_iter();
                return costs
                    .for_each(|costs| costs.for_each(field, rows, |_, cost| visit(cost.unwrap_or(0))));
            }
        };
        match &self.source {
            ColumnSource::Index(index) => {
                if let Some(numbers) = index.numbers(field) {
                    numbers.for_each(rows, visit);
                }
            }
            ColumnSource::Head(batch) => for_each_row(rows, |row| visit(batch.integers(field)[row as usize])),
        }
    }

    /// Calls `visit` with the rows of `rows` whose integer is in a closed interval, and with the integer.
    pub fn for_each_number_between(
        &self,
        number: TraceNumber,
        (first, last): (i64, i64),
        rows: &RowBlock<'_>,
        mut visit: impl FnMut(u32, i64),
    ) {
        let field = match number {
            TraceNumber::Column(field) => field,
            TraceNumber::Cost(field) => {
                let is_between = |cost: &i64| (first..=last).contains(cost);
                let mut visit = |row, cost: Option<i64>| {
                    cost.filter(is_between).into_iter().for_each(|cost| visit(row, cost));
                };
                return self.costs().into_iter().for_each(|costs| costs.for_each(field, rows, &mut visit));
            }
        };
        match &self.source {
            ColumnSource::Index(index) => {
                if let Some(numbers) = index.numbers(field) {
                    numbers.for_each_between((first, last), rows, visit);
                }
            }
            ColumnSource::Head(batch) => for_each_row(rows, |row| {
                let value = batch.integers(field)[row as usize];
                if first <= value && value <= last {
                    visit(row, value);
                }
            }),
        }
    }

    /// Returns the code of a text field in a row, like [`Self::decode_codes`].
    pub fn text_code(&self, field: Field, row: u32) -> u32 {
        match &self.source {
            ColumnSource::Index(index) => index.texts(field).map_or(0, |texts| texts.code(row as usize)),
            ColumnSource::Head(batch) => batch.texts(field).map_or(0, |texts| texts.codes[row as usize]),
        }
    }

    /// Appends the codes of a text field at `rows`. Codes are the ranks of the distinct texts. The code after
    /// the last one stands for NULL.
    pub fn decode_codes(&self, field: Field, rows: &RowBlock<'_>, out: &mut Vec<u32>) {
        match &self.source {
            ColumnSource::Index(index) => {
                if let Some(texts) = index.texts(field) {
                    texts.decode(rows, out);
                }
            }
            ColumnSource::Head(batch) => {
                if let Some(texts) = batch.texts(field) {
                    for_each_row(rows, |row| out.push(texts.codes[row as usize]));
                }
            }
        }
    }

    /// Returns the number of distinct texts of a field, which is also the code for NULL.
    pub fn distinct(&self, field: Field) -> u32 {
        match &self.source {
            ColumnSource::Index(index) => index.texts(field).map_or(0, |texts| texts.distinct()),
            ColumnSource::Head(batch) => {
                let texts = batch.texts(field).map_or(0, |texts| texts.values.len());
                u32::try_from(texts).unwrap_or(u32::MAX)
            }
        }
    }

    /// Returns the text of a code; empty if the code has no text.
    pub fn text_of_code(&self, field: Field, code: u32) -> &[u8] {
        match &self.source {
            ColumnSource::Index(index) => index.texts(field).map_or(&[], |texts| texts.value(code)),
            ColumnSource::Head(batch) => {
                let text = batch.texts(field).and_then(|texts| texts.values.get(code as usize));
                text.map_or(&[], |text| text.as_bytes())
            }
        }
    }

    /// Returns the number of rows with a code of a text field; `None` if this would require reading the rows.
    pub fn rows_of_text(&self, field: Field, code: u32) -> Option<usize> {
        let ColumnSource::Index(index) = &self.source else { return None };
        Some(index.texts(field)?.count(&(code..code + 1)))
    }

    /// Returns the index of a text field other than the trace id; `None` for other fields, and for a head
    /// batch.
    pub fn texts(&self, field: Field) -> Option<&Texts> {
        match &self.source {
            ColumnSource::Index(index) => index.texts(field).map(Arc::as_ref),
            ColumnSource::Head(_) => None,
        }
    }

    /// Returns the index of the sessions; `None` for a head batch.
    pub fn sessions(&self) -> Option<&Texts> {
        match &self.source {
            ColumnSource::Index(index) => Some(index.sessions()),
            ColumnSource::Head(_) => None,
        }
    }

    /// Returns the number of distinct sessions, which is the number of session codes.
    pub fn session_codes(&self) -> usize {
        match &self.source {
            ColumnSource::Index(index) => index.sessions().distinct() as usize,
            ColumnSource::Head(batch) => batch.sessions().keys.len(),
        }
    }

    /// Returns the code of a row's session; `None` if the trace has no session.
    pub fn session_code(&self, row: usize) -> Option<usize> {
        match &self.source {
            ColumnSource::Index(index) => {
                let code = index.sessions().code(row);
                (code < index.sessions().distinct()).then_some(code as usize)
            }
            ColumnSource::Head(batch) => batch.sessions().code(row),
        }
    }

    /// Calls `visit` with the session code of each of `rows` that has a session.
    pub fn for_each_session(&self, rows: &LiveRows, mut visit: impl FnMut(usize)) {
        match &self.source {
            ColumnSource::Index(index) => {
                let sessions = index.sessions();
                let missing = sessions.distinct();
                rows.for_each(|row| {
                    let code = sessions.code(row as usize);
                    if code < missing {
                        visit(code as usize);
                    }
                });
            }
            ColumnSource::Head(batch) => {
                let sessions = batch.sessions();
                rows.for_each(|row| {
                    if let Some(code) = sessions.code(row as usize) {
                        visit(code);
                    }
                });
            }
        }
    }

    /// Returns the number of rows with this session code.
    pub fn rows_of_code(&self, code: usize) -> usize {
        match &self.source {
            ColumnSource::Index(index) => {
                let code = u32::try_from(code).unwrap_or(u32::MAX);
                index.sessions().count(&(code..code + 1))
            }
            ColumnSource::Head(_) => {
                (0..self.count()).filter(|row| self.session_code(*row) == Some(code)).count()
            }
        }
    }

    /// Returns the rows of the session with this key.
    pub fn rows_of_session(&self, session: &[u8]) -> Vec<u32> {
        match &self.source {
            ColumnSource::Index(index) => {
                let sessions = index.sessions();
                let code = sessions.first_code(Boundary::Before(session));
                let is_there = code < sessions.distinct() && sessions.value(code) == session;
                sessions.rows(&(code..code + u32::from(is_there))).to_vec()
            }
            ColumnSource::Head(_) => {
                let code = (0..self.session_codes()).find(|code| self.session(*code) == session);
                let rows = (0u32..).take(self.count());
                rows.filter(|row| code.is_some() && self.session_code(*row as usize) == code).collect()
            }
        }
    }

    /// Returns the key of the session with this code, which
    /// [`split_session_key`](crate::index::columns::split_session_key) splits.
    pub fn session(&self, code: usize) -> &[u8] {
        match &self.source {
            ColumnSource::Index(index) => index.sessions().value(u32::try_from(code).unwrap_or(u32::MAX)),
            ColumnSource::Head(batch) => batch.sessions().keys[code].as_bytes(),
        }
    }
}

/// Appends the values at `rows`.
fn for_each_row(rows: &RowBlock<'_>, visit: impl FnMut(u32)) {
    match rows {
        RowBlock::Range(range) => range.clone().for_each(visit),
        RowBlock::List(rows) => rows.iter().copied().for_each(visit),
    }
}
