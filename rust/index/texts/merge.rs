//! Merges the text indexes of segments without reading documents.

use std::cmp::Ordering;
use std::io;

use super::TextIndex;
use super::postings::{CHANNELS, Posting, PostingList, Postings, StoredList};
use super::run::{TOKENS_PER_STRETCH, for_each_list};
use super::uuids;
use super::write::TextIndexWriter;
use crate::bitmap::ones;
use crate::index::MergedRows;

/// The postings of one token of an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TokenPostings<'a> {
    Several(StoredList<'a>),
    One(Posting),
}

impl TokenPostings<'_> {
    fn postings(self) -> impl Iterator<Item = Posting> {
        let (several, one) = match self {
            Self::Several(list) => (list.bytes(), None),
            Self::One(posting) => (&[][..], Some(posting)),
        };
        Postings::new(several).chain(one)
    }
}

/// A token in its stored form.
#[derive(Clone, Copy)]
enum StoredToken<'a> {
    Text(&'a [u8]),
    Uuid([u8; uuids::TEXT_BYTES]),
}

impl StoredToken<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            Self::Uuid(text) => text,
        }
    }
}

impl PartialEq for StoredToken<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for StoredToken<'_> {}

impl PartialOrd for StoredToken<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for StoredToken<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

/// Tokens in ascending order, each with its postings.
type SortedTokens<'a> = Box<dyn Iterator<Item = (StoredToken<'a>, TokenPostings<'a>)> + 'a>;
/// The number of columns of an index that have tokens.
const SOURCES: usize = 3;

impl TextIndex {
    /// Writes the index of merged rows, byte for byte as their documents would give it. Returns `false` and
    /// writes nothing if it was cancelled.
    ///
    /// # Errors
    /// An error of `out`, or an error if there are 2^32 rows or more.
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
        let (mut list, mut postings, mut tokens) = (PostingList::default(), Vec::new(), 0_usize);
        let is_whole = for_each_list(
            indexes.iter().flat_map(|index| index.sorted_tokens()).collect(),
            |token, lists| {
                postings.clear();
                for (source, list) in lists {
                    let own = list.postings();
                    let moved = own
                        .filter_map(|(row, channels)| Some((rows.target(source / SOURCES, row)?, channels)));
                    postings.extend(moved);
                }
                // The postings of each input ascend, so the sort is a merge.
                if lists.len() > 1 {
                    postings.sort_by_key(|(row, _)| *row);
                }
                list.clear();
                for (row, channels) in &postings {
                    list.push(*row, *channels);
                }
                if !list.is_empty() {
                    writer.push(token.bytes(), &list);
                }
                tokens += 1;
                !tokens.is_multiple_of(TOKENS_PER_STRETCH) || !is_cancelled()
            },
        );
        if is_whole {
            writer.finish(merged_present(indexes, rows), (identity, count), out)?;
        }
        Ok(is_whole)
    }

    /// Returns the tokens of each column.
    fn sorted_tokens(&self) -> [SortedTokens<'_>; SOURCES] {
        let several = self.frequent.lists();
        let several = several.map(|(token, list)| (StoredToken::Text(token), TokenPostings::Several(list)));
        let one = |(token, posting)| (StoredToken::Text(token), TokenPostings::One(posting));
        let uuid = |(uuid, posting)| (StoredToken::Uuid(uuids::text(uuid)), TokenPostings::One(posting));
        [Box::new(several), Box::new(self.rare.sorted().map(one)), Box::new(self.uuids.all().map(uuid))]
    }
}

/// Returns a bitmap for each channel of the merged rows that have a text.
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
