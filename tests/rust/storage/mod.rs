//! Tests of `rust/storage/`.

mod backups;
mod compactions;
mod contents;
mod damage;
mod aside;
mod deletions;
mod faults;
mod forge;
mod gated;
mod golden;
mod limits;
mod model;
mod processes;
mod reopen;
mod seals;
mod world;
mod writers;
