//! Tests of the store: order of writes, durability under `kill -9`, and error messages.

mod behavior;
mod durability;
mod engines;
mod faults;
#[cfg(unix)]
mod postgres;
mod rows;
mod sqlite;
