//! Tests of all games: general laws, stored battles, pictures and playthroughs, and presets of published evaluations.
//! The checks of the laws take a long time; `LUDEX_TEST_SCALE` scales their number.

mod batch;
mod battles;
mod chance;
mod common;
mod laws;
mod marks;
mod missed_wins;
mod pictures;
mod playthroughs;
mod presets;
mod recording;
