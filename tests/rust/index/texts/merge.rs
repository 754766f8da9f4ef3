//! A merge of indexes equals the index of the texts of all kept rows.

use spanwise::index::MergedRows;
use spanwise::index::texts::TextIndex;

use super::oracle::{Corpus, Text};
use super::samples;
use crate::support::random::Random;

/// Returns the kept rows, in an order that is ascending within each corpus.
fn kept(random: &mut Random, corpora: &[Corpus]) -> Vec<(usize, usize)> {
    let mut next = vec![0; corpora.len()];
    let mut kept = Vec::new();
    let length = |input: usize| corpora[input].rows as usize;
    while (0..corpora.len()).any(|input| next[input] < length(input)) {
        let input = usize::try_from(random.below(corpora.len() as u64)).expect("few");
        if next[input] < length(input) {
            if random.below(4) > 0 {
                kept.push((input, next[input]));
            }
            next[input] += 1;
        }
    }
    kept
}

/// Returns the texts of the kept rows as one corpus.
fn merged(corpora: &[Corpus], kept: &[(usize, usize)]) -> Corpus {
    let of_row = |(row, (input, own)): (u32, &(usize, usize))| {
        let texts = corpora[*input].texts.iter().filter(|text| text.row as usize == *own);
        texts.map(|text| Text { row, ..text.clone() }).collect::<Vec<_>>()
    };
    let rows = u32::try_from(kept.len()).expect("few");
    Corpus::new((0..).zip(kept).flat_map(of_row).collect(), rows)
}

#[test]
fn a_merge_is_what_would_be_built_of_the_rows_that_are_kept() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let corpora: Vec<Corpus> = (0..=seed % 4).map(|_| samples::corpus(&mut random)).collect();
        let indexes: Vec<TextIndex> =
            corpora.iter().map(|own| own.indexed([0, 4_096, usize::MAX][own.texts.len() % 3])).collect();
        let kept = if seed % 10 == 9 { Vec::new() } else { kept(&mut random, &corpora) };
        let rows = MergedRows::new(corpora.iter().map(|corpus| corpus.rows), &kept);
        let mut content = Vec::new();
        let indexes: Vec<&TextIndex> = indexes.iter().collect();
        assert!(TextIndex::merge(&indexes, &rows, "these texts", &mut content, &|| false).expect("merged"));
        assert_eq!(content, merged(&corpora, &kept).written(usize::MAX), "seed {seed}");
        let mut content = Vec::new();
        let is_whole = TextIndex::merge(&indexes, &rows, "these texts", &mut content, &|| true);
        assert!(is_whole.expect("cancelled") || content.is_empty());
    }
}
