//! HTML page of transcripts, rendered from the template `page.html`. Minijinja escapes all texts from records and
//! endpoints.

use ludex_report::runs::settings::RunSettings;
use ludex_report::transcript::{Transcript, seconds};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior, context};

use super::text::cost;

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
    // The template is tested, so an error here is a bug, which is displayed in place of the page.
    env.render_named_str("page.html", include_str!("page.html"), context).unwrap_or_else(|e| format!("{e:#}"))
}
