//! The low priority of background work that no caller waits for.
//!
//! Sealing and merging take seconds of all cores. At normal priority they took every second time slice from searches;
//! at this niceness a search that wakes up runs first, and background work has what is left.
//!
//! That is not enough where the scheduler of Linux shares cores by what each thread is owed, as it does since 6.6: a thread that
//! works much, as those of searches do, is owed nothing when it wakes up, and waits until the slice of a background thread has
//! ended, up to 4 ms. A search wakes threads several times. So background work also gives its core up every
//! tenth of a millisecond ([`yield_cpu`]). `docs/decisions/2026-11-27-scheduling.md` gives the reasons and the measurements.

use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A thread this nice has about a tenth of the weight of a normal one.
const BACKGROUND: i32 = 10;
/// And this nice, a third of the weight of background work.
const LOWEST: i32 = 15;
/// How long background work goes on before it gives its core up to whoever waits for it.
const STRETCH: Duration = Duration::from_micros(100);

/// Low-priority threads, one for each core, for background work that is done in parallel.
pub(crate) static POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("spanwise-lowpri-{number}"))
        .start_handler(|_| lower())
        .build()
        .expect("threads can be started while the process starts")
});

thread_local! {
    /// Whether this thread does background work.
    static IS_LOWERED: Cell<bool> = const { Cell::new(false) };
    /// Until when this thread goes on before it gives its core up.
    static STRETCH_ENDS: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Lowers the priority of this thread permanently. Other systems than Linux have one priority for all threads of a
/// process.
pub(crate) fn lower() {
    lower_to(BACKGROUND);
}

/// As [`lower`], to less than background work has: for what that work will save.
pub(crate) fn lower_below_background() {
    lower_to(LOWEST);
}

#[cfg_attr(
    not(target_os = "linux"),
    allow(unused_variables, reason = "threads have no priority of their own")
)]
fn lower_to(niceness: i32) {
    IS_LOWERED.set(true);
    #[cfg(target_os = "linux")]
    {
        use rustix::process::setpriority_process;
        // Where that is not allowed, background work runs at normal priority.
        let _unchanged = setpriority_process(Some(rustix::thread::gettid()), niceness);
    }
}

/// Does work whose parallel parts have the priority of this thread: on [`POOL`] if it was lowered, and otherwise among
/// the threads of the process.
pub(crate) fn in_parallel<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if IS_LOWERED.get() { POOL.install(work) } else { work() }
}

/// Gives the core up to threads that wait for it, if this one does background work and has not done so for a tenth of a
/// millisecond. To be called between pieces of work that are shorter than that; it costs 20 ns.
pub(crate) fn yield_cpu() {
    if !IS_LOWERED.get() {
        return;
    }
    if STRETCH_ENDS.get().is_none_or(|ends| ends <= Instant::now()) {
        std::thread::yield_now();
        STRETCH_ENDS.set(Some(Instant::now() + STRETCH));
    }
}

/// As [`yield_cpu`], where background work is asked whether it goes on: returns whether it is to end.
pub(crate) fn checkpoint(is_closing: &AtomicBool) -> bool {
    yield_cpu();
    is_closing.load(Ordering::Relaxed)
}

/// As [`checkpoint`], where nothing ends the work.
pub(crate) fn never_cancelled() -> bool {
    yield_cpu();
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_background_work_makes_way_and_not_at_every_call() {
        let ends_after = |work: fn()| {
            let thread = std::thread::spawn(move || {
                work();
                STRETCH_ENDS.get()
            });
            thread.join().expect("no panic")
        };
        assert_eq!(ends_after(yield_cpu), None);
        let first = ends_after(|| {
            lower();
            yield_cpu();
        });
        assert!(first.is_some());
        ends_after(|| {
            lower();
            let later = Some(Instant::now() + Duration::from_secs(3_600));
            STRETCH_ENDS.set(later);
            yield_cpu();
            assert_eq!(STRETCH_ENDS.get(), later, "the stretch had not ended");
            let now = Some(Instant::now());
            STRETCH_ENDS.set(now);
            yield_cpu();
            assert!(STRETCH_ENDS.get() > now, "another one has begun");
        });
    }

    #[test]
    fn a_checkpoint_says_whether_work_is_to_end() {
        let is_closing = AtomicBool::new(false);
        assert!(!checkpoint(&is_closing));
        is_closing.store(true, Ordering::Relaxed);
        assert!(checkpoint(&is_closing));
    }
}
