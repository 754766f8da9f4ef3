//! Golden stores: every later version opens the stores of all released formats and finds their content.
//!
//! `tests/golden/store-<format>` is a store that was written by a version with that format. The JSON file
//! next to it is its expected content. A store is blessed once, before its format is released, and never
//! again. Only the row of a trace in its log is expected according to the current rules, because it is
//! derived when the store is opened.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray as _;
use arrow_array::types::TimestampMicrosecondType;
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use spanwise::error::Error;
use spanwise::otlp::{self, TraceId};
use spanwise::storage::objects::{Objects, PutError, PutPayload};
use spanwise::storage::{Options, Snapshot, TraceStore};
use spanwise::trace::row::to_batch;
use spanwise::trace::{Trace, TraceRow};
use tempfile::TempDir;

use crate::support::contents::{address, contents, copy_folder, open};
use crate::support::files::{files, newest};
use crate::support::forge;
use crate::support::layer::{Intercept, Layer};
use crate::support::memory::Memory;
use crate::support::spans::{EPOCH, MILLISECOND, below, failed, request, span, with};

/// The content of a store, and the counts of a check.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct GoldenStore {
    segments: u64,
    #[serde(rename = "hidden_rows")]
    deleted_rows: u64,
    wal_objects: u64,
    traces: BTreeMap<String, GoldenTrace>,
}

/// One trace: the columns of its row as text, and its document as base64.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct GoldenTrace {
    row: BTreeMap<String, String>,
    document: String,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Returns the folders of the golden stores.
fn stores() -> Vec<PathBuf> {
    let entries =
        fs::read_dir(golden("")).expect("the golden stores").map(|entry| entry.expect("an entry").path());
    let stores: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    assert!(!stores.is_empty(), "there is a golden store");
    stores
}

/// Returns a copy of a golden store that may be opened.
fn copied(store: &Path) -> TempDir {
    let copy = TempDir::new().expect("a folder");
    copy_folder(store, copy.path());
    copy
}

/// Returns a value as text; a timestamp as microseconds since 1970.
fn printed(column: &ArrayRef, row: usize) -> String {
    match column.data_type() {
        DataType::Timestamp(_, _) => column.as_primitive::<TimestampMicrosecondType>().value(row).to_string(),
        _ => array_value_to_string(column, row).expect("a value that prints"),
    }
}

/// Returns the traces of a snapshot.
fn traces(snapshot: &Snapshot) -> BTreeMap<String, GoldenTrace> {
    let ids = contents(snapshot).into_keys();
    let found = ids.map(|id| {
        let (part, row) = snapshot.find(id).expect("a row");
        let part = &snapshot.parts()[part];
        let batch = part.batch().expect("readable rows");
        let schema = batch.schema();
        let columns = schema
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, column)| (field.name().clone(), printed(column, row)));
        let columns: BTreeMap<_, _> = columns.collect();
        let document = STANDARD.encode(part.trace(row).expect("a readable document").document());
        (id.to_string(), GoldenTrace { row: columns, document })
    });
    found.collect()
}

#[test]
fn every_golden_store_is_sound_and_complete() {
    for store in stores() {
        let text = fs::read(store.with_extension("json")).expect("the expected content");
        let held: GoldenStore = serde_json::from_slice(&text).expect("JSON");
        let copy = copied(&store);
        let report = TraceStore::check(address(&copy)).expect("a sound store");
        let counts = (report.segments, report.deleted_rows, report.wal_objects);
        assert_eq!(counts, (held.segments, held.deleted_rows, held.wal_objects));
        for is_sealed in [false, true] {
            let opened = open(&copy);
            assert_holds(&opened.snapshot(), &held);
            if !is_sealed {
                opened.flush().expect("flushed");
                assert_holds(&opened.snapshot(), &held);
            }
            opened.close().expect("closed");
        }
    }
}

