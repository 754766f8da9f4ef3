//! Pins each search thread to one core.
//!
//! In a KVM guest, all threads that helped a caller were woken on the caller's core after a pause. They took
//! turns while the other core slept, presumably because a sleeping core looks like one that the host has
//! taken away. `docs/decisions/2026-11-27-scheduling.md` gives the reasons and the measurements.

/// Pins this thread to a core of its own. `number` is its number in its pool.
///
/// Does nothing unless the pool has one thread for each core that the process may use. With fewer threads the
/// system chooses, so that several processes do not all use the first cores. A pinned thread must not start
/// threads, because they would share its core.
#[cfg_attr(not(target_os = "linux"), allow(unused_variables, reason = "threads are not bound there"))]
pub(crate) fn keep_to_one(number: usize) {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        if cores.clone().count() == rayon::current_num_threads()
            && let Some(core) = cores.nth(number)
        {
            let mut own = CpuSet::new();
            own.set(core);
            // Where pinning is not allowed, the system chooses.
            let _unbound = sched_setaffinity(None, &own);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::{CpuSet, sched_getaffinity};

    use super::*;

    fn cores() -> Vec<usize> {
        let allowed = sched_getaffinity(None).expect("the cores of this thread");
        (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect()
    }

    /// Returns the cores that each thread of a pool may use.
    fn cores_of_threads(threads: usize) -> Vec<Vec<usize>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(keep_to_one);
        pool.build().expect("threads").broadcast(|_| cores())
    }

    #[test]
    fn as_many_threads_as_cores_keep_to_one_each() {
        let all = cores();
        assert_eq!(cores_of_threads(all.len()).concat(), all);
    }

    #[test]
    fn fewer_threads_than_cores_are_not_bound() {
        let all = cores();
        assert_eq!(cores_of_threads(all.len() + 1), vec![all.clone(); all.len() + 1]);
        if all.len() > 1 {
            assert_eq!(cores_of_threads(all.len() - 1), vec![all.clone(); all.len() - 1]);
        }
    }
}
