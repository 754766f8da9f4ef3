//! Several processes and one store: the test binary runs itself as the others.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use super::contents::{address, contents, open};
use super::damage::newest;
use crate::random::Random;
use crate::spans::{export, span};

const STORE: &str = "SPANWISE_TEST_STORE";
const NUMBER: &str = "SPANWISE_TEST_NUMBER";
const PER_PROCESS: u64 = 20;

/// Starts this binary as another process over the store in `folder`.
fn another(folder: &Path, number: u64) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["storage::processes::another_process", "--exact", "--ignored", "--nocapture"])
        .env(STORE, folder)
        .env(NUMBER, number.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process")
}

#[test]
#[ignore = "this is the process of the test that a disk cannot be read"]
fn reading_process() {
    let Ok(url) = std::env::var(STORE) else { return };
    let store = TraceStore::open(&url, Options::default()).expect("a store");
    let snapshot = store.snapshot();
    for trace in 1..=2 {
        let trace_id = export(&[span(trace, 1, 0)]).spans[0].trace_id;
        let (place, row) = snapshot.find(trace_id).expect("a place");
        match snapshot.parts()[place].trace(row) {
            Ok(_) => println!("\ntrace {trace}: read"),
            Err(fault) => println!("\ntrace {trace}: {fault}"),
        }
    }
}

#[test]
fn a_segment_that_the_disk_cannot_give_back_is_damage_of_its_traces_alone() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for trace in 1..=2 {
        store.ingest(export(&[span(trace, 1, 0)])).expect("ingested");
        store.flush().expect("flushed");
    }
    store.close().expect("closed");
    let documents = newest(&folder, "segments").join("spans.otlp.zst");
    let traced = Command::new("strace")
        .args(["--follow-forks", "--output=/dev/null", "--trace=pread64", "--inject=pread64:error=EIO"])
        .arg("--trace-path")
        .arg(&documents)
        .arg(std::env::current_exe().expect("this binary"))
        .args(["storage::processes::reading_process", "--exact", "--ignored", "--nocapture"])
        .env(STORE, folder.path())
        .output();
    let said = traced.map(|done| String::from_utf8_lossy(&done.stdout).into_owned()).unwrap_or_default();
    // Only where processes may be traced.
    if !said.contains("trace 2: ") {
        return;
    }
    let object = documents.strip_prefix(folder.path()).expect("inside").display();
    assert!(said.contains("trace 1: read"), "{said}");
    assert!(said.contains(&format!("trace 2: `{object}` is damaged at byte 0: ")), "{said}");
    assert_eq!(contents(&open(&folder).snapshot()).len(), 2);
}

#[test]
#[ignore = "this is the other process of the tests beside it"]
fn another_process() {
    let Ok(url) = std::env::var(STORE) else { return };
    let number: u64 = std::env::var(NUMBER).expect("a number").parse().expect("a number");
    let store = match TraceStore::open(&url, Options::default()) {
        Ok(store) => store,
        Err(Error::Locked(_)) => return println!("\nrefused"),
        Err(fault) => panic!("{fault}"),
    };
    for trace in 1..=PER_PROCESS {
        let trace = number * 1_000 + trace;
        store.ingest(export(&[span(trace, 1, 0)])).expect("ingested");
        println!("\nacknowledged {trace}");
    }
    println!("\ndone");
    // Until whoever started this process lets go of it.
    let _ended = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Returns what a process said up to its end, or to the word that ends what it has to say.
fn said(child: &mut Child) -> Vec<String> {
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let lines = lines.map(|line| line.expect("a line")).filter(|line| !line.is_empty());
    let mut said = Vec::new();
    for line in lines {
        let is_last = line == "done" || line == "refused";
        said.push(line);
        if is_last {
            break;
        }
    }
    said
}

#[test]
fn of_eight_processes_that_open_one_store_at_once_one_acknowledges() {
    for _ in 0..3 {
        let folder = TempDir::new().expect("a folder");
        let mut children: Vec<_> = (1..=8).map(|number| another(folder.path(), number)).collect();
        let said: Vec<_> = children.iter_mut().map(said).collect();
        let refused = said.iter().filter(|said| said.iter().any(|line| line == "refused")).count();
        let acknowledged: Vec<u64> = said.iter().flatten().filter_map(|line| number_in(line)).collect();
        for child in &mut children {
            child.kill().expect("killed");
            child.wait().expect("ended");
        }
        assert_eq!(refused, 7, "{said:?}");
        assert_eq!(acknowledged.len() as u64, PER_PROCESS, "{said:?}");
        let store = open(&folder);
        for trace in acknowledged {
            let trace_id = export(&[span(trace, 1, 0)]).spans[0].trace_id;
            assert!(store.snapshot().find(trace_id).is_some(), "trace {trace} is lost");
        }
    }
}

fn number_in(line: &str) -> Option<u64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

/// How often an opening is killed; `OPENING_KILLS` says otherwise.
fn kills() -> u32 {
    std::env::var("OPENING_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(25)
}

#[test]
fn an_opening_that_is_killed_leaves_what_it_found() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for id in 1..=300 {
        store.ingest(export(&[span(1 + id % 40, id, id)])).expect("ingested");
        if id == 100 {
            store.flush().expect("flushed");
        }
    }
    let held = contents(&store.snapshot());
    drop(store);
    // How long a process takes to open the store; another number each time, for it ingests then.
    let began = Instant::now();
    let mut child = another(folder.path(), 1);
    assert!(said(&mut child).contains(&"done".to_owned()));
    let whole = began.elapsed();
    child.kill().expect("killed");
    child.wait().expect("ended");
    let mut random = Random::new(20_261_120);
    for number in 0..kills() {
        let mut child = another(folder.path(), 2 + u64::from(number));
        std::thread::sleep(Duration::from_micros(
            random.below(u64::try_from(whole.as_micros()).expect("short")),
        ));
        child.kill().expect("killed");
        child.wait().expect("ended");
    }
    let store = open(&folder);
    let found = contents(&store.snapshot());
    assert!(held.iter().all(|(trace_id, trace)| found.get(trace_id) == Some(trace)));
    store.close().expect("closed");
    TraceStore::check(address(&folder)).expect("a sound store");
}
