//! Segments that are set aside: damaged, asked to be done without, and never forgotten.
//!
//! Setting aside removes nothing: the segment's files stay, and every later manifest names it with
//! its fault, so that whoever asks the store learns that it was larger.

use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::storage::manifest::{Manifest, QuarantineRecord, SegmentRecord};
use crate::storage::objects::Objects;
use crate::storage::options::Options;
use crate::storage::segment::index_cache::IndexCache;
use crate::storage::segment::{Segment, read_deletion_vector};
use crate::storage::state::Sealed;

/// A damaged segment whose traces are in no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Aside {
    /// The segment's folder inside the store.
    pub segment: String,
    /// Its traces, as far as they were not superseded before.
    pub traces: u64,
    /// What is wrong: an object, a byte, and what was found there.
    pub fault: String,
}

impl Aside {
    pub(crate) fn of(record: &QuarantineRecord) -> Self {
        let QuarantineRecord { segment, error: fault } = record;
        Self {
            segment: format!("segments/{}", segment.id),
            traces: segment.rows.saturating_sub(segment.deletion_vector.map_or(0, |hidden| hidden.rows)),
            fault: fault.clone(),
        }
    }
}

/// Opens the segments that `manifest` names; with the option `recover`, every byte of them is verified, and those
/// that are damaged are set aside in `manifest`.
///
/// # Errors
/// The first damage found, without `recover`; [`Error::Options`] for a newer format, [`Error::Storage`].
pub(crate) fn open_segments(
    objects: &dyn Objects,
    manifest: &mut Manifest,
    options: &Options,
) -> Result<Vec<Sealed>> {
    let mut opened = Vec::with_capacity(manifest.segments.len());
    let records = std::mem::take(&mut manifest.segments);
    let tried: Vec<_> = records.par_iter().map(|record| open_segment(objects, record, options)).collect();
    for (record, tried) in records.into_iter().zip(tried) {
        match tried {
            Ok(sealed) => opened.push(sealed),
            Err(fault @ Error::Damage { .. }) if options.recover => {
                manifest.quarantined.push(QuarantineRecord { segment: record, error: fault.to_string() });
            }
            Err(fault) => return Err(fault),
        }
    }
    manifest.segments = opened.iter().map(|sealed| sealed.record.clone()).collect();
    Ok(opened)
}

fn open_segment(objects: &dyn Objects, record: &SegmentRecord, options: &Options) -> Result<Sealed> {
    let hidden = Arc::new(read_deletion_vector(objects, record)?);
    let segment = Segment::open(objects, &IndexCache::of(options), record)?;
    if options.recover {
        segment.read_rows()?;
        segment.verify_documents()?;
    }
    Ok(Sealed { record: record.clone(), segment: Arc::new(segment), durably_hidden: hidden.clone(), hidden })
}
