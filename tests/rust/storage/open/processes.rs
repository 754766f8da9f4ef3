//! Several processes on one store. The test binary runs itself as the other processes.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use spanwise::error::Error;
use spanwise::storage::{Options, TraceStore};
use tempfile::TempDir;

use crate::support::contents::{address, contents, open};
use crate::support::files::newest;
use crate::support::random::Random;
use crate::support::spans::{request, span};

const STORE: &str = "SPANWISE_TEST_STORE";
const NUMBER: &str = "SPANWISE_TEST_NUMBER";
const PER_PROCESS: u64 = 20;

/// Starts this binary as another process over the store in `folder`.
fn spawn_writer(folder: &Path, number: u64) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["storage::open::processes::writer_process", "--exact", "--ignored", "--nocapture"])
        .env(STORE, folder)
        .env(NUMBER, number.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process")
}

#[test]
#[ignore = "the child process of the test of a disk that cannot be read"]
fn reader_process() {
    let Ok(url) = std::env::var(STORE) else { return };
    let store = TraceStore::open(&url, Options::default()).expect("a store");
    let snapshot = store.snapshot();
    for trace in 1..=2 {
        let trace_id = request(&[span(trace, 1, 0)]).spans[0].trace_id;
        let (part, row) = snapshot.find(trace_id).expect("a row");
        match snapshot.parts()[part].trace(row) {
            Ok(_) => println!("\ntrace {trace}: read"),
            Err(error) => println!("\ntrace {trace}: {error}"),
        }
    }
}

#[test]
fn a_read_error_of_the_disk_damages_only_the_traces_of_that_segment() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for trace in 1..=2 {
        store.ingest(request(&[span(trace, 1, 0)])).expect("ingested");
        store.flush().expect("flushed");
    }
    store.close().expect("closed");
    let documents = newest(&folder, "segments").join("spans.otlp.zst");
    let traced = Command::new("strace")
        .args(["--follow-forks", "--output=/dev/null", "--trace=pread64", "--inject=pread64:error=EIO"])
        .arg("--trace-path")
        .arg(&documents)
        .arg(std::env::current_exe().expect("this binary"))
        .args(["storage::open::processes::reader_process", "--exact", "--ignored", "--nocapture"])
        .env(STORE, folder.path())
        .output();
    let output = traced.map(|done| String::from_utf8_lossy(&done.stdout).into_owned()).unwrap_or_default();
    // Runs only where processes may be traced.
    if !output.contains("trace 2: ") {
        return;
    }
    let object = documents.strip_prefix(folder.path()).expect("inside").display();
    assert!(output.contains("trace 1: read"), "{output}");
    assert!(output.contains(&format!("trace 2: `{object}` is damaged at byte 0: ")), "{output}");
    assert_eq!(contents(&open(&folder).snapshot()).len(), 2);
}

#[test]
#[ignore = "the child process of the other tests in this file"]
fn writer_process() {
    let Ok(url) = std::env::var(STORE) else { return };
    let number: u64 = std::env::var(NUMBER).expect("a number").parse().expect("a number");
    let store = match TraceStore::open(&url, Options::default()) {
        Ok(store) => store,
        Err(Error::Locked(_)) => return println!("\nlocked"),
        Err(error) => panic!("{error}"),
    };
    for trace in 1..=PER_PROCESS {
        let trace = number * 1_000 + trace;
        store.ingest(request(&[span(trace, 1, 0)])).expect("ingested");
        println!("\nacknowledged {trace}");
    }
    println!("\ndone");
    // Wait until the parent process closes the pipe.
    let _closed = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Returns the lines that a process printed, up to the one that marks its end.
fn output_of(child: &mut Child) -> Vec<String> {
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let lines = lines.map(|line| line.expect("a line")).filter(|line| !line.is_empty());
    let mut output = Vec::new();
    for line in lines {
        let is_last = line == "done" || line == "locked";
        output.push(line);
        if is_last {
            break;
        }
    }
    output
}

#[test]
fn only_one_of_eight_processes_opens_the_store() {
    for _ in 0..3 {
        let folder = TempDir::new().expect("a folder");
        let mut children: Vec<_> = (1..=8).map(|number| spawn_writer(folder.path(), number)).collect();
        let outputs: Vec<_> = children.iter_mut().map(output_of).collect();
        let locked = outputs.iter().filter(|output| output.iter().any(|line| line == "locked")).count();
        let acknowledged: Vec<u64> =
            outputs.iter().flatten().filter_map(|line| acknowledged_number(line)).collect();
        for child in &mut children {
            child.kill().expect("killed");
            child.wait().expect("ended");
        }
        assert_eq!(locked, 7, "{outputs:?}");
        assert_eq!(acknowledged.len() as u64, PER_PROCESS, "{outputs:?}");
        let store = open(&folder);
        for trace in acknowledged {
            let trace_id = request(&[span(trace, 1, 0)]).spans[0].trace_id;
            assert!(store.snapshot().find(trace_id).is_some(), "trace {trace} is lost");
        }
    }
}

fn acknowledged_number(line: &str) -> Option<u64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

/// The number of killed openings; `OPENING_KILLS` sets another number.
fn kills() -> u32 {
    std::env::var("OPENING_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(25)
}

#[test]
fn killing_a_process_while_it_opens_the_store_loses_nothing() {
    let folder = TempDir::new().expect("a folder");
    let store = open(&folder);
    for id in 1..=300 {
        store.ingest(request(&[span(1 + id % 40, id, id)])).expect("ingested");
        if id == 100 {
            store.flush().expect("flushed");
        }
    }
    let held = contents(&store.snapshot());
    drop(store);
    // Measures the time that a process takes to open the store. Each process has a different number, because
    // it ingests.
    let started = Instant::now();
    let mut child = spawn_writer(folder.path(), 1);
    assert!(output_of(&mut child).contains(&"done".to_owned()));
    let duration = started.elapsed();
    child.kill().expect("killed");
    child.wait().expect("ended");
    let mut random = Random::new(20_261_120);
    for number in 0..kills() {
        let mut child = spawn_writer(folder.path(), 2 + u64::from(number));
        std::thread::sleep(Duration::from_micros(
            random.below(u64::try_from(duration.as_micros()).expect("short")),
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
