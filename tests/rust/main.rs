//! The engine's tests in one binary. Modules mirror those of `rust/`.

mod architecture;
mod otlp;
mod trace;
mod index;
mod filter;
mod storage;
mod bulk;
mod query;
mod fuzz;
mod support;
mod time;
