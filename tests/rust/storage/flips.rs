//! A flipped bit in any file of a store is never silent: every answer is unchanged, or an error that names
//! the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use spanwise::error::{Error, Result};
use spanwise::otlp::TraceId;
use spanwise::storage::{Options, Snapshot, TraceStore};
use tempfile::TempDir;

use crate::support::answers::{Answers, answers, named};
use crate::support::contents::{address, contents, copy_folder, open, traces_in};
use crate::support::files::{files, newest, paths_below};
use crate::support::forge;
use crate::support::memory::Memory;
use crate::support::random::Random;
use crate::support::spans::{below, failed, request, span, with};

/// The number of flips in each type of file; `BIT_FLIPS` sets another number.
const FLIPS: u64 = 20;

/// The name of a file that this version does not know.
const FURTHER: &str = "later.index";

/// Returns the type of a file: its name without its number.
fn kind_of(path: &Path) -> String {
    let name = path.file_name().expect("a name").to_string_lossy();
    if let Some((index, _)) = name.split_once('-').filter(|(_, number)| number.parse::<u64>().is_ok()) {
        return format!("object of {index}");
    }
    match name.split_once('-').map_or_else(|| name.rsplit_once('.'), |(kind, _)| Some((kind, ""))) {
        Some((number, kind)) if number.bytes().all(|digit| digit.is_ascii_digit()) => kind.to_owned(),
        Some(("hidden", _)) => "hidden".to_owned(),
        _ => name.into_owned(),
    }
}

/// The spans of a trace, with a value in every column.
fn trace(number: u64) -> Vec<spanwise::otlp::proto::Span> {
    let named = |key: &str, value: &str, count: u64| format!("{key}-{value}-{}", number % count);
    let mut root = with(span(number, 1, number), "openinference.span.kind", "AGENT");
    root.end_time_unix_nano += (number % 40) * 1_000_000;
    root = with(
        root,
        "input.value",
        &format!("what is {number} times {number}, and why is it so? {}", number * number),
    );
    for (key, column, count) in [
        ("agno.agent.id", "agent", 3),
        ("agno.team.id", "team", 4),
        ("agno.workflow.id", "workflow", 5),
        ("session.id", "session", 20),
        ("user.id", "user", 6),
        ("agno.run.id", "run", 1_000),
    ] {
        if number % 7 != count % 7 {
            root = with(root, key, named(column, "", count).replace("--", "-").as_str());
        }
    }
    let child = below(span(number, 2, number + 1), 1);
    vec![root, if number.is_multiple_of(9) { failed(child, "it broke") } else { child }]
}

/// A closed store with files of every type, and its answers.
struct Sound {
    folder: TempDir,
    traces: Vec<TraceId>,
    answers: Answers,
    /// The answers before and after its segments are merged.
    merged: Answers,
}

