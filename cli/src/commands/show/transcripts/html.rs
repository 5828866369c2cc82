//! HTML page of transcripts, rendered from the template `page.html`. Minijinja escapes all texts from records and
//! endpoints.

use std::collections::HashSet;

use ludex_report::runs::settings::RunSettings;
use ludex_report::transcript::{Decision, Transcript, seconds};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior, context};

use super::text::cost;

/// Renders the page, without external resources.
pub(super) fn page(about: &RunSettings, mut matches: Vec<Transcript>) -> String {
    share_styles(&mut matches);
    render(about, &matches, false, None)
}

/// Renders the page of a match in a folder with an index, with a link to the next piece of a long match.
pub(super) fn page_in_folder(about: &RunSettings, transcript: Transcript, next: Option<&str>) -> String {
    let mut matches = [transcript];
    share_styles(&mut matches);
    render(about, &matches, true, next)
}

/// Style of the pages.
pub(super) const STYLE: &str = include_str!("style.css");

/// Removes the styles of pictures that an earlier picture of the page has, since each picture brings its own.
fn share_styles(matches: &mut [Transcript]) {
    let mut known = HashSet::new();
    for transcript in matches {
        let turns = transcript.decisions.iter_mut().map(|decision| &mut decision.picture);
        for picture in turns.chain([&mut transcript.end_picture]) {
            let (Some(start), Some(end)) = (picture.find("<style>"), picture.find("</style>")) else { continue };
            let style = start..end + "</style>".len();
            if picture.get(style.clone()).is_some_and(|text| !known.insert(text.to_owned())) {
                picture.replace_range(style, "");
            }
        }
    }
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
/// `home` is the path of the first page of a site around the folder.
pub(super) fn index(about: &RunSettings, pieces: &[String], home: Option<&str>) -> String {
    let pieces = pieces.to_vec();
    let context = context! { about => Value::from(Serde(about)), pieces, home, program => ludex_play::PROGRAM };
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
    // The style is built in, and a test renders it.
    let _ = env.add_template("style.css", STYLE);
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
