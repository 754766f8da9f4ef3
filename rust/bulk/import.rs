//! Bulk import: groups spans into traces in steps of limited size, and bulk loads the traces of each step.
//!
//! Each step commits one manifest. It contains the segment with the step's traces, the rows that they
//! replace, and the number of processed spans. After a crash, the same import resumes after that position. If
//! the spans of a trace are further apart than a step, they are merged with the stored spans and the trace is
//! rewritten. So only a few steps must fit into memory.
//!
//! In a store with shards, each shard gets its part of a step in turn, and records its own progress. A
//! repeated import skips the steps that a shard already has.
//!
//! Three threads keep the processor busy while one of them waits for the disk. The caller's thread reads
//! batches, the second decodes and groups their spans, and the third writes steps.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, bounded};
use rayon::prelude::*;
use serde::Serialize;

use super::decode::decode_batch;
use crate::error::{Error, Result};
use crate::otlp::TraceId;
use crate::placement::ShardMap;
use crate::storage::{ImportRecord, TraceStore};
use crate::time::{NANOS_PER_MICRO, now_micros};
use crate::trace::{Span, Trace};

/// The number of rows of a batch that are decoded and checked at once.
const CHECKED_ROWS: usize = 16_384;
/// The maximum number of rejections in the report. It counts all of them.
const MAX_LISTED_REJECTIONS: usize = 100;
/// The maximum length of an import's name, in characters.
const MAX_SOURCE_CHARS: usize = 128;

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// The number of spans that are now in the store, including spans that were stored before.
    pub accepted: u64,
    /// The number of rejected spans.
    pub rejected: u64,
    /// The first rejections, in order of their spans.
    #[serde(rename = "refused")]
    pub rejections: Vec<Rejection>,
    /// The number of spans that an earlier run of the same import has processed. They are included in the
    /// other counts.
    pub resumed: u64,
}

/// A rejected span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// Its position among the spans of the import, from 0. Spans over the limit of their trace are reported
    /// at the end of their step.
    pub span: u64,
    /// The reason for the rejection.
    pub reason: String,
}

/// The options of an import.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The name of the import. An interrupted import resumes if it is repeated with the same name and the
    /// same batches. The progress of an import with an empty name is not recorded.
    pub source: String,
    /// The size of spans in bytes at which a step is written.
    pub step_bytes: usize,
    /// The number of spans at which a step is written.
    pub step_spans: usize,
}

impl ImportOptions {
    /// Returns the default options for an import named `source`.
    pub fn of(source: &str) -> Self {
        Self { source: source.to_owned(), step_bytes: 96 << 20, step_spans: 400_000 }
    }
}

/// Imports the spans of `batches`, which have the columns of [`super::span_schema`].
///
/// # Errors
/// An error of `batches`; [`Error::Batch`] if a batch lacks the column of spans or a column has an
/// unsupported type; [`Error::Options`] if the name is invalid; and the errors of [`TraceStore::bulk_load`].
/// The steps written before the error are durable.
pub fn import(
    store: &TraceStore,
    batches: impl Iterator<Item = Result<RecordBatch>>,
    options: &ImportOptions,
) -> Result<ImportReport> {
    import_into_shards(&ShardMap::whole(), &[store], batches, options)
}

