//! Fuzzing without a special toolchain: a seeded mutator over a stored corpus.
//!
//! A target is a property that must hold for any bytes. A run mutates inputs of the corpus and checks the
//! property for each. A run is short unless `FUZZ_SECONDS` sets its duration per target; `FUZZ_SEED`
//! reproduces its inputs. An input that violates the property is written to `target/fuzz/`. Add it to
//! `tests/fuzz/corpus/<target>/`, which every run checks first.
//!
//! Unlike `cargo fuzz`, the mutator is not guided by coverage.

mod inputs;
mod mutate;
mod store;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mutate::mutated;

use crate::support::random::Random;

/// The number of mutated inputs of a short run.
const SHORT_RUN_INPUTS: u64 = 200;

/// Checks `property` for the inputs in the corpus of `target` and in `more`, then for mutated ones.
fn fuzz(target: &str, more: Vec<Vec<u8>>, property: impl Fn(&[u8])) {
    let mut corpus = stored_corpus(target);
    corpus.extend(more);
    assert!(!corpus.is_empty(), "`{target}` has a corpus");
    for input in &corpus {
        check(target, input, &property);
    }
    let seed = number_from("FUZZ_SEED").unwrap_or(20_261_120);
    let mut random = Random::new(seed);
    let seconds = number_from("FUZZ_SECONDS").map(Duration::from_secs);
    let started = Instant::now();
    let mut executed = 0_u64;
    while seconds.map_or(executed < SHORT_RUN_INPUTS, |seconds| started.elapsed() < seconds) {
        check(target, &mutated(&corpus, &mut random), &property);
        executed += 1;
    }
    println!("{target}: {executed} executions in {} s, seed {seed}", started.elapsed().as_secs());
}

fn check(target: &str, input: &[u8], property: &impl Fn(&[u8])) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| property(input))) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/fuzz").join(target);
        let path = folder.join(format!("{:08x}", crc32c::crc32c(input)));
        fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input)).expect("a file for the input");
        eprintln!("`{}` violates the property of `{target}`", path.display());
        resume_unwind(panic);
    }
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|number| number.parse().expect("a number"))
}

fn stored_corpus(target: &str) -> Vec<Vec<u8>> {
    contents_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target), "")
}

/// Returns the contents of the files in a folder whose names end in `suffix`, sorted by name.
fn contents_of(folder: &Path, suffix: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(suffix)).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file")).collect()
}
