//! HTML page of an episode, rendered from the template `page.html`, without external resources.

use ludex_env::picture::Picture;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use serde::Serialize;

use crate::commands::print::plain;

/// Position on the page.
#[derive(Serialize)]
pub(super) struct ReplayFrame {
    ply: u32,
    by: String,
    svg: String,
}

impl ReplayFrame {
    pub(super) fn new(ply: u32, by: &str, picture: Picture) -> ReplayFrame {
        ReplayFrame { ply, by: plain(by), svg: plain(&picture.still().svg) }
    }
}

/// Texts above and below the board.
#[derive(Serialize)]
pub(super) struct Heading {
    pub(super) title: String,
    pub(super) game: String,
    pub(super) seats: String,
    pub(super) result: String,
    /// Fault of the record, if any.
    pub(super) fault: Option<String>,
}

pub(super) fn page(heading: &Heading, frames: &[ReplayFrame]) -> String {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| AutoEscape::Html);
    let context = context! {
        heading => Value::from(Serde(heading)),
        frames => Value::from(Serde(frames)),
        program => ludex_play::PROGRAM,
    };
    // The template is tested, so an error here is a bug, which is displayed in place of the page.
    env.render_named_str("page.html", include_str!("page.html"), context).unwrap_or_else(|e| format!("{e:#}"))
}
