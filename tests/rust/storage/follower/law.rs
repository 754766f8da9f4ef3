//! The law of followers: after every step a follower answers like its writer.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::bulk::{ImportOptions, import};
use spanwise::filter::Filter;
use spanwise::otlp::proto;
use spanwise::query::{self, CancellationToken, Detail, PageRequest, Sort};
use spanwise::storage::{Follower, Options, Snapshot, TraceStore};
use spanwise::time::{now_micros, write_instant};
use tempfile::TempDir;

use crate::bulk::batch;
use crate::support::contents::{address, contents, fragments, id_of, traces_in};
use crate::support::logs::{log, logs};
use crate::support::memory::Memory;
use crate::support::spans::{EPOCH, MILLISECOND, below, failed, request, span, with};
use crate::support::wait_until;

/// The exclusive maximum of trace numbers.
const TRACES: u64 = 7;

/// The time between the starts of two traces in milliseconds.
const SPACING: u64 = 10_000;

/// A step of the writer, or of the reader.
#[derive(Debug, Clone)]
enum Step {
    /// Ingests spans: trace, span, and the delay of the span's end in milliseconds.
    Ingest(Vec<(u64, u64, u64)>),
    /// Ingests log records: trace, span, and number.
    Logs(Vec<(u64, u64, u64)>),
    /// Imports spans.
    Import(Vec<(u64, u64, u64)>),
    Flush,
    /// Deletes these traces.
    Delete(Vec<u64>),
    /// Deletes these traces, and ingests a span of each before the reader polls.
    DeleteAndGoOn(Vec<u64>),
    /// Merges segments, and purges deleted data if true.
    Compact(bool),
    /// Waits until traces that started before this one are deleted.
    Retain(u64),
    /// Builds the document indexes.
    Index,
    /// Closes and opens the store.
    RestartWriter,
    RestartReader,
    /// Does nothing, and the reader does not poll either. It sees several steps at once.
    Sleep,
}

fn steps() -> impl Strategy<Value = Vec<(Step, bool)>> {
    let arrivals = proptest::collection::vec((1..TRACES, 1..5_u64, 0..3_u64), 1..6);
    let traces = proptest::collection::vec(1..TRACES, 1..3);
    let step = prop_oneof![
        8 => arrivals.clone().prop_map(Step::Ingest),
        2 => arrivals.clone().prop_map(Step::Logs),
        2 => arrivals.prop_map(Step::Import),
        3 => Just(Step::Flush),
        2 => traces.clone().prop_map(Step::Delete),
        2 => traces.prop_map(Step::DeleteAndGoOn),
        2 => any::<bool>().prop_map(Step::Compact),
        1 => (1..TRACES).prop_map(Step::Retain),
        2 => Just(Step::Index),
        2 => Just(Step::RestartWriter),
        2 => Just(Step::RestartReader),
        1 => Just(Step::Sleep),
    ];
    proptest::collection::vec((step, proptest::bool::weighted(0.8)), 1..20)
}

/// Returns the spans of arrivals. Texts, user and failure depend on trace and span.
fn spans_of(arrivals: &[(u64, u64, u64)]) -> Vec<proto::Span> {
    let spans = arrivals.iter().map(|(trace, id, later)| {
        let mut made = span(*trace, *id, trace * SPACING + id);
        made.end_time_unix_nano += later * MILLISECOND;
        made = with(made, "session.id", &format!("session-{}", trace % 3));
        made = with(made, "input.value", &format!("what word-{id} of word-{trace}"));
        made = with(made, "openinference.span.kind", if id % 2 == 0 { "TOOL" } else { "LLM" });
        made = if *id > 1 { below(made, 1) } else { made };
        if *later == 2 { failed(made, "it broke") } else { made }
    });
    spans.collect()
}

/// The location of the store, and how it is opened.
enum Place {
    Folder(TempDir),
    /// Like in a bucket, where only the claim excludes other writers.
    Memory(Memory),
}

impl Place {
    fn open(&self, options: Options) -> TraceStore {
        let opened = match self {
            Self::Folder(folder) => TraceStore::open(address(folder), options),
            Self::Memory(memory) => TraceStore::open_in(Arc::new(memory.clone()), options),
        };
        opened.expect("a store that opens")
    }

    fn follow(&self) -> Follower {
        // The reader polls only on request.
        let options = Options { follow_milliseconds: 3_600_000, ..Options::default() };
        let followed = match self {
            Self::Folder(folder) => TraceStore::follow(address(folder), options),
            Self::Memory(memory) => TraceStore::follow_in(Arc::new(memory.clone()), options),
        };
        followed.expect("a reader that opens")
    }
}

/// Conditions on rows, texts and spans.
fn filters() -> Vec<Filter> {
    let sources = [
        json!({}),
        json!({"op": "EQ", "key": "status", "value": "ERROR"}),
        json!({"op": "EQ", "key": "session_id", "value": "session-1"}),
        json!({"op": "CONTAINS", "key": "name", "value": "PAN-2"}),
        json!({"op": "CONTAINS", "key": "input", "value": "word-3"}),
        json!({"op": "NOT", "condition": {"op": "CONTAINS", "key": "input", "value": "word-2"}}),
        json!({"op": "SPAN", "where": {"op": "AND", "conditions": [
            {"op": "EQ", "key": "type", "value": "TOOL"}, {"op": "EQ", "key": "status", "value": "ERROR"}]}}),
        json!({"op": "SPAN", "where": {"op": "FOLLOWED_BY", "where": {"op": "EQ", "key": "type", "value": "LLM"}}}),
        json!({"op": "GTE", "key": "start_time", "value": "2026-01-01T00:00:30Z"}),
    ];
    sources.iter().map(compiled).collect()
}

