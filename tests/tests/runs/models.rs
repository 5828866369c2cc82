//! Language models in runs.
