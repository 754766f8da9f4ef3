//! What a store is made of: write-ahead, manifests, and the files of segments.
//!
//! Two laws. Damage is never answered with another store: it is refused, or the store holds what it
//! held. And who knows the format, checksums included, may make a store say anything, but not panic.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use spanwise::error::{Error, Result};
use spanwise::otlp::WireSpan;
use spanwise::storage::{Options, TraceStore};

use super::fuzz;
use crate::memory::Memory;
use crate::spans::{below, export, span, with};
use crate::storage::forge;

/// Returns a small store: two segments, one with a hidden row, and write-ahead.
fn small_store() -> Memory {
    let memory = Memory::default();
    let store = TraceStore::open_in(Arc::new(memory.clone()), Options::default()).expect("a store");
    for (trace, id) in [(1, 1), (2, 1), (1, 2)] {
        let spans = [with(span(trace, id, 0), "session.id", "s"), below(span(trace, id + 10, 0), id)];
        store.ingest(export(&spans)).expect("ingested");
        if id == 1 && trace == 2 {
            store.flush().expect("flushed");
        }
    }
    store.flush().expect("flushed");
    store.ingest(export(&[span(3, 1, 0), span(2, 2, 0)])).expect("ingested");
    store.close().expect("closed");
    memory
}

type Held = BTreeMap<String, (i64, Vec<WireSpan>)>;

/// Opens the store and reads all of it.
fn read(memory: &Memory) -> Result<Held> {
    let store = TraceStore::open_in(Arc::new(memory.clone()), Options::default())?;
    let snapshot = store.snapshot();
    let mut held = Held::new();
    for part in snapshot.parts() {
        for row in (0..part.batch()?.num_rows())
            .zip(0_u32..)
            .filter(|(_, row)| !part.deletion_vector().contains(*row))
        {
            let trace = part.trace(row.0)?;
            let spans = trace.spans().iter().map(|span| span.wire.clone()).collect();
            held.insert(trace.trace_id.to_string(), (trace.created_at, spans));
        }
    }
    Ok(held)
}

fn assert_named<T>(found: Result<T>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(Error::Damage { .. } | Error::Options(_)) => None,
        Err(fault) => panic!("expected damage, got {fault}"),
    }
}

/// Puts `content` in the place of an object of a sound store, which must tell.
fn assert_told(store: &Memory, held: &Held, path: &str, content: &[u8]) {
    let changed = store.copied();
    changed.set(path, content.to_vec());
    if let Some(found) = assert_named(read(&changed)) {
        assert_eq!(found, *held, "`{path}` was changed and the store is another one");
    }
}

fn golden() -> Memory {
    Memory::of_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/store-1"))
}

/// Returns the paths of a kind of object, and their contents, there and in the golden store.
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
    let held = read(&store.copied()).expect("a sound store");
    let (_, contents) = objects(&store, "wal/", ".wal");
    let path = "wal/00000000000000000005.wal";
    assert!(store.content(path).len() > 56);
    fuzz("write-ahead", contents, |content| {
        assert_told(&store, &held, path, content);
        let forged = store.copied();
        let mut content = content.to_vec();
        if content.len() >= 56 {
            content[..40].copy_from_slice(&store.content(path)[..40]);
            forge::seal_wal(&mut content);
        }
        forged.set(path, content);
        let _anything = assert_named(read(&forged));
    });
}

#[test]
fn manifest() {
    let store = small_store();
    let held = read(&store.copied()).expect("a sound store");
    let (paths, contents) = objects(&store, "manifest/", ".json");
    let path = paths.last().expect("a manifest");
    fuzz("manifest", contents, |content| {
        assert_told(&store, &held, path, content);
        let forged = store.copied();
        let text = String::from_utf8_lossy(content);
        // What stands between the checksum and the end is taken for the manifest.
        let text = text.split_once("\"manifest\":").map_or(&*text, |(_, text)| text).trim_end();
        let text = text.strip_suffix('}').unwrap_or(text);
        forged.set(path, forge::sealed_manifest(&Value::from(1), text));
        let _anything = assert_named(read(&forged));
    });
}

#[test]
fn segments() {
    let store = small_store();
    let held = read(&store.copied()).expect("a sound store");
    let (paths, contents) = objects(&store, "segments/", "");
    let manifest = store.paths("manifest/", ".json").pop().expect("a manifest");
    let kinds = [("traces.parquet", "traces"), ("spans.otlp.zst", "documents"), (".roaring", "hidden")];
    fuzz("segments", contents, |content| {
        for path in &paths {
            assert_told(&store, &held, path, content);
        }
        for (suffix, kind) in kinds {
            let forged = store.copied();
            let path = forged.paths("segments/", suffix).remove(0);
            let mut envelope: Value = serde_json::from_slice(&store.content(&manifest)).expect("JSON");
            let mut named = envelope["manifest"].take();
            forge::name_file(&mut named, 0, kind, content);
            assert!(path.contains(named["segments"][0]["id"].as_str().expect("an id")));
            forged.set(&manifest, forge::sealed_manifest(&Value::from(1), &named.to_string()));
            forged.set(&path, content.to_vec());
            let _anything = assert_named(read(&forged));
        }
    });
}
