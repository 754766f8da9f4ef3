//! Random texts, and search patterns for them.

use std::fmt::Write as _;

use spanwise::trace::view::Channel;

use super::oracle::{CHANNELS, Corpus, Text};
use crate::support::random::Random;

/// Pieces of texts. There are few of each type, so that rows have much in common.
const PIECES: [&[&str]; 5] = [
    &[
        "error",
        "Refund",
        "the",
        "connection",
        "refused",
        "user_id",
        "kebab-case",
        "x",
        "7",
        "2026-11-23",
        "ERR",
        "KIOSK",
        "miss",
    ],
    &[
        " ", " ", " ", ", ", "\n", "\t", ".", "/", "\\", "\"", "{\"", "\": ", "(", "=", "+", "\0", "\u{7f}",
        " - ",
    ],
    &[
        "中国",
        "国人",
        "人",
        "の",
        "システム",
        "ｶﾅ",
        "안녕",
        "하세요",
        "สวัสดี",
        "ကမ",
        "ភាសា",
        "ＡＢ",
        "、",
        "龍\u{20000}",
    ],
    &[
        "née",
        "NÉE",
        "e\u{301}t",
        "ß",
        "ẞ",
        "İ",
        "ı",
        "\u{212a}elvin",
        "ſo",
        "Σίσυφος",
        "ΣΊΣΥΦΟΣ",
        "Жук",
        "µ",
        "Å",
        "مرحبا",
        "१२",
        "ǅ",
    ],
    &[
        "🙂",
        "👩\u{200d}💻",
        "❤\u{fe0f}",
        "“",
        "”",
        "—",
        "…",
        "€",
        "·",
        "×",
        "\u{a0}",
        "ª",
        "\u{e000}",
        "\u{fffd}",
        "𝒳",
    ],
];
/// Texts that look like escapes, valid or not.
const ESCAPES: [&str; 12] = [
    r"\n",
    r"\u00e9",
    r"\u212a",
    r"\ud83d\ude42",
    r"\ud83d",
    r"\u12",
    r"\\u0041",
    r"\\\\n",
    r"\x",
    r"\/",
    "\\\"",
    r"\\ud83d\ude42",
];

fn one<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[index(random, of.len())]
}

fn index(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).expect("small")
}

fn hexadecimal(random: &mut Random) -> String {
    let (one, other) = (random.next(), random.next());
    let [start, end] = [one, other].map(|digits| format!("{digits:016x}"));
    [&start[..8], &start[8..12], &start[12..], &end[..4], &end[4..]].join("-")
}

/// Returns a run of `length` bytes that may count as data.
fn run(random: &mut Random, length: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+/=";
    let letters = LETTERS.len() - if random.below(2) == 0 { 3 } else { 0 };
    (0..length).map(|_| char::from(LETTERS[index(random, letters)])).collect()
}

/// Returns a text. Most texts are short, and some have a length at a threshold.
pub(crate) fn text(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.below(24) {
        match random.below(40) {
            0 => text += &hexadecimal(random),
            1 | 2 => text += one(random, &ESCAPES),
            3 if random.below(8) == 0 => {
                let length = one(random, &[1_023, 1_025, 4_095, 4_096, 4_097, 5_000]);
                text += &run(random, length);
            }
            4 if random.below(16) == 0 => text += &"né".repeat(1_000 + index(random, 3_000)),
            5 if random.below(400) == 0 => {
                let piece: &str = one(random, &["word ", "中", "x", "\\u00e9", "é", "“a”"]);
                text += &piece.repeat((1 << 20) / piece.len());
            }
            kind if kind < 24 => {
                text += one(random, PIECES[0]);
                text += one(random, PIECES[1]);
            }
            _ => {
                let kind = index(random, PIECES.len());
                text += one(random, PIECES[kind]);
            }
        }
    }
    for _ in 0..[0, 0, 1, 2, 3][index(random, 5)] {
        text = in_json(random, &text);
    }
    text
}

/// Returns a text as a part of JSON. Letters outside ASCII may be escaped.
fn in_json(random: &mut Random, text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("JSON");
    let is_escaped = random.below(3) == 0;
    let mut json = String::from("{\"content\": ");
    for letter in quoted.chars() {
        if is_escaped && !letter.is_ascii() {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(json, "\\u{unit:04x}").expect("written to memory");
            }
        } else {
            json.push(letter);
        }
    }
    json + "}"
}

/// Returns texts of up to 40 rows. Some texts extend another text of their row, like the history of a
/// conversation.
pub(crate) fn corpus(random: &mut Random) -> Corpus {
    let rows = u32::try_from(random.below(40)).expect("small");
    let mut texts: Vec<Text> = Vec::new();
    for row in 0..rows {
        let first = texts.len();
        for _ in 0..random.below(5) {
            let own = &texts[first..];
            let mut text = match random.below(3) {
                0 if !own.is_empty() => own[index(random, own.len())].content.clone(),
                _ => String::new(),
            };
            if !text.is_empty() && random.below(2) == 0 {
                let end = index(random, text.len());
                text.truncate((0..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0));
            }
            if text.is_empty() || random.below(4) > 0 {
                text += &self::text(random);
            }
            let kinds = if random.below(20) == 0 { 4 } else { 3 };
            let kind = index(random, kinds);
            texts.push(Text { row, channel: CHANNELS[kind], content: text });
        }
    }
    Corpus::new(texts, rows + u32::try_from(random.below(3)).expect("small"))
}

/// Returns a pattern. Most patterns are within a text of the corpus.
pub(crate) fn pattern(random: &mut Random, corpus: &Corpus) -> String {
    let length = 1 + if random.below(3) == 0 { index(random, 60) } else { index(random, 8) };
    let parts: Vec<&String> = corpus.parts.iter().flatten().filter(|part| !part.is_empty()).collect();
    let mut own = if parts.is_empty() || random.below(6) == 0 {
        text(random)
    } else {
        let part = parts[index(random, parts.len())];
        let start = index(random, part.len());
        let start = (0..=start).rev().find(|start| part.is_char_boundary(*start)).unwrap_or(0);
        part[start..].chars().take(length).collect()
    };
    match random.below(8) {
        0 => own = own.to_uppercase(),
        1 => own = own.to_lowercase(),
        2 => own += one(random, PIECES[0]),
        _ => {}
    }
    own.chars().take(length).collect()
}

pub(crate) fn channel(number: usize) -> Channel {
    CHANNELS[number % CHANNELS.len()]
}
