//! Opens a newer manifest while the log is still read, because a large segment may take seconds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_channel::{Receiver, bounded};

use super::freshness::Moment;
use super::log::{self, LogObject};
use crate::error::{Error, Result};
use crate::storage::manifest::Manifest;
use crate::storage::manifest::quarantined::QuarantinedWal;
use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::state::StoreState;
use crate::storage::state::live_segment::LiveSegment;
use crate::storage::state::open_segments::open_segments;

/// A newer manifest that is being opened.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) manifest: Manifest,
    /// The start of the poll that found this manifest to be the newest. `None` if that poll did not read the
    /// whole log.
    pub(super) as_of: Option<Moment>,
    /// Receives the state of the manifest and the log after it.
    pub(super) opened: Receiver<Result<StoreState>>,
}

/// The inputs for opening a manifest.
pub(super) struct OpenWith {
    pub(super) objects: Arc<dyn Objects>,
    pub(super) options: Options,
    /// The open segments.
    pub(super) open: Vec<LiveSegment>,
    /// The log objects after the manifest's checkpoint.
    pub(super) log: Vec<Arc<LogObject>>,
}

impl Opening {
    /// Starts to open `manifest` on a new thread.
    ///
    /// # Errors
    /// [`Error::Storage`] if the operating system cannot start the thread.
    pub(super) fn start(manifest: Manifest, as_of: Option<Moment>, with: OpenWith) -> Result<Self> {
        let (done, opened) = bounded(1);
        let wanted = manifest.clone();
        let run = move || {
            let open = || open(wanted, &with);
            let outcome = catch_unwind(AssertUnwindSafe(open));
            let outcome = outcome.unwrap_or_else(|_| Err(Error::storage("segments", "opening panicked")));
            let _nobody_follows_any_more = done.send(outcome);
        };
        let thread = std::thread::Builder::new().name("spanwise-open".into()).spawn(run);
        thread.map_err(|error| Error::storage("a thread of the store", error))?;
        Ok(Self { manifest, as_of, opened })
    }
}

fn open(mut manifest: Manifest, with: &OpenWith) -> Result<StoreState> {
    let objects = with.objects.as_ref();
    let segments = open_segments(objects, &mut manifest, &with.options, &with.open)?;
    let quarantined_wal = QuarantinedWal::all_of(objects, &manifest)?;
    let mut state = StoreState::new(manifest, segments);
    state.quarantined_wal = quarantined_wal.into();
    log::apply(&mut state, &with.log, &mut Vec::new())?;
    Ok(state)
}
