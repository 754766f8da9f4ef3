//! Merges the text indexes of segments as their rows are merged, without a look at documents.

use std::io;

use super::TextIndex;
use super::dictionary::Dictionary;
use super::postings::{CHANNELS, PostingList, Postings};
use super::run::for_each_list;
use super::write::TextIndexWriter;
use crate::index::{MergedRows, ones};

/// A merge asks after so many tokens whether it is cancelled.
const TOKENS_PER_CHECK: usize = 1 << 16;

impl TextIndex {
    /// Writes the index that the documents of merged rows would give, byte by byte. Returns false, and writes nothing, if it was
    /// cancelled.
    ///
    /// # Errors
    /// An error of `out`; 2^32 rows or more.
    pub fn merge(
        indexes: &[&Self],
        rows: &MergedRows<'_>,
        identity: &str,
        out: &mut dyn io::Write,
        is_cancelled: &dyn Fn() -> bool,
    ) -> io::Result<bool> {
        let invalid = |_| io::Error::new(io::ErrorKind::InvalidInput, "expected fewer than 2^32 rows");
        let count = u32::try_from(rows.len()).map_err(invalid)?;
        let mut writer = TextIndexWriter::default();
        let dictionaries = indexes.iter().flat_map(|index| [&index.frequent, &index.rare]);
        let (mut list, mut postings, mut tokens) = (PostingList::default(), Vec::new(), 0_usize);
        let lists = dictionaries.map(Dictionary::lists).collect();
        let is_whole = for_each_list(lists, |token, lists| {
            postings.clear();
            for (dictionary, list) in lists {
                let own = Postings::new(list);
                let moved =
                    own.filter_map(|(row, channels)| Some((rows.target(dictionary / 2, row)?, channels)));
                postings.extend(moved);
            }
            // Those of each input ascend: to sort them is to merge them.
            if lists.len() > 1 {
                postings.sort_by_key(|(row, _)| *row);
            }
            list.clear();
            for (row, channels) in &postings {
                list.push(*row, *channels);
            }
            if list.postings() > 0 {
                writer.push(token, &list);
            }
            tokens += 1;
            !tokens.is_multiple_of(TOKENS_PER_CHECK) || !is_cancelled()
        });
        if is_whole {
            writer.finish(merged_present(indexes, rows), (identity, count), out)?;
        }
        Ok(is_whole)
    }
}

/// Returns a bitmap for each channel of the rows that have a text.
fn merged_present(indexes: &[&TextIndex], rows: &MergedRows<'_>) -> Vec<u64> {
    let words = rows.len().div_ceil(64);
    let mut present = vec![0; words * CHANNELS];
    for (input, index) in indexes.iter().enumerate() {
        for (channel, own) in index.present.chunks_exact(index.words().max(1)).enumerate() {
            let marked = own.iter().enumerate().flat_map(|(at, word)| ones(at, *word));
            for row in marked.filter_map(|row| rows.target(input, row)) {
                present[channel * words + row as usize / 64] |= 1 << (row % 64);
            }
        }
    }
    present
}
