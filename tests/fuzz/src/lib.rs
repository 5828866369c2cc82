//! Fuzz targets: everything that parses input from outside. A target takes any bytes, must not panic, and checks that what
//! it accepts keeps its meaning when it is written and read again.
//!
//! As ordinary tests, the targets get the stored corpus and seeded mutations of it. `tests/fuzz/run` searches for new input
//! with libFuzzer, guided by the code that the input reaches.

#![forbid(unsafe_code)]

#[cfg(test)]
mod bundles;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod records;
