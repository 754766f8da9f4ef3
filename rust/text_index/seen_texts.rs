//! The texts of a row that were added before: a call of a model repeats the conversation so far, so in the traces of the benchmark a
//! third of what is said was said before in the same trace, word for word.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use ahash::RandomState;

use crate::text::is_token_boundary;

/// The beginning of a text is compared with those of so many texts before it.
const RECENT_TEXTS: usize = 4;

/// The texts of a row in a channel.
#[derive(Debug, Default)]
pub(super) struct Said {
    all: HashSet<Arc<str>, RandomState>,
    recent: VecDeque<Arc<str>>,
    bytes: usize,
}

impl Said {
    /// Adds a text. Returns how much of its beginning need not be searched, because a text before it was: all of it, or up to a
    /// byte at which nothing goes on, see [`shared_length`].
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

    /// Returns how many bytes the texts take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Begins with the next row.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.recent.clear();
        self.bytes = 0;
    }
}

/// Returns how much of the beginning of `text` need not be searched, for `before` begins alike: all of it, or up to a
/// byte that [is apart](is_apart), so that what is searched on either side is the same as in the whole.
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
    fn what_was_said_before_is_known() {
        let mut said = Said::default();
        for text in ["a", "b", "c", "d", "e", "f"] {
            assert_eq!(said.add(text), 0);
        }
        assert_eq!((said.add("a"), said.add("f"), said.bytes()), (1, 1, 6));
        assert_eq!(said.add("f, g"), 0, "in `f, ` alone nothing goes on");
        assert_eq!(said.add("f, h"), 3);
        said.clear();
        assert_eq!((said.add("a"), said.bytes()), (0, 1));
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
