//! The engine's search threads, one per core, shared by concurrent searches.
//!
//! A search runs in rounds: it submits a few items per thread, and the next ones when these are done. Items that
//! other searches submitted meanwhile run first. So a large search delays the others by at most one round, and uses
//! all threads when nobody else needs them.

use std::sync::LazyLock;

use rayon::prelude::*;

use crate::error::Result;

static POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("spanwise-search-{number}"))
        .build()
        .expect("threads can be started while the process starts")
});

/// Returns how many items are worked on at once.
pub(super) fn threads() -> usize {
    POOL.current_num_threads()
}

/// Calls `work` with every item and its index, on all threads, in rounds of `per_thread` items per thread.
///
/// # Errors
/// One of the errors of `work`; items that have not started by then are skipped.
pub(super) fn in_rounds<'t, T: Sync, R: Send>(
    items: &'t [T],
    per_thread: usize,
    work: impl Fn((usize, &'t T)) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let mut done = Vec::with_capacity(items.len());
    fold_rounds(items, per_thread, work, |result| done.push(result))?;
    Ok(done)
}

/// As [`in_rounds`], but hands the results of every round to `fold`, in order, before the next one begins. So no more
/// than one round of them is in memory.
///
/// # Errors
/// As [`in_rounds`].
pub(super) fn fold_rounds<'t, T: Sync, R: Send>(
    items: &'t [T],
    per_thread: usize,
    work: impl Fn((usize, &'t T)) -> Result<R> + Sync,
    fold: impl FnMut(R),
) -> Result<()> {
    let mut fold = fold;
    let round = per_thread * threads();
    for (first, items) in items.chunks(round).enumerate() {
        let items = items.par_iter().enumerate();
        let work = items.map(|(index, item)| work((first * round + index, item)));
        POOL.install(|| work.collect::<Result<Vec<_>>>())?.into_iter().for_each(&mut fold);
    }
    Ok(())
}

/// Returns what `work` returns; what it does in parallel is done on these threads.
pub(super) fn on_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    POOL.install(work)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;

    #[test]
    fn a_round_is_over_before_the_next_one_begins() {
        let round = 3 * POOL.current_num_threads();
        let ended = AtomicUsize::new(0);
        let items: Vec<usize> = (0..=4 * round).collect();
        let done = in_rounds(&items, 3, |(index, item)| {
            let before = ended.load(Ordering::SeqCst);
            std::thread::yield_now();
            ended.fetch_add(1, Ordering::SeqCst);
            Ok((index == *item && before >= index / round * round, *item))
        });
        let done = done.expect("no error");
        assert!(done.iter().all(|(is_in_round, _)| *is_in_round));
        assert!(done.iter().map(|(_, item)| *item).eq(items));
    }

    #[test]
    fn an_error_ends_the_rounds() {
        let begun = AtomicUsize::new(0);
        let items = vec![(); 100 * POOL.current_num_threads()];
        let done = in_rounds(&items, 2, |_| -> Result<()> {
            begun.fetch_add(1, Ordering::SeqCst);
            Err(Error::Cancelled)
        });
        assert!(matches!(done, Err(Error::Cancelled)));
        assert!(begun.into_inner() <= 2 * POOL.current_num_threads());
    }
}
