//! Damaged indexes are always detected.

use super::oracle::{Corpus, listed, open};
use super::samples;
use crate::support::random::Random;
use spanwise::trace::view::Channel;

/// Returns the results of an index for some patterns.
fn answers(index: &spanwise::index::texts::TextIndex, patterns: &[String]) -> Vec<[Vec<u32>; 2]> {
    let answer = |pattern: &String| {
        let found = index.find(pattern, Channel::Any, true, &|| false).expect("not cancelled");
        [listed(&found.certain), listed(&found.possible)]
    };
    patterns.iter().map(answer).collect()
}

fn sample(random: &mut Random) -> (Corpus, Vec<String>) {
    let corpus = samples::corpus(random);
    let patterns = (0..20).map(|_| samples::pattern(random, &corpus)).collect();
    (corpus, patterns)
}

#[test]
fn a_flipped_byte_is_noticed_or_changes_nothing() {
    let mut random = Random::new(11);
    let (corpus, patterns) = sample(&mut random);
    let content = corpus.written(usize::MAX);
    let expected = answers(&open(content.clone()).expect("a sound index"), &patterns);
    let mut noticed = 0;
    for _ in 0..3_000 {
        let place = usize::try_from(random.below(content.len() as u64)).expect("small");
        let mut damaged = content.clone();
        damaged[place] ^= 1 << random.below(8);
        match open(damaged) {
            Some(index) => assert_eq!(answers(&index, &patterns), expected, "byte {place}"),
            None => noticed += 1,
        }
    }
    assert!(noticed > 2_000, "{noticed}");
}

#[test]
fn a_part_of_an_index_is_none() {
    let (corpus, _) = sample(&mut Random::new(12));
    let content = corpus.written(usize::MAX);
    for length in (0..content.len()).step_by(97) {
        assert!(open(content[..length].to_vec()).is_none(), "{length} bytes");
    }
    assert!(open([&content[..], b"more"].concat()).is_none());
}

#[test]
fn an_index_of_other_texts_is_none() {
    let (corpus, _) = sample(&mut Random::new(13));
    let content = arrow_buffer::Buffer::from_vec(corpus.written(usize::MAX));
    assert!(spanwise::index::texts::TextIndex::open(content, "other texts").is_none());
}
