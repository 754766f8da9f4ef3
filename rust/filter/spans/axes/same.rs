//! Classes of spans that are equal in some fields. A span that lacks one of the fields is in class 0.

use std::collections::HashMap;
use std::hash::Hash;

use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::filter::spans::table::SpanNumbers;
use crate::index::spans::{SpanBlock, SpanTable};
use crate::trace::view::{Derived, SpanColumn, SpanField, SpanValue, TraceView};

/// The value of a field.
#[derive(Debug, PartialEq, Eq, Hash)]
enum SharedValue {
    Text(String),
    Number(i128),
    /// All texts of a channel.
    Texts(Vec<String>),
}

/// Numbers keys in the order of their first use, starting at 1.
struct Classes<K>(HashMap<K, u32>);

impl<K: Hash + Eq> Classes<K> {
    fn new() -> Self {
        Self(HashMap::new())
    }

    fn class(&mut self, key: Option<K>) -> u32 {
        let Some(key) = key else { return 0 };
        let next = u32::try_from(self.0.len() + 1).unwrap_or(u32::MAX);
        *self.0.entry(key).or_insert(next)
    }
}

/// Returns the class of each span of a trace; 0 for spans that are not candidates.
///
/// # Errors
/// [`crate::error::Error::Decode`] if a stored span cannot be decoded.
pub(in crate::filter::spans) fn classes_of_trace(
    fields: &[&'static SpanField],
    view: &TraceView<'_>,
    candidates: impl Fn(usize) -> bool,
) -> Result<Vec<u32>> {
    let mut classes = Classes::new();
    let key_of = |ordinal: usize| {
        let values = fields.iter().map(|field| value(field, view, ordinal));
        let key =
            if candidates(ordinal) { values.collect::<Result<Option<Vec<SharedValue>>>>()? } else { None };
        Ok(classes.class(key))
    };
    (0..view.len()).map(key_of).collect()
}

fn value(field: &SpanField, view: &TraceView<'_>, ordinal: usize) -> Result<Option<SharedValue>> {
    if let Some(channel) = field.channel() {
        let texts: Vec<String> = view.texts(ordinal, channel)?.map(str::to_owned).collect();
        return Ok((!texts.is_empty()).then_some(SharedValue::Texts(texts)));
    }
    Ok(field.value(view, ordinal)?.map(|value| match value {
        SpanValue::Text(text) => SharedValue::Text(text.into_owned()),
        SpanValue::Whole(number) | SpanValue::Nanodollars(number) => SharedValue::Number(number.into()),
        SpanValue::Nanos(instant) => SharedValue::Number(instant),
        SpanValue::Boolean(truth) => SharedValue::Number(truth.into()),
    }))
}

/// Fields in which spans must be equal, in terms of one table.
#[derive(Debug)]
pub(in crate::filter::spans) struct SameInTable {
    /// For each combination of words, its class in the fields that are words; `None` if there are no such
    /// fields.
    words: Option<Vec<u32>>,
    numbers: Vec<SpanNumbers>,
    compares_roots: bool,
    /// True if the table has all of the fields.
    pub(in crate::filter::spans) is_decided: bool,
}

impl SameInTable {
    pub(in crate::filter::spans) fn of(fields: &[&'static SpanField], table: &SpanTable) -> Self {
        let mut same = Self { words: None, numbers: Vec::new(), compares_roots: false, is_decided: true };
        for field in fields {
            match field.column {
                SpanColumn::Word => same.add_word(field, table),
                SpanColumn::Number => match SpanTable::number_column(field) {
                    Some(column) => same.numbers.push(SpanNumbers::Column(column)),
                    None => same.is_decided = false,
                },
                SpanColumn::Derived(Derived::IsRoot) => same.compares_roots = true,
                SpanColumn::Derived(Derived::Duration) => same.numbers.push(SpanNumbers::Duration),
                SpanColumn::Derived(Derived::Start) => same.numbers.push(SpanNumbers::Start),
                SpanColumn::Derived(Derived::Depth) => same.numbers.push(SpanNumbers::Depth),
                SpanColumn::Derived(Derived::ChildCount) => same.numbers.push(SpanNumbers::ChildCount),
                SpanColumn::Absent => same.is_decided = false,
            }
        }
        same
    }

    fn add_word(&mut self, field: &SpanField, table: &SpanTable) {
        let words = table.words_of_combinations(field);
        let mut classes = Classes::new();
        let before = self.words.take().unwrap_or_else(|| vec![1; words.len()]);
        let joined = before
            .into_iter()
            .zip(words)
            .map(|(class, word)| classes.class(word.filter(|_| class > 0).map(|word| (class, word))));
        self.words = Some(joined.collect());
    }

    /// Returns the class of each span of a block, in the fields that the table has; 0 for spans that are not
    /// candidates.
    pub(in crate::filter::spans) fn classes(&self, block: &SpanBlock<'_>, candidates: &Bitmap) -> Vec<u32> {
        let ordinals = block.ordinals();
        let first = ordinals.start;
        let mut keys: Vec<Option<Vec<i64>>> = vec![None; ordinals.len()];
        for ordinal in candidates.iter(ordinals) {
            let class = self.words.as_ref().map_or(1, |words| words[block.combination(ordinal)]);
            let root = i64::from(self.compares_roots && block.parent(ordinal).is_none());
            keys[ordinal - first] = (class > 0).then(|| vec![i64::from(class), root]);
        }
        for numbers in &self.numbers {
            numbers.for_each(block, candidates, |ordinal, number| {
                let key = &mut keys[ordinal - first];
                match (number, key.as_mut()) {
                    (Some(number), Some(values)) => values.push(number),
                    _ => *key = None,
                }
            });
        }
        let mut classes = Classes::new();
        keys.into_iter().map(|key| classes.class(key)).collect()
    }
}
