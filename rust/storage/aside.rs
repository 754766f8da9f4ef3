//! Segments that are set aside: damaged, asked to be done without, and never forgotten.
//!
//! Setting aside removes nothing: the segment's files stay, and every later manifest names it with
//! its fault, so that whoever asks the store learns that it was larger.

use std::sync::Arc;

use serde::Serialize;

use super::manifest::{AsideRecord, Manifest, SegmentRecord};
use super::objects::Objects;
use super::segment::{Segment, read_hidden};
use super::state::Sealed;
use crate::error::{Error, Result};

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
    pub(super) fn of(record: &AsideRecord) -> Self {
        let AsideRecord { segment, fault } = record;
        Self {
            segment: format!("segments/{}", segment.id),
            traces: segment.rows.saturating_sub(segment.hidden.map_or(0, |hidden| hidden.rows)),
            fault: fault.clone(),
        }
    }
}

/// Opens the segments that `manifest` names; with `recover`, every byte of them is verified, and those
/// that are damaged are set aside in `manifest`.
///
/// # Errors
/// The first damage found, without `recover`; [`Error::Options`] for a newer format, [`Error::Storage`].
pub(super) fn open_segments(
    objects: &dyn Objects,
    manifest: &mut Manifest,
    recover: bool,
) -> Result<Vec<Sealed>> {
    let mut opened = Vec::with_capacity(manifest.segments.len());
    for record in std::mem::take(&mut manifest.segments) {
        match open_segment(objects, &record, recover) {
            Ok(sealed) => opened.push(sealed),
            Err(fault @ Error::Damage { .. }) if recover => {
                manifest.aside.push(AsideRecord { segment: record, fault: fault.to_string() });
            }
            Err(fault) => return Err(fault),
        }
    }
    manifest.segments = opened.iter().map(|sealed| sealed.record.clone()).collect();
    Ok(opened)
}

fn open_segment(objects: &dyn Objects, record: &SegmentRecord, recover: bool) -> Result<Sealed> {
    let hidden = Arc::new(read_hidden(objects, record)?);
    let segment = Segment::open(objects, record)?;
    if recover {
        segment.verify_documents(record)?;
    }
    Ok(Sealed { record: record.clone(), segment: Arc::new(segment), durably_hidden: hidden.clone(), hidden })
}
