//! Finds the items of a page that lie on several shards, by their keys alone.
//!
//! Every shard has its items in the order of keys, and is asked for the keys in a window of its own ranks. A trace is on the
//! shard that the hash of its id says, so where the windows must lie is known but for chance. The keys prove where the page
//! begins on each shard, or narrow it down for the next windows: statistics decide how many rounds that takes, never what is
//! on the page. A page far behind costs what the first one does.

use super::ID_BYTES;
use crate::error::{Error, Result};
use crate::otlp::TraceId;

/// The most keys of a window that are all asked for; of wider ones, [`SAMPLES`] are.
const MAX_DENSE: u64 = 1 << 14;
const SAMPLES: u64 = 128;
/// Rounds after which a page must be found: each leaves a fraction of the ranks.
const MAX_ROUNDS: usize = 64;

/// The ranks of a shard whose keys are asked for: from `first` to before `end`, each `step`-th.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::query) struct Ranks {
    /// The first rank.
    pub(in crate::query) first: u64,
    /// The first rank after them.
    pub(in crate::query) end: u64,
    /// The distance of two ranks, at least 1.
    pub(in crate::query) step: u64,
}

/// An item by its key: bytes that are less for what comes before, and the size of its document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::query) struct ItemKey {
    pub(in crate::query) key: Vec<u8>,
    pub(in crate::query) bytes: u64,
}

impl ItemKey {
    /// Returns the id at the end of the key of a trace.
    pub(in crate::query) fn trace_id(&self) -> &[u8] {
        &self.key[self.key.len().saturating_sub(ID_BYTES)..]
    }

    /// Returns the id of a trace as a JSON string.
    pub(in crate::query) fn id_as_json(&self) -> Vec<u8> {
        let id = TraceId::from_bytes(self.trace_id()).map(|id| id.to_string());
        format!("\"{}\"", id.unwrap_or_default()).into_bytes()
    }
}

/// What is known of one shard.
#[derive(Debug)]
struct ShardKeys {
    /// The number of its items, once it is known.
    count: Option<u64>,
    /// Ranks with their keys, ascending.
    known: Vec<(u64, ItemKey)>,
    /// How many of its items come before the page: at least and at most.
    before: (u64, u64),
}

/// Finds the items of one page.
#[derive(Debug)]
pub(in crate::query) struct PageCut {
    offset: u64,
    limit: u64,
    shards: Vec<ShardKeys>,
    /// The windows to begin with.
    windows: Option<Vec<Ranks>>,
    rounds: usize,
}

impl PageCut {
    /// Looks for `limit` items from the one with `offset` others before it, on `shards` equal shards.
    pub(in crate::query) fn new(offset: usize, limit: usize, shards: usize) -> Self {
        let windows = vec![first_window(offset as u64, limit as u64, shards as u64); shards];
        Self::with_windows(offset, limit, windows)
    }

    /// As [`PageCut::new`], with the windows that are asked for first.
    pub(in crate::query) fn with_windows(offset: usize, limit: usize, windows: Vec<Ranks>) -> Self {
        let none = || ShardKeys { count: None, known: Vec::new(), before: (0, u64::MAX) };
        let shards = windows.iter().map(|_| none()).collect();
        Self { offset: offset as u64, limit: limit as u64, shards, windows: Some(windows), rounds: 0 }
    }

    /// Returns how many items all shards have together, once each has said so.
    pub(in crate::query) fn count(&self) -> u64 {
        self.shards.iter().filter_map(|shard| shard.count).sum()
    }

