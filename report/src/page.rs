//! Templates of pages: the environment, the style and the macros that reports and sites share.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior, escape_formatter};

use crate::text::{clean, count, number, waited};

/// Renders a template with `page.css` and `parts.html`. All text is escaped.
pub(crate) fn render(name: &str, template: &str, context: Value) -> String {
    let env = environment();
    // The templates are built in, and tests render them. If rendering fails, the page contains the error.
    env.render_named_str(name, template, context).unwrap_or_else(|e| format!("{e:#}"))
}

/// Encodes a text as the anchor of a link.
fn anchor(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::Html);
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default());
    env.add_filter("num", number);
    env.add_filter("count", count);
    env.add_filter("hours", waited);
    env.add_filter("anchor", anchor);
    // Text from records must not hide or reverse the rest of its line.
    env.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(clean(text))),
        _ => escape_formatter(out, state, value),
    });
    let parts = [
        ("page.css", include_str!("page/page.css")),
        ("parts.html", include_str!("page/parts.html")),
        ("site.css", include_str!("page/site.css")),
    ];
    for (name, text) in parts {
        // They are built in, and tests render them.
        let _ = env.add_template(name, text);
    }
    env
}
