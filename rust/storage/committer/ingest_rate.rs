//! Pressure: while much comes in, documents are stored as they are, and compressed once there is time.
//!
//! Compressing is a third of the work of ingest. Under pressure that third decides how much can be received, and it
//! is done again anyway once segments grow: so it is put off.

use std::time::{Duration, Instant};

use crate::storage::objects::Objects;
use crate::storage::options::Options;

/// So many bytes a second for each core are much: compressing them takes about a tenth of its time.
const MUCH: f64 = 16.0 * 1024.0 * 1024.0;

/// So long after the last pressure there is time again.
const CALM: Duration = Duration::from_secs(10);

/// When there was pressure last.
#[derive(Debug)]
pub(crate) struct Pressure {
    /// Bytes a second that are much; `None` where bytes count more than time.
    much: Option<f64>,
    last: Option<Instant>,
}

impl Pressure {
    /// Begins without any. There is never pressure in a bucket, nor where retention counts bytes.
    pub(crate) fn new(options: &Options, objects: &dyn Objects) -> Self {
        let is_near = objects.read_concurrency() < 2;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = u32::try_from(cores).map_or(f64::MAX, f64::from);
        let much = (is_near && options.retain_bytes.is_none()).then_some(MUCH * cores);
        Self { much, last: None }
    }

    /// Takes note of how many bytes came in how long, up to now.
    pub(crate) fn measure(&mut self, bytes: u64, time: Duration) {
        #[allow(clippy::cast_precision_loss, reason = "to compare")]
        let bytes = bytes as f64;
        if self.much.is_some_and(|much| bytes > much * time.as_secs_f64()) {
            self.last = Some(Instant::now());
        }
    }

    /// Returns when there will be time again; `None` if there is.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.last.map(|last| last + CALM).filter(|end| *end > Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_on_where_more_comes_in_a_second_than_is_much() {
        for (bytes, seconds, is_on) in
            [(200, 1, true), (100, 1, false), (200, 2, false), (1, 0, true), (0, 0, false)]
        {
            let mut pressure = Pressure { much: Some(100.0), last: None };
            pressure.measure(bytes, Duration::from_secs(seconds));
            assert_eq!(pressure.until().is_some(), is_on, "{bytes} bytes in {seconds} s");
        }
        let mut never = Pressure { much: None, last: None };
        never.measure(u64::MAX, Duration::ZERO);
        assert_eq!(never.until(), None);
    }
}
