//! HTML page of transcripts, rendered from the template `page.html`. Minijinja escapes all texts from records and
//! endpoints.

use ludex_report::runs::settings::RunSettings;
use ludex_report::transcript::{Decision, Transcript, seconds};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior, context};

use super::text::cost;

/// Renders the page, without external resources.
pub(super) fn page(about: &RunSettings, matches: &[Transcript]) -> String {
    render(about, matches, false, None)
}

/// Renders the page of a match in a folder with an index, with a link to the next piece of a long match.
pub(super) fn page_in_folder(about: &RunSettings, transcript: &Transcript, next: Option<&str>) -> String {
    render(about, std::slice::from_ref(transcript), true, next)
}

/// Returns the approximate length of a turn in a page.
pub(super) fn size(turn: &Decision) -> usize {
    let calls = turn.attempts.iter().flat_map(|attempt| &attempt.calls);
    let texts = calls.map(|call| {
        let messages: usize = call.messages.iter().map(|message| message.content.len()).sum();
        messages + call.answer.len() + call.reasoning.as_ref().map_or(0, String::len) + 500
    });
    texts.sum::<usize>() + turn.picture.len() + turn.position.len() + 1_000
}

/// Renders the index of a folder of transcripts. `pieces` are the scripts with its rows.
pub(super) fn index(about: &RunSettings, pieces: &[String]) -> String {
    let context =
        context! { about => Value::from(Serde(about)), pieces => pieces.to_vec(), program => ludex_play::PROGRAM };
    let rendered = environment().render_named_str("index.html", include_str!("index.html"), context);
    // The template is tested, so an error here is a bug, which is displayed in place of the page.
    rendered.unwrap_or_else(|e| format!("{e:#}"))
}

fn environment<'e>() -> Environment<'e> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::Html);
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default());
    env.add_filter("seconds", |ms: u64| seconds(ms));
    env
}

fn render(about: &RunSettings, matches: &[Transcript], indexed: bool, next: Option<&str>) -> String {
    let costs: Vec<Option<String>> = matches.iter().map(|transcript| cost(&transcript.sums)).collect();
    let context = context! {
        about => Value::from(Serde(about)),
        suite => about.suite.name.as_str(),
        program => ludex_play::PROGRAM,
        matches => Value::from(Serde(matches)),
        costs,
        indexed,
        next,
    };
    // The template is tested, so an error here is a bug, which is displayed in place of the page.
    environment().render_named_str("page.html", include_str!("page.html"), context).unwrap_or_else(|e| format!("{e:#}"))
}
