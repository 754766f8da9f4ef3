//! Finds the items of a page over several leaves, by their keys alone.
//!
//! Every leaf has its items in the order of keys. The root requests the keys in a window of ranks from each leaf. A trace is on
//! the leaf given by the hash of its id, so the expected windows follow from statistics. The returned keys either prove
//! where the page starts on each leaf or narrow it down for the next windows. Statistics therefore affect only the
//! number of rounds, never the content of the page. A deep page costs as much as the first one.

use super::ID_BYTES;
use crate::error::{Error, Result};
use crate::otlp::TraceId;

/// The maximum width of a window whose keys are all requested. In a wider window, [`SAMPLES`] keys are requested.
const MAX_DENSE: u64 = 1 << 14;
const SAMPLES: u64 = 128;
/// The maximum number of rounds. Each round leaves a fraction of the ranks.
const MAX_ROUNDS: usize = 64;

/// The requested ranks of a leaf: every `step`-th rank from `first` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ranks {
    /// The first rank.
    pub(crate) first: u64,
    /// The rank after the last one.
    pub(crate) end: u64,
    /// The distance between two ranks, at least 1.
    pub(crate) step: u64,
}

/// An item by its key, bytes that sort in the order of the page, and the size of its document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ItemKey {
    pub(crate) key: Vec<u8>,
    pub(crate) bytes: u64,
}

impl ItemKey {
    /// Returns the trace id at the end of the key.
    pub(crate) fn trace_id(&self) -> &[u8] {
        &self.key[self.key.len().saturating_sub(ID_BYTES)..]
    }

    /// Returns the trace id as a JSON string.
    pub(crate) fn id_as_json(&self) -> Vec<u8> {
        let id = TraceId::from_bytes(self.trace_id()).map(|id| id.to_string());
        format!("\"{}\"", id.unwrap_or_default()).into_bytes()
    }
}

/// The known keys of one leaf.
#[derive(Debug)]
struct LeafKeys {
    /// The number of items on the leaf; `None` before its first response.
    count: Option<u64>,
    /// Ranks with their keys, ascending.
    known: Vec<(u64, ItemKey)>,
    /// A lower and an upper bound on the number of its items before the page.
    before: (u64, u64),
}

/// Finds the items of one page.
#[derive(Debug)]
pub(crate) struct RankSearch {
    offset: u64,
    limit: u64,
    leaves: Vec<LeafKeys>,
    /// The windows of the first round.
    windows: Option<Vec<Ranks>>,
    rounds: usize,
}

impl RankSearch {
    /// Searches for `limit` items, starting with the one that has `offset` items before it, on `leaves` leaves of equal
    /// size.
    pub(crate) fn new(offset: usize, limit: usize, leaves: usize) -> Self {
        let windows = vec![first_window(offset as u64, limit as u64, leaves as u64); leaves];
        Self::with_windows(offset, limit, windows)
    }

    /// Like [`RankSearch::new`], with the given windows in the first round.
    pub(crate) fn with_windows(offset: usize, limit: usize, windows: Vec<Ranks>) -> Self {
        let empty = || LeafKeys { count: None, known: Vec::new(), before: (0, u64::MAX) };
        let leaves = windows.iter().map(|_| empty()).collect();
        Self { offset: offset as u64, limit: limit as u64, leaves, windows: Some(windows), rounds: 0 }
    }

    /// Returns the number of items of all leaves that have responded.
    pub(crate) fn count(&self) -> u64 {
        self.leaves.iter().filter_map(|leaf| leaf.count).sum()
    }

    /// Returns the ranks to request from each leaf, `None` for leaves without a request; `None` once the page is known.
    ///
    /// # Errors
    /// [`Error::Busy`] if the responses contradict each other.
    pub(crate) fn next_ranks(&mut self) -> Result<Option<Vec<Option<Ranks>>>> {
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
        if self.leaves.iter().any(|leaf| leaf.before.0 < leaf.before.1) {
            let window = |leaf: &LeafKeys| {
                let (first, end) = (leaf.before.0, leaf.before.1.saturating_add(self.limit));
                let end = end.min(leaf.count.unwrap_or(end));
                let step = if end - first <= MAX_DENSE { 1 } else { (end - first).div_ceil(SAMPLES) };
                // The keys on the page itself are requested from a leaf only once all starts are known.
                (leaf.before.0 < leaf.before.1).then_some(Ranks { first, end, step })
            };
            return Ok(Some(self.leaves.iter().map(window).collect()));
        }
        let missing: Vec<Option<Ranks>> = self.leaves.iter().map(|leaf| self.missing(leaf)).collect();
        Ok(missing.iter().any(Option::is_some).then_some(missing))
    }

