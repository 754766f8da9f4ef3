//! Tests of `rust/text_index/`: laws against a look at every text, and damage.

mod damage;
mod format;
mod laws;
mod merge;
pub(crate) mod oracle;
mod samples;
