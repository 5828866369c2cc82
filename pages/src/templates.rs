//! Templates, compiled on first use.

use std::sync::LazyLock;

use ludex_report::display::count;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, context};

use super::{Page, Visitor, assets, result_text, text};

const SOURCES: [(&str, &str); 18] = [
    ("agent.html", include_str!("../templates/agent.html")),
    ("base.html", include_str!("../templates/base.html")),
    ("consent.html", include_str!("../templates/consent.html")),
    ("error.html", include_str!("../templates/error.html")),
    ("game.html", include_str!("../templates/game.html")),
    ("home.html", include_str!("../templates/home.html")),
    ("ladder.html", include_str!("../templates/ladder.html")),
    ("ladders.html", include_str!("../templates/ladders.html")),
    ("login.html", include_str!("../templates/login.html")),
    ("macros.html", include_str!("../templates/macros.html")),
    ("match.html", include_str!("../templates/match.html")),
    ("matches.html", include_str!("../templates/matches.html")),
    ("play.html", include_str!("../templates/play.html")),
    ("register.html", include_str!("../templates/register.html")),
    ("registered.html", include_str!("../templates/registered.html")),
    ("run-play.html", include_str!("../templates/run-play.html")),
    ("run.html", include_str!("../templates/run.html")),
    ("runs.html", include_str!("../templates/runs.html")),
];

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Chainable);
    env.set_auto_escape_callback(|_| AutoEscape::Html);
    env.add_filter("clean", |words: Value| text::clean(&words_of(&words), text::LONG));
    env.add_filter("name", |words: Value| text::clean(&words_of(&words), text::NAME));
    env.add_filter("cell", |words: Value| Value::from_safe_string(text::cell(&words_of(&words))));
    env.add_filter("when", |ms: Value| i64::try_from(ms).map(text::when).unwrap_or_default());
    env.add_filter("count", |n: usize, one: String, many: String| count(n, &one, &many));
    env.add_filter("path", |part: Value| text::path(&words_of(&part)));
    for (name, source) in SOURCES {
        if let Err(error) = env.add_template(name, source) {
            tracing::error!(name, %error, "template parsing failed");
        }
    }
    env
});

/// Formats a template value as text; empty if the value is missing.
fn words_of(value: &Value) -> String {
    if value.is_none() || value.is_undefined() { String::new() } else { value.to_string() }
}

/// Renders a page with the links for its visitor.
pub(super) fn render(page: &Page, Visitor { account, may_register }: Visitor) -> Result<String, Error> {
    let (view, account) = (Value::from(Serde(page)), Value::from(Serde(account)));
    let (script, style, curves) = (assets::script(), assets::style(), assets::curves());
    let whys = result_text::END_REASON_TEXTS.as_str();
    TEMPLATES
        .get_template(page.template())?
        .render(context! { script, style, curves, account, may_register, whys, ..view })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_nouns_agree_with_their_numbers() {
        let shown = |n: u64| TEMPLATES.render_str("{{ n|count('match', 'matches') }}", context! { n }).unwrap();
        assert_eq!([shown(0), shown(1), shown(2)], ["0 matches", "1 match", "2 matches"]);
    }

    #[test]
    fn every_template_compiles() {
        for (name, _) in SOURCES {
            TEMPLATES.get_template(name).unwrap();
        }
    }
}
