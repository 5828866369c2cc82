//! YAML front matter of cards, in the subset that every parser reads alike: texts in double quotes, plain numbers.

use serde_json::Value;

use crate::text::clean;

/// Renders the fields of an object as front matter, between two lines of dashes. Keys must be plain words.
pub(crate) fn front_matter(fields: &Value) -> String {
    format!("---\n{}---\n\n", block(fields, 0))
}

/// Renders an object or a list, one entry per line, indented by `depth` levels.
fn block(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let entry = |head: String, value: &Value| match value {
        Value::Object(fields) if !fields.is_empty() => format!("{indent}{head}\n{}", block(value, depth + 1)),
        Value::Array(items) if !items.is_empty() => format!("{indent}{head}\n{}", block(value, depth + 1)),
        _ => format!("{indent}{head} {}\n", scalar(value)),
    };
    match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| entry(format!("{key}:"), value)).collect(),
        Value::Array(items) => items.iter().map(|item| entry("-".to_owned(), item)).collect(),
        other => format!("{indent}{}\n", scalar(other)),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        // JSON texts are YAML texts, once invisible characters are replaced.
        Value::String(text) => Value::String(clean(text)).to_string(),
        // Older parsers take `1e-7` for a text.
        Value::Number(number) if number.is_f64() => number.as_f64().map(|x| x.to_string()).unwrap_or_default(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn front_matter_nests_lists_and_objects() {
        let fields = json!({"a": ["x: \"y\"", 2], "b": [{"c": 1e-7, "d": {"e": null}}, {"c": true}], "f": []});
        let lines = [
            "---",
            "a:",
            "  - \"x: \\\"y\\\"\"",
            "  - 2",
            "b:",
            "  -",
            "    c: 0.0000001",
            "    d:",
            "      e: null",
            "  -",
            "    c: true",
            "f: []",
            "---",
            "",
            "",
        ];
        assert_eq!(front_matter(&fields), lines.join("\n"));
    }
}
