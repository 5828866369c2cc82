//! HTML page of transcripts, rendered from `page.html`; minijinja escapes all texts of records and endpoints.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior, context};

use super::text::cost;
use ludex_play::runs::settings::RunSettings;
use ludex_play::transcript::{Transcript, seconds};

/// Renders the page, without external resources.
pub(super) fn page(about: &RunSettings, matches: &[Transcript]) -> String {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::Html);
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default());
    env.add_filter("seconds", |ms: u64| seconds(ms));
    let costs: Vec<Option<String>> = matches.iter().map(|transcript| cost(&transcript.sums)).collect();
    let context = context! {
        about => Value::from(Serde(about)),
        suite => about.suite.name.as_str(),
        program => ludex_play::PROGRAM,
        matches => Value::from(Serde(matches)),
        costs,
    };
    // The template is tested, so an error here is a bug and replaces the page.
    env.render_named_str("page.html", include_str!("page.html"), context).unwrap_or_else(|e| format!("{e:#}"))
}
