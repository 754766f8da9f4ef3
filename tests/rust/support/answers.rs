//! All answers of a store, for tests that damage it. Every changed answer must be an error that names the
//! damage.

use std::sync::Arc;

use serde_json::Value;
use spanwise::bulk::{Download, Format};
use spanwise::error::{Error, Result};
use spanwise::filter::Filter;
use spanwise::otlp::{SpanId, TraceId};
use spanwise::query::{self, CancellationToken, Detail, Page, PageRequest};
use spanwise::storage::Snapshot;

/// The question, and its answer or error text.
pub(crate) type Answers = Vec<(String, std::result::Result<Vec<u8>, String>)>;

/// Filters over every column, with every type of operator.
const FILTERS: [&str; 17] = [
    "{}",
    r#"{"op":"EQ","key":"status","value":"ERROR"}"#,
    r#"{"op":"EQ","key":"user_id","value":"user-3"}"#,
    r#"{"op":"NEQ","key":"agent_id","value":"agent-1"}"#,
    r#"{"op":"IN","key":"team_id","values":["team-0","team-2","none"]}"#,
    r#"{"op":"EXISTS","key":"workflow_id"}"#,
    r#"{"op":"STARTSWITH","key":"session_id","value":"session-1"}"#,
    r#"{"op":"CONTAINS","key":"run_id","value":"n-1"}"#,
    r#"{"op":"EQ","key":"name","value":"SPAN-1","ignore_case":true}"#,
    r#"{"op":"CONTAINS","key":"trace_id","value":"0007"}"#,
    r#"{"op":"GT","key":"duration_ms","value":1000}"#,
    r#"{"op":"LTE","key":"duration_ms","value":1000}"#,
    r#"{"op":"GTE","key":"start_time","value":"2026-01-01T00:00:00.030Z"}"#,
    r#"{"op":"LT","key":"end_time","value":"2026-01-01T00:00:01.050Z"}"#,
    r#"{"op":"GT","key":"created_at","value":"2026-06-01"}"#,
    r#"{"op":"NOT","condition":{"op":"EXISTS","key":"session_id"}}"#,
    r#"{"op":"AND","conditions":[{"op":"EXISTS","key":"user_id"},{"op":"OR","conditions":[
        {"op":"EQ","key":"agent_id","value":"agent-2"},{"op":"LT","key":"duration_ms","value":1010}]}]}"#,
];

/// Collects all answers of a snapshot with these traces: pages, sessions, each trace and one span of it,
/// downloads.
pub(crate) fn answers(snapshot: &Arc<Snapshot>, traces: &[TraceId]) -> Answers {
    let mut answers = Answers::new();
    let token = CancellationToken::default();
    for source in FILTERS {
        let filter = Filter::compile(source.as_bytes()).expect("a good filter");
        let limit = 100;
        for page in 1..=2 {
            let request = PageRequest::new(page, limit).expect("a page");
            let level = if source == "{}" { Detail::Full } else { Detail::Summary };
            answers.push((
                format!("runs {page} {source}"),
                page_of(query::runs(snapshot, &filter, request, level, &token)),
            ));
            answers.push((
                format!("sessions {page} {source}"),
                page_of(query::sessions(snapshot, &filter, request, &token)),
            ));
            answers.push((
                format!("ids {page} {source}"),
                page_of(query::ids(snapshot, &filter, request, &token)),
            ));
        }
    }
    let every = Filter::all();
    let span_id = SpanId::from_hex("0000000000000001").expect("an id");
    for trace in traces {
        let alone = query::trace(snapshot, *trace, &every, Detail::Full);
        answers.push((format!("trace {trace}"), item_of(alone)));
        let span = query::span(snapshot, *trace, span_id, &every, None);
        answers.push((format!("span of {trace}"), item_of(span)));
    }
    for (word, format) in Format::WORDS {
        let chunks = Download::new(snapshot.clone(), Filter::all(), format).and_then(Iterator::collect);
        let whole = chunks.map(|chunks: Vec<Vec<u8>>| chunks.concat());
        answers.push((format!("download {word}"), whole.map_err(|error| text_of(&error))));
    }
    answers
}

fn text_of(error: &Error) -> String {
    assert!(matches!(error, Error::Damage { .. }), "{error}");
    error.to_string()
}

/// Returns a page with its count. A page that reports damage becomes an error; the rest of the page must be
/// correct.
fn page_of(page: Result<Page>) -> std::result::Result<Vec<u8>, String> {
    let page = page.map_err(|error| text_of(&error))?;
    if page.damage.is_empty() {
        return Ok([page.data, page.total_count.to_le_bytes().to_vec()].concat());
    }
    let items: Vec<Value> = serde_json::from_slice(&page.data).expect("a JSON array");
    let damaged = items.iter().filter(|item| item["damaged"] == true).count();
    assert_eq!(damaged, page.damage.len(), "every damaged trace is marked");
    Err(page.damage.join("; "))
}

fn item_of(found: Result<Option<Vec<u8>>>) -> std::result::Result<Vec<u8>, String> {
    found.map(Option::unwrap_or_default).map_err(|error| text_of(&error))
}

/// Returns the number of answers that name `object` instead of being unchanged, or the first answer that does
/// neither.
pub(crate) fn named(whole: &Answers, found: &Answers, object: &str) -> std::result::Result<usize, String> {
    assert_eq!(whole.len(), found.len());
    let mut named = 0;
    for ((asked, whole), (_, found)) in whole.iter().zip(found) {
        match found {
            found if found == whole => {}
            Err(error) if error.contains(object) => named += 1,
            Err(error) => return Err(format!("{asked}: `{error}` does not name `{object}`")),
            Ok(_) => return Err(format!("{asked}: another answer, and nothing names `{object}`")),
        }
    }
    Ok(named)
}
