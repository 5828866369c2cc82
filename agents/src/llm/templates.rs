//! Prompt templates and their rendering.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};

use crate::error::AgentError;

/// Templates by file name.
pub(super) const TEMPLATES: &[(&str, &str)] = &[
    ("system.j2", include_str!("../../prompts/system.j2")),
    ("question.j2", include_str!("../../prompts/question.j2")),
    ("form.j2", include_str!("../../prompts/form.j2")),
    ("prompt.j2", include_str!("../../prompts/prompt.j2")),
    ("cot.j2", include_str!("../../prompts/cot.j2")),
    ("thought.j2", include_str!("../../prompts/thought.j2")),
    ("act.j2", include_str!("../../prompts/act.j2")),
    ("vote.j2", include_str!("../../prompts/vote.j2")),
    ("critique.j2", include_str!("../../prompts/critique.j2")),
    ("refine.j2", include_str!("../../prompts/refine.j2")),
    ("emotion.j2", include_str!("../../prompts/emotion.j2")),
    ("parts.j2", include_str!("../../prompts/parts.j2")),
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default());
    for (name, source) in TEMPLATES {
        // Tests render all built-in templates, so an error here is a bug.
        env.add_template(name, source).expect("a template of the program is well formed");
    }
    env
});

/// Renders a template that is not built in, in the same environment as [`render`]. Also collapses repeated blank lines.
pub(super) fn fill(template: &str, context: &Value) -> Result<String, minijinja::Error> {
    let mut text = ENVIRONMENT.render_str(template, context)?.trim().to_owned();
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    Ok(text)
}

/// Renders a built-in template, and trims blank lines at the start and end.
pub(super) fn render(name: &str, context: &Value) -> Result<String, AgentError> {
    let wrong = |e: minijinja::Error| AgentError::infrastructure(format!("invalid prompt template {name}: {e:#}"));
    let text = ENVIRONMENT.get_template(name).map_err(wrong)?.render(context).map_err(wrong)?;
    Ok(text.trim().to_owned())
}
