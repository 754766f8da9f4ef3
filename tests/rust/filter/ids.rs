//! Text masks for prefixes, suffixes and lengths, in blocks and words with texts of equal and of different
//! lengths.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{compiled, mask};

const TYPES: [DataType; 3] = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];

/// Returns texts that often share their first or last eight bytes. `\0` is an ordinary byte.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[ab]{32}".prop_map(|text| format!("{}{}", &text[..2].repeat(6), &text[12..])),
        3 => "[ab]{12}".prop_map(|text| format!("span-id-{text}-of-span")),
        2 => "(run-id-0)?[ab]{0,2}(\0|é)?",
        1 => "[ab]{7,9}",
        1 => Just("aaaaaaaabbbbbbbb".to_owned()),
    ]
}

/// Returns `true` if the condition matches the text, according to the operators of Rust.
fn is_found(operator: &str, text: &str, literals: &[String]) -> bool {
    let one = literals[0].as_str();
    match operator {
        "EQ" => text == one,
        "NEQ" => text != one,
        "GT" => text > one,
        "GTE" => text >= one,
        "LT" => text < one,
        "LTE" => text <= one,
        "STARTSWITH" => text.starts_with(one),
        "CONTAINS" => text.contains(one),
        _ => literals.iter().any(|literal| literal == text),
    }
}

fn condition(operator: &str, literals: &[String]) -> Value {
    match operator {
        "IN" => json!({"op": "IN", "key": "run_id", "values": literals}),
        "CONTAINS" => json!({"op": "CONTAINS", "key": "run_id", "value": literals[0], "ignore_case": false}),
        _ => json!({"op": operator, "key": "run_id", "value": literals[0]}),
    }
}

/// Returns the texts as a column of a type, once plain and once as a dictionary.
fn columns(texts: &[Option<&str>], kind: &DataType) -> [ArrayRef; 2] {
    let plain: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    let coded = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let coded = arrow_cast::cast(&plain, &coded).expect("a dictionary");
    let wanted = DataType::Dictionary(Box::new(DataType::Int32), Box::new(kind.clone()));
    let coded = arrow_cast::cast(&coded, &wanted).unwrap_or(coded);
    [arrow_cast::cast(&plain, kind).expect("texts"), coded]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn texts_that_are_alike_are_told_apart(
        // Half of them are in the filter's list. Many equal prefixes and suffixes in a list cause whole texts
        // to be hashed.
        pool in prop::collection::vec(texts(), 1..60),
        // Runs of rows with one text or several, to get words with texts of one length and of many.
        runs in prop::collection::vec((any::<prop::sample::Index>(), 1..4_usize, 1..300_usize), 1..12),
        missing in 2..400_usize,
        others in prop::collection::vec(texts(), 1..3),
        skipped in 0..70_usize,
        cut in any::<prop::sample::Index>(),
    ) {
        let picked = runs.iter().flat_map(|(first, several, rows)| {
            let first = first.index(pool.len());
            (0..*rows).map(move |row| first + row % several)
        });
        let texts = picked.enumerate().map(|(row, text)| {
            (row % missing != 0).then(|| pool[text % pool.len()].as_str())
        });
        let texts: Vec<Option<&str>> = texts.collect();
        let skipped = skipped.min(texts.len());
        let mut literals: Vec<String> = pool.iter().step_by(2).chain(&others).cloned().collect();
        for kind in &TYPES {
            for column in columns(&texts, kind) {
                let schema = Schema::new(vec![Field::new("run_id", column.data_type().clone(), true)]);
                let batch = RecordBatch::try_new(Arc::new(schema), vec![column]).expect("a batch");
                let batch = batch.slice(skipped, texts.len() - skipped);
                for operator in ["EQ", "NEQ", "GT", "GTE", "LT", "LTE", "STARTSWITH", "CONTAINS", "IN"] {
                    literals.rotate_left(1);
                    let mut literals = literals.clone();
                    if operator == "STARTSWITH" {
                        let ends: Vec<usize> = literals[0].char_indices().map(|(at, _)| at).collect();
                        let end = if ends.is_empty() { 0 } else { ends[cut.index(ends.len())] };
                        literals[0].truncate(end);
                    }
                    let filter = condition(operator, &literals).to_string();
                    let of = |text: Option<&str>| text.is_some_and(|text| is_found(operator, text, &literals));
                    let expected: Vec<bool> = texts[skipped..].iter().copied().map(of).collect();
                    prop_assert_eq!(mask(&compiled(&filter), &batch), expected, "{}", filter);
                }
            }
        }
    }
}
