//! The rows of a snapshot that a filter matches. They are read part by part to limit memory.

use std::sync::Arc;

use crate::error::Result;
use crate::filter::Filter;
use crate::storage::{Snapshot, SnapshotPart};

/// The progress of a download.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DownloadProgress {
    /// The number of matching traces that were read.
    pub traces: u64,
    /// The number of traces that were read or skipped.
    pub passed: u64,
    /// The number of all traces in the store, including superseded ones.
    pub total: u64,
}

/// The matching rows of a snapshot, in groups. Each group belongs to one part.
#[derive(Debug)]
pub(super) struct MatchingRows {
    snapshot: Arc<Snapshot>,
    filter: Filter,
    next_part: usize,
    progress: DownloadProgress,
    /// The remaining matching rows of the part before `next_part`.
    rows: std::vec::IntoIter<u32>,
}

impl MatchingRows {
    pub(super) fn new(snapshot: Arc<Snapshot>, filter: Filter) -> Self {
        let total = snapshot.parts().iter().map(|part| part.count() as u64).sum();
        let progress = DownloadProgress { total, ..DownloadProgress::default() };
        Self { snapshot, filter, next_part: 0, progress, rows: Vec::new().into_iter() }
    }

    /// Returns the progress of the returned groups.
    pub(super) fn progress(&self) -> DownloadProgress {
        self.progress
    }

    /// Returns the next group: the number of its part, the part, and its rows. A group has at most `rows`
    /// rows, and ends when the size of their documents reaches `bytes` bytes. Returns `None` at the end.
    ///
    /// # Errors
    /// The errors of [`SnapshotPart::rows`].
    pub(super) fn next(
        &mut self,
        rows: usize,
        bytes: u64,
    ) -> Result<Option<(usize, &SnapshotPart, Vec<usize>)>> {
        while self.rows.len() == 0 {
            let Some(part) = self.snapshot.parts().get(self.next_part) else { return Ok(None) };
            self.rows = part.rows(&self.filter, &|| false)?.from(0).collect::<Vec<_>>().into_iter();
            self.next_part += 1;
            self.progress.passed += (part.count() - self.rows.len()) as u64;
        }
        let part = &self.snapshot.parts()[self.next_part - 1];
        let (mut group, mut size) = (Vec::new(), 0_u64);
        while group.len() < rows && size < bytes {
            let Some(row) = self.rows.next() else { break };
            size = size.saturating_add(part.document_bytes(row as usize));
            group.push(row as usize);
        }
        self.progress.passed += group.len() as u64;
        self.progress.traces += group.len() as u64;
        Ok(Some((self.next_part, part, group)))
    }
}
