//! The engine's search threads, one per core, shared by concurrent searches.
//!
//! A search runs in rounds: it submits a few items per thread, and the next ones when these are done. Each round needs a turn. The
//! caller that used least time gets the next turn, so the searches of one caller delay another caller by one or two rounds. Without
//! competition a search uses all threads. Items that take long are submitted one by one; after a round that was soon over, the
//! next one has more of them. Looks at traces that have no index yet have threads of their own, of the lowest priority.

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

/// As many threads of the lowest priority, for looks at traces that an index will save: whoever makes the index goes first.
static LOOK_POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("spanwise-look-{number}"))
        .start_handler(|_| priority::lower_below_background())
        .build()
        .expect("threads can be started while the process starts")
});

/// Rounds that run at once. With two, no thread is idle while a round ends.
const CONCURRENT_ROUNDS: u64 = 2;

/// The turns of [`POOL`], in threads.
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(CONCURRENT_ROUNDS * threads() as u64));
/// Those of [`LOOK_POOL`].
static LOOK_TURNS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(CONCURRENT_ROUNDS * threads() as u64));

thread_local! {
    /// True while this thread has a turn. Nested rounds need no other turn, which could deadlock.
    static HAS_TURN: Cell<bool> = const { Cell::new(false) };
}

/// The right to use search threads, which a search gives up between rounds if another search waits for it.
struct Turn {
    turns: &'static Semaphore,
    units: u64,
    /// `None` for a search thread, and for a thread that has a turn already.
    permit: Option<Permit<'static>>,
}

impl Turn {
    /// Waits until this thread's caller may use `wanted` threads.
    fn wait(turns: &'static Semaphore, wanted: usize) -> Result<Self> {
        let units = wanted.min(threads()) as u64;
        let mut turn = Self { turns, units, permit: None };
        if !HAS_TURN.get() && POOL.current_thread_index().is_none() {
            turn.acquire()?;
        }
        Ok(turn)
    }

    fn acquire(&mut self) -> Result<()> {
        // The items of a search check whether it was cancelled.
        self.permit = Some(self.turns.acquire(self.units, || Ok(()))?);
        HAS_TURN.set(true);
        Ok(())
    }

    fn release(&mut self) {
        if self.permit.take().is_some() {
            HAS_TURN.set(false);
        }
    }

    /// Returns true if another search waits for a turn.
    fn is_wanted(&self) -> bool {
        self.permit.is_some() && self.turns.is_wanted()
    }

