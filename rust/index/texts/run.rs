//! The tokens of adjacent rows: collected in a hash table, then sorted and packed, then merged with the
//! tokens of other rows.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap};

use ahash::RandomState;

use super::postings::{PostingList, Postings, push_number, take_number};
use super::tokens::for_each_token;
use super::write::TextIndexWriter;
use crate::priority;

/// The maximum length of a token that is its own key, padded with zeros. The key and its entry share one
/// cache line. Tokens have no zero byte. Words fit, UUIDs do not.
const SHORT: usize = 24;
type ShortToken = [u8; SHORT];
/// The number of short tokens that are looked up together.
const WAITING: usize = 64;
/// The number of tokens that are packed or merged between two yields, in less than 0.1 ms.
pub(super) const TOKENS_PER_STRETCH: usize = 512;
/// The number of comparisons between two yields.
const COMPARISONS_PER_STRETCH: usize = 4_096;

/// The tokens of adjacent rows, in memory.
#[derive(Debug, Default)]
pub(super) struct Run {
    short: HashMap<ShortToken, RunEntry, RandomState>,
    long: HashMap<Box<[u8]>, RunEntry, RandomState>,
    /// The postings except for the latest one of each token.
    postings: Vec<TokenPosting>,
    long_bytes: usize,
    /// Tokens of a text that are waiting for a lookup.
    waiting: Vec<ShortToken>,
}

#[derive(Debug)]
struct RunEntry {
    token: u32,
    row: u32,
    channels: u8,
}

/// The number of a token, a row, and the channels of the row that have the token.
type TokenPosting = (u32, u32, u8);

impl RunEntry {
    /// Adds a row and channels. Returns the previous posting if it has another row.
    fn note(&mut self, row: u32, channels: u8) -> Option<TokenPosting> {
        if self.row == row {
            self.channels |= channels;
            return None;
        }
        let before = self.latest();
        (self.row, self.channels) = (row, channels);
        Some(before)
    }

    fn latest(&self) -> TokenPosting {
        (self.token, self.row, self.channels)
    }
}

impl Run {
    /// Adds the tokens of a folded text to a row in some channels. Rows must ascend.
    pub(super) fn add(&mut self, row: u32, channels: u8, text: &str) {
        for_each_token(text, |token| {
            let token = &text.as_bytes()[token.range];
            if token.len() > SHORT {
                self.add_long(row, channels, token);
                return;
            }
            let mut key = [0; SHORT];
            key[..token.len()].copy_from_slice(token);
            self.waiting.push(key);
            if self.waiting.len() == WAITING {
                self.look_up(row, channels);
            }
        });
        self.look_up(row, channels);
    }

    /// Looks up the waiting tokens one right after the other, so that the processor fetches several entries
    /// at once.
    fn look_up(&mut self, row: u32, channels: u8) {
        let mut waiting = std::mem::take(&mut self.waiting);
        for key in waiting.drain(..) {
            if let Some(known) = self.short.get_mut(&key) {
                self.postings.extend(known.note(row, channels));
            } else {
                let entry = self.new_entry(row, channels);
                self.short.insert(key, entry);
            }
        }
        self.waiting = waiting;
    }

    fn add_long(&mut self, row: u32, channels: u8, token: &[u8]) {
        if let Some(known) = self.long.get_mut(token) {
            self.postings.extend(known.note(row, channels));
        } else {
            self.long_bytes += token.len();
            let entry = self.new_entry(row, channels);
            self.long.insert(token.into(), entry);
        }
    }

    /// Returns an entry with the next number. Numbers suffice, because a run is packed long before 2^32
    /// tokens.
    fn new_entry(&self, row: u32, channels: u8) -> RunEntry {
        let token = u32::try_from(self.short.len() + self.long.len()).unwrap_or(u32::MAX);
        RunEntry { token, row, channels }
    }

    /// Returns the approximate memory use in bytes.
    pub(super) fn bytes(&self) -> usize {
        const BYTES_PER_TOKEN: usize = 64;
        let tokens = self.short.len() + self.long.len();
        self.postings.len() * size_of::<TokenPosting>() + tokens * BYTES_PER_TOKEN + self.long_bytes
    }