/// Imports the spans of `batches` into the stores of shards, in the order of `map`, like [`import`] for one
/// store.
///
/// # Errors
/// The errors of [`import`]; [`Error::Options`] if the number of stores differs from the number of shards.
pub fn import_into_shards(
    map: &ShardMap,
    stores: &[&TraceStore],
    batches: impl Iterator<Item = Result<RecordBatch>>,
    options: &ImportOptions,
) -> Result<ImportReport> {
    if stores.len() != map.shards() {
        return Err(Error::Options(format!(
            "expected {} stores of shards, got {}",
            map.shards(),
            stores.len()
        )));
    }
    let source = options.source.as_str();
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-_".contains(&letter);
    if source.len() > MAX_SOURCE_CHARS || !source.bytes().all(is_plain) {
        return Err(Error::Options(format!(
            "expected the name of an import to be up to {MAX_SOURCE_CHARS} letters, digits, `-` or `_`"
        )));
    }
    let shards: Vec<Shard<'_>> = stores.iter().map(|store| Shard::of(store, source)).collect();
    let resumed = shards.iter().map(|shard| shard.progress.spans).min().unwrap_or_default();
    let builder = StepBuilder::new(options, resumed);
    let (read, unread) = bounded(1);
    let (steps, due) = bounded(0);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| write(map, shards, due));
        let building = scope.spawn(move || builder.run(unread, &steps));
        // Batches come from Python, which delivers Ctrl-C to the calling thread.
        read_all(batches, &read);
        drop(read);
        let panicked = |_| Error::storage("segments", "importing panicked");
        let built = building.join().map_err(panicked).flatten();
        let written = writing.join().map_err(panicked).flatten();
        // A closed channel is only a symptom, so the writer's error comes first.
        let (mut report, surplus) = written?;
        report.rejections.extend(built?);
        report.rejections.extend(surplus);
        report.rejections.sort_by_key(|rejection| rejection.span);
        report.rejections.truncate(MAX_LISTED_REJECTIONS);
        report.resumed = resumed;
        Ok(report)
    })
}

/// The result of a read: a batch, `None` after the last one, or an error.
type ReadBatch = Result<Option<RecordBatch>>;

/// Sends all batches until the end or until the receiver is gone.
fn read_all(batches: impl Iterator<Item = Result<RecordBatch>>, read: &Sender<ReadBatch>) {
    for batch in batches.map(|batch| batch.map(Some)).chain([Ok(None)]) {
        let is_last = batch.is_err();
        if read.send(batch).is_err() || is_last {
            return;
        }
    }
}

/// The receipt time of a trace, and its spans.
type TraceSpans = (i64, Vec<Arc<Span>>);

/// The traces of a step, and the progress of the import after it.
struct ImportStep {
    traces: Vec<TraceSpans>,
    /// The number of spans of the import through this step.
    through: u64,
    rejected: u64,
    is_last: bool,
}

/// A store that an import writes to, and its progress there.
struct Shard<'a> {
    store: &'a TraceStore,
    progress: ImportRecord,
}

impl<'a> Shard<'a> {
    fn of(store: &'a TraceStore, source: &str) -> Self {
        let known = store.import_so_far(source).unwrap_or_default();
        Self { store, progress: ImportRecord { source: source.to_owned(), ..known } }
    }

    /// Loads the traces of a step unless they are already stored. `step` has the number of spans through this
    /// step, and `true` for the last step. Returns the number of spans over the limit of their trace, which
    /// are not stored.
    fn load(&mut self, traces: Vec<TraceSpans>, rejected: u64, step: (u64, bool)) -> Result<u64> {
        let (through, is_last) = step;
        if self.progress.spans >= through && !is_last {
            return Ok(0);
        }
        let accepted: usize = traces.iter().map(|(_, spans)| spans.len()).sum();
        let traces = traces.into_par_iter().filter_map(|(created_at, spans)| {
            let trace_id = spans.first()?.trace_id;
            Some(Trace::new(trace_id, created_at).with(spans))
        });
        self.progress.spans = self.progress.spans.max(through);
        self.progress.accepted += accepted as u64;
        self.progress.rejected += rejected;
        let remembered = (!is_last).then(|| self.progress.clone());
        let surplus = self.store.bulk_load(traces.collect(), &self.progress.source, remembered)?;
        self.progress.accepted -= surplus;
        self.progress.rejected += surplus;
        Ok(surplus)
    }
}

/// Groups the spans of the next step by trace.
struct StepBuilder<'a> {
    options: &'a ImportOptions,
    by_trace: HashMap<TraceId, TraceSpans>,
    spans: usize,
    bytes: usize,
    rejected: u64,
    /// The number of spans read so far.
    seen: u64,
    /// The number of spans that an earlier run has processed. They are skipped.
    resume_at: u64,
    rejections: Vec<Rejection>,
}

