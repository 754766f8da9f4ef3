//! Spans in, by the million: gathered to traces so many bytes at a time, each lot adopted in one step.
//!
//! A step is one manifest: the segment with its traces, the rows they replace, and how many spans of the
//! import are dealt with. After a crash the same import goes on behind them. Spans of a trace that lie
//! further apart than a step are merged with what the steps before brought, so their trace is written
//! again; nothing has to fit into memory but a step. While one is written, the next is gathered.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, bounded};
use rayon::prelude::*;
use serde::Serialize;

use super::intake::take_in;
use crate::error::{Error, Result};
use crate::otlp::TraceId;
use crate::storage::{ImportRecord, TraceStore};
use crate::time::{NANOS_PER_MICRO, now_micros};
use crate::trace::{Span, Trace};

/// Spans are checked in lots of so many.
const LOT: usize = 16_384;
/// The report quotes so many refusals; it counts all.
const MOST_QUOTED: usize = 100;
/// The longest name of an import.
const MOST_SOURCE_CHARS: usize = 128;

/// What became of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Spans that are in the store now; those that were there before count too.
    pub accepted: u64,
    /// Spans that were refused.
    pub rejected: u64,
    /// Why the first of them were.
    pub refused: Vec<Refusal>,
    /// Spans that an earlier run of the same import had dealt with; they are in the counts.
    pub resumed: u64,
}

/// A span that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Its place among the spans of the import, from 0; for spans that their trace has no room for, the
    /// place behind their step.
    pub span: u64,
    /// Why.
    pub reason: String,
}

/// How an import is done.
#[derive(Debug, Clone)]
pub struct Order {
    /// The name of the import: run again with the same name and the same batches after it was interrupted,
    /// it goes on where it was. One without a name is never remembered.
    pub source: String,
    /// A step is written once its spans have so many bytes.
    pub step_bytes: usize,
    /// A step is written once it has so many spans.
    pub step_spans: usize,
}

impl Order {
    /// Returns the order to import `source`.
    pub fn of(source: &str) -> Self {
        Self { source: source.to_owned(), step_bytes: 96 << 20, step_spans: 400_000 }
    }
}

/// Takes in the spans of `batches`, whose columns are those of [`super::span_schema`].
///
/// # Errors
/// What `batches` fails with; [`Error::Batch`] if it has no spans as columns; [`Error::Options`] if
/// its source is no name; else as [`TraceStore::bulk_load`]. The steps before are durable.
pub fn import(
    store: &TraceStore,
    batches: impl Iterator<Item = Result<RecordBatch>>,
    order: &Order,
) -> Result<Imported> {
    let source = order.source.as_str();
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-_".contains(&letter);
    if source.len() > MOST_SOURCE_CHARS || !source.bytes().all(is_plain) {
        return Err(Error::Options(format!(
            "expected the name of an import to be up to {MOST_SOURCE_CHARS} letters, digits, `-` or `_`"
        )));
    }
    let so_far = store.import_so_far(source).unwrap_or_default();
    let so_far = ImportRecord { source: source.to_owned(), ..so_far };
    let mut gathering = Gathering::new(order, so_far.spans);
    let (steps, due) = bounded(0);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| write(store, so_far.clone(), &due));
        let gathered = gathering.gather(batches, &steps);
        drop(steps);
        let written =
            writing.join().unwrap_or_else(|_| Err(Error::storage("segments", "importing panicked")));
        // That nobody took a step any more is no reason; why nobody did is.
        let (mut report, surplus) = written?;
        gathered?;
        report.refused.extend(gathering.refused);
        report.refused.extend(surplus);
        report.refused.sort_by_key(|refusal| refusal.span);
        report.refused.truncate(MOST_QUOTED);
        report.resumed = so_far.spans;
        Ok(report)
    })
}

/// The traces of a step, and how far the import is with it.
struct Step {
    traces: Vec<(i64, Vec<Arc<Span>>)>,
    /// Spans of the import up to here.
    through: u64,
    accepted: u64,
    rejected: u64,
    is_last: bool,
}

