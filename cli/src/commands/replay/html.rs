//! A replay as one HTML page that loads nothing, made from `page.html`.

use ludex_env::picture::Picture;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use serde::Serialize;

use crate::commands::print::plain;

/// A position of the page.
#[derive(Serialize)]
pub(super) struct Frame {
    ply: u32,
    by: String,
    svg: String,
}

impl Frame {
    pub(super) fn new(ply: u32, by: &str, picture: Picture) -> Frame {
        Frame { ply, by: plain(by), svg: plain(&picture.still().svg) }
    }
}

/// What stands above and below the board.
#[derive(Serialize)]
pub(super) struct Heading {
    pub(super) title: String,
    pub(super) game: String,
    pub(super) seats: String,
    pub(super) result: String,
    /// What is wrong with the record.
    pub(super) fault: Option<String>,
}

/// One page without anything to load.
pub(super) fn page(heading: &Heading, frames: &[Frame]) -> String {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| AutoEscape::Html);
    let context = context! {
        heading => Value::from(Serde(heading)),
        frames => Value::from(Serde(frames)),
        program => ludex_play::PROGRAM,
    };
    // The template is part of the program and a test renders it: an error here is one of ours, shown instead of a page.
    env.render_named_str("page.html", include_str!("page.html"), context).unwrap_or_else(|e| format!("{e:#}"))
}
