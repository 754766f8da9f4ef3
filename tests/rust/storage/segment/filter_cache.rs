//! Results of document checks are cached for the caller.

use spanwise::filter::Filter;
use spanwise::storage::{Options, SnapshotPart, TraceStore};
use tempfile::TempDir;

use crate::support::contents::address;
use crate::support::spans::{request, span, with};

/// Returns the number of documents that must be checked.
fn looks(part: &SnapshotPart, filter: &Filter) -> usize {
    part.candidates(filter, &|| false).expect("candidates").unverified.len()
}

#[test]
fn found_rows_are_kept_for_the_caller_that_asked() {
    let folder = TempDir::new().expect("a folder");
    let options = Options { indexes: Vec::new(), ..Options::default() };
    let store = TraceStore::open(address(&folder), options).expect("a store");
    for trace in 1..=3 {
        let said = with(span(trace, 1, 0), "input.value", "a refund, please");
        store.ingest(request(&[said])).expect("ingested");
    }
    store.flush().expect("sealed");
    let snapshot = store.snapshot();
    let part = snapshot.parts().iter().find(|part| part.is_segment()).expect("a segment");
    let said = Filter::compile(br#"{"op":"CONTAINS","key":"input","value":"a refund"}"#).expect("a filter");
    let (ann, bob) = (said.for_tenant("ann"), said.for_tenant("bob"));
    assert_eq!(part.rows(&ann, &|| false).expect("rows").count(), 3);
    assert_eq!([&ann, &bob, &said].map(|filter| looks(part, filter)), [0, 3, 3]);
    // A filter derived from a caller's filter belongs to the same caller.
    let own = bob.restrict("user_id", "bob").expect("a text");
    assert_eq!(part.rows(&own, &|| false).expect("rows").count(), 0);
    assert_eq!(part.rows(&bob, &|| false).expect("rows").count(), 3);
    assert_eq!([&ann, &bob, &said].map(|filter| looks(part, filter)), [0, 0, 3]);
}
