use serde_json::json;

use super::*;

#[test]
fn last_complete_object_of_text_is_returned() {
    for (text, object) in [
        ("", None),
        ("no object", None),
        ("{\"a\":1}", Some(json!({"a": 1}))),
        ("I offer:\n```json\n{\"a\": {\"b\": [1, 2]}}\n```\nThanks.", Some(json!({"a": {"b": [1, 2]}}))),
        ("first {\"a\":1}, then {\"a\":2}.", Some(json!({"a": 2}))),
        ("{well} then {\"a\":2}", Some(json!({"a": 2}))),
        ("{\"a\":1} and {\"a\": {\"b\":2}, ", Some(json!({"a": 1}))),
        ("{\"a\": {\"b\":2}, \"c\": [", None),
        ("\"{\" {\"a\":\"}\"}", Some(json!({"a": "}"}))),
        ("{\"a\":1e400}", None),
    ] {
        assert_eq!(last_object(text).unwrap(), object, "{text}");
    }
    let twice = last_object("so: {\"a\":1, \"a\":2}").unwrap_err();
    assert_eq!((twice.code.as_deref(), twice.message.contains("\"a\" occurs twice")), (Some("twice"), true));
}

#[test]
fn search_for_last_object_is_fast_on_hostile_text() {
    for part in ["{", "{\"a\":", "{\"a\":[{},", "[", "{\"a\":1}"] {
        let text = part.repeat(60_000 / part.len());
        assert!(last_object(&text).is_ok(), "{part}");
    }
}

#[test]
fn size_is_checked_before_schema() {
    let schemas = Schemas::default();
    let code = |document: &Value| schemas.check("any", document).first().and_then(|issue| issue.code.clone());
    let deep = |n| (0..n).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(code(&deep(DEPTH)), None);
    assert_eq!(code(&deep(DEPTH + 1)).as_deref(), Some("over_size"));
    assert_eq!(code(&json!(vec![0; NODES - 1])), None);
    assert_eq!(code(&json!(vec![0; NODES])).as_deref(), Some("over_size"));
}

#[test]
fn schema_check_reports_issues_up_to_limit() {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 9}, "name": {"type": "string", "maxLength": 3}},
        "required": ["n"],
        "additionalProperties": false,
    });
    let schemas = Schemas::new(Some(&[("play".to_owned(), schema)].into())).unwrap();
    let told = |document: Value| {
        let issues = schemas.check("play", &document);
        issues.into_iter().map(|i| (i.path, i.code.unwrap().into_string())).collect::<Vec<_>>()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(told(json!({"n": 3, "name": "abc"})), []);
    assert_eq!(
        told(json!({"n": 10, "name": "abcd", "x": 1})),
        [pair("/n", "maximum"), pair("/name", "maxLength"), pair("/x", "additionalProperties")]
    );
    assert_eq!(told(json!({})), [pair("/n", "required")]);
    assert_eq!(told(json!("n")), [pair("", "type")]);
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let schemas = Schemas::new(Some(&[("play".to_owned(), list)].into())).unwrap();
    let issues = schemas.check("play", &json!(vec!["x"; 100]));
    assert_eq!((issues.len(), issues[ISSUES - 1].message.as_str()), (ISSUES, "37 more issues were omitted"));
}

#[test]
fn enum_issue_lists_all_allowed_values() {
    let names = ["empty", "opp_any", "opp_lower", "opp_lower_eq", "empty_or_opp_any"];
    let schema = json!({ "type": "object", "properties": { "onto": { "type": "string", "enum": names } } });
    let schemas = Schemas::new(Some(&[("play".to_owned(), schema)].into())).unwrap();
    let issues = schemas.check("play", &json!({ "onto": "any" }));
    let all: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    assert_eq!(issues.len(), 1);
    assert_eq!(issues[0].message, format!("the value is not one of {}", all.join(", ")));
}
