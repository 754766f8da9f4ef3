//! The architecture of the engine: layers, import cycles, and the sizes of files and folders.

mod imports;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use imports::{ImportGraph, top_level_modules};

use crate::support::files::paths_below;

/// The top-level modules. A module imports only modules above it in this list.
const LAYERS: [&str; 20] = [
    "error",
    "time",
    "caller",
    "semaphore",
    "progress",
    "affinity",
    "priority",
    "schema",
    "text",
    "otlp",
    "placement",
    "trace",
    "ingest",
    "bitmap",
    "index",
    "filter",
    "storage",
    "bulk",
    "query",
    "binding",
];

const MAX_LINES_PER_FILE: usize = 800;
const MAX_FILES_PER_FOLDER: usize = 20;

/// Returns the text of every source file of the engine, by its path below `rust/`.
fn engine_sources() -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("rust");
    let sources =
        paths_below(&root).into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs"));
    sources
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a source file");
            (path.strip_prefix(&root).expect("below rust/").to_owned(), text)
        })
        .collect()
}

/// Returns the top-level module of a source file.
fn module_of(path: &Path) -> String {
    let first = path.components().next().expect("a name").as_os_str();
    first.to_string_lossy().trim_end_matches(".rs").to_owned()
}

#[test]
fn a_module_imports_only_earlier_layers() {
    for (path, text) in engine_sources() {
        let module = module_of(&path);
        let Some(own) = LAYERS.iter().position(|name| *name == module) else {
            assert_eq!(module, "lib", "`{}` is in no layer", path.display());
            continue;
        };
        for imported in top_level_modules(&text) {
            let Some(theirs) = LAYERS.iter().position(|name| *name == imported) else { continue };
            assert!(theirs <= own, "`{}` imports `{imported}`, which is a later layer", path.display());
        }
    }
}

#[test]
fn no_files_import_one_another_in_a_cycle() {
    let cycles = ImportGraph::of(&engine_sources()).cycles();
    let cycles: Vec<String> = cycles.iter().map(|cycle| cycle.join(" -> ")).collect();
    assert!(cycles.is_empty(), "import cycles:\n{}", cycles.join("\n"));
}

#[test]
fn only_the_binding_depends_on_python() {
    for (path, text) in engine_sources() {
        assert!(module_of(&path) == "binding" || !text.contains("pyo3::"), "`{}` uses pyo3", path.display());
    }
}

#[test]
fn files_are_short() {
    for (path, text) in engine_sources() {
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES_PER_FILE, "`{}` has {lines} lines", path.display());
    }
}

#[test]
fn folders_are_small() {
    let mut files = BTreeMap::<PathBuf, usize>::new();
    for path in engine_sources().into_keys() {
        *files.entry(path.parent().expect("a folder").to_owned()).or_default() += 1;
    }
    for (folder, count) in files {
        assert!(count <= MAX_FILES_PER_FOLDER, "`rust/{}` has {count} files", folder.display());
    }
}