/// Asserts that each trace has the same spans, and the same values in the columns of that format.
fn assert_holds(snapshot: &Snapshot, held: &GoldenStore) {
    let found = traces(snapshot);
    assert!(found.keys().eq(held.traces.keys()));
    for (id, expected) in &held.traces {
        for (column, value) in &expected.row {
            assert_eq!(found[id].row.get(column), Some(value), "{column} of trace {id}");
        }
        assert_completed(&found[id].row, &expected.row, &expected.document, id);
        let trace_id = TraceId::from_hex(id).expect("a trace id");
        let spans = |document: &str| {
            let document = STANDARD.decode(document).expect("base64").into();
            let trace = Trace::from_document(trace_id, 0, document).expect("a document");
            trace.spans().iter().map(|span| span.wire.clone()).collect::<Vec<_>>()
        };
        assert_eq!(spans(&found[id].document), spans(&expected.document), "trace {id}");
    }
}

/// Asserts that columns added after a format equal the columns that the current rules derive from the
/// document.
fn assert_completed(
    found: &BTreeMap<String, String>,
    held: &BTreeMap<String, String>,
    document: &str,
    id: &str,
) {
    let document = STANDARD.decode(document).expect("base64").into();
    let trace = Trace::from_document(TraceId::from_hex(id).expect("a trace id"), 0, document);
    let derived = to_batch(&[TraceRow::of(&trace.expect("a document"))]);
    for (field, column) in derived.schema().fields().iter().zip(derived.columns()) {
        if !held.contains_key(field.name()) {
            assert_eq!(found[field.name()], printed(column, 0), "{} of trace {id}", field.name());
        }
    }
}

/// Asserts that a store is rejected because of the format of an object, and that its files are unchanged.
fn assert_rejected(folder: &TempDir, object: &Path, expected: &str) {
    let before = files(folder.path());
    for recover in [false, true] {
        let options = Options { recover, ..Options::default() };
        let Err(Error::Options(message)) = TraceStore::open(address(folder), options) else {
            panic!("expected a rejection");
        };
        assert!(message.ends_with(expected), "{message}");
        let object = object.strip_prefix(folder.path()).expect("inside").display().to_string();
        assert!(message.contains(&object), "{message} does not name {object}");
        assert_eq!(files(folder.path()), before);
    }
}

#[test]
fn a_newer_format_of_any_object_is_rejected_and_nothing_is_changed() {
    for store in stores() {
        let copy = copied(&store);
        let manifest = newest(&copy, "manifest");
        let text = fs::read_to_string(&manifest).expect("text");
        let (_, rest) = text.split_once(',').expect("members");
        fs::write(&manifest, format!("{{\"format\":3,{rest}")).expect("written");
        assert_rejected(&copy, &manifest, "has format 3, this program reads 1 to 2");

        let copy = copied(&store);
        let wal = newest(&copy, "wal");
        let mut newer = fs::read(&wal).expect("an object");
        newer[8] = 3;
        forge::seal_wal(&mut newer);
        fs::write(&wal, newer).expect("written");
        assert_rejected(&copy, &wal, "has format 3, this program reads 1 to 2");

        let copy = copied(&store);
        let mut segment = None;
        forge::manifest(&newest(&copy, "manifest"), |manifest| {
            let id = manifest["segments"][1]["id"].as_str().expect("an id");
            let rows = copy.path().join("segments").join(id).join("traces.parquet");
            let mut newer = fs::read(&rows).expect("rows");
            let key = b"spanwise.format";
            let position = newer.windows(key.len()).position(|window| window == key).expect("the format");
            // The key is followed by the header of the value field, its length, and the value.
            assert_eq!(newer[position + key.len() + 2], b'1');
            newer[position + key.len() + 2] = b'3';
            fs::write(&rows, &newer).expect("written");
            forge::record_file(manifest, 1, "traces", &newer);
            segment = Some(rows);
        });
        assert_rejected(&copy, &segment.expect("a segment"), "has format 3, this program reads 1 to 2");
    }
}