    /// Returns the ranks to ask each shard for, if any; `None` once the page is known.
    ///
    /// # Errors
    /// [`Error::Busy`] if the answers contradict each other.
    pub(in crate::query) fn wanted(&mut self) -> Result<Option<Vec<Option<Ranks>>>> {
        if let Some(windows) = self.windows.take() {
            return Ok(Some(windows.into_iter().map(Some).collect()));
        }
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            return Err(Error::Busy("the shards do not agree on where a page begins".into()));
        }
        if self.count() <= self.offset {
            return Ok(None);
        }
        self.narrow();
        if self.shards.iter().any(|shard| shard.before.0 < shard.before.1) {
            let window = |shard: &ShardKeys| {
                let (first, end) = (shard.before.0, shard.before.1.saturating_add(self.limit));
                let end = end.min(shard.count.unwrap_or(end));
                let step = if end - first <= MAX_DENSE { 1 } else { (end - first).div_ceil(SAMPLES) };
                // A shard that is known is asked for what the page may have of it only at the end.
                (shard.before.0 < shard.before.1).then_some(Ranks { first, end, step })
            };
            return Ok(Some(self.shards.iter().map(window).collect()));
        }
        let missing: Vec<Option<Ranks>> = self.shards.iter().map(|shard| self.missing(shard)).collect();
        Ok(missing.iter().any(Option::is_some).then_some(missing))
    }

    /// Takes the answer of a shard: the number of its items, and the keys of the ranks that it was asked for.
    pub(in crate::query) fn add(&mut self, shard: usize, count: u64, ranks: Ranks, keys: Vec<ItemKey>) {
        let shard = &mut self.shards[shard];
        if shard.count.is_none() {
            shard.before.1 = shard.before.1.min(count);
        }
        shard.count = Some(count);
        let step = usize::try_from(ranks.step).unwrap_or(usize::MAX);
        shard.known.extend((ranks.first..).step_by(step).zip(keys));
        shard.known.sort_unstable_by_key(|(rank, _)| *rank);
        shard.known.dedup_by_key(|(rank, _)| *rank);
    }

    /// Returns the items of the page in order, each with its shard. Call it when nothing more is wanted.
    pub(in crate::query) fn page(&self) -> Vec<(usize, ItemKey)> {
        let own =
            self.shards.iter().enumerate().flat_map(|(index, shard)| {
                shard.run().take(self.limit()).map(move |key| (index, key.clone()))
            });
        let mut page: Vec<(usize, ItemKey)> =
            if self.count() <= self.offset { Vec::new() } else { own.collect() };
        page.sort_by(|(_, one), (_, other)| one.cmp(other));
        page.truncate(self.limit());
        page
    }

    fn limit(&self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX)
    }

    /// Returns how many items of all shards come before a key: at least and at most.
    fn rank_of(&self, key: &ItemKey) -> (u64, u64) {
        let bounds = self.shards.iter().map(|shard| {
            let next = shard.known.partition_point(|(_, own)| own.key < key.key);
            if let Some((rank, _)) = shard.known.get(next).filter(|(_, own)| own.key == key.key) {
                return (*rank, *rank);
            }
            let at_least = next.checked_sub(1).map_or(0, |last| shard.known[last].0 + 1);
            let at_most = shard.known.get(next).map_or(shard.count.unwrap_or(u64::MAX), |(rank, _)| *rank);
            (at_least, at_most)
        });
        bounds.fold((0, 0), |sum, own| (sum.0 + own.0, u64::saturating_add(sum.1, own.1)))
    }

    /// Narrows down where the page begins on each shard.
    fn narrow(&mut self) {
        for index in 0..self.shards.len() {
            let known = &self.shards[index].known;
            let first_after = known.partition_point(|(_, key)| self.rank_of(key).1 < self.offset);
            let first_within = known.partition_point(|(_, key)| self.rank_of(key).0 < self.offset);
            let at_least = first_after.checked_sub(1).map(|last| known[last].0 + 1);
            let at_most = known.get(first_within).map(|(rank, _)| *rank);
            let before = &mut self.shards[index].before;
            before.0 = before.0.max(at_least.unwrap_or(0));
            before.1 = before.1.min(at_most.unwrap_or(u64::MAX));
        }
        // What the others have of the items before the page leaves the rest to a shard.
        for index in 0..self.shards.len() {
            let others = self.shards.iter().enumerate().filter(|(other, _)| *other != index);
            let (at_least, at_most) = others.fold((0_u64, 0_u64), |sum, (_, shard)| {
                (sum.0 + shard.before.0, sum.1.saturating_add(shard.before.1))
            });
            let before = &mut self.shards[index].before;
            before.0 = before.0.max(self.offset.saturating_sub(at_most));
            before.1 = before.1.min(self.offset.saturating_sub(at_least));
        }
    }

    /// Returns the ranks of a shard that may be on the page and whose keys are not known.
    fn missing(&self, shard: &ShardKeys) -> Option<Ranks> {
        let run = shard.run().count() as u64;
        let first = shard.before.0 + run;
        let end = (shard.before.0 + self.limit).min(shard.count.unwrap_or(u64::MAX));
        let is_behind = || {
            let page = self.page();
            let last = page.last().filter(|_| page.len() as u64 == self.limit);
            last.zip(shard.run().last()).is_some_and(|((_, last), own)| own >= last)
        };
        (first < end && !is_behind()).then_some(Ranks { first, end, step: 1 })
    }
}

impl ShardKeys {
    /// Returns the keys of consecutive ranks from the first one that is not before the page.
    fn run(&self) -> impl Iterator<Item = &ItemKey> {
        let first = self.known.partition_point(|(rank, _)| *rank < self.before.0);
        let known = self.known[first..].iter().zip(self.before.0..);
        known.take_while(|((rank, _), wanted)| rank == wanted).map(|((_, key), _)| key)
    }
}

