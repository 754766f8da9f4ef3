//! Fuzzing without a special toolchain: a seeded mutator over a kept corpus.
//!
//! A target is a law about any bytes. Each run draws inputs of the corpus, changes them, and asks the
//! law; a run is short unless `FUZZ_SECONDS` says how long each target runs, and the same
//! inputs come again with the same `FUZZ_SEED`. An input that breaks a law is written to
//! `target/fuzz/`; it belongs in `tests/fuzz/corpus/<target>/`, where every later run asks it first.
//!
//! This mutator is blind: it does not see which branches an input takes, as `cargo fuzz` would.

mod bytes;
mod mutate;
mod store;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mutate::mutated;

use crate::random::Random;

/// How many inputs a short run asks about.
const SHORT_RUN: u64 = 200;

/// Asks `law` about the inputs of the corpus of `target` and of `more`, then about changed ones.
fn fuzz(target: &str, more: Vec<Vec<u8>>, law: impl Fn(&[u8])) {
    let mut corpus = kept(target);
    corpus.extend(more);
    assert!(!corpus.is_empty(), "`{target}` has a corpus");
    for input in &corpus {
        ask(target, input, &law);
    }
    let seed = number_from("FUZZ_SEED").unwrap_or(20_261_120);
    let mut random = Random::new(seed);
    let seconds = number_from("FUZZ_SECONDS").map(Duration::from_secs);
    let began = Instant::now();
    let mut asked = 0_u64;
    while seconds.map_or(asked < SHORT_RUN, |seconds| began.elapsed() < seconds) {
        ask(target, &mutated(&corpus, &mut random), &law);
        asked += 1;
    }
    println!("{target}: {asked} executions in {} s, seed {seed}", began.elapsed().as_secs());
}

fn ask(target: &str, input: &[u8], law: &impl Fn(&[u8])) {
    if let Err(broken) = catch_unwind(AssertUnwindSafe(|| law(input))) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/fuzz").join(target);
        let path = folder.join(format!("{:08x}", crc32c::crc32c(input)));
        fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input)).expect("a place for the input");
        eprintln!("`{target}` is broken by `{}`", path.display());
        resume_unwind(broken);
    }
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|number| number.parse().expect("a number"))
}

fn kept(target: &str) -> Vec<Vec<u8>> {
    contents_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target), "")
}

/// Returns the contents of the files of a folder whose names end in `suffix`, in order of their names.
fn contents_of(folder: &Path, suffix: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(suffix)).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file")).collect()
}
