//! Games compared with files: battles, pictures, playthroughs; and the presets of published evaluations.

mod battles;
mod pictures;
mod playthroughs;
mod presets;
