//! Failures of a search over leaves: missing responses and malformed messages.

use serde_json::Value;
use spanwise::error::Error;
use spanwise::query::{CancellationToken, Detail, PageRequest, PinnedLeaf, Query, Request, Root};

use super::{Stores, compiled};

/// Returns a query for the first page of all traces.
fn runs(leaves: usize) -> Root {
    let page = PageRequest::new(1, 20).expect("a page");
    let request = Request::Runs { page, view: Detail::Full.into(), ends_when_full: false };
    Query::new(compiled(&Value::Null), request).root(leaves).expect("a query")
}

#[test]
fn a_missing_response_is_an_error_and_never_a_smaller_page() {
    let stores = Stores::new(1);
    let mut search = runs(2);
    let requests = search.requests().expect("requests").expect("a round");
    let pin = PinnedLeaf::new(stores.leaves[0].snapshot(), &search.query()).expect("a search");
    let response = pin.respond(requests[0].as_deref().expect("a request"), &CancellationToken::default());
    for responses in [
        vec![],
        vec![Some(response.clone().expect("a response"))],
        vec![Some(response.expect("a response")), None],
    ] {
        assert!(matches!(search.add(&responses), Err(Error::Busy(_))));
    }
}

#[test]
fn malformed_messages_are_rejected() {
    let stores = Stores::new(0);
    assert!(matches!(PinnedLeaf::new(stores.one.snapshot(), b"\xff"), Err(Error::Busy(_))));
    let mut search = runs(1);
    let pin = PinnedLeaf::new(stores.one.snapshot(), &search.query()).expect("a search");
    for request in [&b"\xff"[..], b""] {
        assert!(matches!(pin.respond(request, &CancellationToken::default()), Err(Error::Busy(_))));
    }
    search.requests().expect("requests");
    assert!(matches!(search.add(&[Some(b"\xff".to_vec())]), Err(Error::Busy(_))));
}

#[test]
fn a_cancelled_query_ends() {
    let stores = Stores::new(0);
    stores.ingest(&super::spans_of(1, 1, 1));
    let mut search = runs(1);
    let pin = PinnedLeaf::new(stores.leaves[0].snapshot(), &search.query()).expect("a search");
    let requests = search.requests().expect("requests").expect("a round");
    let token = CancellationToken::default();
    token.cancel();
    let response = pin.respond(requests[0].as_deref().expect("a request"), &token);
    assert!(matches!(response, Err(Error::Cancelled)));
}
