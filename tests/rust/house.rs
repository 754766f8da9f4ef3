//! The house keeps its order: a module imports only modules above it, and rooms stay small.

use std::fs;
use std::path::{Path, PathBuf};

const ORDER: [&str; 13] = [
    "error",
    "time",
    "semaphore",
    "schema",
    "otlp",
    "trace",
    "ingest",
    "index",
    "filter",
    "storage",
    "bulk",
    "search",
    "binding",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the house") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn engine_sources() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("rust");
    let module_of = |path: &Path| {
        let first = path.strip_prefix(&root).expect("below rust/").components().next().expect("a name");
        first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    sources(&root).into_iter().map(|path| (module_of(&path), path)).collect()
}

#[test]
fn a_module_imports_only_modules_above_it() {
    for (module, path) in engine_sources() {
        let Some(own) = ORDER.iter().position(|name| *name == module) else {
            assert_eq!(module, "lib", "`{}` has no place in the order", path.display());
            continue;
        };
        let text = fs::read_to_string(&path).expect("a source file");
        for (place, _) in text.match_indices("crate::") {
            let imported: String = text[place + "crate::".len()..]
                .chars()
                .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                .collect();
            let Some(theirs) = ORDER.iter().position(|name| *name == imported) else { continue };
            assert!(theirs <= own, "`{}` imports `{imported}`, which stands below it", path.display());
        }
    }
}

#[test]
fn only_the_binding_knows_python() {
    for (module, path) in engine_sources() {
        let text = fs::read_to_string(&path).expect("a source file");
        assert!(module == "binding" || !text.contains("pyo3::"), "`{}` names pyo3", path.display());
    }
}

#[test]
fn a_room_has_at_most_400_lines() {
    for (_, path) in engine_sources() {
        let lines = fs::read_to_string(&path).expect("a source file").lines().count();
        assert!(lines <= 400, "`{}` has {lines} lines", path.display());
    }
}