impl Sound {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let store = open(&folder);
        let ingest = |numbers: std::ops::Range<u64>| {
            let spans: Vec<_> = numbers.flat_map(trace).collect();
            store.ingest(request(&spans)).expect("ingested");
        };
        for numbers in [1..30, 30..60] {
            ingest(numbers);
            store.flush().expect("flushed");
        }
        store.compact(false).expect("compacted");
        ingest(60..66);
        store.ingest(request(&[below(span(7, 3, 9), 1)])).expect("ingested");
        store.flush().expect("flushed");
        store.delete(&traces_in(&[3, 33, 63]), false).expect("deleted");
        ingest(66..70);
        store.ingest(request(&[below(span(8, 3, 9), 1), span(67, 3, 9)])).expect("ingested");
        let traces = contents(&store.snapshot()).into_keys().collect();
        store.index().expect("indexed");
        store.close().expect("closed");
        // The next claim removes the fence of this one.
        open(&folder).close().expect("closed");
        add_index_objects(&folder);
        add_further_file(&folder);
        let mut sound = Self { folder, traces, answers: Answers::new(), merged: Answers::new() };
        let snapshot = TraceStore::open_read_only(address(&sound.folder)).expect("a store");
        sound.answers = sound.ask(&snapshot);
        sound.merged = sound.ask_merged().expect("a store");
        assert!(sound.answers.iter().chain(&sound.merged).all(|(_, answer)| answer.is_ok()));
        sound
    }

    /// Returns a copy that may be damaged.
    fn copied(&self) -> Self {
        let folder = TempDir::new().expect("a folder");
        copy_folder(self.folder.path(), folder.path());
        let (traces, answers, merged) = (self.traces.clone(), self.answers.clone(), self.merged.clone());
        Self { folder, traces, answers, merged }
    }

    fn ask(&self, snapshot: &Arc<Snapshot>) -> Answers {
        answers(snapshot, &self.traces)
    }

    /// Opens a copy of the store as its writer, collects the answers, merges all segments and collects them
    /// again.
    fn ask_merged(&self) -> Result<Answers> {
        let memory = Memory::of_folder(self.folder.path());
        let store = TraceStore::open_in(Arc::new(memory), Options::default())?;
        let mut answers = self.ask(&store.snapshot());
        store.compact(true)?;
        answers.extend(self.ask(&store.snapshot()));
        store.close()?;
        Ok(answers)
    }

    /// Returns the paths of all files, by type.
    fn kinds(&self) -> BTreeMap<String, Vec<PathBuf>> {
        let mut kinds = BTreeMap::<_, Vec<PathBuf>>::new();
        for path in
            files(self.folder.path()).into_keys().chain(paths_below(&self.folder.path().join("cache")))
        {
            kinds.entry(kind_of(&path)).or_default().push(path);
        }
        kinds
    }

    /// Collects all answers in every way while `path` is damaged. Returns `true` if an error named the file.
    ///
    /// # Errors
    /// An answer that changed and does not name the file.
    fn ask_damaged(&self, path: &Path) -> std::result::Result<bool, String> {
        let mut object =
            path.strip_prefix(self.folder.path()).expect("inside").to_string_lossy().into_owned();
        if !path.exists() && object.starts_with("manifest") {
            // Its number is recorded nowhere else.
            object = "there is no manifest".into();
        }
        let is_cached = object.starts_with("cache");
        let is_derived = is_cached || kind_of(path).starts_with("object of ");
        let address = address(&self.folder);
        let target = TempDir::new().expect("a folder");
        let read = TraceStore::open_read_only(address).map(|snapshot| self.ask(&snapshot));
        let reads = [
            ("reading", judge(read, &self.answers, &object)?),
            ("merging", judge(self.ask_merged(), &self.merged, &object)?),
            ("check", judge(TraceStore::check(address).map(|_| Answers::new()), &Answers::new(), &object)?),
            ("backup", {
                let copied = TraceStore::backup(address, target.path().to_str().expect("UTF-8"), true);
                judge(copied.map(|_| Answers::new()), &Answers::new(), &object)?
            }),
        ];
        for (way, is_named) in &reads[2..] {
            if *is_named == is_derived {
                return Err(format!("{way} of a damaged `{object}`: named is {is_named}"));
            }
        }
        if is_derived && !is_cached {
            let report = TraceStore::check(address).map_err(|error| error.to_string())?;
            if !report.other_indexes.contains(&object) {
                return Err(format!("a check does not list `{object}`: {report:?}"));
            }
        }
        if is_cached {
            // The owner of the cache rewrites damaged files.
            let copy = TempDir::new().expect("a folder");
            copy_folder(self.folder.path(), copy.path());
            let own = TraceStore::open(copy.path().to_str().expect("UTF-8"), Options::default());
            let own = own.map(|store| self.ask(&store.snapshot()));
            judge(own, &self.answers, &object)?;
        }
        Ok(reads.iter().any(|(_, is_named)| *is_named))
    }
}

/// Returns `true` if any of the answers names `object`.
fn judge(found: Result<Answers>, whole: &Answers, object: &str) -> std::result::Result<bool, String> {
    match found {
        Ok(found) => named(whole, &found, object).map(|named| named > 0),
        Err(error @ (Error::Damage { .. } | Error::Options(_))) if error.to_string().contains(object) => {
            Ok(true)
        }
        Err(error) => Err(format!("`{error}` does not name `{object}`")),
    }
}

