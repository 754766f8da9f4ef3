//! The naive index: searches every text by the definition of `docs/reference/filter.md#texts`.

use arrow_buffer::Buffer;
use regex::RegexBuilder;
use spanwise::bitmap::RowSet;
use spanwise::index::texts::{TextIndex, TextIndexBuilder};
use spanwise::trace::view::Channel;

pub(crate) const CHANNELS: [Channel; 4] = [Channel::Input, Channel::Output, Channel::Error, Channel::Any];

/// A text of a row.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) row: u32,
    pub(crate) channel: Channel,
    pub(crate) content: String,
}

/// Texts in row order, with their searchable parts.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) texts: Vec<Text>,
    pub(crate) parts: Vec<Vec<String>>,
    pub(crate) rows: u32,
}

impl Corpus {
    pub(crate) fn new(texts: Vec<Text>, rows: u32) -> Self {
        let parts = texts.iter().map(|own| searched(&own.content)).collect();
        Self { texts, parts, rows }
    }

    /// Returns the index of the texts as bytes, built in runs of `run_bytes`.
    pub(crate) fn written(&self, run_bytes: usize) -> Vec<u8> {
        let mut builder = TextIndexBuilder::with_run_bytes(run_bytes);
        self.texts.iter().for_each(|own| builder.add(own.row, own.channel, &own.content));
        let mut content = Vec::new();
        builder.finish("these texts", self.rows, &mut content).expect("written to memory");
        content
    }

    pub(crate) fn indexed(&self, run_bytes: usize) -> TextIndex {
        let index = open(self.written(run_bytes)).expect("a sound index");
        assert_eq!(index.rows(), self.rows);
        index
    }

    /// Returns, per text, `true` if a searchable part contains a pattern.
    pub(crate) fn containing(&self, pattern: &str, ignore_case: bool) -> Vec<bool> {
        let wanted = RegexBuilder::new(&regex::escape(pattern)).case_insensitive(ignore_case).build();
        let wanted = wanted.expect("an escaped pattern");
        self.parts.iter().map(|parts| parts.iter().any(|part| wanted.is_match(part))).collect()
    }

    /// Returns the rows with a wanted text in a channel.
    pub(crate) fn rows_of(&self, wanted: &[bool], channel: Channel) -> Vec<u32> {
        let is_own = |own: Channel| channel == Channel::Any || own == Channel::Any || own == channel;
        let own = self.texts.iter().zip(wanted).filter(|(own, is_asked)| **is_asked && is_own(own.channel));
        let mut rows: Vec<u32> = own.map(|(own, _)| own.row).collect();
        rows.dedup();
        rows
    }

    /// Returns the rows with a text in a channel.
    pub(crate) fn present(&self, channel: Channel) -> Vec<u32> {
        self.rows_of(&vec![true; self.texts.len()], channel)
    }
}

/// Opens an index; `None` if it is damaged.
pub(crate) fn open(content: Vec<u8>) -> Option<TextIndex> {
    TextIndex::open(Buffer::from_vec(content), "these texts").filter(TextIndex::is_sound)
}

pub(crate) fn listed(rows: &RowSet) -> Vec<u32> {
    rows.from(0).collect()
}

/// Returns the searchable parts of a text, at every level of escapes.
pub(crate) fn searched(text: &str) -> Vec<String> {
    let once = resolved(text);
    let twice = resolved(&once);
    [text, &once, &twice].into_iter().flat_map(without_data).collect()
}

/// Returns the searchable parts of a text: the text between data runs, and the first 64 bytes of each run.
fn without_data(text: &str) -> Vec<String> {
    let is_of_run = |letter: char| letter.is_ascii_alphanumeric() || "+/=_-".contains(letter);
    let (mut parts, mut part, mut rest) = (Vec::new(), String::new(), text);
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_of_run(letter)).unwrap_or(rest.len());
        let (run, others) = rest.split_at(end);
        if run.len() > 4_096 {
            part.push_str(&run[..64]);
            parts.push(std::mem::take(&mut part));
        } else {
            part.push_str(run);
        }
        let end = others.find(is_of_run).unwrap_or(others.len());
        part.push_str(&others[..end]);
        rest = &others[end..];
    }
    parts.push(part);
    parts
}

/// Returns a text with its JSON escapes resolved. Invalid escapes are kept.
fn resolved(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    while at < letters.len() {
        // The longest escape first: a pair of surrogates, a character, a letter.
        let escape = [12, 6, 2].into_iter().find_map(|length| {
            let escape: String =
                letters.get(at..at + length).filter(|escape| escape[0] == '\\')?.iter().collect();
            let whole: String = serde_json::from_str(&format!("\"{escape}\"")).ok()?;
            (whole.chars().count() == 1).then_some((whole, length))
        });
        let (letter, length) = escape.unwrap_or((letters[at].to_string(), 1));
        out.push_str(&letter);
        at += length;
    }
    out
}

#[test]
fn the_naive_search_follows_the_definition() {
    assert_eq!(resolved(r#"a\n\u00e9\ud83d\ude42\ud83d\x\\\""#), "a\né🙂\\ud83d\\x\\\"");
    let run = "ab".repeat(2_049);
    assert_eq!(without_data(&format!("x {run} y")), [format!("x {}", &run[..64]), " y".into()]);
    assert_eq!(without_data(&format!("x {} y", &run[2..])), [format!("x {} y", &run[2..])]);
}
