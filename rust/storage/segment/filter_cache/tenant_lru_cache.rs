//! An LRU cache of row sets that is shared fairly among callers. No caller can evict the pages of another one
//! that is within its share.
//!
//! Each caller has its own sets. When the cache is full, the caller with the most bytes loses its least
//! recently used set. So with n callers, a caller that uses at most 1/n of the cache loses nothing to others.
//! A single caller gets the whole cache.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::bitmap::RowSet;
use crate::error::{Error, Result};

/// The interval at which a waiting search checks for its cancellation.
const WAIT: Duration = Duration::from_millis(20);

/// The number of an open segment, and the canonical form of a filter.
pub(super) type FilterCacheKey = (u64, Arc<str>);

/// Row sets by caller and key.
#[derive(Debug)]
pub(super) struct TenantLruCache {
    max_bytes: u64,
    state: Mutex<CacheState>,
    /// Notified when a search has finished, with or without an error.
    finished: Condvar,
}

#[derive(Debug, Default)]
struct CacheState {
    callers: HashMap<Arc<str>, CallerSets>,
    /// All callers by size. The caller with the most bytes is last.
    by_bytes: BTreeSet<(u64, Arc<str>)>,
    /// The total size in bytes.
    bytes: u64,
    /// The number of uses so far.
    uses: u64,
    /// The running searches.
    in_progress: HashSet<(Arc<str>, FilterCacheKey)>,
}

/// The sets of one caller.
#[derive(Debug, Default)]
struct CallerSets {
    sets: HashMap<FilterCacheKey, CachedSet>,
    /// The keys by last use.
    by_use: BTreeMap<u64, FilterCacheKey>,
    bytes: u64,
}

#[derive(Debug)]
struct CachedSet {
    rows: Arc<RowSet>,
    bytes: u64,
    last_use: u64,
}

impl TenantLruCache {
    pub(super) fn new(max_bytes: u64) -> Self {
        Self { max_bytes, state: Mutex::default(), finished: Condvar::new() }
    }

    /// Returns the cached set of a caller and marks it as used.
    pub(super) fn get(&self, caller: &str, key: &FilterCacheKey) -> Option<Arc<RowSet>> {
        self.lock().get(caller, key)
    }

