//! The engine's tests, one binary; a module here is named after the module it tests.

mod house;
mod otlp;
mod trace;
mod filter;
mod storage;
mod bulk;
mod search;
mod fuzz;
mod memory;
mod random;
mod spans;
