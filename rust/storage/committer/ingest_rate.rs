//! The ingest rate: while it is high, documents are stored as they are, and compressed and indexed later.
//!
//! To compress documents is a third of the work of ingest, and to index them is as much as all of it. At a high rate both decide how
//! much can be received, and growing segments are compressed again anyway: so they are deferred.
//!
//! But not while questions look at traces one by one, for want of an index, faster than traces come in: what they take of the
//! processor is lost to ingest too, and more with each trace that has no index.

use std::time::{Duration, Instant};

use crate::storage::objects::Objects;
use crate::storage::options::Options;

/// Bytes a second for each core that are a high rate: to receive, compress and index them takes nearly all of the core's time.
const HIGH_BYTES_PER_SECOND_AND_CORE: f64 = 28.0 * 1024.0 * 1024.0;

/// How long the rate counts as high after it was last measured to be. While it is, that is measured every second or two.
const HOLD: Duration = Duration::from_secs(4);

/// How long everything is indexed after questions last looked at so many traces: as long as a question takes at most.
const ASKED_HOLD: Duration = Duration::from_secs(10);

/// When the ingest rate was high last.
#[derive(Debug)]
pub(super) struct IngestRate {
    /// Bytes a second that are a high rate; `None` where bytes count more than time.
    high_bytes_per_second: Option<f64>,
    last_high: Option<Instant>,
    last_asked: Option<Instant>,
}

impl IngestRate {
    /// Starts with a low rate. It is never high in a bucket, nor where retention counts bytes.
    pub(super) fn new(options: &Options, objects: &dyn Objects) -> Self {
        let is_local = objects.read_concurrency() < 2;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = u32::try_from(cores).map_or(f64::MAX, f64::from);
        let high_bytes_per_second =
            (is_local && options.retain_bytes.is_none()).then_some(HIGH_BYTES_PER_SECOND_AND_CORE * cores);
        Self { high_bytes_per_second, last_high: None, last_asked: None }
    }

    /// Records that `bytes` came in the `time` before now.
    pub(super) fn record(&mut self, bytes: u64, time: Duration) {
        #[allow(clippy::cast_precision_loss, reason = "to compare")]
        let bytes = bytes as f64;
        if self.high_bytes_per_second.is_some_and(|high| bytes > high * time.as_secs_f64()) {
            self.last_high = Some(Instant::now());
        }
    }

    /// Records that questions looked at so many traces that await an index, while `traces` came in.
    pub(super) fn record_looks(&mut self, looks: u64, traces: u64) {
        if looks > traces {
            self.last_asked = Some(Instant::now());
        }
    }

    /// Returns until when the rate counts as high; `None` if it does not.
    pub(super) fn high_until(&self) -> Option<Instant> {
        let now = Instant::now();
        let is_asked = self.last_asked.is_some_and(|last| last + ASKED_HOLD > now);
        self.last_high.map(|last| last + HOLD).filter(|end| *end > now && !is_asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(high_bytes_per_second: Option<f64>) -> IngestRate {
        IngestRate { high_bytes_per_second, last_high: None, last_asked: None }
    }

    #[test]
    fn the_rate_is_high_above_the_threshold() {
        for (bytes, seconds, is_high) in
            [(200, 1, true), (100, 1, false), (200, 2, false), (1, 0, true), (0, 0, false)]
        {
            let mut rate = rate(Some(100.0));
            rate.record(bytes, Duration::from_secs(seconds));
            assert_eq!(rate.high_until().is_some(), is_high, "{bytes} bytes in {seconds} s");
        }
        let mut never = rate(None);
        never.record(u64::MAX, Duration::ZERO);
        assert_eq!(never.high_until(), None);
    }

    #[test]
    fn the_rate_is_not_high_while_questions_look_at_more_traces_than_come_in() {
        for (looks, traces, is_high) in [(0, 0, true), (10, 10, true), (11, 10, false), (1, 0, false)] {
            let mut rate = rate(Some(1.0));
            rate.record(u64::MAX, Duration::from_secs(1));
            rate.record_looks(looks, traces);
            assert_eq!(rate.high_until().is_some(), is_high, "{looks} looks, {traces} traces");
        }
    }
}
