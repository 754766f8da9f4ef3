//! Reads the model calls of the selected rows of a part, with their models.

use std::sync::Arc;

use ahash::HashMap;

use crate::error::{Error, Result};
use crate::index::spans::SpanTable;
use crate::query::aggregate::parts::Part;
use crate::query::cancellation::CancellationToken;
use crate::query::pool::par_map_chunked;
use crate::query::rows::selection::PARTS_PER_THREAD;
use crate::storage::SnapshotPart;
use crate::trace::cost::{CallCost, SpanUsage, for_each_call, prices};
use crate::trace::view::{SpanField, TraceView};

/// The models of calls, by number; `None` stands for calls without a model.
#[derive(Debug, Default)]
pub(super) struct Models {
    pub(super) names: Vec<Option<String>>,
    known: HashMap<Option<String>, u32>,
}

impl Models {
    fn number(&mut self, name: Option<&str>) -> u32 {
        let name = name.filter(|name| !name.is_empty()).map(str::to_owned);
        if let Some(number) = self.known.get(&name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.clone());
        self.known.insert(name, number);
        number
    }

    /// Returns the approximate memory of the names, in bytes.
    pub(super) fn bytes(&self) -> usize {
        const BYTES_PER_NAME: usize = 128;
        let name = |name: &Option<String>| 2 * name.as_ref().map_or(0, String::len) + BYTES_PER_NAME;
        self.names.iter().map(name).sum()
    }
}

/// A model call from a document.
struct ReadCall {
    row: u32,
    model: Option<String>,
    counted: SpanUsage,
    cost: CallCost,
}

pub(super) enum PartCalls {
    /// The calls in a span table, and the model number of each combination of words.
    Table(Arc<SpanTable>, Vec<u32>),
    /// The calls read from documents, in the order of the rows, with their model numbers.
    Read(Vec<(u32, u32, SpanUsage, CallCost)>),
}

/// The source of the calls of a part.
enum CallSource {
    Table(Arc<SpanTable>),
    Read(Vec<ReadCall>),
}

impl PartCalls {
    /// Returns the calls of every part, and their models.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; [`Error::Storage`].
    pub(super) fn of(parts: &[Part], cancel: &CancellationToken) -> Result<(Vec<Self>, Models)> {
        let sources = par_map_chunked(parts, PARTS_PER_THREAD, |(_, part): (usize, &Part)| {
            match part.span_table()? {
                Some(table) => Ok(CallSource::Table(table)),
                None => read_calls(part, cancel).map(CallSource::Read),
            }
        })?;
        let mut models = Models::default();
        let of_source = |source: CallSource| match source {
            CallSource::Table(table) => {
                let of_model = SpanField::from_key("model").expect("`model` is a span field");
                let names: std::cell::RefCell<&mut Models> = (&mut models).into();
                let numbers = table.of_combinations(of_model, |name| names.borrow_mut().number(name));
                Self::Table(table, numbers)
            }
            CallSource::Read(calls) => {
                let number = |call: ReadCall| {
                    (call.row, models.number(call.model.as_deref()), call.counted, call.cost)
                };
                Self::Read(calls.into_iter().map(number).collect())
            }
        };
        let calls = sources.into_iter().map(of_source).collect();
        Ok((calls, models))
    }

    /// Returns the approximate memory of the calls, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Table(_, models) => size_of_val(models.as_slice()),
            Self::Read(calls) => size_of_val(calls.as_slice()),
        }
    }

    /// Returns a reader for the calls of single rows.
    pub(super) fn reader(&self) -> CallReader<'_> {
        match self {
            Self::Table(table, models) => CallReader::Table(Box::new(table.calls()), models),
            Self::Read(calls) => CallReader::Read(calls),
        }
    }
}

/// Reads the calls of single rows.
pub(super) enum CallReader<'c> {
    Table(Box<crate::index::spans::TableCalls<'c>>, &'c [u32]),
    Read(&'c [(u32, u32, SpanUsage, CallCost)]),
}

impl CallReader<'_> {
    /// Calls `visit` with the model number of each call of a row, and its additions to the sums and the cost.
    pub(super) fn for_each(&self, row: u32, mut visit: impl FnMut(u32, &SpanUsage, CallCost)) {
        match self {
            // A row with an unreadable document has no calls.
            Self::Table(calls, models) => {
                calls.for_each(row, |combination, counted, cost| visit(models[combination], &counted, cost));
            }
            Self::Read(calls) => {
                let first = calls.partition_point(|(own, ..)| *own < row);
                let of_row = calls[first..].iter().take_while(|(own, ..)| *own == row);
                of_row.for_each(|(_, model, counted, cost)| visit(*model, counted, *cost));
            }
        }
    }
}

/// Reads the calls of the selected rows of a part from their documents. A damaged document has no calls.
fn read_calls(part: &Part, cancel: &CancellationToken) -> Result<Vec<ReadCall>> {
    let (source, rows): (&SnapshotPart, _) = part.selected();
    let mut calls = Vec::new();
    for row in rows.from(0) {
        cancel.check()?;
        let trace = match source.trace(row as usize) {
            Ok(trace) => trace,
            Err(Error::Damage { .. }) => continue,
            Err(error) => return Err(error),
        };
        let trace = trace.assembled();
        let view = TraceView::of(&trace);
        let mut spans = Vec::new();
        let price = |span| Ok(view.model(span)?.and_then(|model| prices().price_of(&model)));
        for_each_call::<Error>(&view.call_spans(), price, |span, counted, cost| {
            spans.push((span, counted, cost));
        })?;
        for (span, counted, cost) in spans {
            let model = view.model(span)?.map(String::from);
            calls.push(ReadCall { row, model, counted, cost });
        }
    }
    Ok(calls)
}
