//! The text index of one segment with 100,000 traces of 5 KB: build time, size, and the time of searches.
//! Prints the minimum time of many runs, which other work on the machine affects least.

#[path = "traces.rs"]
#[allow(dead_code, reason = "only its numbers are random here")]
mod traces;

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use arrow_buffer::Buffer;
use spanwise::index::texts::{TextIndex, TextIndexBuilder};
use spanwise::trace::view::Channel;
use traces::Random;

const ROWS: u32 = 100_000;
/// The number of words. Words with a low rank are in most texts, and words with a high rank in few.
const WORDS: u64 = 60_000;

/// Appends about `count` words. The frequency of a word is inversely proportional to its rank.
fn speak(random: &mut Random, count: u64, text: &mut String) {
    for _ in 0..count {
        let spread = WORDS >> random.below(12);
        let rank = random.below(spread.max(1));
        text.push_str(["re", "con", "un", "de", "pre", "", "in", "ex"][(rank % 8) as usize]);
        text.push_str(["quest", "nect", "mit", "fer", "late", "tract", "port"][(rank / 8 % 7) as usize]);
        text.push_str(["", "ion", "ed", "ing", "s", "er", "able"][(rank / 56 % 7) as usize]);
        if rank >= 392 {
            write!(text, "{:x}", rank / 392).expect("written to memory");
        }
        text.push_str(if random.below(12) == 0 { ".\\n" } else { " " });
    }
}

/// Adds the texts of a trace: model calls that repeat their history, and their answers.
fn add(builder: &mut TextIndexBuilder, row: u32, random: &mut Random) -> (usize, Duration) {
    let mut history = format!("{{\"user\": \"user-{}\", \"messages\": [\"", random.below(20_000));
    let (mut bytes, mut spent) = (0, Duration::ZERO);
    for _ in 0..3 {
        write!(history, "{:016x}{:016x}\", \"", random.next(), random.next()).expect("written to memory");
        speak(random, 50, &mut history);
        let mut answer = format!("call_{:016x} ", random.next());
        speak(random, 35, &mut answer);
        bytes += history.len() + answer.len();
        let begun = Instant::now();
        builder.add(row, Channel::Input, &history);
        builder.add(row, Channel::Output, &answer);
        spent += begun.elapsed();
        history.push_str(&answer);
    }
    (bytes, spent)
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
fn indexed() -> TextIndex {
    let mut random = Random::new(7);
    let mut builder = TextIndexBuilder::new();
    let (mut bytes, mut spent) = (0, Duration::ZERO);
    for row in 0..ROWS {
        let (own_bytes, own_spent) = add(&mut builder, row, &mut random);
        bytes += own_bytes;
        spent += own_spent;
    }
    let begun = Instant::now();
    let mut content = Vec::new();
    builder.finish("texts", ROWS, &mut content).expect("written to memory");
    spent += begun.elapsed();
    println!(
        "{} bytes of text a trace, built in {spent:.1?}: {:.0} MB/s, {} bytes a trace",
        bytes / ROWS as usize,
        bytes as f64 / 1e6 / spent.as_secs_f64(),
        content.len() / ROWS as usize
    );
    TextIndex::open(Buffer::from_vec(content), "texts").expect("an index")
}

fn main() {
    let index = indexed();
    let begun = Instant::now();
    assert!(index.is_sound());
    println!("checksums compared in {:.1?}", begun.elapsed());
    for (name, pattern) in [
        ("a frequent word", "connect"),
        ("a rare word", "unfering1f"),
        ("within words", "ract"),
        ("within ids", "4f2a9c"),
        ("an id", "user-2383"),
        ("absent", "zzzqqq"),
        ("one letter", "e"),
        ("a phrase", "report connect"),
        ("a short phrase", "ed in"),
    ] {
        let (mut least, mut found) = (Duration::MAX, None);
        for _ in 0..20 {
            let begun = Instant::now();
            found = black_box(index.find(pattern, Channel::Any, true, &|| false));
            least = least.min(begun.elapsed());
        }
        let found = found.expect("not cancelled");
        let (certain, possible) = (found.certain.count(), found.possible.count());
        println!("{name:16} {possible:>7} rows, {certain:>7} of them certain, in {least:>9.1?}");
    }
}