    /// Lets waiting searches of callers that used less go first. No items of this search may be running.
    fn take_turns(&mut self) -> Result<()> {
        if self.is_wanted() {
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

/// Returns how many items are worked on at once.
pub(in crate::query) fn threads() -> usize {
    POOL.current_num_threads()
}

/// After a round that took less, the next one has twice as many items: to wake a thread, and to wait for it, takes about a third.
const SHORT_ROUND: Duration = Duration::from_micros(200);

/// Calls `work` with every item and its index, on all threads, in rounds of `per_thread` items per thread, or of more if they
/// are soon over.
///
/// # Errors
/// One of the errors of `work`; items that have not started by then are skipped.
pub(in crate::query) fn in_rounds<'t, T: Sync, R: Send>(
    items: &'t [T],
    per_thread: usize,
    work: impl Fn((usize, &'t T)) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let mut done = Vec::with_capacity(items.len());
    let mut round = per_thread * threads();
    let mut turn = Turn::wait(&TURNS, items.len())?;
    while done.len() < items.len() {
        turn.take_turns()?;
        let (first, begun) = (done.len(), Instant::now());
        let items = &items[first..items.len().min(first + round)];
        done.extend(one_round(items, |(index, item)| work((first + index, item)))?);
        if begun.elapsed() < SHORT_ROUND {
            round *= 2;
        }
    }
    Ok(done)
}

/// As [`in_rounds`], but hands the results of every round to `fold`, in order, before the next one begins. Every round has as
/// many items, so no more results are in memory.
///
/// # Errors
/// As [`in_rounds`].
pub(in crate::query) fn fold_rounds<'t, T: Sync, R: Send>(
    items: &'t [T],
    per_thread: usize,
    work: impl Fn((usize, &'t T)) -> Result<R> + Sync,
    fold: impl FnMut(R),
) -> Result<()> {
    let mut fold = fold;
    let round = per_thread * threads();
    let mut turn = Turn::wait(&TURNS, items.len())?;
    for (number, items) in items.chunks(round).enumerate() {
        turn.take_turns()?;
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

/// As [`in_rounds`] with two items per thread, but the next item is submitted when one is done: no thread waits for the end of
/// a round. Worth it for items of different lengths, of a millisecond or more, because the caller is woken for each. It waits, so
/// it must not be one of the threads.
///
/// # Errors
/// As [`in_rounds`].
pub(in crate::query) fn as_threads_come_free<'t, T: Sync, R: Send>(
    items: &'t [T],
    work: impl Fn(&'t T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    as_threads_of((&POOL, &TURNS), items, work)
}

/// As [`as_threads_come_free`], on the threads of the lowest priority.
///
/// # Errors
/// As [`in_rounds`].
pub(in crate::query) fn as_look_threads_come_free<'t, T: Sync, R: Send>(
    items: &'t [T],
    work: impl Fn(&'t T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    as_threads_of((&LOOK_POOL, &LOOK_TURNS), items, work)
}

fn as_threads_of<'t, T: Sync, R: Send>(
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
                turn.take_turns()?;
            }
            // While another search waits, nothing else is submitted until it has had its turn.
            if running == 0 || !turn.is_wanted() {
                running += (running..2 * threads()).map(|_| submit()).sum::<usize>();
            }
            let (index, result) = ended.recv().expect("this thread can send, too");
            done[index] = Some(result.unwrap_or_else(|panic| resume_unwind(panic))?);
            running -= 1;
        }
        Ok(done.into_iter().flatten().collect())
    })
}

/// Returns what `work` returns; what it does in parallel is done on these threads.
///
/// # Errors
/// None of its own: see [`Turn::wait`].
pub(in crate::query) fn on_threads<R: Send>(work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
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
        fold_rounds(&items, 3, work, |result| done.push(result)).expect("no error");
        assert!(done.iter().all(|(is_in_round, _)| *is_in_round));
        assert!(done.iter().map(|(_, item)| *item).eq(items));
    }

    #[test]
    fn rounds_that_are_soon_over_have_more_items_each_in_its_place() {
        let items: Vec<usize> = (0..100 * threads()).collect();
        let done = in_rounds(&items, 1, |(index, item)| Ok((index, *item))).expect("no error");
        assert!(done.into_iter().eq(items.into_iter().enumerate()));
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

    #[test]
    fn no_thread_waits_for_the_end_of_a_round() {
        let items: Vec<usize> = (0..10 * threads()).collect();
        let ended = AtomicUsize::new(0);
        let deadline = Instant::now() + Duration::from_secs(10);
        let done = as_threads_come_free(&items, |item| {
            // The first item ends after all others, if another thread can take them.
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
    fn a_search_gives_up_its_turn_before_it_has_worked_off_its_items() {
        static OWN_TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(threads() as u64));
        let items: Vec<usize> = (0..20 * threads()).collect();
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let deadline = Instant::now() + Duration::from_secs(10);
        let work = |_: &usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            while !OWN_TURNS.is_wanted() && ended.load(Ordering::SeqCst) == 0 {
                assert!(Instant::now() < deadline, "nobody waits");
                std::thread::yield_now();
            }
            ended.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                caller::serve("greedy");
                as_threads_of((&POOL, &OWN_TURNS), &items, work).expect("no error");
            });
            while begun.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            caller::serve("modest");
            let turn = Turn::wait(&OWN_TURNS, threads()).expect("no error");
            let before = ended.load(Ordering::SeqCst);
            assert_eq!(before, 2 * threads(), "those that were submitted when the other search came");
            drop(turn);
        });
        assert_eq!(ended.into_inner(), items.len());
    }

    #[test]
    fn what_is_done_within_a_turn_needs_no_other_one() {
        let turn = Turn::wait(&TURNS, threads()).expect("no error");
        assert!(turn.permit.is_some());
        assert!(Turn::wait(&TURNS, 1).expect("no error").permit.is_none());
        assert!(POOL.install(|| Turn::wait(&TURNS, 1).expect("no error").permit.is_none()));
        drop(turn);
        assert!(Turn::wait(&TURNS, 1).expect("no error").permit.is_some());
    }

    #[test]
    fn what_fails_ends_the_others() {
        let begun = AtomicUsize::new(0);
        let items = vec![(); 100 * POOL.current_num_threads()];
        let count = || begun.fetch_add(1, Ordering::SeqCst);
        let done = as_threads_come_free(&items, |()| -> Result<()> {
            count();
            Err(Error::Cancelled)
        });
        assert!(matches!(done, Err(Error::Cancelled)));
        let panic = || as_threads_come_free(&items, |()| -> Result<()> { panic!("item {}", count()) });
        assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
        assert!(begun.into_inner() <= 4 * POOL.current_num_threads());
    }
}
