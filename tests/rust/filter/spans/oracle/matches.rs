//! The reasons why a filter matches a trace: every leaf that is true together with all of its ancestors.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{SeenTrace, channel, pattern, said};

/// The reasons why a filter matches a trace.
#[derive(Debug, Default)]
pub(crate) struct SeenMatches {
    /// The ids of the spans with each name, in tree order.
    pub(crate) spans: BTreeMap<String, Vec<String>>,
    /// For each text condition, the spans and fields for which it is true.
    pub(crate) texts: Vec<(Value, Vec<(String, String)>)>,
}

/// Returns `true` if a highlighted text is the pattern of a condition.
pub(crate) fn is_pattern(leaf: &Value, highlighted: &str) -> bool {
    pattern(leaf, "$").find(highlighted).is_some_and(|found| found.start() == 0)
}

impl SeenTrace {
    /// Returns the reasons why a filter matches the trace. Each `SPAN` must have a name.
    pub(crate) fn matches(&self, filter: &Value) -> SeenMatches {
        let mut seen = SeenMatches::default();
        if self.truth(filter) == Some(true) {
            let truth = |part: &Value| self.truth(part) == Some(true);
            each_true(filter, &truth, &mut |leaf| self.add_leaf(leaf, &mut seen));
        }
        seen
    }

    /// Returns the reasons why a condition is true for one span; empty if it is not.
    pub(crate) fn matches_of(&self, condition: &Value, span_id: &str) -> SeenMatches {
        let mut seen = SeenMatches::default();
        let of_id =
            (0..self.spans.len()).filter(|place| self.spans[*place].id == span_id).collect::<Vec<_>>();
        if !condition.is_null() {
            self.add_spans(&serde_json::json!({"where": condition}), &of_id, &mut seen);
        }
        seen
    }

    fn add_leaf(&self, leaf: &Value, seen: &mut SeenMatches) {
        if leaf["op"] == "SPAN" {
            self.add_spans(leaf, &(0..self.spans.len()).collect::<Vec<_>>(), seen);
        } else {
            self.add_texts(leaf, &(0..self.spans.len()).collect::<Vec<_>>(), seen);
        }
    }

    /// Adds the subset of `spans` for which the `where` of a `SPAN` or an axis is true, with the reasons.
    fn add_spans(&self, node: &Value, spans: &[usize], seen: &mut SeenMatches) {
        let condition = &node["where"];
        let is_true = |part: &Value, place: usize| self.span_truth(part, place) == Some(true);
        let found: Vec<usize> = spans.iter().copied().filter(|place| is_true(condition, *place)).collect();
        if let Some(name) = node["as"].as_str() {
            let ids = found.iter().map(|place| self.spans[*place].id.clone());
            assert!(seen.spans.insert(name.to_owned(), ids.collect()).is_none(), "names are unique");
        }
        // Each leaf below, with the spans for which it and all of its ancestors are true.
        let mut leaves: Vec<(Value, Vec<usize>)> = Vec::new();
        for place in &found {
            each_true(condition, &|part| is_true(part, *place), &mut |leaf| match leaves
                .iter_mut()
                .find(|(own, _)| own == leaf)
            {
                Some((_, places)) if places.last() == Some(place) => {}
                Some((_, places)) => places.push(*place),
                None => leaves.push((leaf.clone(), vec![*place])),
            });
        }
        for (leaf, places) in leaves {
            if !leaf["where"].is_object() {
                self.add_texts(&leaf, &places, seen);
                continue;
            }
            let is_reached = |other: &usize| places.iter().any(|place| self.is_on(&leaf, *place, *other));
            let reached: Vec<usize> = (0..self.spans.len()).filter(is_reached).collect();
            self.add_spans(&leaf, &reached, seen);
        }
    }

    fn add_texts(&self, leaf: &Value, places: &[usize], seen: &mut SeenMatches) {
        let Some(of) = leaf["key"].as_str().and_then(channel).filter(|_| leaf["op"] == "CONTAINS") else {
            return;
        };
        let mut found = Vec::new();
        for place in places {
            let sides = ["input", "output", "error"].into_iter().enumerate();
            for (side, field) in sides.filter(|(side, _)| of == 3 || of == *side) {
                if said(leaf, self.spans[*place].said(side)) == Some(true) {
                    found.push((self.spans[*place].id.clone(), field.to_owned()));
                }
            }
        }
        seen.texts.push((leaf.clone(), found));
    }
}

/// Calls `add` with every true leaf of a condition whose ancestors are all true and not `NOT`.
fn each_true(condition: &Value, is_true: &dyn Fn(&Value) -> bool, add: &mut dyn FnMut(&Value)) {
    match condition["op"].as_str().expect("op") {
        "AND" | "OR" => {
            let parts = condition["conditions"].as_array().expect("conditions").iter();
            parts.filter(|part| is_true(part)).for_each(|part| each_true(part, is_true, add));
        }
        "NOT" => {}
        _ => add(condition),
    }
}
