//! Every limit at its maximum and one above, and hostile inputs.

use spanwise::error::FilterError;
use spanwise::filter::{
    Filter, MAX_AXES, MAX_BYTES, MAX_CONDITIONS, MAX_LEVELS, MAX_PATTERN_BYTES, MAX_PATTERNS,
    MAX_SPAN_CONDITIONS, MAX_VALUES,
};

const LEAF: &str = r#"{"op":"EXISTS","key":"name"}"#;

/// Returns a condition at level `levels`, nested in `NOT`s.
fn nested(levels: usize) -> String {
    let around = levels - 1;
    format!("{}{LEAF}{}", r#"{"op":"NOT","condition":"#.repeat(around), "}".repeat(around))
}

/// Returns an `OR` that, including its parts, counts as `conditions` conditions.
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

/// Returns nested axes within a `SPAN`.
fn axes(count: usize) -> String {
    let inner = format!("{}{LEAF}{}", r#"{"op":"CHILD","where":"#.repeat(count), "}".repeat(count));
    format!(r#"{{"op":"SPAN","where":{inner}}}"#)
}

fn all_of(condition: &str, count: usize) -> String {
    format!(r#"{{"op":"AND","conditions":[{}]}}"#, vec![condition; count].join(","))
}

const CONTAINS: &str = r#"{"op":"CONTAINS","key":"text","value":"a"}"#;

fn padded(bytes: usize) -> String {
    format!("{LEAF}{}", " ".repeat(bytes - LEAF.len()))
}

/// Returns filters that exceed each limit by one, with their errors.
pub(super) fn over_a_limit() -> Vec<(String, FilterError)> {
    let rejected = |source: String, message: &str, path: &str| {
        (source, FilterError { message: message.to_owned(), path: path.to_owned() })
    };
    let pattern_message = "expected a pattern of at most 4096 bytes, got 4097";
    vec![
        rejected(
            nested(MAX_LEVELS + 1),
            "expected at most 32 levels of conditions, got more",
            &format!("${}", ".condition".repeat(32)),
        ),
        rejected(
            wide(MAX_CONDITIONS + 1),
            "expected at most 1024 conditions, got more",
            "$.conditions[1023]",
        ),
        rejected(one_of(MAX_VALUES + 1), "expected at most 10000 values, got 10001", "$.values"),
        rejected(pattern("CONTAINS", MAX_PATTERN_BYTES + 1), pattern_message, "$.value"),
        rejected(pattern("STARTSWITH", MAX_PATTERN_BYTES + 1), pattern_message, "$.value"),
        rejected(
            axes(MAX_AXES + 1),
            "expected at most 4 axes in one another, got more",
            &format!("${}.op", ".where".repeat(5)),
        ),
        rejected(
            all_of(&axes(0), MAX_SPAN_CONDITIONS + 1),
            "expected at most 8 `SPAN` and axes, got more",
            "$.conditions[8]",
        ),
        rejected(
            all_of(CONTAINS, MAX_PATTERNS + 1),
            "expected at most 16 texts to look for, got more",
            "$.conditions[16]",
        ),
        rejected(padded(MAX_BYTES + 1), "expected at most 1048576 bytes, got 1048577", "$"),
    ]
}

#[test]
fn a_limit_accepts_its_maximum() {
    let accepted = [
        nested(MAX_LEVELS),
        wide(MAX_CONDITIONS),
        axes(MAX_AXES),
        all_of(&axes(0), MAX_SPAN_CONDITIONS),
        all_of(CONTAINS, MAX_PATTERNS),
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
fn a_limit_rejects_one_more() {
    for (source, expected) in over_a_limit() {
        assert_eq!(Filter::compile(source.as_bytes()).expect_err("beyond a limit"), expected);
    }
}

#[test]
fn hostile_input_is_rejected() {
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
        let error = Filter::compile(source.as_bytes()).expect_err(&source[..40]);
        assert!(error.to_string().len() < 400, "{error}");
    }
}

#[test]
fn bytes_that_are_not_utf8_json_are_rejected() {
    for bytes in [&b"\xff\xfe{\0}\0"[..], b"\"\xff\"", b"{\"op\":\"\xc3\x28\"}", b"\0", b"{}\0"] {
        let error = Filter::compile(bytes).expect_err("no UTF-8 JSON");
        assert!(error.message.starts_with("invalid JSON: "), "{error}");
    }
}
