//! Tests of `rust/storage/`.

mod backups;
mod contents;
mod damage;
mod aside;
mod faults;
pub(crate) mod forge;
mod golden;
mod limits;
mod model;
mod processes;
mod reopen;
mod seals;
mod world;
mod writers;
