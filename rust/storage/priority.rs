//! The low priority of background work that no caller waits for.
//!
//! Sealing and merging take seconds of all cores. At normal priority they took every second time slice from searches;
//! at this niceness a search that wakes up runs first, and background work has what is left.

use std::cell::Cell;
use std::sync::LazyLock;

/// A thread this nice has about a tenth of the weight of a normal one.
const BACKGROUND: i32 = 10;
/// And this nice, a third of the weight of background work.
const LOWEST: i32 = 15;

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
