//! The laws of games and batches. These tests compute for a long time; `LUDEX_TEST_SCALE` sets how long.

mod batch;
mod chance;
mod common;
mod laws;
mod marks;