fn compiled(source: &Value) -> Filter {
    Filter::compile(source.to_string().as_bytes()).expect("a good filter")
}

/// Returns all answers of a snapshot.
fn answers(snapshot: &Snapshot, filters: &[Filter]) -> Vec<(Vec<u8>, u64)> {
    let token = CancellationToken::default();
    let mut answers = Vec::new();
    for filter in filters {
        for sort in [Sort::NEWEST_FIRST, Sort::by("duration_ms", true).expect("a sort")] {
            for page in 1..=2 {
                let request = PageRequest::new(page, 4).expect("a page").sorted(sort);
                answers.push(query::runs(snapshot, filter, request, Detail::Full, &token).expect("a page"));
            }
        }
        let request = PageRequest::new(1, 100).expect("a page");
        answers.push(query::sessions(snapshot, filter, request, &token).expect("a page"));
        answers.push(query::ids(snapshot, filter, request, &token).expect("a page"));
    }
    let alone = (1..TRACES).map(|trace| {
        let found = query::trace(snapshot, id_of(trace), &Filter::all(), Detail::Full).expect("readable");
        (found.unwrap_or_default(), 0)
    });
    let pages = answers.into_iter().map(|page| (page.data, page.total_count));
    pages.chain(alone).collect()
}

fn assert_equal(writer: &TraceStore, reader: &Follower, filters: &[Filter]) {
    reader.refresh().expect("refreshed");
    let (written, read) = (writer.snapshot(), reader.present().expect("a state"));
    assert_eq!(contents(&read), contents(&written));
    assert_eq!(fragments(&read), fragments(&written));
    assert_eq!(answers(&read, filters), answers(&written, filters));
}

/// Performs a step of the writer. Returns the writer, which may have been replaced.
fn write(place: &Place, writer: TraceStore, options: &Options, step: Step) -> TraceStore {
    match step {
        Step::Ingest(arrivals) => {
            writer.ingest(request(&spans_of(&arrivals))).expect("ingested");
        }
        Step::Logs(arrivals) => {
            let records: Vec<_> =
                arrivals.into_iter().map(|(trace, id, number)| log(trace, id, number)).collect();
            writer.ingest_logs(logs(&records)).expect("ingested");
        }
        Step::Import(arrivals) => {
            let batches = [Ok(batch(&spans_of(&arrivals), 4_000_000_000_000_000))];
            import(&writer, batches.into_iter(), &ImportOptions::of("")).expect("imported");
        }
        Step::Flush => writer.flush().expect("flushed"),
        Step::Delete(traces) => {
            writer.delete(&traces_in(&traces), false).expect("deleted");
        }
        Step::DeleteAndGoOn(traces) => {
            writer.delete(&traces_in(&traces), false).expect("deleted");
            let late: Vec<_> = traces.iter().map(|trace| (*trace, 4, 1)).collect();
            writer.ingest(request(&spans_of(&late))).expect("ingested");
        }
        Step::Compact(purge) => writer.compact(purge).expect("compacted"),
        Step::Retain(trace) => {
            let start = (EPOCH / MILLISECOND + trace * SPACING) * 1_000;
            let age = (u64::try_from(now_micros()).expect("after 1970") - start) / 1_000_000;
            writer.close().expect("closed");
            let retaining = place.open(Options { retain_seconds: Some(age), ..options.clone() });
            let mut instant = String::new();
            write_instant(&mut instant, i64::try_from(start).expect("an instant"));
            // The trace itself may also be expired by now.
            let before = compiled(&json!({"op": "LT", "key": "start_time", "value": instant}));
            wait_until(|| retaining.delete(&before, true).expect("counted") == 0);
            retaining.close().expect("closed");
            return place.open(options.clone());
        }
        Step::Index => writer.index().expect("indexed"),
        Step::RestartWriter => {
            writer.close().expect("closed");
            return place.open(options.clone());
        }
        Step::RestartReader | Step::Sleep => {}
    }
    writer
}

fn check(place: &Place, steps: Vec<(Step, bool)>, options: &Options) {
    let filters = filters();
    let mut writer = place.open(options.clone());
    let mut reader = place.follow();
    for (step, looks) in steps {
        let looks = looks && !matches!(step, Step::Sleep);
        if matches!(step, Step::RestartReader) {
            reader.close().expect("closed");
            reader = place.follow();
        }
        writer = write(place, writer, options, step);
        if looks {
            assert_equal(&writer, &reader, &filters);
        }
    }
    assert_equal(&writer, &reader, &filters);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_reader_of_a_folder_answers_as_its_writer(
        steps in steps(), seal_objects in 1..6_u64, max_segments in 1..5_u64,
    ) {
        let options = Options { seal_objects, max_segments, ..Options::default() };
        check(&Place::Folder(TempDir::new().expect("a folder")), steps, &options);
    }

    #[test]
    fn a_reader_of_objects_answers_as_its_writer(
        steps in steps(), seal_objects in 1..6_u64, max_segments in 1..5_u64, lingers in any::<bool>(),
        keeps_indexes in any::<bool>(),
    ) {
        let memory = if keeps_indexes { Memory::default().keeping_indexes() } else { Memory::default() };
        let linger_seconds = lingers.then_some(60);
        let options = Options { seal_objects, max_segments, linger_seconds, ..Options::default() };
        check(&Place::Memory(memory), steps, &options);
    }
}