    /// Sorts the tokens and packs their rows.
    pub(super) fn pack(mut self) -> PackedRun {
        let short = self.short.iter().map(|(key, entry)| {
            let length = key.iter().position(|byte| *byte == 0).unwrap_or(SHORT);
            (&key[..length], entry)
        });
        let mut tokens: Vec<(&[u8], &RunEntry)> =
            short.chain(self.long.iter().map(|(key, entry)| (&**key, entry))).collect();
        let mut compared = 0_usize;
        tokens.sort_unstable_by(|(one, _), (other, _)| {
            compared += 1;
            if compared.is_multiple_of(COMPARISONS_PER_STRETCH) {
                priority::yield_cpu();
            }
            one.cmp(other)
        });
        self.postings.extend(tokens.iter().map(|(_, entry)| entry.latest()));
        // Counting sort: `ends` is the position of the next posting of each token, and finally the end of its
        // postings.
        let mut ends = vec![0_usize; tokens.len()];
        for (token, ..) in &self.postings {
            ends[*token as usize] += 1;
        }
        let mut sum = 0;
        for (_, entry) in &tokens {
            let count = std::mem::replace(&mut ends[entry.token as usize], sum);
            sum += count;
        }
        let mut sorted = vec![(0, 0); self.postings.len()];
        for (token, row, channels) in self.postings {
            let end = &mut ends[token as usize];
            sorted[*end] = (row, channels);
            *end += 1;
        }
        priority::yield_cpu();
        let (mut packed, mut list, mut start) = (Vec::new(), PostingList::default(), 0);
        for (number, (token, entry)) in tokens.into_iter().enumerate() {
            if number.is_multiple_of(TOKENS_PER_STRETCH) {
                priority::yield_cpu();
            }
            let end = ends[entry.token as usize];
            list.clear();
            sorted[start..end].iter().for_each(|(row, channels)| list.push(*row, *channels));
            start = end;
            for bytes in [token, list.bytes()] {
                push_number(&mut packed, bytes.len() as u64);
                packed.extend_from_slice(bytes);
            }
        }
        packed.shrink_to_fit();
        PackedRun(packed)
    }
}

/// The sorted tokens of a run, each with its list. A length precedes both.
#[derive(Debug)]
pub(super) struct PackedRun(Vec<u8>);

impl PackedRun {
    pub(super) fn bytes(&self) -> usize {
        self.0.len()
    }
}

/// The remaining bytes of a packed run.
struct RunCursor<'a>(&'a [u8]);

impl<'a> Iterator for RunCursor<'a> {
    /// A token and its list.
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut take = || {
            let length = usize::try_from(take_number(&mut self.0)).unwrap_or(usize::MAX);
            let (bytes, rest) = self.0.split_at(length);
            self.0 = rest;
            bytes
        };
        Some((take(), take()))
    }
}

/// Writes the tokens of runs whose rows ascend.
pub(super) fn merge(runs: &[PackedRun], writer: &mut TextIndexWriter) {
    let (mut list, mut tokens) = (PostingList::default(), 0_usize);
    for_each_list(runs.iter().map(|run| RunCursor(&run.0)).collect(), |token, lists| {
        list.clear();
        let postings = lists.iter().flat_map(|(_, postings)| Postings::new(postings));
        postings.for_each(|(row, channels)| list.push(row, channels));
        writer.push(token, &list);
        tokens += 1;
        if tokens.is_multiple_of(TOKENS_PER_STRETCH) {
            priority::yield_cpu();
        }
        true
    });
}

/// Calls `visit` with each token of several sorted sources, in ascending order, and with its lists. Each list
/// has the number of its source, ascending.
///
/// Stops when `visit` returns `false`. Returns `true` if it never did.
pub(super) fn for_each_list<T: Copy + Ord, L: Copy + Ord>(
    mut sources: Vec<impl Iterator<Item = (T, L)>>,
    mut visit: impl FnMut(T, &[(usize, L)]) -> bool,
) -> bool {
    let mut heads: BinaryHeap<_> = sources
        .iter_mut()
        .enumerate()
        .filter_map(|(source, tokens)| tokens.next().map(|(token, list)| Reverse((token, source, list))))
        .collect();
    let mut lists = Vec::with_capacity(sources.len());
    while let Some(Reverse((token, ..))) = heads.peek() {
        let token = *token;
        lists.clear();
        while let Some(mut head) = heads.peek_mut().filter(|head| head.0.0 == token) {
            let Reverse((_, source, list)) = *head;
            lists.push((source, list));
            match sources[source].next() {
                Some((token, list)) => *head = Reverse((token, source, list)),
                None => drop(PeekMut::pop(head)),
            }
        }
        if !visit(token, &lists) {
            return false;
        }
    }
    true
}
