//! Judge: a language model that answers a question about a text by labels.

use ludex_env::Stream;
use ludex_protocol::Refusal;
use ludex_protocol::call::{Call, ChatMessage, ChatRole};
use serde_json::{Value, json};

use super::api::ChatRequest;
use super::endpoint::Endpoint;
use super::model::read;
use super::parse_answer::{labelled, objects, spoken};
use crate::error::AgentError;
use crate::spec::AgentSpec;

/// Maximum number of calls for one question.
const TRIES: u64 = 3;

/// Language model as a judge.
pub struct Judge {
    endpoint: Endpoint,
}

/// Question to a judge.
pub struct JudgeQuestion<'q> {
    /// System prompt, which tells the judge its task.
    pub role: &'q str,
    /// Decision to judge, followed by the question.
    pub text: &'q str,
    /// Labels with their descriptions.
    pub labels: &'q [(&'q str, &'q str)],
    /// True if any number of labels may apply, false for exactly one.
    pub several: bool,
}

/// Answer of a judge.
pub struct JudgeAnswer {
    /// Labels that apply; `None` if no reply had readable labels.
    pub labels: Option<Vec<String>>,
    pub reason: Option<String>,
    /// Calls of the question, with those whose replies had no readable labels.
    pub calls: Vec<Call>,
}

impl Judge {
    /// Creates a judge from an `llm` spec. Arguments that affect prompts of games are ignored, and calls are never batched.
    ///
    /// # Errors
    /// A spec of another agent, or a missing API key.
    pub fn new(spec: &AgentSpec) -> Result<Judge, Refusal> {
        Ok(Judge { endpoint: Endpoint::new(read(spec)?)? })
    }

    /// Asks for the labels, and again with the reason if the reply has none.
    ///
    /// # Errors
    /// A failed call; the error suggests a remedy.
    pub fn ask(&self, question: &JudgeQuestion<'_>) -> Result<JudgeAnswer, AgentError> {
        let mut rng = Stream::from_text("ludex.v1:judge");
        let mut answer = JudgeAnswer { labels: None, reason: None, calls: Vec::new() };
        let mut refused: Vec<ChatMessage> = Vec::new();
        for attempt in 0..TRIES {
            let mut call = self.endpoint.send_in_best_format(|schema| {
                let messages = [messages(question, schema), refused.clone()].concat();
                let request = ChatRequest {
                    messages: &messages,
                    schema: schema.then(|| self::schema(question)),
                    metadata: None,
                    // A repeated request with the same seed could get the same reply.
                    seed: self.endpoint.settings.seed.map(|seed| seed.wrapping_add(attempt)),
                    origin: None,
                };
                let sent = self.endpoint.send(&request, None, &mut rng)?;
                Ok(self.endpoint.entry("label", messages, sent))
            })?;
            let found = parse(question, &call.answer);
            call.verdict = if found.is_ok() { "ok" } else { "unparsed" }.to_owned();
            let said = if call.answer.trim().is_empty() { "(no answer)" } else { &call.answer };
            refused.push(ChatMessage::new(ChatRole::Assistant, said));
            answer.calls.push(call);
            match found {
                Ok((labels, reason)) => {
                    (answer.labels, answer.reason) = (Some(labels), reason);
                    break;
                }
                Err(why) => refused.push(ChatMessage::new(ChatRole::User, format!("{why}. Reply again in this form."))),
            }
        }
        Ok(answer)
    }
}

fn messages(question: &JudgeQuestion<'_>, schema: bool) -> Vec<ChatMessage> {
    let mut text = format!("{}\n\n", question.text.trim_end());
    for (number, (label, about)) in (1..).zip(question.labels) {
        text += &format!("Option {number}: {label}. {about}\n");
    }
    text += match (question.several, schema) {
        (true, true) => {
            "\nReply with JSON: a short `reason`, and in `labels` every label that applies, or an empty list.\n"
        }
        (false, true) => "\nReply with JSON: a short `reason`, and in `label` the one label that applies.\n",
        (true, false) => {
            "\nReply with a short reason, and end with this line. Name every option that applies, or write none.\nLabels: <labels, separated by \
             commas>\n"
        }
        (false, false) => "\nReply with a short reason, and end with this line.\nLabel: <the one label that applies>\n",
    };
    vec![ChatMessage::new(ChatRole::System, question.role), ChatMessage::new(ChatRole::User, text)]
}