#[test]
fn an_older_store_gets_the_present_format_in_one_step() {
    let old = golden("store-1");
    let memory = Memory::of_folder(&old);
    let steps = Arc::new(Mutex::new(Vec::new()));
    let objects = Layer { intercept: Recorded { steps: steps.clone() }, inner: memory.clone() };
    let held = contents(
        &TraceStore::open_in(Arc::new(Memory::of_folder(&old)), Options::default())
            .expect("a store")
            .snapshot(),
    );
    TraceStore::open_in(Arc::new(objects), Options::default()).expect("a store").close().expect("closed");
    let steps = steps.lock().expect("a sound lock");
    assert!(steps.len() >= 3, "a claim, a fence, the end of the log");
    for killed_after in 0..=steps.len() {
        let killed = Memory::of_folder(&old);
        for (path, content) in &steps[..killed_after] {
            killed.set(path, content.clone());
        }
        let newest = killed.paths("manifest/", ".json").pop().expect("a manifest");
        let is_new = killed.content(&newest).starts_with(b"{\"format\":2,");
        assert_eq!(is_new, killed_after > 0, "the claim brings the new format");
        for _ in 0..2 {
            let store = TraceStore::open_in(Arc::new(killed.clone()), Options::default()).expect("a store");
            assert_eq!(contents(&store.snapshot()), held, "killed after step {killed_after}");
            store.close().expect("closed");
        }
    }
}

/// The path and content of every object, in order.
type Steps = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Records every object that is put, in order.
#[derive(Debug)]
struct Recorded {
    steps: Steps,
}

impl Intercept for Recorded {
    fn put_new(
        &self,
        inner: &dyn Objects,
        path: &str,
        content: PutPayload,
    ) -> std::result::Result<(), PutError> {
        let bytes = Bytes::from(content.clone()).to_vec();
        inner.put_new(path, content)?;
        self.steps.lock().expect("a sound lock").push((path.to_owned(), bytes));
        Ok(())
    }
}

/// Ingests captured requests.
fn send(store: &TraceStore, names: &[&str]) {
    for name in names {
        let body = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/otlp").join(name));
        let now = EPOCH + 3_650 * 86_400_000 * MILLISECOND;
        let export = otlp::decode(body.expect("a capture").into(), "application/x-protobuf", None, now);
        store.ingest(export.expect("a good request")).expect("ingested");
    }
}

#[test]
#[ignore = "writes the golden store of the current format, once, before the format is released"]
fn bless() {
    let root = golden("store-2");
    let _absent = fs::remove_dir_all(&root);
    let url = root.to_str().expect("UTF-8");
    let store = TraceStore::open(url, Options::default()).expect("a store");
    send(&store, &["agno-agent-tool-01.pb", "agno-team-01.pb", "openai-v2-chat-tool-01.pb"]);
    send(&store, &["service-orphan-01.pb", "pydantic-ai-agent-unicode-01.pb"]);
    store.ingest(request(&[span(1, 1, 0), failed(below(span(1, 2, 10), 1), "no")])).expect("ingested");
    store.ingest(request(&[span(2, 1, 5)])).expect("ingested");
    store.flush().expect("flushed");
    send(&store, &["agno-agent-tool-02.pb", "agno-team-02.pb", "agno-team-03.pb", "service-odd-times-01.pb"]);
    store.ingest(request(&[with(span(2, 2, 6), "session.id", "late"), span(3, 1, 7)])).expect("ingested");
    store.flush().expect("flushed");
    send(&store, &["agno-team-04.pb", "agno-team-05.pb", "genai-util-agent-01.pb", "service-orphan-02.pb"]);
    store.ingest(request(&[span(1, 3, 8), with(span(4, 1, 9), "user.id", "unsealed")])).expect("ingested");
    let traces = traces(&store.snapshot());
    store.close().expect("closed");
    fs::remove_file(root.join("LOCK")).expect("removed");
    fs::remove_dir_all(root.join("cache")).expect("removed");
    let report = TraceStore::check(url).expect("a sound store");
    let held = GoldenStore {
        segments: report.segments,
        deleted_rows: report.deleted_rows,
        wal_objects: report.wal_objects,
        traces,
    };
    assert!(held.segments > 1 && held.deleted_rows > 1 && held.wal_objects > 1, "{report:?}");
    let text = serde_json::to_string_pretty(&held).expect("plain values");
    fs::write(root.with_extension("json"), text + "\n").expect("written");
}
