//! Patterns that texts contain. See [`crate::text`] for the parts of a text that are searched.

use super::excerpt::Excerpt;
use crate::filter::error::LocatedError;
use crate::filter::text::TextMatcher;
use crate::schema::Operator;
use crate::text::find_in_searched;
use crate::trace::view::TextProbe;

/// A pattern to search for in texts.
#[derive(Debug, Clone)]
pub(in crate::filter) struct Pattern {
    matcher: TextMatcher,
    /// Rejects most spans without the pattern; `None` if it could reject a span that has it.
    pub(super) probe: Option<Box<TextProbe>>,
    pub(super) text: String,
    pub(super) ignore_case: bool,
}

impl Pattern {
    /// Returns the pattern for a text.
    ///
    /// # Errors
    /// If `text` has no searchable character: a letter, digit, `_`, `-` or character beyond ASCII.
    pub(super) fn of(text: &str, ignore_case: bool) -> Result<Self, LocatedError> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte) || !byte.is_ascii();
        if !text.bytes().any(is_token) {
            return Err(LocatedError::new("expected a letter or a digit").in_member("value"));
        }
        let matcher = TextMatcher::new(Operator::Contains, vec![text.into()], ignore_case);
        Ok(Self {
            matcher,
            probe: TextProbe::of(text, ignore_case).map(Box::new),
            text: text.to_owned(),
            ignore_case,
        })
    }

    /// Returns `true` if `text` contains the pattern outside a data run.
    pub(super) fn is_in(&self, text: &str, scratch: &mut String) -> bool {
        find_in_searched(text, |part| self.matcher.matches(part, scratch).then_some(())).is_some()
    }

    /// Returns an excerpt around the first occurrence of the pattern in `text`, at the escape level at which
    /// it was found.
    pub(super) fn excerpt(&self, text: &str) -> Option<Excerpt> {
        find_in_searched(text, |part| self.matcher.find(part).map(|found| Excerpt::of(part, found)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(pattern: &str, text: &str) -> bool {
        Pattern::of(pattern, true).expect("a pattern").is_in(text, &mut String::new())
    }

    #[test]
    fn a_pattern_is_found_as_json_spells_it() {
        let said = "she said \"안녕 née\"\n🙂";
        let in_json = |text: &str| serde_json::to_string(text).expect("JSON").trim_matches('"').to_owned();
        let once = r#"she said \"\uc548\ub155 n\u00e9e\"\n\ud83d\ude42"#.to_owned();
        for text in [said.to_owned(), in_json(said), in_json(&in_json(said)), in_json(&once), once] {
            for pattern in ["said \"안녕", "née\"\n", "NÉE", "🙂", "she"] {
                assert!(is_in(pattern, &text), "{pattern} in {text}");
            }
            assert!(!is_in("said 안녕", &text));
        }
        assert!(is_in(r"c:\new", r"C:\new"), "as it was sent");
        assert!(is_in(r"a\ud83d", r"a\ud83d b\x \"), "what is no escape stays");
    }

    #[test]
    fn of_data_only_the_beginning_is_searched() {
        const MAX_RUN_BYTES: usize = 4_096;
        let data = format!("{}tail", "ab".repeat(MAX_RUN_BYTES / 2));
        let text = format!("before {data} after");
        assert!(is_in("before ab", &text) && is_in("after", &text));
        assert!(!is_in("tail", &text) && !is_in("tail after", &text) && !is_in("ab after", &text));
        let short = &data[5..];
        assert_eq!(short.len(), MAX_RUN_BYTES - 1);
        assert!(is_in("tail", short) && is_in("tail a", &format!("{short} a")));
    }

    #[test]
    fn a_pattern_without_anything_to_look_up_is_rejected() {
        for pattern in ["", " ", "...", "\"\n", "("] {
            assert!(Pattern::of(pattern, true).is_err(), "{pattern}");
        }
        for pattern in ["a", "_", "-", "é", "の", " 1 "] {
            assert!(Pattern::of(pattern, true).is_ok(), "{pattern}");
        }
    }
}
