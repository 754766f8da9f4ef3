//! Failures of a search over shards: missing responses and malformed messages.

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
fn a_missing_answer_is_an_error_and_never_a_smaller_page() {
    let stores = Stores::new(1);
    let mut search = runs(2);
    let questions = search.requests().expect("questions").expect("something to ask");
    let pin = PinnedLeaf::new(stores.shards[0].snapshot(), &search.query()).expect("a search");
    let answer = pin.respond(questions[0].as_deref().expect("a question"), &CancellationToken::default());
    for answers in
        [vec![], vec![Some(answer.clone().expect("an answer"))], vec![Some(answer.expect("an answer")), None]]
    {
        assert!(matches!(search.add(&answers), Err(Error::Busy(_))));
    }
}

#[test]
fn what_is_no_message_is_refused() {
    let stores = Stores::new(0);
    assert!(matches!(PinnedLeaf::new(stores.one.snapshot(), b"\xff"), Err(Error::Busy(_))));
    let mut search = runs(1);
    let pin = PinnedLeaf::new(stores.one.snapshot(), &search.query()).expect("a search");
    for question in [&b"\xff"[..], b""] {
        assert!(matches!(pin.respond(question, &CancellationToken::default()), Err(Error::Busy(_))));
    }
    search.requests().expect("questions");
    assert!(matches!(search.add(&[Some(b"\xff".to_vec())]), Err(Error::Busy(_))));
}

#[test]
fn a_cancelled_question_ends() {
    let stores = Stores::new(0);
    stores.ingest(&super::spans_of(1, 1, 1));
    let mut search = runs(1);
    let pin = PinnedLeaf::new(stores.shards[0].snapshot(), &search.query()).expect("a search");
    let questions = search.requests().expect("questions").expect("something to ask");
    let token = CancellationToken::default();
    token.cancel();
    let answer = pin.respond(questions[0].as_deref().expect("a question"), &token);
    assert!(matches!(answer, Err(Error::Cancelled)));
}
