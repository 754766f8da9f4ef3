//! Requests and their results, as a table that the Python tests also read.

use std::collections::BTreeSet;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use spanwise::otlp;
use spanwise::time::parse_instant;

use super::exception_of;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "about")]
    _about: String,
    now: String,
    cases: Vec<Case>,
}

/// A request (its body is `json`, `text` or `base64`) and its result (counts, or an exception).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    content_type: String,
    content_encoding: Option<String>,
    json: Option<Box<RawValue>>,
    text: Option<String>,
    base64: Option<String>,
    accepted: Option<usize>,
    rejected: Option<u64>,
    reason: Option<String>,
    raises: Option<String>,
    message: Option<String>,
}

impl Case {
    fn body(&self) -> Vec<u8> {
        match (&self.json, &self.text, &self.base64) {
            (Some(json), None, None) => json.get().into(),
            (None, Some(text), None) => text.as_str().into(),
            (None, None, Some(bytes)) => BASE64_STANDARD.decode(bytes).expect("base64"),
            _ => panic!("`{}` needs one body", self.name),
        }
    }
}

fn table() -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/otlp.json");
    serde_json::from_slice(&std::fs::read(path).expect("the table")).expect("a table of cases")
}

#[test]
fn every_request_has_its_expected_result() {
    let table = table();
    let now = parse_instant(&table.now).and_then(|nanos| u64::try_from(nanos).ok()).expect("a present");
    for case in table.cases {
        let encoding = case.content_encoding.as_deref();
        match otlp::decode(case.body().into(), &case.content_type, encoding, now) {
            Ok(export) => {
                assert_eq!(case.raises, None, "{}", case.name);
                let counts = (Some(export.spans.len()), export.rejected, export.reason);
                let expected = (case.accepted, case.rejected.unwrap_or(0), case.reason.unwrap_or_default());
                assert_eq!(counts, expected, "{}", case.name);
            }
            Err(error) => {
                let (class, message) = exception_of(&error);
                assert_eq!(case.raises.as_deref(), Some(class), "{}: {message}", case.name);
                assert_eq!(case.message, Some(message), "{}", case.name);
            }
        }
    }
}

#[test]
fn no_two_cases_share_a_name() {
    let table = table();
    let names = table.cases.iter().map(|case| &case.name).collect::<BTreeSet<_>>();
    assert_eq!(names.len(), table.cases.len());
}
