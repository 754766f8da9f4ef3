//! Prepared matchers of text.
//!
//! Text is compared by code point, which for UTF-8 is the order of its bytes. Where case is ignored,
//! every letter of value and pattern is first replaced by the one letter that stands for all that
//! differ from it by case only (Unicode simple case folding, as the `regex` crate does under `(?i)`);
//! so `k` finds the Kelvin sign, and `ß` is not `ss`.

use std::collections::HashMap;
use std::ops::{Bound, RangeBounds};

use memchr::memmem::Finder;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::schema::Operator;

/// Answers one question about a text; nothing is left to look up.
#[derive(Debug, Clone)]
pub(super) struct TextMatcher {
    question: Question,
    folding: Option<Folding>,
}

#[derive(Debug, Clone)]
enum Question {
    /// Sorted, each once.
    IsOneOf(Vec<String>),
    Lies(Bound<String>, Bound<String>),
    StartsWith(String),
    Contains(Box<Finder<'static>>),
}

impl TextMatcher {
    /// Returns the matcher for `operator` and the texts it is given: any number for `IN`, else one.
    ///
    /// `NEQ` gives the matcher of `EQ`: the negation is the caller's.
    pub(super) fn new(operator: Operator, mut texts: Vec<String>, ignore_case: bool) -> Self {
        let folding = ignore_case.then(|| Folding::of(&texts));
        if let Some(folding) = &folding {
            for text in &mut texts {
                let mut folded = String::with_capacity(text.len());
                folding.fold(text, &mut folded);
                *text = folded;
            }
        }
        let question = match operator {
            Operator::Eq | Operator::Neq | Operator::In | Operator::Exists => {
                texts.sort_unstable();
                texts.dedup();
                Question::IsOneOf(texts)
            }
            _ => Question::about(operator, texts.pop().unwrap_or_default()),
        };
        Self { question, folding }
    }

    /// Returns whether `text` is what was asked for. What `scratch` holds is of no matter.
    pub(super) fn matches(&self, text: &str, scratch: &mut String) -> bool {
        let text = match &self.folding {
            None => text,
            Some(folding) => {
                folding.fold(text, scratch);
                scratch.as_str()
            }
        };
        match &self.question {
            Question::IsOneOf(texts) => texts.binary_search_by(|own| own.as_str().cmp(text)).is_ok(),
            Question::Lies(from, to) => {
                let span: (Bound<&str>, Bound<&str>) =
                    (from.as_ref().map(String::as_str), to.as_ref().map(String::as_str));
                RangeBounds::<str>::contains(&span, text)
            }
            Question::StartsWith(prefix) => text.starts_with(prefix.as_str()),
            Question::Contains(finder) => finder.find(text.as_bytes()).is_some(),
        }
    }
}

impl Question {
    fn about(operator: Operator, text: String) -> Self {
        match operator {
            Operator::Gt => Self::Lies(Bound::Excluded(text), Bound::Unbounded),
            Operator::Gte => Self::Lies(Bound::Included(text), Bound::Unbounded),
            Operator::Lt => Self::Lies(Bound::Unbounded, Bound::Excluded(text)),
            Operator::Lte => Self::Lies(Bound::Unbounded, Bound::Included(text)),
            Operator::StartsWith => Self::StartsWith(text),
            _ => Self::Contains(Box::new(Finder::new(text.as_bytes()).into_owned())),
        }
    }
}

/// Replaces letters by the one that stands for them, for the letters of some patterns and all that
/// differ from those by case only. Other letters match no pattern and may stay as they are.
#[derive(Debug, Clone)]
struct Folding {
    /// Only letters beyond ASCII; within it, the lower case stands for both.
    beyond_ascii: HashMap<char, char>,
}

impl Folding {
    fn of(patterns: &[String]) -> Self {
        let mut letters: Vec<char> = patterns.iter().flat_map(|pattern| pattern.chars()).collect();
        letters.sort_unstable();
        letters.dedup();
        let mut beyond_ascii = HashMap::new();
        for letter in letters {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(letter, letter)]);
            class.case_fold_simple();
            let alike = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            let alike: Vec<char> = alike.collect();
            let Some(first) = alike.first().map(char::to_ascii_lowercase) else { continue };
            let others = alike.into_iter().filter(|other| !other.is_ascii());
            beyond_ascii.extend(others.map(|other| (other, first)));
        }
        Self { beyond_ascii }
    }

    fn fold(&self, text: &str, folded: &mut String) {
        folded.clear();
        if text.is_ascii() {
            folded.push_str(text);
            folded.make_ascii_lowercase();
            return;
        }
        folded.extend(text.chars().map(|letter| {
            if letter.is_ascii() {
                letter.to_ascii_lowercase()
            } else {
                *self.beyond_ascii.get(&letter).unwrap_or(&letter)
            }
        }));
    }
}
