//! The engine's search threads, one per core, shared by concurrent searches.
//!
//! A search runs in rounds: it submits a few items per thread, and the next items once these are done. Each round needs
//! a turn, and the caller that has used the least time gets the next turn. The searches of one caller therefore delay
//! another caller by one or two rounds at most. Without competition a search uses all threads. Slow items are submitted
//! one by one. After a short round the next round is larger. Document checks of traces that are not indexed yet have
//! threads of their own, with the lowest priority.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{LazyLock, mpsc};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::affinity;
use crate::error::Result;
use crate::priority;
use crate::semaphore::{Permit, Semaphore};

static POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("spanwise-search-{number}"))
        .start_handler(affinity::keep_to_one)
        .build()
        .expect("threads can be started while the process starts")
});

/// One thread of the lowest priority per core, for document checks that an index will make unnecessary. The thread that
/// builds the index has precedence.
static LOW_PRIORITY_POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("spanwise-check-{number}"))
        .start_handler(|_| priority::lower_below_background())
        .build()
        .expect("threads can be started while the process starts")
});

/// Rounds that run at once. With two, no thread is idle while a round ends.
const CONCURRENT_ROUNDS: u64 = 2;

/// The turns of [`POOL`], in threads.
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(CONCURRENT_ROUNDS * threads() as u64));
/// The turns of [`LOW_PRIORITY_POOL`], in threads.
static LOW_PRIORITY_TURNS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(CONCURRENT_ROUNDS * threads() as u64));

thread_local! {
    /// True while this thread has a turn. Nested rounds need no other turn, which could deadlock.
    static HAS_TURN: Cell<bool> = const { Cell::new(false) };
}

/// The right to use search threads, which a search gives up between rounds if another search waits for it.
struct Turn {
    turns: &'static Semaphore,
    units: u64,
    /// `None` for a search thread, and for a thread that already has a turn.
    permit: Option<Permit<'static>>,
}

impl Turn {
    /// Waits until the caller of this thread may use `max_threads` threads.
    fn wait(turns: &'static Semaphore, max_threads: usize) -> Result<Self> {
        let units = max_threads.min(threads()) as u64;
        let mut turn = Self { turns, units, permit: None };
        if !HAS_TURN.get() && POOL.current_thread_index().is_none() {
            turn.acquire()?;
        }
        Ok(turn)
    }

    fn acquire(&mut self) -> Result<()> {
        // Cancellation is not checked here, because the items of a search check it.
        self.permit = Some(self.turns.acquire(self.units, || Ok(()))?);
        HAS_TURN.set(true);
        Ok(())
    }

    fn release(&mut self) {
        if self.permit.take().is_some() {
            HAS_TURN.set(false);
        }
    }

    /// True if another search waits for a turn.
    fn has_waiters(&self) -> bool {
        self.permit.is_some() && self.turns.is_wanted()
    }

