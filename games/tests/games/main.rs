//! The games: laws that each must satisfy, files that battles, pictures and playthroughs must match, presets of published
//! evaluations. The laws compute for a long time; `LUDEX_TEST_SCALE` sets how long.

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
