//! Tests of `rust/storage/`.

mod backups;
mod compactions;
mod cache;
pub(crate) mod contents;
mod damage;
mod aside;
mod deletions;
mod faults;
pub(crate) mod forge;
mod gated;
mod golden;
mod history;
mod limits;
mod model;
mod pressure;
mod processes;
mod purge;
mod reopen;
mod retention;
mod seals;
mod world;
mod writers;
mod writing;
