//! The results of an index, compared with a naive search of every text: `certain ⊆ truth ⊆ possible`.

use proptest::prelude::*;
use spanwise::index::texts::TextIndex;
use spanwise::trace::view::Channel;

use super::oracle::{CHANNELS, Corpus, Text, listed};
use super::samples;
use crate::support::random::Random;

/// The number of patterns of the seeded law.
fn cases() -> u64 {
    std::env::var("TEXT_CASES").map_or(1_000, |cases| cases.parse().expect("a number"))
}

/// Compares the rows of a pattern with the truth, in every channel.
fn assert_found(index: &TextIndex, corpus: &Corpus, pattern: &str) {
    let is_exact = is_exact(pattern);
    let matches = [true, false].map(|ignore_case| (ignore_case, corpus.containing(pattern, ignore_case)));
    let each = CHANNELS
        .into_iter()
        .flat_map(|channel| matches.iter().map(move |(ignore_case, own)| (channel, *ignore_case, own)));
    for (channel, ignore_case, matches) in each {
        let truth = corpus.rows_of(matches, channel);
        let found = index.find(pattern, channel, ignore_case, &|| false).expect("not cancelled");
        let (certain, possible) = (listed(&found.certain), listed(&found.possible));
        let is_in = |rows: &[u32], all: &[u32]| rows.iter().all(|row| all.binary_search(row).is_ok());
        assert!(is_in(&certain, &truth), "{pattern:?} in {channel:?}: {certain:?} of {truth:?}");
        assert!(is_in(&truth, &possible), "{pattern:?} in {channel:?}: {truth:?} of {possible:?}");
        assert!(is_in(&possible, &corpus.present(channel)), "{pattern:?} in {channel:?}: {possible:?}");
        let has_case = pattern.to_lowercase() != pattern.to_uppercase();
        if is_exact && (ignore_case || !has_case) {
            assert_eq!((&certain, &truth), (&truth, &possible), "{pattern:?} in {channel:?}");
        }
    }
}

/// Returns `true` if a pattern is one word, or one or two characters of a script without spaces.
fn is_exact(pattern: &str) -> bool {
    let is_word = |letter: char| {
        letter.is_ascii_alphanumeric()
            || "_-".contains(letter)
            || letter.is_alphabetic() && letter < '\u{e00}'
    };
    let is_paired = |letter: char| ('\u{2e80}'..'\u{a000}').contains(&letter) || "…€🙂”안".contains(letter);
    let count = pattern.chars().count();
    count > 0 && pattern.chars().all(is_word) || (1..3).contains(&count) && pattern.chars().all(is_paired)
}

#[test]
fn random_pieces_of_texts_are_found() {
    const PATTERNS: u64 = 50;
    for seed in 0..cases().div_ceil(PATTERNS) {
        let mut random = Random::new(seed);
        let corpus = samples::corpus(&mut random);
        let index = corpus.indexed([0, 4_096, usize::MAX][usize::try_from(seed % 3).expect("small")]);
        for channel in CHANNELS {
            assert_eq!(
                listed(&index.present(channel)),
                corpus.present(channel),
                "{channel:?} of seed {seed}"
            );
        }
        for _ in 0..PATTERNS {
            let pattern = samples::pattern(&mut random, &corpus);
            assert_found(&index, &corpus, &pattern);
        }
    }
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-cA-C_0-]{1,4}",
        3 => "[ ,.\"\\\\n/:u0-9]{1,4}",
        2 => "[中国人の안e\u{301}éÉKſßİ\u{212a}Σσς]{1,3}",
        1 => "\\PC{0,6}",
        1 => any::<String>(),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

