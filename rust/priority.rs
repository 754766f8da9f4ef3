//! The low priority of background work.
//!
//! Flushes and merges use all cores for seconds. At normal priority they took every second time slice from
//! searches. At this niceness a search that wakes up runs first, and background work gets the remaining time.
//!
//! Niceness is not enough since Linux 6.6, whose scheduler shares cores by lag. A busy thread, such as a
//! search thread, has no lag when it wakes up. It then waits up to 4 ms for the slice of a background thread
//! to end, and a search wakes threads several times. Background work therefore also yields its core every 0.1
//! ms ([`yield_cpu`]). `docs/decisions/2026-11-27-scheduling.md` gives the reasons and the measurements.

use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The niceness of background work: about a tenth of the weight of a normal thread.
const BACKGROUND: i32 = 10;
/// A lower priority: a third of the weight of background work.
const LOWEST: i32 = 15;
/// The time between two yields of background work.
const STRETCH: Duration = Duration::from_micros(100);

/// Low-priority threads, one per core, for parallel background work.
pub(crate) static POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("spanwise-lowpri-{number}"))
        .start_handler(|_| lower())
        .build()
        .expect("threads can be started while the process starts")
});

thread_local! {
    /// True if this thread does background work.
    static IS_LOWERED: Cell<bool> = const { Cell::new(false) };
    /// The time of this thread's next yield.
    static STRETCH_ENDS: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Lowers the priority of this thread permanently. Has no effect outside Linux, where all threads of a
/// process share one priority.
pub(crate) fn lower() {
    lower_to(BACKGROUND);
}

/// As [`lower`], to a priority below background work. For work that saves background work later.
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

/// Runs parallel work at the priority of this thread: on [`POOL`] if the thread was lowered, otherwise on the
/// threads of the process.
pub(crate) fn in_parallel<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if IS_LOWERED.get() { POOL.install(work) } else { work() }
}

/// Yields the core to waiting threads if this thread does background work and has not yielded for 0.1 ms.
///
/// Call it between pieces of work shorter than that; a call costs 20 ns.
pub(crate) fn yield_cpu() {
    if !IS_LOWERED.get() {
        return;
    }
    if STRETCH_ENDS.get().is_none_or(|ends| ends <= Instant::now()) {
        std::thread::yield_now();
        STRETCH_ENDS.set(Some(Instant::now() + STRETCH));
    }
}

/// As [`yield_cpu`]; returns `true` if the background work is cancelled.
pub(crate) fn checkpoint(is_closing: &AtomicBool) -> bool {
    yield_cpu();
    is_closing.load(Ordering::Relaxed)
}

/// As [`checkpoint`], for work that cannot be cancelled.
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
