//! The engine's own threads, one a core: how do many searches share them?
//!
//! A search goes in rounds: it hands over a few pieces of work for each thread, and the next ones when these are done. What
//! another search handed over meanwhile comes first. So one that has a great deal to do makes no other wait for more
//! than a round, and has all threads while nobody else wants them.

use std::sync::LazyLock;

use rayon::prelude::*;

use crate::error::Result;

static POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("spanwise-search-{number}"))
        .build()
        .expect("threads can be started while the process starts")
});

/// Does `work` with every item and its place, on all threads; at most `share` items for each thread are begun
/// before others come.
///
/// # Errors
/// One of those of `work`; what is not begun by then is not done.
pub(super) fn in_rounds<'t, T: Sync, R: Send>(
    items: &'t [T],
    share: usize,
    work: impl Fn((usize, &'t T)) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let round = share * POOL.current_num_threads();
    let mut done = Vec::with_capacity(items.len());
    for (first, items) in items.chunks(round).enumerate() {
        let items = items.par_iter().enumerate();
        let work = items.map(|(place, item)| work((first * round + place, item)));
        done.extend(POOL.install(|| work.collect::<Result<Vec<_>>>())?);
    }
    Ok(done)
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
        let done = in_rounds(&items, 3, |(place, item)| {
            let before = ended.load(Ordering::SeqCst);
            std::thread::yield_now();
            ended.fetch_add(1, Ordering::SeqCst);
            Ok((place == *item && before >= place / round * round, *item))
        });
        let done = done.expect("no fault");
        assert!(done.iter().all(|(is_in_round, _)| *is_in_round));
        assert!(done.iter().map(|(_, item)| *item).eq(items));
    }

    #[test]
    fn a_fault_ends_the_rounds() {
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
