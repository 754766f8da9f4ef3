//! Limits, each at its edge and one beyond, and inputs meant to do harm.

use spanwise::error::FilterError;
use spanwise::filter::{Filter, MAX_BYTES, MAX_CONDITIONS, MAX_LEVELS, MAX_PATTERN_BYTES, MAX_VALUES};

const LEAF: &str = r#"{"op":"EXISTS","key":"name"}"#;

/// A condition at depth `levels`, within `NOT`s.
fn nested(levels: usize) -> String {
    let around = levels - 1;
    format!("{}{LEAF}{}", r#"{"op":"NOT","condition":"#.repeat(around), "}".repeat(around))
}

/// An `OR` that with its parts makes `conditions` conditions.
fn wide(conditions: usize) -> String {
    format!(r#"{{"op":"OR","conditions":[{}]}}"#, vec![LEAF; conditions - 1].join(","))
}

fn one_of(values: usize) -> String {
    let values: Vec<String> = (0..values).map(|value| value.to_string()).collect();
    format!(r#"{{"op":"IN","key":"duration_ms","values":[{}]}}"#, values.join(","))
}

fn pattern(operator: &str, bytes: usize) -> String {
    format!(r#"{{"op":"{operator}","key":"name","value":"{}"}}"#, "x".repeat(bytes))
}

fn padded(bytes: usize) -> String {
    format!("{LEAF}{}", " ".repeat(bytes - LEAF.len()))
}

/// Returns filters one beyond each limit, with what they are answered.
pub(super) fn refused_by_a_limit() -> Vec<(String, FilterError)> {
    let refused = |source: String, message: &str, path: &str| {
        (source, FilterError { message: message.to_owned(), path: path.to_owned() })
    };
    let pattern_message = "expected a pattern of at most 4096 bytes, got 4097";
    vec![
        refused(
            nested(MAX_LEVELS + 1),
            "expected at most 32 levels of conditions, got more",
            &format!("${}", ".condition".repeat(32)),
        ),
        refused(wide(MAX_CONDITIONS + 1), "expected at most 1024 conditions, got more", "$.conditions[1023]"),
        refused(one_of(MAX_VALUES + 1), "expected at most 10000 values, got 10001", "$.values"),
        refused(pattern("CONTAINS", MAX_PATTERN_BYTES + 1), pattern_message, "$.value"),
        refused(pattern("STARTSWITH", MAX_PATTERN_BYTES + 1), pattern_message, "$.value"),
        refused(padded(MAX_BYTES + 1), "expected at most 1048576 bytes, got 1048577", "$"),
    ]
}

#[test]
fn a_limit_accepts_its_edge() {
    let accepted = [
        nested(MAX_LEVELS),
        wide(MAX_CONDITIONS),
        one_of(MAX_VALUES),
        pattern("CONTAINS", MAX_PATTERN_BYTES),
        pattern("STARTSWITH", MAX_PATTERN_BYTES),
        pattern("EQ", MAX_PATTERN_BYTES + 1),
        padded(MAX_BYTES),
    ];
    for source in accepted {
        assert!(Filter::compile(source.as_bytes()).is_ok(), "{}", &source[..60]);
    }
}

#[test]
fn a_limit_refuses_what_is_beyond() {
    for (source, expected) in refused_by_a_limit() {
        assert_eq!(Filter::compile(source.as_bytes()).expect_err("beyond a limit"), expected);
    }
}

#[test]
fn a_hostile_text_is_refused() {
    let many = |count: usize, member: &dyn Fn(usize) -> String| {
        let members: Vec<String> = (0..count).map(member).collect();
        format!("{{{}}}", members.join(","))
    };
    let hostile = [
        "[".repeat(MAX_BYTES),
        r#"{"op":"#.repeat(MAX_BYTES / 6),
        r#"{"op":"NOT","condition":"#.repeat(40_000),
        "[[],".repeat(200_000),
        format!("[{}]", vec!["[]"; 300_000].join(",")),
        many(100_000, &|place| format!(r#""{place}":1"#)),
        many(150_000, &|_| r#""a":1"#.to_owned()),
        format!(r#"{{"op":"EQ","key":"name",{}}}"#, vec![r#""a":1"#; 100_000].join(",")),
        format!(r#"{{"op":"EQ",{},"key":"name"}}"#, vec![r#""value":1"#; 90_000].join(",")),
        format!(r#"{{"op":"EQ","key":"name","value":{}}}"#, "[".repeat(100_000)),
        format!(r#"{{"op":"EQ","key":"name","value":{}1{}}}"#, "[".repeat(120), "]".repeat(120)),
        format!(r#"{{"op":"GT","key":"duration_ms","value":{}}}"#, "9".repeat(100_000)),
        wide(30_000),
    ];
    for source in hostile {
        let fault = Filter::compile(source.as_bytes()).expect_err(&source[..40]);
        assert!(fault.to_string().len() < 400, "{fault}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    for bytes in [&b"\xff\xfe{\0}\0"[..], b"\"\xff\"", b"{\"op\":\"\xc3\x28\"}", b"\0", b"{}\0"] {
        let fault = Filter::compile(bytes).expect_err("no UTF-8 JSON");
        assert!(fault.message.starts_with("invalid JSON: "), "{fault}");
    }
}
