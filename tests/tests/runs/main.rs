//! Runs as an evaluator meets them: killed at any moment, continued, stopped by budgets, refused if something has changed.

mod deals;
mod excerpts;