    /// Returns the set of a caller and key: from the cache, from a concurrent search of the caller, or from
    /// `find`, whose result is cached.
    ///
    /// # Errors
    /// The errors of `find`; [`Error::Cancelled`] if `is_cancelled` returns true while waiting for the other
    /// search.
    pub(super) fn get_or_find(
        &self,
        caller: &str,
        key: FilterCacheKey,
        is_cancelled: &dyn Fn() -> bool,
        find: impl FnOnce() -> Result<RowSet>,
    ) -> Result<Arc<RowSet>> {
        let entry = (Arc::from(caller), key);
        let mut state = self.lock();
        loop {
            if let Some(rows) = state.get(caller, &entry.1) {
                return Ok(rows);
            }
            if state.in_progress.insert(entry.clone()) {
                break;
            }
            if is_cancelled() {
                return Err(Error::Cancelled);
            }
            state = self.finished.wait_timeout(state, WAIT).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        let search = InProgress { cache: self, entry: &entry };
        let rows = Arc::new(find()?);
        self.keep(caller, entry.1.clone(), rows.clone());
        drop(search);
        Ok(rows)
    }

    /// Caches rows for a caller, unless they exceed the size of the cache.
    pub(super) fn keep(&self, caller: &str, key: FilterCacheKey, rows: Arc<RowSet>) {
        let bytes = bytes_of(&key, &rows);
        if bytes > self.max_bytes {
            return;
        }
        let mut state = self.lock();
        state.insert(caller, key, rows, bytes);
        while state.bytes > self.max_bytes {
            state.remove_least_used();
        }
    }

    /// Removes the sets of a closed segment.
    pub(super) fn forget(&self, segment: u64) {
        let mut state = self.lock();
        let keys = state.callers.iter().flat_map(|(caller, cached)| {
            let of_segment = cached.sets.keys().filter(|(of, _)| *of == segment);
            of_segment.map(|key| (caller.clone(), key.clone()))
        });
        for (caller, key) in keys.collect::<Vec<_>>() {
            state.remove(&caller, &key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn get(&mut self, caller: &str, key: &FilterCacheKey) -> Option<Arc<RowSet>> {
        self.uses += 1;
        let CallerSets { sets, by_use, .. } = self.callers.get_mut(caller)?;
        let set = sets.get_mut(key)?;
        let key = by_use.remove(&set.last_use)?;
        set.last_use = self.uses;
        by_use.insert(set.last_use, key);
        Some(set.rows.clone())
    }

    fn insert(&mut self, caller: &str, key: FilterCacheKey, rows: Arc<RowSet>, bytes: u64) {
        self.remove(caller, &key);
        self.uses += 1;
        let last_use = self.uses;
        self.change(&Arc::from(caller), |cached| {
            cached.by_use.insert(last_use, key.clone());
            cached.sets.insert(key, CachedSet { rows, bytes, last_use });
            cached.bytes += bytes;
        });
    }

    fn remove(&mut self, caller: &str, key: &FilterCacheKey) {
        let Some((caller, _)) = self.callers.get_key_value(caller) else { return };
        self.change(&caller.clone(), |cached| {
            if let Some(set) = cached.sets.remove(key) {
                cached.by_use.remove(&set.last_use);
                cached.bytes -= set.bytes;
            }
        });
    }

    /// Removes the least recently used set of the caller with the most bytes.
    fn remove_least_used(&mut self) {
        let Some((_, caller)) = self.by_bytes.last().cloned() else { return };
        let oldest = self.callers.get(&caller).and_then(|cached| cached.by_use.values().next().cloned());
        if let Some(key) = oldest {
            self.remove(&caller, &key);
        }
    }

    /// Changes the sets of a caller, and updates the sizes. A caller without sets is removed.
    fn change(&mut self, caller: &Arc<str>, change: impl FnOnce(&mut CallerSets)) {
        let mut cached = self.callers.remove(caller).unwrap_or_default();
        self.by_bytes.remove(&(cached.bytes, caller.clone()));
        self.bytes -= cached.bytes;
        change(&mut cached);
        if !cached.sets.is_empty() {
            self.bytes += cached.bytes;
            self.by_bytes.insert((cached.bytes, caller.clone()));
            self.callers.insert(caller.clone(), cached);
        }
    }
}

/// A running search for an uncached set.
struct InProgress<'c> {
    cache: &'c TenantLruCache,
    entry: &'c (Arc<str>, FilterCacheKey),
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.cache.lock().in_progress.remove(self.entry);
        self.cache.finished.notify_all();
    }
}

/// Returns the memory of a set in bytes. Its key is stored twice.
fn bytes_of((_, filter): &FilterCacheKey, rows: &RowSet) -> u64 {
    (2 * size_of::<FilterCacheKey>() + size_of::<CachedSet>() + filter.len() + rows.bytes()) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    const MAX_BYTES: u64 = 1 << 16;

    fn key(segment: u64, filter: usize) -> FilterCacheKey {
        (segment, format!("filter {filter}").into())
    }

    fn rows(count: u32) -> Arc<RowSet> {
        Arc::new(RowSet::List((0..count).collect()))
    }

    #[test]
    fn a_flood_of_one_callers_questions_leaves_the_sets_of_others_alone() {
        let cache = TenantLruCache::new(MAX_BYTES);
        for number in 0..20 {
            cache.keep("reader", key(1, number), rows(300));
        }
        for number in 0..10_000 {
            cache.keep("flood", key(number as u64 % 3, number), rows(1_000));
        }
        assert!((0..20).all(|number| cache.get("reader", &key(1, number)).is_some()));
        assert!(cache.lock().bytes <= MAX_BYTES);
        assert!(cache.get("flood", &key(0, 9_999)).is_some(), "the rest of the cache serves any caller");
    }

    #[test]
    fn a_caller_that_is_alone_has_the_whole_cache() {
        let cache = TenantLruCache::new(MAX_BYTES);
        let bytes = bytes_of(&key(1, 0), &rows(100));
        for number in 0..1_000 {
            cache.keep("", key(1, number), rows(100));
        }
        let cached = (0..1_000).filter(|number| cache.get("", &key(1, *number)).is_some()).count() as u64;
        assert!(
            cached >= MAX_BYTES / (bytes + 2) && cached <= MAX_BYTES / bytes,
            "{cached} sets of {bytes} bytes"
        );
    }

    #[test]
    fn the_least_used_set_is_lost_first_and_one_larger_than_all_pushes_out_none() {
        let cache = TenantLruCache::new(3 * bytes_of(&key(1, 0), &rows(10)));
        for number in 0..3 {
            cache.keep("", key(1, number), rows(10));
        }
        assert!(cache.get("", &key(1, 0)).is_some());
        cache.keep("", key(1, 4), rows(10_000));
        cache.keep("", key(1, 3), rows(10));
        let cached: Vec<usize> = (0..5).filter(|number| cache.get("", &key(1, *number)).is_some()).collect();
        assert_eq!(cached, [0, 2, 3]);
    }

    #[test]
    fn nothing_is_kept_of_a_closed_segment() {
        let cache = TenantLruCache::new(MAX_BYTES);
        for (caller, segment) in [("one", 1), ("one", 2), ("other", 1)] {
            cache.keep(caller, key(segment, 0), rows(10));
        }
        cache.forget(1);
        assert!(cache.get("one", &key(1, 0)).is_none() && cache.get("other", &key(1, 0)).is_none());
        assert!(cache.get("one", &key(2, 0)).is_some());
        cache.forget(2);
        let state = cache.lock();
        assert_eq!((state.bytes, state.callers.len(), state.by_bytes.len()), (0, 0, 0));
    }

    #[test]
    fn of_searches_of_one_caller_that_ask_the_same_at_once_one_finds() {
        let (cache, found) = (TenantLruCache::new(MAX_BYTES), AtomicUsize::new(0));
        let find = || {
            found.fetch_add(1, Ordering::Relaxed);
            thread::sleep(2 * WAIT);
            Ok(RowSet::List((0..7).collect()))
        };
        let never = || false;
        thread::scope(|scope| {
            for caller in ["one", "one", "one", "other"] {
                let search = || cache.get_or_find(caller, key(1, 0), &never, find).expect("rows").count();
                scope.spawn(move || assert_eq!(search(), 7));
            }
        });
        assert_eq!(found.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn after_a_search_that_failed_the_next_one_finds() {
        let cache = TenantLruCache::new(MAX_BYTES);
        let failed = cache.get_or_find("", key(1, 0), &|| true, || Err(Error::Cancelled));
        assert!(matches!(failed, Err(Error::Cancelled)));
        let rows = cache.get_or_find("", key(1, 0), &|| true, || Ok(RowSet::NONE)).expect("rows");
        assert_eq!(rows.count(), 0);
    }

    proptest! {
        /// A caller within its even share never loses a set.
        #[test]
        fn a_caller_within_an_even_share_loses_nothing(
            requests in prop::collection::vec((0..4_usize, 0..40_u32), 1..300),
        ) {
            let cache = TenantLruCache::new(MAX_BYTES);
            let share = MAX_BYTES / 4;
            let mut expected: HashMap<usize, HashMap<usize, u64>> = HashMap::new();
            for (caller, filter) in requests {
                let (filter, count) = (filter as usize, 50 * filter);
                let own = expected.entry(caller).or_default();
                own.insert(filter, bytes_of(&key(1, filter), &rows(count)));
                cache.keep(&caller.to_string(), key(1, filter), rows(count));
                let state = cache.lock();
                let sums = state.callers.values().map(|cached| cached.sets.values().map(|set| set.bytes).sum::<u64>());
                prop_assert_eq!(sums.sum::<u64>(), state.bytes);
                prop_assert!(state.bytes <= MAX_BYTES);
                drop(state);
                for (caller, own) in expected.iter().filter(|(_, own)| own.values().sum::<u64>() <= share) {
                    for filter in own.keys() {
                        prop_assert!(cache.get(&caller.to_string(), &key(1, *filter)).is_some());
                    }
                }
            }
        }
    }
}
