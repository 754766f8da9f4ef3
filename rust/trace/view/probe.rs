//! Searches the stored bytes of spans for a pattern before they are decoded.
//!
//! The texts of a span are its strings, texts in JSON strings, or generated JSON and lines of values,
//! messages and calls. A part of the pattern without separators of JSON and such lines must therefore be
//! within one stored string. Exceptions:
//!
//! - Backslashes before quotation marks and slashes are skipped.
//! - Other characters may be escaped, and letters outside ASCII may match ASCII letters if case is ignored.
//!   Bytes with a relevant one may contain any text.
//! - `-` is `_` in the kind of a message part, so both are the same character here.
//! - The start of the part may be within an escape of the text. It is omitted in that case.
//! - Bytes values are shown as base64. A part of only base64 characters may be in a span with such a value.
//! - Other scalars and a few words are not in a string. A part that could be within one of them is not
//!   searched.

use std::ops::Range;

use memchr::memmem::Finder;

use super::super::node::UNKNOWN_ERROR;
use crate::otlp::span_ref::{SourceRef, sources_of};
use crate::text::{PairFinder, has_case};

/// Displayed texts of a span that are not in its strings: error texts, names of members, and words for
/// scalars.
const WRITTEN: [&str; 7] = [UNKNOWN_ERROR, "event.name", "true", "false", "null", "nan", "-infinity"];

/// Letters outside ASCII that differ from an ASCII letter only by case, in UTF-8.
const LIKE_ASCII: [(u8, char, &[u8]); 2] = [(b'k', '\u{212a}', b"\xe2\x84\xaa"), (b's', 'ſ', b"\xc5\xbf")];

/// Searches the bytes of spans for a pattern.
#[derive(Debug, Clone)]
pub struct TextProbe {
    /// The searched part of the pattern, with `-` as `_`; in lower case if case is ignored.
    part: String,
    ignores_case: bool,
    /// The part, split at quotation marks and slashes.
    pieces: Vec<Vec<u8>>,
    /// The index of the piece that is searched first.
    anchor: usize,
    /// The search for the anchor.
    finder: PairFinder,
    /// The search for `\u` escapes.
    escapes: Finder<'static>,
    /// True if the part may be within base64.
    may_be_base64: bool,
    /// Letters of the part with variants outside ASCII, and the searches for these.
    others: Vec<(char, Finder<'static>)>,
}

/// Maps `-` to `_`, and other bytes to themselves.
fn joined(byte: u8) -> u8 {
    if byte == b'-' { b'_' } else { byte }
}

impl TextProbe {
    /// Returns the probe for texts that contain `pattern`; `None` if no part of the pattern must be in the
    /// bytes.
    pub fn of(pattern: &str, ignores_case: bool) -> Option<Self> {
        let parts = parts_of(pattern).into_iter().filter_map(|part| {
            let part = looked_for(&pattern[part])?.replace('-', "_");
            Some(if ignores_case { part.to_ascii_lowercase() } else { part })
        });
        let parts = parts.map(|part| (pieces_of(&part), part));
        let (pieces, part) = parts.max_by_key(|(pieces, part)| (!is_base64(part), longest(pieces).1))?;
        let may_be_base64 = is_base64(&part);
        let (anchor, _) = longest(&pieces);
        let finder = PairFinder::in_any_case(&pieces[anchor]);
        let others = LIKE_ASCII.iter().filter(|(ascii, ..)| ignores_case && part.as_bytes().contains(ascii));
        let others = others.map(|(_, letter, bytes)| (*letter, Finder::new(*bytes)));
        let (others, escapes) = (others.collect(), Finder::new(br"\u"));
        Some(Self { part, ignores_case, pieces, anchor, finder, escapes, may_be_base64, others })
    }

    /// Returns `true` if a text may contain the pattern, from the bytes of several spans. `false` is certain.
    pub fn may_be_among(&self, spans: &[u8]) -> bool {
        self.may_be_base64 || self.may_be_in(spans)
    }

    /// Returns `true` if a text may contain the pattern, from the bytes of one span. `false` is certain.
    pub fn may_be_in_span(&self, span: &[u8]) -> bool {
        let has_bytes_value =
            |source: Result<SourceRef<'_>, _>| source.is_ok_and(|own| own.has_bytes_value());
        self.may_be_in(span) || self.may_be_base64 && sources_of(span).any(has_bytes_value)
    }

    /// Returns `true` if a text may contain the pattern, from a source field of its texts. `false` is
    /// certain.
    pub fn may_be_in_source(&self, source: &SourceRef<'_>) -> bool {
        self.may_be_in(source.bytes()) || self.may_be_base64 && source.has_bytes_value()
    }

    fn may_be_in(&self, bytes: &[u8]) -> bool {
        self.finder.any(bytes, |start| self.is_at(bytes, start)) || self.is_blind(bytes)
    }

