//! Unicode simple case folding, as the `regex` crate does it under `(?i)`.
//!
//! Every letter is replaced by one representative of all letters that differ from it only by case. For
//! example, `k` matches the Kelvin sign, but `ß` does not match `ss`.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use memchr::memmem;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// No character at or above this code point has a case.
const CASELESS_FROM: u32 = 0x1_F000;

/// The representative of each character below [`CASELESS_FROM`].
static REPRESENTATIVES: LazyLock<Vec<char>> = LazyLock::new(|| {
    let representative = |number: u32| {
        // Surrogates are not characters and are never looked up.
        let letter = char::from_u32(number).unwrap_or_default();
        representative_of(&case_variants(letter)).unwrap_or(letter)
    };
    (0..CASELESS_FROM).map(representative).collect()
});

/// Returns `letter` and the letters that differ from it only by case, ascending.
fn case_variants(letter: char) -> Vec<char> {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(letter, letter)]);
    class.case_fold_simple();
    class.ranges().iter().flat_map(|range| range.start()..=range.end()).collect()
}

/// Returns the letter that represents all of `variants`, which are ascending. In ASCII it is the lower-case
/// letter.
fn representative_of(variants: &[char]) -> Option<char> {
    variants.first().map(char::to_ascii_lowercase)
}

pub(crate) fn has_case(letter: char) -> bool {
    case_variants(letter).len() > 1
}

/// Replaces every letter of `text` by its representative. Overwrites `folded`.
pub(crate) fn fold_all(text: &str, folded: &mut String) {
    folded.clear();
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let start = folded.len();
        folded.push_str(&rest[..ascii]);
        folded[start..].make_ascii_lowercase();
        rest = &rest[ascii..];
        let mut letters = rest.chars();
        while let Some(letter) = letters.next().filter(|letter| !letter.is_ascii()) {
            folded.push(*REPRESENTATIVES.get(letter as usize).unwrap_or(&letter));
            rest = letters.as_str();
        }
    }
}

/// Folds only the letters that occur in some patterns, in any case. Other letters cannot match and may stay
/// unchanged.
#[derive(Debug, Clone)]
pub(crate) struct CaseFolding {
    /// Replacements of letters beyond ASCII. In ASCII, the lower-case letter is the representative.
    beyond_ascii: HashMap<char, char>,
}

impl CaseFolding {
    pub(crate) fn of(patterns: &[impl AsRef<str>]) -> Self {
        let mut ascii = [false; 128];
        let mut letters = BTreeSet::new();
        for letter in patterns.iter().flat_map(|pattern| pattern.as_ref().chars()) {
            // A long list of patterns consists mostly of ASCII letters, which need no lookup in the set.
            match ascii.get_mut(letter as usize) {
                Some(is_used) => *is_used = true,
                None => _ = letters.insert(letter),
            }
        }
        letters.extend(
            (0..).zip(ascii).filter(|(_, is_used)| *is_used).map(|(code, _): (u8, _)| char::from(code)),
        );
        let mut beyond_ascii = HashMap::new();
        for letter in letters {
            let variants = case_variants(letter);
            let Some(first) = representative_of(&variants) else { continue };
            let others = variants.into_iter().filter(|other| !other.is_ascii() && *other != first);
            beyond_ascii.extend(others.map(|other| (other, first)));
        }
        Self { beyond_ascii }
    }

    /// Returns `true` if folding changes a letter beyond ASCII in `texts`.
    pub(crate) fn changes(&self, texts: &[u8]) -> bool {
        let has = |letter: &char| memmem::find(texts, letter.encode_utf8(&mut [0; 4]).as_bytes()).is_some();
        !self.beyond_ascii.is_empty() && !texts.is_ascii() && self.beyond_ascii.keys().any(has)
    }

    /// Folds `text`. Overwrites `folded`.
    pub(crate) fn fold(&self, text: &str, folded: &mut String) {
        folded.clear();
        if !self.changes(text.as_bytes()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut folded = String::from("what was there before");
        fold_all(text, &mut folded);
        folded
    }

    #[test]
    fn letters_that_differ_by_case_fold_to_one() {
        for variants in ["Kk\u{212a}", "Ssſ", "Ééé", "Ωω\u{2126}", "ß\u{1e9e}", "Σσς", "ЖжЖ", "Ꭰꭰ"]
        {
            let all: Vec<String> = variants.chars().map(|letter| folded(&letter.to_string())).collect();
            assert!(all.iter().all(|one| *one == all[0]), "{variants}: {all:?}");
        }
        assert_eq!(folded("Das İst KÜHL, ſo 中国 🙂\u{212a}"), "das İst kÜhl, so 中国 🙂k");
        assert_ne!(folded("ß"), folded("ss"));
    }

    #[test]
    fn patterns_and_texts_fold_alike() {
        let text = "K\u{212a}kſsSßẞıIİi Éé Σσς Ǆǅǆ ΐΐ";
        let mut by_pattern = String::new();
        CaseFolding::of(&[text.to_owned()]).fold(text, &mut by_pattern);
        assert_eq!(by_pattern, folded(text));
    }

    /// Text indexes store folded tokens. A change of the folding needs a new index format
    /// (`rust/index/texts/mod.rs`).
    #[test]
    fn letters_fold_as_in_the_format_of_text_indexes() {
        let table: Vec<u8> =
            REPRESENTATIVES.iter().flat_map(|letter| u32::from(*letter).to_le_bytes()).collect();
        assert_eq!(crc32c::crc32c(&table), 0xABAC_07FD);
    }

    #[test]
    fn what_follows_the_table_has_no_case() {
        let cased = (CASELESS_FROM..=0x10_FFFF).filter_map(char::from_u32).find(|letter| has_case(*letter));
        assert_eq!(cased, None);
    }
}
