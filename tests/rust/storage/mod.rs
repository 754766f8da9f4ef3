//! Tests of `rust/storage/`.

mod backup;
mod committer;
mod damage;
mod fault_injection;
mod flips;
mod follower;
mod fragments;
mod golden;
mod head;
mod history;
mod limits;
mod manifest;
mod model;
mod objects;
mod open;
mod options;
mod power_loss;
mod priority;
mod segment;
mod store;
mod wal;
mod workers;