    /// Lets waiting searches of callers that used less go first. No items of this search may be running.
    fn yield_to_waiters(&mut self) -> Result<()> {
        if self.has_waiters() {
            self.release();
            self.acquire()?;
        }
        Ok(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.release();
    }
}

/// Returns the number of search threads.
pub(crate) fn threads() -> usize {
    POOL.current_num_threads()
}

/// After a round shorter than this, the next round has twice as many items. Waking a thread and waiting for it takes
/// about a third of this time.
const SHORT_ROUND: Duration = Duration::from_micros(200);

/// Calls `work` with every item and its index on all threads, in rounds of `per_thread` items per thread. Rounds grow
/// while they are short.
///
/// # Errors
/// One of the errors of `work`. Items that have not started by then are skipped.
pub(crate) fn par_map_chunked<'t, T: Sync, R: Send>(
    items: &'t [T],
    per_thread: usize,
    work: impl Fn((usize, &'t T)) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let mut done = Vec::with_capacity(items.len());
    let mut round = per_thread * threads();
    let mut turn = Turn::wait(&TURNS, items.len())?;
    while done.len() < items.len() {
        turn.yield_to_waiters()?;
        let (first, started) = (done.len(), Instant::now());
        let items = &items[first..items.len().min(first + round)];
        done.extend(one_round(items, |(index, item)| work((first + index, item)))?);
        if started.elapsed() < SHORT_ROUND {
            round *= 2;
        }
    }
    Ok(done)
}

/// Like [`par_map_chunked`], but passes the results of every round to `fold`, in order, before the next round starts.
/// All rounds have the same size, which bounds the number of results in memory.
///
/// # Errors
/// The errors of [`par_map_chunked`].
pub(crate) fn par_fold_chunked<'t, T: Sync, R: Send>(
    items: &'t [T],
    per_thread: usize,
    work: impl Fn((usize, &'t T)) -> Result<R> + Sync,
    fold: impl FnMut(R),
) -> Result<()> {
    let mut fold = fold;
    let round = per_thread * threads();
    let mut turn = Turn::wait(&TURNS, items.len())?;
    for (number, items) in items.chunks(round).enumerate() {
        turn.yield_to_waiters()?;
        let results = one_round(items, |(index, item)| work((number * round + index, item)))?;
        results.into_iter().for_each(&mut fold);
    }
    Ok(())
}

fn one_round<'t, T: Sync, R: Send>(
    items: &'t [T],
    work: impl Fn((usize, &'t T)) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    POOL.install(|| items.par_iter().enumerate().map(&work).collect())
}

/// Like [`par_map_chunked`] with two items per thread, but submits the next item as soon as one is done, so that no
/// thread waits for the end of a round. Use it for items of different lengths that take a millisecond or more, because
/// each one wakes the caller. The caller must not be a search thread, because it waits for them.
///
/// # Errors
/// The errors of [`par_map_chunked`].
pub(crate) fn par_map_dynamic<'t, T: Sync, R: Send>(
    items: &'t [T],
    work: impl Fn(&'t T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    par_map_in((&POOL, &TURNS), items, work)
}

/// Like [`par_map_dynamic`], on the threads of the lowest priority.
///
/// # Errors
/// The errors of [`par_map_chunked`].
pub(crate) fn par_map_low_priority<'t, T: Sync, R: Send>(
    items: &'t [T],
    work: impl Fn(&'t T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    par_map_in((&LOW_PRIORITY_POOL, &LOW_PRIORITY_TURNS), items, work)
}

fn par_map_in<'t, T: Sync, R: Send>(
    (pool, turns): (&rayon::ThreadPool, &'static Semaphore),
    items: &'t [T],
    work: impl Fn(&'t T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    debug_assert!(pool.current_thread_index().is_none(), "a search thread waits for search threads");
    let work = &work;
    let (send, ended) = mpsc::channel();
    pool.in_place_scope(|scope| {
        let mut waiting = items.iter().enumerate();
        let mut submit = || {
            let Some((index, item)) = waiting.next() else { return 0 };
            let send = send.clone();
            scope.spawn(move |_| {
                let result = catch_unwind(AssertUnwindSafe(|| work(item)));
                // After an error the receiver is gone.
                let _ = send.send((index, result));
            });
            1
        };
        let mut done: Vec<Option<R>> = items.iter().map(|_| None).collect();
        let mut turn = Turn::wait(turns, items.len())?;
        let mut running = 0;
        for _ in items {
            if running == 0 {
                turn.yield_to_waiters()?;
            }
            // While another search waits, no item is submitted until that search has had its turn.
            if running == 0 || !turn.has_waiters() {
                running += (running..2 * threads()).map(|_| submit()).sum::<usize>();
            }
            let (index, result) = ended.recv().expect("this thread can send, too");
            done[index] = Some(result.unwrap_or_else(|panic| resume_unwind(panic))?);
            running -= 1;
        }
        Ok(done.into_iter().flatten().collect())
    })
}

/// Runs `work` on the search threads and returns its result.
///
/// # Errors
/// The errors of `work`, and of [`Turn::wait`].
pub(crate) fn on_threads<R: Send>(work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    let _turn = Turn::wait(&TURNS, threads())?;
    POOL.install(work)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::caller;
    use crate::error::Error;

    #[test]
    fn a_round_is_over_before_the_next_one_begins() {
        let round = 3 * POOL.current_num_threads();
        let ended = AtomicUsize::new(0);
        let items: Vec<usize> = (0..=4 * round).collect();
        let mut done = Vec::new();
        let work = |(index, item): (usize, &usize)| {
            let before = ended.load(Ordering::SeqCst);
            std::thread::yield_now();
            ended.fetch_add(1, Ordering::SeqCst);
            Ok((index == *item && before >= index / round * round, *item))
        };
        par_fold_chunked(&items, 3, work, |result| done.push(result)).expect("no error");
        assert!(done.iter().all(|(is_in_round, _)| *is_in_round));
        assert!(done.iter().map(|(_, item)| *item).eq(items));
    }

    #[test]
    fn short_rounds_grow_and_results_stay_in_order() {
        let items: Vec<usize> = (0..100 * threads()).collect();
        let done = par_map_chunked(&items, 1, |(index, item)| Ok((index, *item))).expect("no error");
        assert!(done.into_iter().eq(items.into_iter().enumerate()));
    }

    #[test]
    fn an_error_ends_the_rounds() {
        let started = AtomicUsize::new(0);
        let items = vec![(); 100 * POOL.current_num_threads()];
        let done = par_map_chunked(&items, 2, |_| -> Result<()> {
            started.fetch_add(1, Ordering::SeqCst);
            Err(Error::Cancelled)
        });
        assert!(matches!(done, Err(Error::Cancelled)));
        assert!(started.into_inner() <= 2 * POOL.current_num_threads());
    }

    #[test]
    fn no_thread_waits_for_the_end_of_a_round() {
        let items: Vec<usize> = (0..10 * threads()).collect();
        let ended = AtomicUsize::new(0);
        let deadline = Instant::now() + Duration::from_secs(10);
        let done = par_map_dynamic(&items, |item| {
            // The first item ends after all others if another thread can run them.
            while *item == 0 && threads() > 1 && ended.load(Ordering::SeqCst) + 1 < items.len() {
                assert!(Instant::now() < deadline, "{ended:?} of {} items ended", items.len());
                std::thread::sleep(Duration::from_millis(1));
            }
            ended.fetch_add(1, Ordering::SeqCst);
            Ok(*item)
        });
        assert_eq!(done.expect("no error"), items);
    }

    #[test]
    fn a_search_yields_its_turn_before_all_its_items_are_done() {
        static OWN_TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(threads() as u64));
        let items: Vec<usize> = (0..20 * threads()).collect();
        let (started, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let deadline = Instant::now() + Duration::from_secs(10);
        let work = |_: &usize| {
            started.fetch_add(1, Ordering::SeqCst);
            while !OWN_TURNS.is_wanted() && ended.load(Ordering::SeqCst) == 0 {
                assert!(Instant::now() < deadline, "no search waits");
                std::thread::yield_now();
            }
            ended.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                caller::serve("greedy");
                par_map_in((&POOL, &OWN_TURNS), &items, work).expect("no error");
            });
            while started.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            caller::serve("modest");
            let turn = Turn::wait(&OWN_TURNS, threads()).expect("no error");
            let before = ended.load(Ordering::SeqCst);
            assert_eq!(before, 2 * threads(), "only the items submitted before the other search");
            drop(turn);
        });
        assert_eq!(ended.into_inner(), items.len());
    }

    #[test]
    fn a_nested_round_needs_no_second_turn() {
        let turn = Turn::wait(&TURNS, threads()).expect("no error");
        assert!(turn.permit.is_some());
        assert!(Turn::wait(&TURNS, 1).expect("no error").permit.is_none());
        assert!(POOL.install(|| Turn::wait(&TURNS, 1).expect("no error").permit.is_none()));
        drop(turn);
        assert!(Turn::wait(&TURNS, 1).expect("no error").permit.is_some());
    }

    #[test]
    fn an_error_or_a_panic_ends_the_other_items() {
        let started = AtomicUsize::new(0);
        let items = vec![(); 100 * POOL.current_num_threads()];
        let count = || started.fetch_add(1, Ordering::SeqCst);
        let done = par_map_dynamic(&items, |()| -> Result<()> {
            count();
            Err(Error::Cancelled)
        });
        assert!(matches!(done, Err(Error::Cancelled)));
        let panic = || par_map_dynamic(&items, |()| -> Result<()> { panic!("item {}", count()) });
        assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
        assert!(started.into_inner() <= 4 * POOL.current_num_threads());
    }
}