impl<'a> StepBuilder<'a> {
    fn new(options: &'a ImportOptions, resume_at: u64) -> Self {
        let (by_trace, rejections) = (HashMap::new(), Vec::new());
        Self { options, by_trace, spans: 0, bytes: 0, rejected: 0, seen: 0, resume_at, rejections }
    }

    /// Builds steps until the end of the input. Returns the first rejections.
    fn run(mut self, batches: Receiver<ReadBatch>, steps: &Sender<ImportStep>) -> Result<Vec<Rejection>> {
        for batch in batches {
            let Some(batch) = batch? else {
                self.send(steps, true);
                break;
            };
            let mut next = 0;
            while next < batch.num_rows() {
                let known =
                    usize::try_from(self.resume_at - self.seen.min(self.resume_at)).unwrap_or(usize::MAX);
                if known > 0 {
                    let skipped = known.min(batch.num_rows() - next);
                    (next, self.seen) = (next + skipped, self.seen + skipped as u64);
                    continue;
                }
                let length = CHECKED_ROWS.min(self.options.step_spans.max(1)).min(batch.num_rows() - next);
                self.add(&batch.slice(next, length))?;
                next += length;
                let is_full = self.bytes >= self.options.step_bytes || self.spans >= self.options.step_spans;
                if is_full && !self.send(steps, false) {
                    return Ok(self.rejections);
                }
            }
        }
        Ok(self.rejections)
    }

    fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        let now = now_micros();
        let nanos = u64::try_from(now).unwrap_or(0).saturating_mul(NANOS_PER_MICRO);
        let decoded = decode_batch(rows, nanos)?;
        for (span, created_at) in decoded.spans.into_iter().zip(decoded.created_at) {
            match span {
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
                    if self.rejections.len() < MAX_LISTED_REJECTIONS {
                        self.rejections.push(Rejection { span: self.seen, reason });
                    }
                }
            }
            self.seen += 1;
        }
        Ok(())
    }

    /// Sends the completed step to the writer. Returns `false` if the writer has stopped.
    fn send(&mut self, steps: &Sender<ImportStep>, is_last: bool) -> bool {
        let traces = std::mem::take(&mut self.by_trace).into_values().collect();
        let rejected = self.rejected;
        (self.spans, self.bytes, self.rejected) = (0, 0, 0);
        steps.send(ImportStep { traces, through: self.seen, rejected, is_last }).is_ok()
    }
}

/// Writes steps until the channel closes. Returns the report, and one rejection for each step with traces
/// over their limit of spans.
fn write(
    map: &ShardMap,
    mut shards: Vec<Shard<'_>>,
    steps: Receiver<ImportStep>,
) -> Result<(ImportReport, Vec<Rejection>)> {
    let mut over_limit = Vec::new();
    for ImportStep { traces, through, rejected, is_last } in steps {
        let mut parts: Vec<Vec<TraceSpans>> = shards.iter().map(|_| Vec::new()).collect();
        for trace in traces {
            let shard = trace.1.first().map_or(0, |span| map.shard_of(span.trace_id));
            parts[shard].push(trace);
        }
        let mut surplus = 0;
        for (number, (shard, part)) in shards.iter_mut().zip(parts).enumerate() {
            // Invalid spans belong to no shard, so the first shard counts them.
            surplus += shard.load(part, if number == 0 { rejected } else { 0 }, (through, is_last))?;
        }
        if surplus > 0 {
            let reason =
                format!("{surplus} spans of traces that have {} spans already", crate::trace::MAX_SPANS);
            over_limit.push(Rejection { span: through, reason });
        }
    }
    let sum = |count: fn(&ImportRecord) -> u64| shards.iter().map(|shard| count(&shard.progress)).sum();
    let (accepted, rejected) = (sum(|progress| progress.accepted), sum(|progress| progress.rejected));
    Ok((ImportReport { accepted, rejected, ..ImportReport::default() }, over_limit))
}
