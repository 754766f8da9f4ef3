//! The texts of a row that were added before.
//!
//! A model call repeats the conversation so far. In the benchmark, a third of the text of a trace repeats
//! earlier text of the same trace word for word.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use ahash::RandomState;

use crate::text::is_token_boundary;

/// The number of previous texts with which the beginning of a text is compared.
const RECENT_TEXTS: usize = 4;

/// The texts of a row in one channel.
#[derive(Debug, Default)]
pub(super) struct SeenTexts {
    all: HashSet<Arc<str>, RandomState>,
    recent: VecDeque<Arc<str>>,
    bytes: usize,
}

impl SeenTexts {
    /// Adds a text. Returns the length of a prefix that needs no search, because a previous text has it. The
    /// prefix is the whole text or ends at a token boundary, see [`shared_length`].
    pub(super) fn add(&mut self, text: &str) -> usize {
        if self.all.contains(text) {
            return text.len();
        }
        let known = self.recent.iter().map(|before| shared_length(before, text)).max().unwrap_or_default();
        let text: Arc<str> = text.into();
        self.bytes += text.len();
        if self.recent.len() == RECENT_TEXTS {
            self.recent.pop_front();
        }
        self.recent.push_back(text.clone());
        self.all.insert(text);
        known
    }

    /// Returns the size of the texts in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Removes all texts before the next row.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.recent.clear();
        self.bytes = 0;
    }
}

/// Returns the length of the prefix that `text` shares with `before`: all of `text`, or up to a [token
/// boundary](is_token_boundary). The tokens on both sides of a boundary are the same as in the whole text.
fn shared_length(before: &str, text: &str) -> usize {
    const CHUNK: usize = 64;
    if before == text {
        return text.len();
    }
    let (one, other) = (before.as_bytes(), text.as_bytes());
    let equal_chunks = one.chunks(CHUNK).zip(other.chunks(CHUNK)).take_while(|(one, other)| one == other);
    let start = (equal_chunks.count() * CHUNK).min(one.len()).min(other.len());
    let equal = one[start..].iter().zip(&other[start..]).take_while(|(one, other)| one == other).count();
    other[..start + equal].iter().rposition(|byte| is_token_boundary(*byte)).map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_texts_are_recognized() {
        let mut seen = SeenTexts::default();
        for text in ["a", "b", "c", "d", "e", "f"] {
            assert_eq!(seen.add(text), 0);
        }
        assert_eq!((seen.add("a"), seen.add("f"), seen.bytes()), (1, 1, 6));
        assert_eq!(seen.add("f, g"), 0, "no text continues after `f, `");
        assert_eq!(seen.add("f, h"), 3);
        seen.clear();
        assert_eq!((seen.add("a"), seen.bytes()), (0, 1));
    }

    #[test]
    fn a_shared_beginning_ends_where_nothing_goes_on() {
        for (before, text, expected) in [
            ("", "", 0),
            ("a b", "a b", 3),
            ("a b", "a bc", 2),
            ("a (b", "a (c", 3),
            (r"a \n", r"a \nx", 2),
            ("a/b=c", "a/b=d", 0),
            ("née.", "née.x", 5),
            ("中é", "中è", 0),
        ] {
            assert_eq!(shared_length(before, text), expected, "{before} and {text}");
        }
        let (long, longer) = (format!("{} x", "a".repeat(200)), format!("{} y", "a".repeat(200)));
        assert_eq!(shared_length(&long, &longer), 201);
    }
}
