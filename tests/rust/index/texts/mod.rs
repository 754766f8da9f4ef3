//! Tests of `rust/text_index/`: laws based on a naive search of every text, and damage.

mod damage;
mod format;
mod laws;
mod merge;
pub(crate) mod oracle;
mod samples;
