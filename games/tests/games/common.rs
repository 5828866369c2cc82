//! Helpers shared by several tests.
#![allow(dead_code)]

pub mod offers;
