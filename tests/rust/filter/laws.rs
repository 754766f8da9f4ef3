//! Laws that hold for every filter and every batch.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, Field as ArrowField, Schema};
use arrow_select::take::take_record_batch;
use proptest::prelude::*;
use serde_json::{Value, json};
use spanwise::error::Error;
use spanwise::filter::Filter;
use spanwise::schema::{FIELDS, Field, FieldInfo, FieldType, Operator};

use super::layouts::{TEXTS, TIMES, Table, every_value, tables};
use super::oracle::truth;
use super::{compiled, mask};

/// Returns random filters over the values that random tables contain.
pub(crate) fn filters() -> impl Strategy<Value = Value> {
    conditions().prop_recursive(4, 24, 4, |part| {
        let parts = || prop::collection::vec(part.clone(), 1..4);
        prop_oneof![
            parts().prop_map(|parts| json!({"op": "AND", "conditions": parts})),
            parts().prop_map(|parts| json!({"op": "OR", "conditions": parts})),
            part.clone().prop_map(|part| json!({"op": "NOT", "condition": part})),
        ]
    })
}

fn conditions() -> impl Strategy<Value = Value> {
    let ignore_case = prop_oneof![2 => Just(None), 1 => any::<bool>().prop_map(Some)];
    let seeds = prop::collection::vec(any::<u8>(), 0..4);
    (0..FIELDS.len(), any::<prop::sample::Index>(), seeds, any::<u8>(), ignore_case).prop_map(
        |(field, operator, seeds, seed, ignore_case)| {
            let info = &FIELDS[field];
            let operator = *operator.get(info.field_type.operators());
            condition(info, operator, (&seeds, seed), ignore_case)
        },
    )
}

fn condition(
    info: &FieldInfo,
    operator: Operator,
    (several, one): (&[u8], u8),
    ignore_case: Option<bool>,
) -> Value {
    let mut condition = json!({"op": operator.word(), "key": info.key});
    match operator {
        Operator::Exists => return condition,
        Operator::In => {
            condition["values"] = several.iter().map(|seed| literal(info.field_type, *seed)).collect();
        }
        _ => condition["value"] = literal(info.field_type, one),
    }
    let is_ordering = matches!(operator, Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte);
    if let Some(ignore_case) = ignore_case.filter(|_| info.field_type == FieldType::Text && !is_ordering) {
        condition["ignore_case"] = json!(ignore_case);
    }
    condition
}

fn literal(kind: FieldType, seed: u8) -> Value {
    let seed = usize::from(seed);
    let numbers = [
        json!(0),
        json!(-0.0),
        json!(1),
        json!(1.5),
        json!(0.1),
        json!(-2.5),
        json!(2),
        json!(-1),
        json!(9_007_199_254_740_993_i64),
        json!(9_007_199_254_740_992.0),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e300),
        json!(-1e300),
        json!(f64::MAX),
        json!(0.100_000_001_490_116_12),
        json!(9_223_372_036_854_775_808.0),
        json!(5e-324),
    ];
    match kind {
        FieldType::Text => json!(TEXTS[seed % TEXTS.len()]),
        FieldType::Status => json!(["OK", "ERROR", "ok", "Error"][seed % 4]),
        FieldType::Number | FieldType::Dollars => numbers[seed % numbers.len()].clone(),
        FieldType::Time => json!(TIMES[seed % TIMES.len()].0),
        FieldType::Boolean | FieldType::Content => panic!("no column is of this type"),
    }
}

fn not(filter: &Value) -> Value {
    json!({"op": "NOT", "condition": filter})
}

/// Returns a batch whose `name` column is `names`.
fn named(names: ArrayRef) -> RecordBatch {
    let schema = Schema::new(vec![ArrowField::new("name", names.data_type().clone(), true)]);
    RecordBatch::try_new(Arc::new(schema), vec![names]).expect("a batch")
}