/// Returns the JSON schema of a reply.
fn schema(question: &JudgeQuestion<'_>) -> Value {
    let labels: Vec<&str> = question.labels.iter().map(|(label, _)| *label).collect();
    let label = json!({ "type": "string", "enum": labels });
    let (name, form) =
        if question.several { ("labels", json!({ "type": "array", "items": label })) } else { ("label", label) };
    json!({
        "type": "object", "required": ["reason", name], "additionalProperties": false,
        "properties": { "reason": { "type": "string" }, name: form },
    })
}

/// Parses a reply as labels with a reason.
///
/// # Errors
/// The reason that the reply has no readable labels, with the allowed labels.
fn parse(question: &JudgeQuestion<'_>, answer: &str) -> Result<(Vec<String>, Option<String>), String> {
    let spoken = spoken(answer);
    let allowed: Vec<&str> = question.labels.iter().map(|(label, _)| *label).collect();
    let expected = if question.several { "labels" } else { "one label" };
    let wrong = |got: &str| format!("expected {expected}, got {got}; allowed: {}", allowed.join(", "));
    let of_object = objects(spoken).into_iter().rev().find_map(|(_, _, object)| {
        let value = ["labels", "label"].iter().find_map(|name| object.get(*name))?.clone();
        Some((value, object.get("reason").and_then(Value::as_str).map(str::to_owned)))
    });
    let (texts, reason): (Vec<String>, Option<String>) = match of_object {
        Some((Value::Array(all), reason)) => {
            (all.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect(), reason)
        }
        Some((Value::String(text), reason)) => (vec![text], reason),
        Some((other, _)) => return Err(wrong(&other.to_string())),
        None => {
            let line = ["labels", "label"].iter().find_map(|name| labelled(spoken, name).last());
            let (at, line) = line.ok_or_else(|| wrong("none"))?;
            let reason = spoken[..at].trim().trim_end_matches(|c: char| !c.is_alphanumeric() && c != '.');
            let texts = line.split([',', ';']).map(str::to_owned).collect();
            (texts, Some(reason.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(" ")))
        }
    };
    let mut labels: Vec<String> = Vec::new();
    for text in &texts {
        let text =
            text.trim().trim_matches(['"', '\'', '`', '*', '.', '[', ']', '<', '>', '(', ')', ' ']).to_lowercase();
        let text = text.strip_prefix("option ").unwrap_or(&text);
        if text.is_empty() || question.several && ["none", "0"].contains(&text) {
            continue;
        }
        let numbered = text.parse::<usize>().ok().and_then(|number| allowed.get(number.checked_sub(1)?).copied());
        let label = allowed.iter().copied().find(|label| *label == text).or(numbered);
        let label = label.ok_or_else(|| wrong(&format!("{text:?}")))?.to_owned();
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    if !question.several && labels.len() != 1 {
        return Err(wrong(&labels.len().to_string()));
    }
    Ok((labels, reason.filter(|reason| !reason.trim().is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(several: bool) -> JudgeQuestion<'static> {
        JudgeQuestion { role: "You judge.", text: "Text.", labels: &[("sum", "A sum."), ("rule", "A rule.")], several }
    }

    #[test]
    fn labels_are_parsed_from_json_and_lines() {
        let parsed =
            |several: bool, answer: &str| parse(&question(several), answer).map(|(labels, _)| labels.join(" "));
        for (several, answer, labels) in [
            (true, r#"{"reason": "x", "labels": ["rule", "sum"]}"#, "rule sum"),
            (true, r#"I think so. ```json {"labels": []}```"#, ""),
            (true, "It adds wrongly.\nLabels: sum, Rule", "sum rule"),
            (true, "<think>Labels: sum</think>\n**Labels:** none", ""),
            (true, "Labels: 2", "rule"),
            (false, r#"{"label": "sum"}"#, "sum"),
            (false, "Wrong.\nLabel: option 2.", "rule"),
        ] {
            assert_eq!(parsed(several, answer).as_deref(), Ok(labels), "{answer}");
        }
        for (several, answer, why) in [
            (true, "I cannot say.", "expected labels, got none; allowed: sum, rule"),
            (true, r#"{"labels": ["sun"]}"#, "expected labels, got \"sun\"; allowed: sum, rule"),
            (true, "Labels: 3", "expected labels, got \"3\"; allowed: sum, rule"),
            (false, r#"{"label": ["sum", "rule"]}"#, "expected one label, got 2; allowed: sum, rule"),
            (false, "Label: none", "expected one label, got \"none\"; allowed: sum, rule"),
        ] {
            assert_eq!(parsed(several, answer).unwrap_err(), why, "{answer}");
        }
        let reason = parse(&question(true), "It adds wrongly.\n\nLabels: sum").unwrap().1;
        assert_eq!(reason.as_deref(), Some("It adds wrongly."));
    }
}