/// Returns the ranks among which a shard has its part of a page, but for rare accidents: five standard deviations beside
/// what is to be expected.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a guess, which the keys prove"
)]
fn first_window(offset: u64, limit: u64, shards: u64) -> Ranks {
    let all = offset.saturating_add(limit);
    if offset == 0 || shards < 2 {
        return Ranks { first: offset, end: all, step: 1 };
    }
    let deviation = 5.0 * (offset as f64 * (shards - 1) as f64).sqrt() / shards as f64;
    let margin = (deviation + 5.0 * (limit as f64).sqrt()).ceil() as u64;
    let first = (offset / shards).saturating_sub(margin);
    let end = (all / shards).saturating_add(margin).min(all);
    let step = if end - first <= MAX_DENSE { 1 } else { (end - first).div_ceil(SAMPLES) };
    Ranks { first, end, step }
}

/// Returns how many items of the first page a shard has at most, five times of six: a standard deviation above what is to be
/// expected. What is sent for nothing costs as much as the rounds that are saved, if it is many more.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a guess; what is not sent is asked for"
)]
pub(in crate::query) fn likely_share(limit: usize, shards: usize) -> u64 {
    let (limit, shards) = (limit as f64, shards.max(1) as f64);
    let share = limit / shards + (limit * (shards - 1.0)).sqrt() / shards;
    share.min(limit).ceil() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the page, and the number of rounds that it took.
    fn found(cut: &mut PageCut, shards: &[Vec<u32>]) -> (Vec<u32>, usize) {
        let mut rounds = 0;
        while let Some(wanted) = cut.wanted().expect("shards that agree") {
            rounds += 1;
            for (shard, ranks) in wanted.into_iter().enumerate() {
                let Some(ranks) = ranks else { continue };
                let own = &shards[shard];
                let rank = |rank: u64| usize::try_from(rank).unwrap_or(usize::MAX).min(own.len());
                let keys = own[rank(ranks.first)..rank(ranks.end).max(rank(ranks.first))].iter();
                let keys = keys.step_by(rank(ranks.step.min(1 << 20)).max(1));
                let keys = keys.map(|key| ItemKey { key: key.to_be_bytes().to_vec(), bytes: 1 });
                cut.add(shard, own.len() as u64, ranks, keys.collect());
            }
        }
        let key = |key: &ItemKey| u32::from_be_bytes(key.key[..4].try_into().expect("four bytes"));
        (cut.page().iter().map(|(_, item)| key(item)).collect(), rounds)
    }

    fn split(count: u32, shards: usize, of: impl Fn(u32) -> usize) -> Vec<Vec<u32>> {
        let mut split = vec![Vec::new(); shards];
        (0..count).for_each(|item| split[of(item) % shards].push(item));
        split
    }

    fn expected(count: u32, offset: usize, limit: usize) -> Vec<u32> {
        (0..count).skip(offset).take(limit).collect()
    }

    proptest! {
        #[test]
        fn windows_that_lie_wrong_still_give_the_page(
            placed in prop::collection::vec(0..7_usize, 0..300), offset in 0..320_usize, limit in 1..9_usize,
            windows in prop::collection::vec((0..300_u64, 0..40_u64, 1..50_u64), 1..8),
        ) {
            let count = u32::try_from(placed.len()).expect("few");
            let shards = split(count, windows.len(), |item| placed[item as usize]);
            let windows = windows.iter().map(|(first, length, step)| {
                Ranks { first: *first, end: first + length, step: *step }
            });
            let mut cut = PageCut::with_windows(offset, limit, windows.collect());
            let (page, _) = found(&mut cut, &shards);
            prop_assert_eq!(page, expected(count, offset, limit));
            prop_assert_eq!(cut.count(), u64::from(count));
        }
    }

    #[test]
    fn a_page_of_hashed_items_takes_one_round_and_one_of_others_a_few() {
        let count = 400_000;
        let hash = |item: u32| crc32c::crc32c(&item.to_be_bytes()) as usize;
        for shards in [1, 2, 4, 7] {
            let hashed = split(count, shards, hash);
            let uneven = split(count, shards, |item| if item < 300_000 { 0 } else { hash(item) });
            for offset in [0, 20, 5_000, 99_980, 200_000, 399_990, 500_000] {
                let (page, rounds) = found(&mut PageCut::new(offset, 20, shards), &hashed);
                assert_eq!(page, expected(count, offset, 20));
                assert_eq!(rounds, 1, "{offset} on {shards}");
                let (page, rounds) = found(&mut PageCut::new(offset, 20, shards), &uneven);
                assert_eq!(page, expected(count, offset, 20));
                assert!(rounds <= 8, "{rounds} rounds for {offset} on {shards}");
            }
        }
    }
}
