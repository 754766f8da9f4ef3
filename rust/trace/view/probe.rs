//! A look for a pattern in the bytes of spans as they are stored, before anything of them is decoded.
//!
//! Texts are made of what a span holds: they are its strings, or texts in JSON that a string is, or such texts in the JSON
//! and the lines in which values, messages and calls are written. So a part of the pattern without anything that JSON and
//! such lines have between two strings lies within one string, as it is stored, but for
//!
//! - backslashes before quotation marks and slashes, which are passed over;
//! - other characters that are written as an escape, and letters beyond ASCII that differ from those of ASCII by case:
//!   bytes with one that matters may have any text;
//! - `-`, which the kind of a part of a message has as `_`: both are one character here;
//! - the beginning of the part, which may lie within an escape of the text: it is left out where it could;
//! - values of bytes, which are written as base64: a part of nothing but its characters may be in a span that has one;
//! - other scalars, and the few words that are written in no string: a part that could lie within one is not looked for.

use std::ops::Range;

use memchr::memmem::Finder;

use super::super::node::UNKNOWN_ERROR;
use crate::otlp::span_ref::{SourceRef, sources_of};
use crate::text::{PairFinder, has_case};

/// What is shown of a span that is in none of its strings: texts of errors, names of members, and the words for scalars.
const WRITTEN: [&str; 7] = [UNKNOWN_ERROR, "event.name", "true", "false", "null", "nan", "-infinity"];

/// Letters beyond ASCII that differ from one of ASCII only by case, in UTF-8.
const LIKE_ASCII: [(u8, char, &[u8]); 2] = [(b'k', '\u{212a}', b"\xe2\x84\xaa"), (b's', 'ſ', b"\xc5\xbf")];

/// Looks for a pattern in the bytes of spans.
#[derive(Debug, Clone)]
pub struct TextProbe {
    /// The part of the pattern that is looked for, `-` as `_`; in lower case if case is ignored.
    part: String,
    ignores_case: bool,
    /// The part between quotation marks and before slashes.
    pieces: Vec<Vec<u8>>,
    /// The piece that is looked for first.
    anchor: usize,
    /// Finds where it can be.
    finder: PairFinder,
    /// Finds escapes of code units.
    escapes: Finder<'static>,
    /// Whether the part may lie within base64.
    may_be_base64: bool,
    /// Letters that bytes may have beyond ASCII.
    others: Vec<(char, Finder<'static>)>,
}

/// Returns `_` for `-`, and any other byte as it is.
fn joined(byte: u8) -> u8 {
    if byte == b'-' { b'_' } else { byte }
}

impl TextProbe {
    /// Returns the probe for texts that contain `pattern`; `None` if it has no part that must be in the bytes.
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

    /// Whether a text of a span may contain the pattern, by the bytes of several spans. `false` is certain.
    pub fn may_be_among(&self, spans: &[u8]) -> bool {
        self.may_be_base64 || self.may_be_in(spans)
    }

    /// Whether a text of a span may contain the pattern, by the bytes of the span. `false` is certain.
    pub fn may_be_in_span(&self, span: &[u8]) -> bool {
        let has_bytes_value =
            |source: Result<SourceRef<'_>, _>| source.is_ok_and(|own| own.has_bytes_value());
        self.may_be_in(span) || self.may_be_base64 && sources_of(span).any(has_bytes_value)
    }

    /// Whether a text of a span may contain the pattern, by a field that its texts are made of. `false` is certain.
    pub fn may_be_in_source(&self, source: &SourceRef<'_>) -> bool {
        self.may_be_in(source.bytes()) || self.may_be_base64 && source.has_bytes_value()
    }

    fn may_be_in(&self, bytes: &[u8]) -> bool {
        self.finder.any(bytes, |start| self.is_at(bytes, start)) || self.is_blind(bytes)
    }

    /// Whether the part is in the bytes, its anchor at `start`.
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

    /// Whether the bytes have a character in a form in which it is not looked for.
    fn is_blind(&self, bytes: &[u8]) -> bool {
        let is_hidden = |start: usize| {
            let digits = bytes.get(start + 2..start + 6).and_then(|digits| std::str::from_utf8(digits).ok());
            let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            unit.is_some_and(|unit| self.is_hidden(unit))
        };
        self.others.iter().any(|(_, finder)| finder.find(bytes).is_some())
            || self.escapes.find_iter(bytes).any(is_hidden)
    }

    /// Whether an escape of this code unit hides a character of the part. Of ASCII every letter and digit does, and the
    /// backslash: they may be of an escape themselves.
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

/// Returns the position of the longest piece, and its length in bytes.
fn longest(pieces: &[Vec<u8>]) -> (usize, usize) {
    let lengths = pieces.iter().map(Vec::len).enumerate();
    lengths.max_by_key(|(_, length)| *length).unwrap_or_default()
}

/// Returns the parts of a pattern that lie within one string each, if a text contains it.
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

/// Whether a character of a pattern may stand between two strings of which a text is made, or be of an escape.
///
/// Between two strings of JSON is always a comma, a colon or a bracket. A comma and a colon stand there between quotation
/// marks, brackets, numbers and the words of JSON.
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

/// Returns what is looked for of a part of a pattern; `None` if a text may have it that is in no string.
fn looked_for(part: &str) -> Option<&str> {
    let part = without_escape(part.trim_matches('"')).trim_matches('"');
    let is_number = part.bytes().all(|byte| byte.is_ascii_digit() || b"eE+-.".contains(&byte));
    let lower = part.to_ascii_lowercase();
    let is_written = WRITTEN.iter().any(|written| written.contains(&lower));
    (!is_number && !is_written).then_some(part)
}

/// Whether a part may lie within base64. In one that is looked for, `_` may be `-`, and neither is of base64.
fn is_base64(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

/// Returns the pieces of a part, which other characters may stand between.
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

/// Returns a part of a pattern without the beginning that may be what follows the backslash of an escape, or the last
/// digits of one.
fn without_escape(part: &str) -> &str {
    const DIGITS: usize = 4;
    let digits = |text: &str| text.bytes().take(DIGITS).take_while(u8::is_ascii_hexdigit).count();
    match part.as_bytes().first().map(u8::to_ascii_lowercase) {
        Some(b'u') => &part[1 + digits(&part[1..])..],
        Some(b'n' | b'r' | b't') => &part[1..],
        _ => &part[digits(part)..],
    }
}