    /// Adds the response of a leaf: the number of its items, and the keys of the requested ranks.
    pub(crate) fn add(&mut self, leaf: usize, count: u64, ranks: Ranks, keys: Vec<ItemKey>) {
        let leaf = &mut self.leaves[leaf];
        if leaf.count.is_none() {
            leaf.before.1 = leaf.before.1.min(count);
        }
        leaf.count = Some(count);
        let step = usize::try_from(ranks.step).unwrap_or(usize::MAX);
        leaf.known.extend((ranks.first..).step_by(step).zip(keys));
        leaf.known.sort_unstable_by_key(|(rank, _)| *rank);
        leaf.known.dedup_by_key(|(rank, _)| *rank);
    }

    /// Returns the items of the page in order, each with its leaf. Call it once [`Self::next_ranks`] returns `None`.
    pub(crate) fn page(&self) -> Vec<(usize, ItemKey)> {
        let own = self
            .leaves
            .iter()
            .enumerate()
            .flat_map(|(index, leaf)| leaf.run().take(self.limit()).map(move |key| (index, key.clone())));
        let mut page: Vec<(usize, ItemKey)> =
            if self.count() <= self.offset { Vec::new() } else { own.collect() };
        page.sort_by(|(_, one), (_, other)| one.cmp(other));
        page.truncate(self.limit());
        page
    }

    fn limit(&self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX)
    }

    /// Returns a lower and an upper bound on the number of items of all leaves before a key.
    fn rank_of(&self, key: &ItemKey) -> (u64, u64) {
        let bounds = self.leaves.iter().map(|leaf| {
            let next = leaf.known.partition_point(|(_, own)| own.key < key.key);
            if let Some((rank, _)) = leaf.known.get(next).filter(|(_, own)| own.key == key.key) {
                return (*rank, *rank);
            }
            let at_least = next.checked_sub(1).map_or(0, |last| leaf.known[last].0 + 1);
            let at_most = leaf.known.get(next).map_or(leaf.count.unwrap_or(u64::MAX), |(rank, _)| *rank);
            (at_least, at_most)
        });
        bounds.fold((0, 0), |sum, own| (sum.0 + own.0, u64::saturating_add(sum.1, own.1)))
    }

    /// Narrows the bounds on the start of the page on each leaf.
    fn narrow(&mut self) {
        for index in 0..self.leaves.len() {
            let known = &self.leaves[index].known;
            let first_after = known.partition_point(|(_, key)| self.rank_of(key).1 < self.offset);
            let first_within = known.partition_point(|(_, key)| self.rank_of(key).0 < self.offset);
            let at_least = first_after.checked_sub(1).map(|last| known[last].0 + 1);
            let at_most = known.get(first_within).map(|(rank, _)| *rank);
            let before = &mut self.leaves[index].before;
            before.0 = before.0.max(at_least.unwrap_or(0));
            before.1 = before.1.min(at_most.unwrap_or(u64::MAX));
        }
        // The items before the page that are not on the other leaves must be on this one.
        for index in 0..self.leaves.len() {
            let others = self.leaves.iter().enumerate().filter(|(other, _)| *other != index);
            let (at_least, at_most) = others.fold((0_u64, 0_u64), |sum, (_, leaf)| {
                (sum.0 + leaf.before.0, sum.1.saturating_add(leaf.before.1))
            });
            let before = &mut self.leaves[index].before;
            before.0 = before.0.max(self.offset.saturating_sub(at_most));
            before.1 = before.1.min(self.offset.saturating_sub(at_least));
        }
    }

    /// Returns the ranks of a leaf that may be on the page and whose keys are unknown.
    fn missing(&self, leaf: &LeafKeys) -> Option<Ranks> {
        let run = leaf.run().count() as u64;
        let first = leaf.before.0 + run;
        let end = (leaf.before.0 + self.limit).min(leaf.count.unwrap_or(u64::MAX));
        let is_behind = || {
            let page = self.page();
            let last = page.last().filter(|_| page.len() as u64 == self.limit);
            last.zip(leaf.run().last()).is_some_and(|((_, last), own)| own >= last)
        };
        (first < end && !is_behind()).then_some(Ranks { first, end, step: 1 })
    }
}

impl LeafKeys {
    /// Returns the known keys of consecutive ranks, starting with the first item that is not before the page.
    fn run(&self) -> impl Iterator<Item = &ItemKey> {
        let first = self.known.partition_point(|(rank, _)| *rank < self.before.0);
        let known = self.known[first..].iter().zip(self.before.0..);
        known.take_while(|((rank, _), expected)| rank == expected).map(|((_, key), _)| key)
    }
}

