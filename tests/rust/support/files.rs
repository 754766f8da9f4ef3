//! The files of a local store, for tests that damage, restore and compare them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::contents::{Contents, contents, open};
use super::spans::{request, span};

/// Returns the paths of all files in a folder and its subfolders, sorted.
pub(crate) fn paths_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// Returns every file of a store except its lock and its cache, with its content.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = paths_below(folder).into_iter().filter(|path| {
        !path.ends_with("LOCK") && !path.strip_prefix(folder).expect("below the folder").starts_with("cache")
    });
    paths.map(|path| (path.clone(), fs::read(&path).expect("a file"))).collect()
}

/// Restores the files that [`files`] returned.
pub(crate) fn restore(folder: &Path, wanted: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in files(folder).keys().filter(|path| !wanted.contains_key(*path)) {
        fs::remove_file(path).expect("removed");
    }
    for (path, content) in wanted {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("written");
    }
}

/// Returns the newest object in a folder of the store.
pub(crate) fn newest(folder: &TempDir, within: &str) -> PathBuf {
    let entries = fs::read_dir(folder.path().join(within)).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).max().expect("an object")
}

/// Returns a closed store with three segments and a write-ahead log. One segment has a deletion vector.
pub(crate) fn closed_store() -> (TempDir, Contents) {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for spans in [[(1, 1), (4, 1)], [(2, 1), (5, 1)], [(1, 2), (6, 1)]] {
        store.ingest(request(&spans.map(|(trace, id)| span(trace, id, 0)))).expect("ingested");
        store.flush().expect("flushed");
    }
    store.ingest(request(&[span(3, 1, 0)])).expect("ingested");
    store.ingest(request(&[span(2, 2, 0)])).expect("ingested");
    let held = contents(&store.snapshot());
    store.close().expect("closed");
    (folder, held)
}
