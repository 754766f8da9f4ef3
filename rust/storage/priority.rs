//! Upkeep steps back: what no caller waits for runs at a low priority, in threads of its own.
//!
//! Sealing and merging take seconds of all cores. In threads like any other they took every second turn
//! from searches; at this niceness a search that wakes up goes first, and upkeep has what is left.

use std::sync::LazyLock;

/// A thread as nice as this has about a tenth of the weight of one that is not.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Where upkeep does what can be done in pieces, one thread a core.
pub(crate) static POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
    rayon::ThreadPoolBuilder::new()
        .thread_name(|number| format!("spanwise-upkeep-{number}"))
        .start_handler(|_| step_back())
        .build()
        .expect("threads can be started while the process starts")
});

/// Lowers the priority of this thread, for good.
#[cfg(target_os = "linux")]
pub(crate) fn step_back() {
    use rustix::process::setpriority_process;
    // Where it is not allowed, upkeep is as it would be without.
    let _as_before = setpriority_process(Some(rustix::thread::gettid()), NICENESS);
}

/// Elsewhere the priority of one thread cannot be told apart from that of its process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn step_back() {}
