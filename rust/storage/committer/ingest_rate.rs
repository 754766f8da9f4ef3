//! The ingest rate: while it is high, documents are stored uncompressed, and compressed and indexed later.
//!
//! Compression is a third of the work of ingest, and indexing costs as much as all other work. At a high rate
//! both limit the throughput. Growing segments are compressed again anyway, so both are deferred.
//!
//! Indexing is not deferred while searches without an index check documents faster than traces arrive. These
//! checks also take processor time from ingest, and more with each unindexed trace.

use std::time::{Duration, Instant};

use crate::storage::objects::Objects;
use crate::storage::options::Options;

/// A high rate, in bytes per second and core: receiving, compressing and indexing it would take nearly all of
/// the core's time.
const HIGH_BYTES_PER_SECOND_AND_CORE: f64 = 28.0 * 1024.0 * 1024.0;

/// The time that the rate counts as high after the last high measurement. While it is high, it is measured
/// every one or two seconds.
const HOLD: Duration = Duration::from_secs(4);

/// The time that indexing is not deferred after searches made many document checks. It equals the maximum
/// duration of a search.
const SEARCH_HOLD: Duration = Duration::from_secs(10);

/// Tracks when the ingest rate was last high.
#[derive(Debug)]
pub(super) struct IngestRate {
    /// The threshold of a high rate in bytes per second; `None` for stores where size matters more than
    /// speed.
    high_bytes_per_second: Option<f64>,
    last_high: Option<Instant>,
    last_searched: Option<Instant>,
}

impl IngestRate {
    /// Starts with a low rate. The rate never counts as high in a bucket, or if retention is limited by
    /// bytes.
    pub(super) fn new(options: &Options, objects: &dyn Objects) -> Self {
        let is_local = objects.read_concurrency() < 2;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = u32::try_from(cores).map_or(f64::MAX, f64::from);
        let high_bytes_per_second =
            (is_local && options.retain_bytes.is_none()).then_some(HIGH_BYTES_PER_SECOND_AND_CORE * cores);
        Self { high_bytes_per_second, last_high: None, last_searched: None }
    }

    /// Records the arrival of `bytes` in the last `time`.
    pub(super) fn record(&mut self, bytes: u64, time: Duration) {
        #[allow(clippy::cast_precision_loss, reason = "to compare")]
        let bytes = bytes as f64;
        if self.high_bytes_per_second.is_some_and(|high| bytes > high * time.as_secs_f64()) {
            self.last_high = Some(Instant::now());
        }
    }

    /// Records the number of document checks on unindexed traces while `traces` traces arrived.
    pub(super) fn record_document_checks(&mut self, checks: u64, traces: u64) {
        if checks > traces {
            self.last_searched = Some(Instant::now());
        }
    }

    /// Returns the time until which the rate counts as high; `None` if it is not high.
    pub(super) fn high_until(&self) -> Option<Instant> {
        let now = Instant::now();
        let is_searched = self.last_searched.is_some_and(|last| last + SEARCH_HOLD > now);
        self.last_high.map(|last| last + HOLD).filter(|end| *end > now && !is_searched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(high_bytes_per_second: Option<f64>) -> IngestRate {
        IngestRate { high_bytes_per_second, last_high: None, last_searched: None }
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
        for (checks, traces, is_high) in [(0, 0, true), (10, 10, true), (11, 10, false), (1, 0, false)] {
            let mut rate = rate(Some(1.0));
            rate.record(u64::MAX, Duration::from_secs(1));
            rate.record_document_checks(checks, traces);
            assert_eq!(rate.high_until().is_some(), is_high, "{checks} checks, {traces} traces");
        }
    }
}