fn corpus() -> impl Strategy<Value = Corpus> {
    let texts = prop::collection::vec((0..3_u32, 0..3_usize, text()), 0..12);
    (texts, 1..70_u32).prop_map(|(texts, after)| {
        let mut row = 0;
        let texts: Vec<Text> = texts
            .into_iter()
            .map(|(step, channel, text)| {
                row += step;
                Text { row, channel: samples::channel(channel), content: text }
            })
            .collect();
        Corpus::new(texts, row + after)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_found_lies_around_what_a_look_at_every_text_finds(
        corpus in corpus(),
        others in prop::collection::vec(piece(), 4),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..12_usize), 12),
    ) {
        let index = corpus.indexed(0);
        let parts: Vec<&String> = corpus.parts.iter().flatten().filter(|part| !part.is_empty()).collect();
        let own = places.iter().filter(|_| !parts.is_empty()).map(|(part, place, length)| {
            let letters: Vec<char> = part.get(&parts).chars().collect();
            let start = place.index(letters.len());
            letters[start..].iter().take(*length).collect::<String>()
        });
        for pattern in others.into_iter().chain(own) {
            assert_found(&index, &corpus, &pattern);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Texts of one row with a common prefix are not indexed twice.
    #[test]
    fn texts_that_go_on_as_others_did_are_found(
        shared in "[ab \\\\n\"u0/=.-]{0,12}", ends in prop::collection::vec("[ab \\\\n\"u0/=.]{0,5}", 1..4),
    ) {
        let texts = ends.iter().map(|end| Text { row: 0, channel: Channel::Input, content: format!("{shared}{end}") });
        let corpus = Corpus::new(texts.collect(), 1);
        let index = corpus.indexed(usize::MAX);
        for part in corpus.parts.iter().flatten() {
            let letters: Vec<char> = part.chars().collect();
            for start in 0..letters.len() {
                for end in start + 1..=letters.len().min(start + 5) {
                    assert_found(&index, &corpus, &letters[start..end].iter().collect::<String>());
                }
            }
        }
    }
}

/// Returns a text as nested JSON with `levels` levels, next to other texts.
fn wrapped(text: &str, levels: usize, beside: &str) -> String {
    (0..levels).fold(text.to_owned(), |inside, _| {
        serde_json::json!({ "before": beside, "content": inside, "after": beside }).to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Common parts of a row's texts are indexed once.
    #[test]
    fn the_order_of_the_texts_of_a_row_changes_nothing(
        inside in prop::collection::vec((text(), text(), 8..16_usize, piece(), 0..4_usize), 1..4),
        length in prop_oneof![3 => Just(0_usize), 1 => 4_090..4_100_usize],
    ) {
        let run = "aB+/".chars().cycle().take(length).collect::<String>();
        let contents: Vec<String> = inside.iter().flat_map(|(before, again, times, end, levels)| {
            let own = format!("{}{before}{run}", again.repeat(*times));
            let outer = match levels {
                0 => format!("{end}{own}{end}"),
                levels => format!("{}{end}", wrapped(&own, *levels, again)),
            };
            [outer, own]
        }).collect();
        let texts: Vec<_> = contents.into_iter().map(|content| Text { row: 0, channel: Channel::Input, content }).collect();
        let reversed = Corpus::new(texts.iter().rev().cloned().collect(), 1).written(usize::MAX);
        prop_assert_eq!(Corpus::new(texts, 1).written(usize::MAX), reversed);
    }
}

#[test]
fn of_data_only_the_beginning_is_found() {
    for length in 4_094..4_100 {
        let run = format!("begin{}+end", "ab".repeat(2_100))[4_209 - length..].to_owned();
        let texts = ["{} tail", "before \"{}\" after", r"\u0041{}\n{}"].into_iter().zip(0..);
        let texts = texts.map(|(text, row)| Text {
            row,
            channel: Channel::Output,
            content: text.replace("{}", &run),
        });
        let corpus = Corpus::new(texts.collect(), 3);
        let index = corpus.indexed(usize::MAX);
        for pattern in [
            "end",
            "+end",
            "end tail",
            "tail",
            "after",
            "before \"ab",
            "ba+",
            &"ab".repeat(32),
            &"ab".repeat(33),
        ] {
            assert_found(&index, &corpus, pattern);
        }
    }
}

#[test]
fn many_tokens_are_found_in_their_blocks() {
    let mut random = Random::new(7);
    let ids: Vec<String> = (0..20_000).map(|_| format!("{:016x}", random.next())).collect();
    let texts = ids.iter().zip(0..).map(|(id, number)| {
        let text = format!(
            "call {id} of user-{} 中{}",
            number % 997,
            char::from_u32(0x4E00 + number % 4_000).expect("Han")
        );
        Text { row: number / 2, channel: samples::channel(number as usize % 3), content: text }
    });
    let corpus = Corpus::new(texts.collect(), 10_000);
    let index = corpus.indexed(200_000);
    for id in ids.iter().step_by(997) {
        for pattern in
            [id.as_str(), &id[3..9], &id[14..], &format!("call {}", &id[..3]), &format!("{} of", &id[9..])]
        {
            assert_found(&index, &corpus, pattern);
        }
    }
    for pattern in
        ["user-99", "call", "a", "中", "中一", "absent", "of user-5 ", "r-99", " of ", "7 中", "0", "ff", "."]
    {
        assert_found(&index, &corpus, pattern);
    }
}

#[test]
fn a_phrase_must_be_in_one_channel() {
    let text = |row, channel, text: &str| Text { row, channel, content: text.into() };
    let texts = vec![
        text(0, Channel::Input, "connection lost"),
        text(0, Channel::Output, "refused"),
        text(1, Channel::Error, "Connection refused"),
        text(2, Channel::Input, "refused a connection"),
    ];
    let index = Corpus::new(texts, 3).indexed(usize::MAX);
    let found = |pattern: &str, channel: Channel| {
        let found = index.find(pattern, channel, true, &|| false).expect("not cancelled");
        (listed(&found.certain), listed(&found.possible))
    };
    assert_eq!(found("connection refused", Channel::Any), (vec![], vec![1, 2]));
    assert_eq!(found("connection refused", Channel::Error), (vec![], vec![1]));
    assert_eq!(found("connection", Channel::Input), (vec![0, 2], vec![0, 2]));
    assert_eq!(found("nect", Channel::Any), (vec![0, 1, 2], vec![0, 1, 2]));
    assert_eq!(found(": ", Channel::Output), (vec![], vec![0]));
}

#[test]
fn a_search_can_be_cancelled() {
    let texts = vec![Text { row: 0, channel: Channel::Input, content: "a text".into() }];
    let index = Corpus::new(texts, 1).indexed(usize::MAX);
    assert!(index.find("text", Channel::Any, true, &|| true).is_none());
}

#[test]
fn a_row_outside_of_the_segment_is_named() {
    let mut builder = spanwise::index::texts::TextIndexBuilder::new();
    builder.add(5, Channel::Input, "");
    let error = builder.finish("these texts", 5, &mut Vec::new()).expect_err("only five rows");
    assert_eq!(error.to_string(), "row 5 of a segment of 5 rows");
}
