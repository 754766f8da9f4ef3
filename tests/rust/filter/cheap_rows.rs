//! Searches that are fast enough for the calling thread, because waking another thread would take longer.

use serde_json::json;

use super::compiled;
use super::indexed::{indexed, rows};

/// Cheap searches: lists stored in the index, counts of one column, and checks of a few rows.
#[test]
fn what_few_rows_decide_is_soon_found() {
    let rows = rows(9_000, 900, 3);
    let index = indexed(&rows);
    let user = |number: usize| json!({"op": "EQ", "key": "user_id", "value": rows[number].user_id});
    let status = json!({"op": "EQ", "key": "status", "value": "OK"});
    let many: Vec<String> = (0..17).map(|number| format!("text-{number}")).collect();
    let piece = json!({"op": "CONTAINS", "key": "run_id", "value": "ext-1"});
    let listed = |how: bool| json!({"op": "IN", "key": "agent_id", "values": many, "ignore_case": how});
    let of_user = |rest: &serde_json::Value| json!({"op": "AND", "conditions": [user(0), rest]});
    let read =
        |filter: &serde_json::Value| Some(compiled(&filter.to_string()).try_cheap_rows(&index, 100)?.1);
    let not = |condition| json!({"op": "NOT", "condition": condition});
    for free in [
        json!({}),
        status.clone(),
        user(0),
        not(user(0)),
        piece.clone(),
        json!({"op": "GT", "key": "start_time", "value": "2020-01-01T00:00:00Z"}),
    ] {
        assert_eq!(read(&free), Some(0), "{free}");
    }
    let or = |one, other| json!({"op": "OR", "conditions": [one, other]});
    for few in [
        of_user(&status),
        of_user(&piece),
        of_user(&or(status.clone(), piece.clone())),
        or(user(0), of_user(&status)),
        // The user condition leaves few rows for the text condition, although the status applies to both.
        json!({"op": "AND", "conditions": [status.clone(), not(or(not(user(0)), not(piece.clone())))]}),
    ] {
        assert!(read(&few).is_some_and(|read| (1..100).contains(&read)), "{few}");
    }
    for late in [or(user(0), piece), of_user(&listed(false)), of_user(&listed(true))] {
        assert_eq!(read(&late), None, "{late}");
    }
}
