//! Shared test support: sample spans, stores for them, and the content of these stores.

pub(crate) mod answers;
pub(crate) mod contents;
pub(crate) mod files;
pub(crate) mod forge;
pub(crate) mod gate;
pub(crate) mod layer;
pub(crate) mod logs;
pub(crate) mod memory;
pub(crate) mod power_loss;
pub(crate) mod random;
pub(crate) mod spans;

use std::time::Duration;

/// Waits until another thread makes `condition` true.
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the condition did not become true within 10 s");
}
