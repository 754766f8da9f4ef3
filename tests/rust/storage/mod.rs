//! Tests of `rust/storage/`.

mod contents;
mod damage;
mod faults;
mod limits;
mod model;
mod reopen;
mod writers;
