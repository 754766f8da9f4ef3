//! Splits folded text into tokens.
//!
//! | characters | tokens |
//! |---|---|
//! | letters, digits, `_`, `-`, and other characters beyond ASCII | each maximal run |
//! | characters of scripts without spaces, and symbols | each adjacent pair; a single one between other characters |
//! | other ASCII characters | no tokens |
//!
//! The class of a character does not depend on the version of Unicode. Programs with other Unicode tables can
//! therefore read an index.

use std::ops::Range;

/// Characters whose adjacent pairs are tokens, as blocks of Unicode: scripts that are written without spaces,
/// Hangul (whose words take endings), punctuation, symbols, emoji, and the selectors and joiners between
/// those. Source: Unicode 16.0, `Blocks.txt`.
const PAIRED: [(u32, u32); 29] = [
    // Latin-1: controls, punctuation and signs, without the letters among them.
    (0x80, 0xA9),
    (0xAB, 0xB4),
    (0xB6, 0xB9),
    (0xBB, 0xBF),
    (0xD7, 0xD7),
    (0xF7, 0xF7),
    // Thai, Lao, Tibetan, Myanmar.
    (0xE00, 0x109F),
    // Hangul Jamo.
    (0x1100, 0x11FF),
    // Khmer.
    (0x1780, 0x17FF),
    // Tai Le, New Tai Lue, Khmer Symbols.
    (0x1950, 0x19FF),
    // Tai Tham.
    (0x1A20, 0x1AAF),
    // Balinese.
    (0x1B00, 0x1B7F),
    // General Punctuation to Miscellaneous Symbols and Arrows.
    (0x2000, 0x2BFF),
    // Supplemental Punctuation to Yi Radicals: Kana, Bopomofo, Han.
    (0x2E00, 0xA4CF),
    // Hangul Jamo Extended-A, Javanese, Myanmar Extended-B.
    (0xA960, 0xA9FF),
    // Myanmar Extended-A, Tai Viet.
    (0xAA60, 0xAADF),
    // Hangul Syllables, Hangul Jamo Extended-B.
    (0xAC00, 0xD7FF),
    // Private Use Area, CJK Compatibility Ideographs.
    (0xE000, 0xFAFF),
    // Variation Selectors to Small Form Variants.
    (0xFE00, 0xFE6F),
    // Halfwidth and Fullwidth Forms, Specials.
    (0xFF00, 0xFFFF),
    // Ideographic Symbols and Punctuation, Tangut, Khitan Small Script.
    (0x1_6FE0, 0x1_8DFF),
    // Kana Extended and Supplement, Nushu.
    (0x1_AFF0, 0x1_B2FF),
    // Byzantine to Western musical symbols.
    (0x1_D000, 0x1_D1FF),
    // Mathematical Alphanumeric Symbols.
    (0x1_D400, 0x1_D7FF),
    // Mahjong Tiles to Symbols for Legacy Computing: emoji.
    (0x1_F000, 0x1_FBFF),
    // Han.
    (0x2_0000, 0x3_FFFF),
    // Tags, Variation Selectors Supplement.
    (0xE_0000, 0xE_0FFF),
    // Private use.
    (0xF_0000, 0xF_FFFF),
    (0x10_0000, 0x10_FFFF),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The range of the token in the text, in bytes.
    pub(super) range: Range<usize>,
    /// True if the token is a pair. A pair is complete with any neighbours.
    pub(super) is_pair: bool,
}

/// The ASCII bytes that form words.
const WORD_BYTES: [bool; 256] = {
    let (mut bytes, mut byte) = ([false; 256], 0_u8);
    while byte < 0x80 {
        bytes[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        byte += 1;
    }
    bytes
};

/// Calls `visit` with each token of a folded text.
pub(super) fn for_each_token(text: &str, mut visit: impl FnMut(Token)) {
    let is_separator = |byte: &&u8| byte.is_ascii() && !WORD_BYTES[usize::from(**byte)];
    let mut at = 0;
    while at < text.len() {
        let end = end_of_word(text, at);
        if end > at {
            visit(Token { range: at..end, is_pair: false });
        }
        at = visit_pairs(text, end, &mut visit);
        at += text.as_bytes()[at..].iter().take_while(is_separator).count();
    }
}

fn is_paired(letter: char) -> bool {
    let number = u32::from(letter);
    let after = PAIRED.partition_point(|(first, _)| *first <= number);
    after > 0 && number <= PAIRED[after - 1].1
}

/// Returns the character at `at` if it is beyond ASCII.
fn letter_at(text: &str, at: usize) -> Option<char> {
    let is_letter = text.as_bytes().get(at).is_some_and(|byte| !byte.is_ascii());
    if is_letter { text[at..].chars().next() } else { None }
}

/// Returns the end of the run of word characters that begins at `at`.
fn end_of_word(text: &str, mut at: usize) -> usize {
    loop {
        at += text.as_bytes()[at..].iter().take_while(|byte| WORD_BYTES[usize::from(**byte)]).count();
        match letter_at(text, at) {
            Some(letter) if !is_paired(letter) => at += letter.len_utf8(),
            _ => return at,
        }
    }
}

/// Visits the run of paired characters that begins at `at`, and returns its end.
fn visit_pairs(text: &str, mut at: usize, visit: &mut impl FnMut(Token)) -> usize {
    let (start, mut previous) = (at, None);
    while let Some(letter) = letter_at(text, at).filter(|letter| is_paired(*letter)) {
        let end = at + letter.len_utf8();
        if let Some(first) = previous {
            visit(Token { range: first..end, is_pair: true });
        }
        previous = Some(at);
        at = end;
    }
    if previous == Some(start) {
        visit(Token { range: start..at, is_pair: false });
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<&str> {
        let mut tokens = Vec::new();
        for_each_token(text, |token| tokens.push(&text[token.range]));
        tokens
    }

    #[test]
    fn words_are_runs_and_other_scripts_are_pairs() {
        assert_eq!(tokens("user_id: 4f2a-9c, (née)"), ["user_id", "4f2a-9c", "née"]);
        assert_eq!(tokens("中国人abc의1の"), ["中国", "国人", "abc", "의", "1", "の"]);
        assert_eq!(tokens("e\u{301}t\u{e9} µs 10€ “a”"), ["e\u{301}t\u{e9}", "µs", "10", "€", "“", "a", "”"]);
        assert_eq!(tokens("🙂 👩\u{200d}💻!"), ["🙂", "👩\u{200d}", "\u{200d}💻"]);
        assert_eq!(tokens(" \0\n.,"), Vec::<&str>::new());
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(PAIRED.iter().all(|(first, last)| first <= last));
        assert!(PAIRED.windows(2).all(|two| two[0].1 < two[1].0));
    }
}
