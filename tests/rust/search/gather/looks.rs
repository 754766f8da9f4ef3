//! Failures of a search over shards: missing responses and malformed messages.

use serde_json::Value;
use spanwise::error::Error;
use spanwise::search::{CancellationToken, Detail, Gathering, PageRequest, PinnedSearch};

use super::{Stores, compiled};

#[test]
fn a_missing_answer_is_an_error_and_never_a_smaller_page() {
    let stores = Stores::new(1);
    let request = PageRequest::new(1, 20).expect("a page");
    let mut search = Gathering::runs(2, &compiled(&Value::Null), (request, false), Detail::Full);
    let questions = search.questions().expect("questions").expect("something to ask");
    let pin = PinnedSearch::new(stores.shards[0].snapshot(), search.query()).expect("a search");
    let answer = pin.answer(questions[0].as_deref().expect("a question"), &CancellationToken::default());
    for answers in
        [vec![], vec![Some(answer.clone().expect("an answer"))], vec![Some(answer.expect("an answer")), None]]
    {
        assert!(matches!(search.take(&answers), Err(Error::Busy(_))));
    }
}

#[test]
fn what_is_no_message_is_refused() {
    let stores = Stores::new(0);
    assert!(matches!(PinnedSearch::new(stores.one.snapshot(), b"\xff"), Err(Error::Busy(_))));
    let request = PageRequest::new(1, 20).expect("a page");
    let mut search = Gathering::sessions(1, &compiled(&Value::Null), request);
    let pin = PinnedSearch::new(stores.one.snapshot(), search.query()).expect("a search");
    for question in [&b"\xff"[..], b""] {
        assert!(matches!(pin.answer(question, &CancellationToken::default()), Err(Error::Busy(_))));
    }
    search.questions().expect("questions");
    assert!(matches!(search.take(&[Some(b"\xff".to_vec())]), Err(Error::Busy(_))));
}

#[test]
fn a_cancelled_question_ends() {
    let stores = Stores::new(0);
    stores.ingest(&super::spans_of(1, 1, 1));
    let request = PageRequest::new(1, 20).expect("a page");
    let mut search = Gathering::runs(1, &compiled(&Value::Null), (request, false), Detail::Full);
    let pin = PinnedSearch::new(stores.shards[0].snapshot(), search.query()).expect("a search");
    let questions = search.questions().expect("questions").expect("something to ask");
    let token = CancellationToken::default();
    token.cancel();
    let answer = pin.answer(questions[0].as_deref().expect("a question"), &token);
    assert!(matches!(answer, Err(Error::Cancelled)));
}
