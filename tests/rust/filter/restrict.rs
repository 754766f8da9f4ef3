//! Restrictions, which enforce that callers see only their own data.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::Schema;
use spanwise::error::FilterError;
use spanwise::filter::Filter;

use super::{compiled, mask};

fn users() -> RecordBatch {
    let users: ArrayRef = Arc::new(StringArray::from(vec![Some("ann"), Some("bob"), None]));
    RecordBatch::try_from_iter([("user_id", users)]).expect("a batch")
}

#[test]
fn a_restriction_is_the_outer_and() {
    let everything = Filter::all().restrict("user_id", "ann").expect("a text");
    let own = r#"{"op":"EQ","key":"user_id","value":"ann"}"#;
    assert_eq!(everything.canonical(), format!(r#"{{"op":"AND","conditions":[{own}]}}"#));

    let source = r#"{"op":"OR","conditions":[{"op":"EXISTS","key":"user_id"}]}"#;
    let restricted = compiled(source).restrict("user_id", "ann").expect("a text");
    assert_eq!(restricted.canonical(), format!(r#"{{"op":"AND","conditions":[{own},{source}]}}"#));
    assert_eq!(compiled(&restricted.canonical()).canonical(), restricted.canonical());
}

#[test]
fn no_filter_matches_rows_outside_its_restriction() {
    let filters = [
        "null",
        r#"{"op":"NEQ","key":"user_id","value":"ann"}"#,
        r#"{"op":"NOT","condition":{"op":"EQ","key":"user_id","value":"ann"}}"#,
        r#"{"op":"NOT","condition":{"op":"EXISTS","key":"user_id"}}"#,
        r#"{"op":"OR","conditions":[{"op":"EQ","key":"user_id","value":"bob"},{"op":"EXISTS","key":"user_id"}]}"#,
        r#"{"op":"CONTAINS","key":"user_id","value":""}"#,
    ];
    for source in filters {
        for (user, row) in [("ann", Some(0)), ("bob", Some(1)), ("", None), ("ANN", None)] {
            let hits = mask(&compiled(source).restrict("user_id", user).expect("a text"), &users());
            let foreign = hits.iter().enumerate().filter(|(place, hit)| **hit && Some(*place) != row);
            assert_eq!(foreign.count(), 0, "{user} with {source}");
        }
    }
}

#[test]
fn restrictions_are_conjunctive() {
    let one = Filter::all().restrict("user_id", "ann").expect("a text");
    assert_eq!(mask(&one, &users()), [true, false, false]);
    let both = one.restrict("user_id", "bob").expect("a text");
    assert_eq!(mask(&both, &users()), [false, false, false]);
}

#[test]
fn an_invalid_restriction_is_rejected() {
    let rejected = |field: &str, value: &str| Filter::all().restrict(field, value).expect_err("rejected");
    assert!(
        rejected("user", "ann").to_string().starts_with("unknown field `user`, expected one of `status`")
    );
    assert_eq!(rejected("user", "ann").path, "$.key");
    let message = "expected a number, got the string `5`".to_owned();
    assert_eq!(rejected("duration_ms", "5"), FilterError { message, path: "$.value".to_owned() });
}

#[test]
fn the_filter_that_matches_everything_reads_no_column() {
    let options = RecordBatchOptions::new().with_row_count(Some(3));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).expect("rows");
    assert_eq!(mask(&Filter::all(), &batch), [true, true, true]);
    assert_eq!(Filter::all().canonical(), "null");
    assert_eq!(mask(&compiled(" {} "), &batch), [true, true, true]);
}

#[test]
fn threads_can_share_a_filter() {
    let filter = compiled(r#"{"op":"CONTAINS","key":"user_id","value":"O"}"#);
    std::thread::scope(|scope| {
        let searches: Vec<_> = (0..4).map(|_| scope.spawn(|| mask(&filter, &users()))).collect();
        for search in searches {
            assert_eq!(search.join().expect("a mask"), [false, true, false]);
        }
    });
}