/// Returns the ranks that contain a leaf's items of a page, up to five standard deviations from the expected ones.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate that the keys verify"
)]
fn first_window(offset: u64, limit: u64, leaves: u64) -> Ranks {
    let all = offset.saturating_add(limit);
    if offset == 0 || leaves < 2 {
        return Ranks { first: offset, end: all, step: 1 };
    }
    let deviation = 5.0 * (offset as f64 * (leaves - 1) as f64).sqrt() / leaves as f64;
    let margin = (deviation + 5.0 * (limit as f64).sqrt()).ceil() as u64;
    let first = (offset / leaves).saturating_sub(margin);
    let end = (all / leaves).saturating_add(margin).min(all);
    let step = if end - first <= MAX_DENSE { 1 } else { (end - first).div_ceil(SAMPLES) };
    Ranks { first, end, step }
}

/// Returns an upper bound on the number of items of the first page on one leaf, one standard deviation above the
/// expected number. It holds for five pages of six. Sending unneeded items costs as much as the saved rounds if there
/// are many more of them.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate; missing items are requested"
)]
pub(crate) fn likely_share(limit: usize, leaves: usize) -> u64 {
    let (limit, leaves) = (limit as f64, leaves.max(1) as f64);
    let share = limit / leaves + (limit * (leaves - 1.0)).sqrt() / leaves;
    share.min(limit).ceil() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the page, and the number of rounds that it took.
    fn run_search(search: &mut RankSearch, leaves: &[Vec<u32>]) -> (Vec<u32>, usize) {
        let mut rounds = 0;
        while let Some(ranks) = search.next_ranks().expect("consistent leaves") {
            rounds += 1;
            for (leaf, ranks) in ranks.into_iter().enumerate() {
                let Some(ranks) = ranks else { continue };
                let own = &leaves[leaf];
                let rank = |rank: u64| usize::try_from(rank).unwrap_or(usize::MAX).min(own.len());
                let keys = own[rank(ranks.first)..rank(ranks.end).max(rank(ranks.first))].iter();
                let keys = keys.step_by(rank(ranks.step.min(1 << 20)).max(1));
                let keys = keys.map(|key| ItemKey { key: key.to_be_bytes().to_vec(), bytes: 1 });
                search.add(leaf, own.len() as u64, ranks, keys.collect());
            }
        }
        let key = |key: &ItemKey| u32::from_be_bytes(key.key[..4].try_into().expect("four bytes"));
        (search.page().iter().map(|(_, item)| key(item)).collect(), rounds)
    }

    fn split(count: u32, leaves: usize, of: impl Fn(u32) -> usize) -> Vec<Vec<u32>> {
        let mut split = vec![Vec::new(); leaves];
        (0..count).for_each(|item| split[of(item) % leaves].push(item));
        split
    }

    fn expected(count: u32, offset: usize, limit: usize) -> Vec<u32> {
        (0..count).skip(offset).take(limit).collect()
    }

    proptest! {
        #[test]
        fn wrong_windows_still_give_the_page(
            placed in prop::collection::vec(0..7_usize, 0..300), offset in 0..320_usize, limit in 1..9_usize,
            windows in prop::collection::vec((0..300_u64, 0..40_u64, 1..50_u64), 1..8),
        ) {
            let count = u32::try_from(placed.len()).expect("few");
            let leaves = split(count, windows.len(), |item| placed[item as usize]);
            let windows = windows.iter().map(|(first, length, step)| {
                Ranks { first: *first, end: first + length, step: *step }
            });
            let mut search = RankSearch::with_windows(offset, limit, windows.collect());
            let (page, _) = run_search(&mut search, &leaves);
            prop_assert_eq!(page, expected(count, offset, limit));
            prop_assert_eq!(search.count(), u64::from(count));
        }
    }

    #[test]
    fn hashed_items_take_one_round_and_others_a_few() {
        let count = 400_000;
        let hash = |item: u32| crc32c::crc32c(&item.to_be_bytes()) as usize;
        for leaves in [1, 2, 4, 7] {
            let hashed = split(count, leaves, hash);
            let uneven = split(count, leaves, |item| if item < 300_000 { 0 } else { hash(item) });
            for offset in [0, 20, 5_000, 99_980, 200_000, 399_990, 500_000] {
                let (page, rounds) = run_search(&mut RankSearch::new(offset, 20, leaves), &hashed);
                assert_eq!(page, expected(count, offset, 20));
                assert_eq!(rounds, 1, "{offset} on {leaves}");
                let (page, rounds) = run_search(&mut RankSearch::new(offset, 20, leaves), &uneven);
                assert_eq!(page, expected(count, offset, 20));
                assert!(rounds <= 8, "{rounds} rounds for {offset} on {leaves}");
            }
        }
    }
}
