//! Tests of `rust/storage/`.

mod contents;
mod damage;
mod deletions;
mod faults;
mod gated;
mod limits;
mod model;
mod reopen;
mod seals;
mod writers;
