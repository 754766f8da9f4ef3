//! The executable form of a filter: a closed enum in which all names are resolved.

use std::sync::Arc;

use super::intervals::IntervalSet;
use super::leaf::NumberSet;
use super::spans::SpanTest;
use super::text::TextMatcher;
use crate::schema::Field;

/// A bound filter. Every leaf tests membership in a set; `Not` tests non-membership.
#[derive(Debug, Clone)]
pub(super) enum Predicate {
    /// True if every part is true; true for an empty list.
    And(Vec<Predicate>),
    /// True if at least one part is true; false for an empty list.
    Or(Vec<Predicate>),
    /// The negation of a part.
    Not(Box<Predicate>),
    /// The field has a value.
    Exists(Field),
    /// The matcher matches the field's text.
    Text(Field, TextMatcher),
    /// The field's number is in the set.
    Number(Field, NumberSet),
    /// The field's instant, in nanoseconds since 1970, is in the set.
    Time(Field, IntervalSet<i128>),
    /// A condition on the spans of the trace, which no column decides.
    Spans(Arc<SpanTest>),
}

impl Predicate {
    /// Returns `true` if every condition looks up few texts, so that the lookups take less time than waking
    /// another thread.
    pub(super) fn looks_up_few(&self) -> bool {
        const MAX_TEXTS: usize = 16;
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().all(Self::looks_up_few),
            Self::Not(part) => part.looks_up_few(),
            Self::Text(_, matcher) => matcher.patterns() <= MAX_TEXTS,
            Self::Exists(_) | Self::Number(..) | Self::Time(..) | Self::Spans(_) => true,
        }
    }

    /// Returns the number of values or ranges that a condition on one column looks up; 0 for other
    /// conditions.
    pub(super) fn values(&self) -> usize {
        match self {
            Self::Text(_, matcher) => matcher.patterns(),
            Self::Number(_, numbers) => numbers.whole.as_slice().len(),
            Self::Time(_, instants) => instants.as_slice().len(),
            Self::And(_) | Self::Or(_) | Self::Not(_) | Self::Exists(_) | Self::Spans(_) => 0,
        }
    }

    /// Calls `visit` with the field of every leaf.
    pub(super) fn for_each_field(&self, visit: &mut dyn FnMut(Field)) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.for_each_field(visit)),
            Self::Not(part) => part.for_each_field(visit),
            Self::Exists(field) | Self::Text(field, _) | Self::Number(field, _) | Self::Time(field, _) => {
                visit(*field);
            }
            Self::Spans(test) => test.implied().for_each_field(visit),
        }
    }

    /// Returns the result of the predicate for every row with a value of `given`; `None` if it depends on the
    /// row.
    pub(super) fn known_with(&self, given: Field) -> Option<bool> {
        // One part with `value` decides, even if the others are unknown.
        let decided_by = |parts: &[Self], value: bool| {
            let known: Vec<_> = parts.iter().map(|part| part.known_with(given)).collect();
            if known.contains(&Some(value)) {
                return Some(value);
            }
            known.iter().all(Option::is_some).then_some(!value)
        };
        match self {
            Self::And(parts) => decided_by(parts, false),
            Self::Or(parts) => decided_by(parts, true),
            Self::Not(part) => part.known_with(given).map(|known| !known),
            Self::Exists(field) => (*field == given).then_some(true),
            Self::Text(..) | Self::Number(..) | Self::Time(..) | Self::Spans(_) => None,
        }
    }

    /// Returns `true` if a part is a condition on spans.
    pub(super) fn reads_spans(&self) -> bool {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::reads_spans),
            Self::Not(part) => part.reads_spans(),
            Self::Spans(_) => true,
            Self::Exists(_) | Self::Text(_, _) | Self::Number(_, _) | Self::Time(_, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use crate::schema::Field;

    #[test]
    fn a_filter_that_asks_for_a_missing_value_excludes_rows_that_have_it() {
        let exists = |field: &str| format!(r#"{{"op":"EXISTS","key":"{field}"}}"#);
        let not = |part: &str| format!(r#"{{"op":"NOT","condition":{part}}}"#);
        let of =
            |op: &str, parts: [&str; 2]| format!(r#"{{"op":"{op}","conditions":[{}]}}"#, parts.join(","));
        let (session, slow) = (exists("session_id"), r#"{"op":"GT","key":"duration_ms","value":9}"#);
        let none = not(&session);
        let excluding = [
            none.clone(),
            of("AND", [slow, &none]),
            of("OR", [&none, &of("AND", [&none, slow])]),
            not(&of("OR", [slow, &session])),
            not(&not(&none)),
        ];
        let others = [
            "{}".to_owned(),
            session.clone(),
            not(&exists("user_id")),
            of("OR", [slow, &none]),
            of("AND", [slow, &session]),
            not(&of("AND", [slow, &session])),
        ];
        for (sources, excludes) in [(excluding.as_slice(), true), (&others, false)] {
            for source in sources {
                let filter = Filter::compile(source.as_bytes()).expect("a good filter");
                assert_eq!(filter.excludes(Field::SessionId), excludes, "{source}");
            }
        }
    }
}
