//! The objects of a store: write-ahead log, manifests, and the files of segments.
//!
//! There are two properties. Damage to an object is reported or does not change the content of the store. An
//! object that is forged with correct checksums may change the content, but must not cause a panic.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use spanwise::error::{Error, Result};
use spanwise::otlp::{Fragment, WireSpan};
use spanwise::storage::{Options, TraceStore};

use super::fuzz;
use crate::support::forge;
use crate::support::logs::{log, logs};
use crate::support::memory::Memory;
use crate::support::spans::{below, request, span, with};

/// Returns a small store with two segments and a write-ahead log. One segment has a deletion vector.
fn small_store() -> Memory {
    let memory = Memory::default();
    let store = TraceStore::open_in(Arc::new(memory.clone()), Options::default()).expect("a store");
    for (trace, id) in [(1, 1), (2, 1), (1, 2)] {
        let spans = [with(span(trace, id, 0), "session.id", "s"), below(span(trace, id + 10, 0), id)];
        store.ingest(request(&spans)).expect("ingested");
        if id == 1 && trace == 2 {
            store.flush().expect("flushed");
        }
    }
    store.ingest_logs(logs(&[log(1, 1, 1), log(8, 1, 1)])).expect("ingested");
    store.flush().expect("flushed");
    store.ingest(request(&[span(3, 1, 0), span(2, 2, 0)])).expect("ingested");
    store.ingest_logs(logs(&[log(3, 1, 1), log(9, 1, 1)])).expect("ingested");
    store.close().expect("closed");
    memory
}

/// The creation time, the spans and the fragments of each trace, including traces without spans.
type StoreContent = BTreeMap<String, (i64, Vec<WireSpan>, Vec<Fragment>)>;

/// Opens the store and reads all of it.
fn read(memory: &Memory) -> Result<StoreContent> {
    let store = TraceStore::open_in(Arc::new(memory.clone()), Options::default())?;
    let snapshot = store.snapshot();
    let mut held = StoreContent::new();
    for part in snapshot.parts() {
        let hidden = part.invisible() - part.waiting();
        for row in (0..part.batch()?.num_rows()).zip(0_u32..).filter(|(_, row)| !hidden.contains(*row)) {
            let trace = part.trace(row.0)?;
            let spans = trace.spans().iter().map(|span| span.wire.clone()).collect();
            let held_trace = (trace.created_at, spans, trace.fragments().to_vec());
            held.insert(trace.trace_id.to_string(), held_trace);
        }
    }
    Ok(held)
}

/// Returns the result, or `None` for damage. Panics on any other error.
fn allow_damage<T>(found: Result<T>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(Error::Damage { .. } | Error::Options(_)) => None,
        Err(error) => panic!("expected damage, got {error}"),
    }
}

/// Asserts that replacing an object of a sound store by `content` is detected or changes nothing.
fn assert_detected(store: &Memory, held: &StoreContent, path: &str, content: &[u8]) {
    let changed = store.deep_clone();
    changed.set(path, content.to_vec());
    if let Some(found) = allow_damage(read(&changed)) {
        assert_eq!(found, *held, "`{path}` was changed, and so was the content of the store");
    }
}

fn golden() -> Memory {
    Memory::of_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/store-1"))
}

/// Returns the paths of one type of object in the store, and the contents of these and of the golden store's
/// objects.
fn objects(store: &Memory, folder: &str, suffix: &str) -> (Vec<String>, Vec<Vec<u8>>) {
    let golden = golden();
    let paths = store.paths(folder, suffix);
    let mut contents: Vec<_> = paths.iter().map(|path| store.content(path)).collect();
    contents.extend(golden.paths(folder, suffix).iter().map(|path| golden.content(path)));
    (paths, contents)
}

#[test]
fn write_ahead() {
    let store = small_store();
    let held = read(&store.deep_clone()).expect("a sound store");
    let (mut paths, contents) = objects(&store, "wal/", ".wal");
    paths.retain(|path| store.content(path).len() > 56);
    assert_eq!(paths.len(), 2, "one with spans, one with fragments");
    let path = &paths[0];
    fuzz("write-ahead", contents, |content| {
        for path in &paths {
            assert_detected(&store, &held, path, content);
        }
        let forged = store.deep_clone();
        let mut content = content.to_vec();
        if content.len() >= 56 {
            content[..40].copy_from_slice(&store.content(path)[..40]);
            forge::seal_wal(&mut content);
        }
        forged.set(path, content);
        let _anything = allow_damage(read(&forged));
    });
}

#[test]
fn manifest() {
    let store = small_store();
    let held = read(&store.deep_clone()).expect("a sound store");
    let (paths, contents) = objects(&store, "manifest/", ".json");
    let path = paths.last().expect("a manifest");
    fuzz("manifest", contents, |content| {
        assert_detected(&store, &held, path, content);
        let forged = store.deep_clone();
        let text = String::from_utf8_lossy(content);
        // Uses the text after the checksum as the manifest.
        let text = text.split_once("\"manifest\":").map_or(&*text, |(_, text)| text).trim_end();
        let text = text.strip_suffix('}').unwrap_or(text);
        forged.set(path, forge::sealed_manifest(&Value::from(2), text));
        let _anything = allow_damage(read(&forged));
    });
}

#[test]
fn segments() {
    let store = small_store();
    let held = read(&store.deep_clone()).expect("a sound store");
    let (paths, contents) = objects(&store, "segments/", "");
    let manifest = store.paths("manifest/", ".json").pop().expect("a manifest");
    let kinds = [
        (0, "traces.parquet", "traces"),
        (0, "spans.otlp.zst", "documents"),
        (0, ".roaring", "hidden"),
        (1, "without-spans.roaring", "without-spans.roaring"),
    ];
    fuzz("segments", contents, |content| {
        for path in &paths {
            assert_detected(&store, &held, path, content);
        }
        for (segment, suffix, kind) in kinds {
            let forged = store.deep_clone();
            let path = forged.paths("segments/", suffix).remove(0);
            let mut envelope: Value = serde_json::from_slice(&store.content(&manifest)).expect("JSON");
            let mut named = envelope["manifest"].take();
            forge::record_file(&mut named, segment, kind, content);
            assert!(path.contains(named["segments"][segment]["id"].as_str().expect("an id")));
            forged.set(&manifest, forge::sealed_manifest(&Value::from(2), &named.to_string()));
            forged.set(&path, content.to_vec());
            let _anything = allow_damage(read(&forged));
        }
    });
}
