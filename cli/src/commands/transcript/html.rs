//! A transcript as one HTML page, made from `page.html` by minijinja, which escapes everything that came from records and
//! endpoints.

use ludex_report::runs::settings::RunSettings;
use ludex_report::transcript::{Transcript, seconds};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior, context};

use super::text::cost;

/// One page without anything to load.
pub(super) fn page(about: &RunSettings, matches: &[Transcript]) -> String {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::Html);
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default());
    env.add_filter("seconds", |ms: u64| seconds(ms));
    let costs: Vec<Option<String>> = matches.iter().map(|told| cost(&told.sums)).collect();
    let context = context! {
        about => Value::from(Serde(about)),
        suite => about.suite.name.as_str(),
        program => ludex_play::PROGRAM,
        matches => Value::from(Serde(matches)),
        costs,
    };
    // The template is part of the program and a test renders it: an error here is one of ours, shown instead of a page.
    env.render_named_str("page.html", include_str!("page.html"), context).unwrap_or_else(|e| format!("{e:#}"))
}
