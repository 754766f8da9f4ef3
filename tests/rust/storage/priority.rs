//! Background threads run at a lower priority than the threads that callers wait for.
#![cfg(target_os = "linux")]

use spanwise::filter::Filter;
use spanwise::query::{CancellationToken, PageRequest, ids};

use crate::support::contents::open;
use crate::support::spans::{request, span};
use crate::support::wait_until;

#[test]
fn background_threads_have_a_lower_priority() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    store.flush().expect("flushed");
    for name in ["spanwise-flush", "spanwise-merge", "spanwise-lowpri"] {
        wait_until(|| niceness_of(name).is_some_and(|nice| nice >= 10));
    }
    let process = std::fs::read_to_string("/proc/self/stat").expect("a file");
    assert_eq!(niceness_of("spanwise-commit"), niceness(&process));
}

#[test]
fn document_checks_without_an_index_have_the_lowest_priority() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let store = open(&folder);
    store.ingest(request(&[span(1, 1, 0)])).expect("ingested");
    let filter = Filter::compile(br#"{"op":"CONTAINS","key":"text","value":"refund"}"#).expect("a filter");
    let page = PageRequest::new(1, 10).expect("a page");
    let ids = ids(&store.snapshot(), &filter, page, &CancellationToken::default()).expect("ids");
    assert_eq!(ids.total_count, 0);
    wait_until(|| niceness_of("spanwise-check").is_some_and(|nice| nice >= 15));
}

/// Returns the nice value of the thread with this name prefix, if there is one.
fn niceness_of(name: &str) -> Option<i32> {
    let threads = std::fs::read_dir("/proc/self/task").expect("a folder");
    let mut stats =
        threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok());
    let of_name = |stat: &String| stat.split_once('(').is_some_and(|(_, rest)| rest.starts_with(name));
    niceness(&stats.find(of_name)?)
}

/// Returns the nice value in a `stat` file: its 19th field. The third field follows the name in parentheses.
fn niceness(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok()
}