proptest! {
    #[test]
    fn a_mask_equals_the_naive_evaluator(
        table in tables(),
        filters in prop::collection::vec(filters(), 5),
    ) {
        for filter in filters {
            let naive: Vec<bool> = table.rows().map(|row| truth(&filter, &row) == Some(true)).collect();
            prop_assert_eq!(mask(&compiled(&filter.to_string()), &table.batch), naive, "{}", filter);
        }
    }

    #[test]
    fn de_morgan_holds_with_unknowns(table in tables(), one in filters(), other in filters()) {
        let of = |filter: &Value| mask(&compiled(&filter.to_string()), &table.batch);
        let negated = [not(&one), not(&other)];
        let both = json!({"op": "AND", "conditions": [&one, &other]});
        let either = json!({"op": "OR", "conditions": [&one, &other]});
        prop_assert_eq!(of(&not(&both)), of(&json!({"op": "OR", "conditions": &negated})));
        prop_assert_eq!(of(&not(&either)), of(&json!({"op": "AND", "conditions": &negated})));
        prop_assert_eq!(of(&not(&not(&one))), of(&one));
    }

    #[test]
    fn printing_and_parsing_gives_the_same_filter(filter in filters()) {
        let filter = compiled(&filter.to_string());
        let again = compiled(&filter.canonical());
        prop_assert_eq!(again.expr(), filter.expr());
        prop_assert_eq!(again.canonical(), filter.canonical());
    }

    #[test]
    fn a_restriction_is_an_and(table in tables(), filter in filters(), seeds in any::<[u8; 2]>()) {
        let user = TEXTS[usize::from(seeds[0]) % TEXTS.len()];
        let own = json!({"op": "EQ", "key": "user_id", "value": user});
        let both = json!({"op": "AND", "conditions": [own, filter]});
        let both = compiled(&both.to_string());
        let restricted = compiled(&filter.to_string()).restrict("user_id", user).expect("a text");
        prop_assert_eq!(restricted.expr(), both.expr());
        prop_assert_eq!(mask(&restricted, &table.batch), mask(&both, &table.batch));
        let everything = Filter::all().restrict("user_id", user).expect("a text");
        prop_assert_eq!(mask(&everything, &table.batch), mask(&compiled(&own.to_string()), &table.batch));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Filter::compile(&bytes);
    }

    #[test]
    fn a_damaged_filter_never_panics(
        filter in filters(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut source = filter.to_string().into_bytes();
        let place = place.index(source.len());
        if cut { source.truncate(place) } else { source[place] = byte }
        match Filter::compile(&source) {
            Ok(filter) => prop_assert!(Filter::compile(filter.canonical().as_bytes()).is_ok()),
            Err(error) => prop_assert!(error.path.starts_with('$') && !error.message.ends_with('.'), "{}", error),
        }
    }

    #[test]
    fn every_text_matches_itself(text in any::<String>(), around in any::<[String; 2]>()) {
        let names = named(Arc::new(StringArray::from(vec![format!("{}{text}{}", around[0], around[1])])));
        for ignore_case in [true, false] {
            let filter = json!({"op": "CONTAINS", "key": "name", "value": text, "ignore_case": ignore_case});
            prop_assert_eq!(mask(&compiled(&filter.to_string()), &names), [true]);
        }
    }

    #[test]
    fn a_pattern_does_not_match_across_adjacent_texts(
        texts in prop::collection::vec("[ab]{0,3}|[abé]{0,9}", 0..80),
        pattern in "[abAB]{1,5}",
        copies in prop_oneof![9 => Just(1), 1 => Just(200usize)],
        ignore_case in any::<bool>(),
    ) {
        let texts: Vec<String> = std::iter::repeat_n(texts, copies).flatten().collect();
        let names = named(Arc::new(StringArray::from(texts.clone())));
        let wanted = if ignore_case { pattern.to_lowercase() } else { pattern.clone() };
        let filter =
            json!({"op": "CONTAINS", "key": "name", "value": pattern, "ignore_case": ignore_case});
        let expected: Vec<bool> = texts.iter().map(|text| text.contains(&wanted)).collect();
        prop_assert_eq!(mask(&compiled(&filter.to_string()), &names), expected);
    }

    #[test]
    fn case_folding_equals_the_regex_crate(text in any::<String>(), pattern in "\\PC{1,2}") {
        let swapped: String = text.chars().flat_map(char::to_uppercase).collect();
        let names = named(Arc::new(StringArray::from(vec![text.as_str(), swapped.as_str()])));
        let filter = json!({"op": "CONTAINS", "key": "name", "value": pattern});
        let regex = regex::Regex::new(&format!("(?i){}", regex::escape(&pattern))).expect("escaped");
        let expected = [regex.is_match(&text), regex.is_match(&swapped)];
        prop_assert_eq!(mask(&compiled(&filter.to_string()), &names), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_mask_of_many_rows_is_that_of_each(
        (table, filter) in (tables(), filters()),
        // Adjacent rows are alike, so that some blocks have few open rows and others many.
        runs in prop::collection::vec((any::<prop::sample::Index>(), 1..6_000_usize), 0..32),
        skipped in 0..100_usize,
    ) {
        let rows = table.batch.num_rows();
        let of_run = |(row, length): &(prop::sample::Index, usize)| {
            let first = row.index(rows);
            (0..*length).map(move |at| if at % 7 == 6 { (first + 1) % rows } else { first })
        };
        let picked: Vec<usize> = runs.iter().filter(|_| rows > 0).flat_map(of_run).collect();
        let picked_rows = picked.iter().map(|row| u32::try_from(*row).expect("few rows")).collect::<UInt32Array>();
        let batch = take_record_batch(&table.batch, &picked_rows).expect("rows of the batch");
        let skipped = skipped.min(picked.len());
        let filter = compiled(&filter.to_string());
        let of_each = mask(&filter, &table.batch);
        let expected: Vec<bool> = picked[skipped..].iter().map(|row| of_each[*row]).collect();
        prop_assert_eq!(mask(&filter, &batch.slice(skipped, picked.len() - skipped)), expected);
    }
}

#[test]
fn case_folding_of_every_letter_equals_the_regex_crate() {
    // Every letter except ideographs, which have no case.
    let scripts = ['\0'..='\u{2fff}', '\u{a640}'..='\u{abff}', '\u{f900}'..='\u{10cff}'];
    let letters: Vec<String> = scripts.into_iter().flatten().map(String::from).collect();
    let names = named(Arc::new(StringArray::from_iter_values(&letters)));
    for pattern in
        ["k", "S", "ß", "Ω", "ς", "ǆ", "i", "İ", "ı", "\u{345}", "Ⓚ", "ⅷ", "𐐀", "ꭰ", "ﬅ", "é", "日", "🙂"]
    {
        let filter = json!({"op": "EQ", "key": "name", "value": pattern, "ignore_case": true});
        let hits = mask(&compiled(&filter.to_string()), &names);
        let regex = regex::Regex::new(&format!(r"\A(?i:{pattern})\z")).expect("a letter");
        for (letter, hit) in letters.iter().zip(hits) {
            assert_eq!(hit, regex.is_match(letter), "{letter} for {pattern}");
        }
    }
}

/// Evaluates every operator of one field with every literal.
fn check_every_condition(field: Field, table: &Table) {
    let info = field.info();
    for operator in info.field_type.operators() {
        for ignore_case in [None, Some(true), Some(false)] {
            for seed in 0..24 {
                let filter = condition(info, *operator, (&[seed, seed + 5], seed), ignore_case);
                let naive: Vec<bool> = table.rows().map(|row| truth(&filter, &row) == Some(true)).collect();
                assert_eq!(mask(&compiled(&filter.to_string()), &table.batch), naive, "{filter}");
            }
            if info.field_type != FieldType::Text {
                break;
            }
        }
    }
}

#[test]
fn every_operator_equals_the_naive_evaluator_on_numbers_and_times() {
    for layout in 0..18 {
        let table = every_value(layout);
        for field in [Field::DurationMs, Field::StartTime, Field::Status] {
            check_every_condition(field, &table);
        }
    }
}

#[test]
fn every_operator_equals_the_naive_evaluator_on_texts() {
    // A dictionary, then the three layouts of plain text.
    for layout in [2, 8, 19, 30] {
        check_every_condition(Field::UserId, &every_value(layout));
    }
    check_every_condition(Field::TraceId, &every_value(8));
}

#[test]
fn a_long_text_is_searched_to_its_end() {
    let long = "x".repeat(1 << 20);
    let names = named(Arc::new(StringArray::from(vec![format!("{long}Needle"), long, "needle".to_owned()])));
    for (ignore_case, expected) in [(true, [true, false, true]), (false, [false, false, true])] {
        let filter = json!({"op": "CONTAINS", "key": "name", "value": "needle", "ignore_case": ignore_case});
        assert_eq!(mask(&compiled(&filter.to_string()), &names), expected);
    }
}

#[test]
fn a_batch_without_the_column_is_rejected() {
    let names = named(Arc::new(StringArray::from(vec!["a"])));
    let rejected = |source: &str, batch: &RecordBatch| match compiled(source).mask(batch) {
        Err(Error::Batch(message)) => message,
        other => panic!("{source} gave {other:?}"),
    };
    // Evaluation would not reach the second part, because the first one leaves no row.
    let skipped =
        r#"{"op":"AND","conditions":[{"op":"EQ","key":"name","value":"b"},{"op":"EXISTS","key":"user_id"}]}"#;
    assert_eq!(
        rejected(skipped, &names),
        "column `user_id` is missing, expected text, plain or in a dictionary"
    );
    let flags = named(Arc::new(BooleanArray::from(vec![true])));
    assert_eq!(
        rejected(r#"{"op":"EXISTS","key":"name"}"#, &flags),
        "column `name` is of type `Boolean`, expected text, plain or in a dictionary"
    );
    for info in FIELDS.iter().filter(|info| info.field != Field::Name) {
        let as_text: ArrayRef = Arc::new(StringArray::from(vec!["2026-01-02"]));
        let schema = Schema::new(vec![ArrowField::new(info.key, DataType::Utf8, true)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![as_text]).expect("a batch");
        let filter = json!({"op": "EXISTS", "key": info.key}).to_string();
        let expected = match info.field_type {
            FieldType::Text | FieldType::Status => {
                assert_eq!(mask(&compiled(&filter), &batch), [true]);
                continue;
            }
            FieldType::Number | FieldType::Dollars => "whole or floating-point numbers",
            FieldType::Time => "timestamps or dates",
            FieldType::Boolean | FieldType::Content => panic!("no column is of this type"),
        };
        assert_eq!(
            rejected(&filter, &batch),
            format!("column `{}` is of type `Utf8`, expected {expected}", info.key)
        );
    }
}