/// Also stores the indexes of all segments as objects.
fn add_index_objects(folder: &TempDir) {
    let memory = Memory::of_folder(folder.path()).keeping_indexes();
    let store = TraceStore::open_in(Arc::new(memory.clone()), Options::default()).expect("a store");
    store.index().expect("indexed");
    store.close().expect("closed");
    for within in ["manifest", "wal"] {
        fs::remove_dir_all(folder.path().join(within)).expect("removed");
    }
    memory.write_to(folder.path());
}

/// Adds a file of a later version to the first segment.
fn add_further_file(folder: &TempDir) {
    let content = b"what a later version wrote".repeat(20);
    let mut path = None;
    forge::manifest(&newest(folder, "manifest"), |manifest| {
        let segment = &mut manifest["segments"][0];
        segment["files"][FURTHER] = json!({"bytes": content.len(), "crc32c": crc32c::crc32c(&content)});
        path = segment["id"].as_str().map(|id| folder.path().join("segments").join(id).join(FURTHER));
    });
    fs::write(path.expect("a segment"), content).expect("written");
}

/// Flips bits in files of one type. Returns the number of flips that were reported.
fn flip_bits(sound: &Sound, kind: &str, flips: u64) -> u64 {
    let paths = sound.kinds().remove(kind).expect("files of the kind");
    let mut random = Random::new(u64::from(crc32c::crc32c(kind.as_bytes())));
    let mut named = 0;
    for flip in 0..flips {
        let path = &paths[usize::try_from(flip).expect("few") % paths.len()];
        let content = fs::read(path).expect("a file");
        let place = usize::try_from(random.below(content.len() as u64)).expect("a place");
        let bit = random.below(8);
        let mut damaged = content.clone();
        damaged[place] ^= 1 << bit;
        fs::write(path, damaged).expect("written");
        let outcome = sound.ask_damaged(path);
        fs::write(path, content).expect("written");
        match outcome {
            Ok(is_named) => named += u64::from(is_named),
            Err(silent) => panic!("bit {bit} of byte {place} of `{}`: {silent}", path.display()),
        }
    }
    named
}

#[test]
fn no_flipped_bit_is_silent() {
    let flips = std::env::var("BIT_FLIPS").map_or(FLIPS, |flips| flips.parse().expect("a number"));
    let sound = Sound::new();
    let kinds: Vec<String> = sound.kinds().into_keys().collect();
    let objects = ["hidden", "json", "spans.dict", "spans.otlp.zst", "traces.parquet", "wal"];
    let cached = ["index", "spans", "text", "attributes"];
    let recorded = cached.map(|index| format!("object of {index}"));
    let known = objects.into_iter().chain(cached).chain([FURTHER]).chain(recorded.iter().map(String::as_str));
    let known: BTreeSet<&str> = known.collect();
    assert!(kinds.iter().map(String::as_str).eq(known), "{kinds:?}");
    let threads = 2;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (sound, kinds) = (sound.copied(), &kinds);
            scope.spawn(move || {
                for kind in kinds.iter().skip(thread).step_by(threads) {
                    let named = flip_bits(&sound, kind, flips);
                    println!(
                        "{kind}: {flips} flips, {named} named, {} without effect, 0 silent",
                        flips - named
                    );
                    let is_derived = cached.contains(&kind.trim_start_matches("object of "));
                    assert_eq!(named, if is_derived { 0 } else { flips }, "{kind}");
                }
            });
        }
    });
}

#[test]
fn no_removed_file_is_silent() {
    let sound = Sound::new();
    for path in sound.kinds().into_values().flatten() {
        let content = fs::read(&path).expect("a file");
        fs::remove_file(&path).expect("removed");
        let outcome = sound.ask_damaged(&path);
        fs::write(&path, content).expect("written");
        if let Err(silent) = outcome {
            panic!("without `{}`: {silent}", path.display());
        }
    }
}
