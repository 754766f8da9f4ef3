//! Splits a pattern into pieces of tokens.

use super::tokens::for_each_token;
use crate::text::{fold_all, has_case};

/// The maximum number of pieces that are looked up, the longest first. With fewer pieces the result is still
/// a superset.
const MAX_PIECES: usize = 32;

/// The pieces of a pattern. A text that contains the pattern has a token for every piece.
#[derive(Debug)]
pub(super) struct Pieces {
    /// The distinct pieces, the longest first. A zero byte stands for the start or the end of a token.
    pub(super) pieces: Vec<Vec<u8>>,
    /// True if a text with a token that contains the only piece certainly contains the pattern.
    pub(super) is_exact: bool,
}

impl Pieces {
    pub(super) fn of(pattern: &str, ignore_case: bool) -> Self {
        let mut folded = String::with_capacity(pattern.len());
        fold_all(pattern, &mut folded);
        let (mut pieces, mut is_whole) = (Vec::new(), false);
        for_each_token(&folded, |token| {
            is_whole = token.range == (0..folded.len());
            // If the pattern continues after a word, every match ends the word there too.
            let is_begun = token.is_pair || token.range.start > 0;
            let is_ended = token.is_pair || token.range.end < folded.len();
            let mut piece = vec![0; usize::from(is_begun)];
            piece.extend_from_slice(&folded.as_bytes()[token.range]);
            piece.extend(is_ended.then_some(0));
            pieces.push(piece);
        });
        pieces.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        pieces.dedup();
        pieces.truncate(MAX_PIECES);
        let is_exact = is_whole && (ignore_case || !pattern.chars().any(has_case));
        Self { pieces, is_exact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(pattern: &str) -> Vec<String> {
        let pieces = Pieces::of(pattern, true).pieces.into_iter();
        pieces.map(|piece| String::from_utf8(piece).expect("text").replace('\0', "|")).collect()
    }

    #[test]
    fn ends_within_a_pattern_are_ends_of_tokens() {
        assert_eq!(pieces("Error"), ["error"]);
        assert_eq!(pieces("tion ref"), ["tion|", "|ref"]);
        assert_eq!(pieces(" is a "), ["|is|", "|a|"]);
        assert_eq!(pieces("中国人x"), ["|中国|", "|国人|", "|x"]);
        assert_eq!(pieces("の"), ["の"]);
        assert_eq!(pieces("の "), ["の|"]);
        assert_eq!(pieces(" . "), Vec::<String>::new());
    }

    #[test]
    fn one_piece_is_exact_if_it_is_the_whole_pattern() {
        let is_exact = |pattern: &str, ignore_case: bool| Pieces::of(pattern, ignore_case).is_exact;
        assert!(["err", "2026-11", "の", "中国", "née"].into_iter().all(|pattern| is_exact(pattern, true)));
        assert!(
            [" err", "a b", "中国人", "x中", ".", ""].into_iter().all(|pattern| !is_exact(pattern, true))
        );
        assert!(["2026-11", "の", "中国"].into_iter().all(|pattern| is_exact(pattern, false)));
        assert!(["err", "née", "7K"].into_iter().all(|pattern| !is_exact(pattern, false)));
    }
}