    /// Returns `true` if the part is in the bytes with its anchor at `start`.
    fn is_at(&self, bytes: &[u8], start: usize) -> bool {
        let same = |byte: u8| joined(if self.ignores_case { byte.to_ascii_lowercase() } else { byte });
        let is_same =
            |found: &[u8], piece: &[u8]| found.iter().map(|byte| same(*byte)).eq(piece.iter().copied());
        let is_passed = |byte: &&u8| matches!(**byte, b'"' | b'\\');
        let (mut before, mut after) = bytes.split_at(start);
        for (at, piece) in self.pieces.iter().enumerate().skip(self.anchor) {
            let passed = if at == self.anchor { 0 } else { after.iter().take_while(is_passed).count() };
            let Some((found, rest)) = after[passed..].split_at_checked(piece.len()) else { return false };
            if !is_same(found, piece) {
                return false;
            }
            after = rest;
        }
        for piece in self.pieces[..self.anchor].iter().rev() {
            before = &before[..before.len() - before.iter().rev().take_while(is_passed).count()];
            let Some(end) = before.len().checked_sub(piece.len()) else { return false };
            let (rest, found) = before.split_at(end);
            if !is_same(found, piece) {
                return false;
            }
            before = rest;
        }
        true
    }

    /// Returns `true` if the bytes have a character in a form that the probe cannot search.
    fn is_blind(&self, bytes: &[u8]) -> bool {
        let is_hidden = |start: usize| {
            let digits = bytes.get(start + 2..start + 6).and_then(|digits| std::str::from_utf8(digits).ok());
            let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            unit.is_some_and(|unit| self.is_hidden(unit))
        };
        self.others.iter().any(|(_, finder)| finder.find(bytes).is_some())
            || self.escapes.find_iter(bytes).any(is_hidden)
    }

    /// Returns `true` if an escape of this code unit may hide a character of the part. Within ASCII this
    /// applies to letters, digits and the backslash, because they may be part of another escape.
    fn is_hidden(&self, unit: u32) -> bool {
        match char::from_u32(unit) {
            None => self.part.chars().any(|own| own > '\u{ffff}'),
            Some(letter) if letter.is_ascii_alphanumeric() || letter == '\\' => true,
            Some('-') => self.part.contains('_'),
            Some(letter) => {
                self.part.contains(letter) || self.others.iter().any(|(other, _)| *other == letter)
            }
        }
    }
}

/// Returns the index of the longest piece, and its length in bytes.
fn longest(pieces: &[Vec<u8>]) -> (usize, usize) {
    let lengths = pieces.iter().map(Vec::len).enumerate();
    lengths.max_by_key(|(_, length)| *length).unwrap_or_default()
}

/// Returns the parts of a pattern that must each be within one string of a matching text.
fn parts_of(pattern: &str) -> Vec<Range<usize>> {
    let (mut parts, mut start, mut before) = (Vec::new(), 0, None);
    let mut letters = pattern.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let after = letters.peek().map(|(_, letter)| *letter);
        if may_be_between(letter, before, after) || (!letter.is_ascii() && has_case(letter)) {
            parts.push(start..at);
            start = at + letter.len_utf8();
        }
        before = Some(letter);
    }
    parts.push(start..pattern.len());
    parts
}

/// Returns `true` if a character of a pattern may be between two strings of a generated text, or be part of
/// an escape.
///
/// Two JSON strings are always separated by a comma, a colon or a bracket. A comma or a colon in that
/// position is next to quotation marks, brackets, numbers or JSON words.
fn may_be_between(letter: char, before: Option<char>, after: Option<char>) -> bool {
    let is_one_of =
        |letter: char, others: &str| letter.is_ascii_digit() || others.contains(letter.to_ascii_lowercase());
    match letter {
        '(' | ')' | '[' | ']' | '{' | '}' | '\\' => true,
        ',' | ':' => {
            let may_end = before.is_none_or(|letter| is_one_of(letter, "\"]}el"));
            may_end && after.is_none_or(|letter| is_one_of(letter, "\"[{-tfn"))
        }
        letter => letter.is_ascii_control(),
    }
}

/// Returns the searchable part of a part of a pattern; `None` if a matching text may be outside of all
/// strings.
fn looked_for(part: &str) -> Option<&str> {
    let part = without_escape(part.trim_matches('"')).trim_matches('"');
    let is_number = part.bytes().all(|byte| byte.is_ascii_digit() || b"eE+-.".contains(&byte));
    let lower = part.to_ascii_lowercase();
    let is_written = WRITTEN.iter().any(|written| written.contains(&lower));
    (!is_number && !is_written).then_some(part)
}

/// Returns `true` if a part may be within base64. In a searched part, `_` may stand for `-`, and base64 has
/// neither.
fn is_base64(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

/// Splits a part into pieces that other characters may separate.
fn pieces_of(part: &str) -> Vec<Vec<u8>> {
    let mut pieces: Vec<Vec<u8>> = vec![Vec::new()];
    for byte in part.bytes() {
        if matches!(byte, b'"' | b'/') {
            pieces.push(Vec::new());
        }
        if byte != b'"'
            && let Some(piece) = pieces.last_mut()
        {
            piece.push(byte);
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Removes the start of a part that may be the rest of an escape.
fn without_escape(part: &str) -> &str {
    const DIGITS: usize = 4;
    let digits = |text: &str| text.bytes().take(DIGITS).take_while(u8::is_ascii_hexdigit).count();
    match part.as_bytes().first().map(u8::to_ascii_lowercase) {
        Some(b'u') => &part[1 + digits(&part[1..])..],
        Some(b'n' | b'r' | b't') => &part[1..],
        _ => &part[digits(part)..],
    }
}