/// What is gathered for the next step.
struct Gathering<'a> {
    order: &'a Order,
    by_trace: HashMap<TraceId, (i64, Vec<Arc<Span>>)>,
    spans: usize,
    bytes: usize,
    rejected: u64,
    /// Spans of the import that were met.
    met: u64,
    /// Spans of the import that need not be looked at.
    done: u64,
    refused: Vec<Refusal>,
}

impl<'a> Gathering<'a> {
    fn new(order: &'a Order, done: u64) -> Self {
        let (by_trace, refused) = (HashMap::new(), Vec::new());
        Self { order, by_trace, spans: 0, bytes: 0, rejected: 0, met: 0, done, refused }
    }

    fn gather(
        &mut self,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        steps: &Sender<Step>,
    ) -> Result<()> {
        for batch in batches {
            let batch = batch?;
            let mut next = 0;
            while next < batch.num_rows() {
                let known = usize::try_from(self.done - self.met.min(self.done)).unwrap_or(usize::MAX);
                if known > 0 {
                    let skipped = known.min(batch.num_rows() - next);
                    (next, self.met) = (next + skipped, self.met + skipped as u64);
                    continue;
                }
                let lot = LOT.min(self.order.step_spans.max(1)).min(batch.num_rows() - next);
                self.take(&batch.slice(next, lot))?;
                next += lot;
                let is_full = self.bytes >= self.order.step_bytes || self.spans >= self.order.step_spans;
                if is_full && !self.send(steps, false) {
                    return Ok(());
                }
            }
        }
        self.send(steps, true);
        Ok(())
    }

    fn take(&mut self, lot: &RecordBatch) -> Result<()> {
        let now = now_micros();
        let nanos = u64::try_from(now).unwrap_or(0).saturating_mul(NANOS_PER_MICRO);
        let taken = take_in(lot, nanos)?;
        for (verdict, created_at) in taken.verdicts.into_iter().zip(taken.created_at) {
            match verdict {
                Ok(span) => {
                    (self.spans, self.bytes) = (self.spans + 1, self.bytes + span.wire.bytes.len());
                    let created_at = created_at.unwrap_or(now);
                    let trace =
                        self.by_trace.entry(span.trace_id).or_insert_with(|| (created_at, Vec::new()));
                    trace.0 = trace.0.min(created_at);
                    trace.1.push(span);
                }
                Err(reason) => {
                    self.rejected += 1;
                    if self.refused.len() < MOST_QUOTED {
                        self.refused.push(Refusal { span: self.met, reason });
                    }
                }
            }
            self.met += 1;
        }
        Ok(())
    }

    /// Hands over what was gathered; returns whether anybody took it.
    fn send(&mut self, steps: &Sender<Step>, is_last: bool) -> bool {
        let traces = std::mem::take(&mut self.by_trace).into_values().collect();
        let (accepted, rejected) = (self.spans as u64, self.rejected);
        (self.spans, self.bytes, self.rejected) = (0, 0, 0);
        steps.send(Step { traces, through: self.met, accepted, rejected, is_last }).is_ok()
    }
}

/// Takes steps until they end; also returns where a trace had no room for all its spans.
fn write(
    store: &TraceStore,
    mut so_far: ImportRecord,
    steps: &Receiver<Step>,
) -> Result<(Imported, Vec<Refusal>)> {
    let mut full = Vec::new();
    for Step { traces, through, accepted, rejected, is_last } in steps {
        let traces = traces.into_par_iter().filter_map(|(created_at, spans)| {
            let trace_id = spans.first()?.trace_id;
            Some(Trace::new(trace_id, created_at).with(spans))
        });
        so_far.spans = so_far.spans.max(through);
        so_far.accepted += accepted;
        so_far.rejected += rejected;
        let remembered = (!is_last).then(|| so_far.clone());
        let surplus = store.bulk_load(traces.collect(), &so_far.source, remembered)?;
        if surplus > 0 {
            so_far.accepted -= surplus;
            so_far.rejected += surplus;
            let reason =
                format!("{surplus} spans of traces that have {} spans already", crate::trace::MAX_SPANS);
            full.push(Refusal { span: through, reason });
        }
    }
    let ImportRecord { accepted, rejected, .. } = so_far;
    Ok((Imported { accepted, rejected, ..Imported::default() }, full))
}
