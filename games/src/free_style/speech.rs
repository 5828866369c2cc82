//! Negotiation messages and plies as JSON documents, and the analysis of rule documents.

use std::sync::{Arc, LazyLock};

use ludex_env::draw::Stream;
use ludex_env::game::{Action, Game, GameMoves, GameText, ParsedMove, Seat, ToMove};
use ludex_protocol::error::Issue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ids::{ACCEPT, REJECT};
use super::rules::Rules;
use super::validate::flaw;
use super::{FreeStyle, State, document, sample, validate, words};

/// Maximum number of words in the field `say`.
const MOST_WORDS: usize = 120;
/// Maximum number of characters in the field `say`.
const MOST_CHARS: usize = 1_200;

/// The type of a negotiation message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageAct {
    /// Proposes rules while the other seat has no open proposal.
    Propose,
    /// Proposes rules as a reply to the other seat's open proposal.
    Counter,
    /// Accepts the other seat's open proposal.
    Accept,
    /// Declines the other seat's proposal.
    Reject,
}

#[derive(Clone, Debug)]
pub(super) struct Message {
    pub seat: Seat,
    pub act: MessageAct,
    pub rules: Option<Arc<Rules>>,
    pub say: Option<String>,
}

impl Message {
    /// Returns the message of an action id.
    pub(super) fn of_id(seat: Seat, a: Action) -> Self {
        let (act, rules) = match a {
            0..ACCEPT => (MessageAct::Propose, Some(Rules::built_in(a as usize).clone())),
            ACCEPT => (MessageAct::Accept, None),
            _ => (MessageAct::Reject, None),
        };
        Message { seat, act, rules, say: None }
    }
}

/// Parses a message from its canonical document.
pub(super) fn message(seat: Seat, document: &Value) -> Option<Message> {
    let act = serde_json::from_value(document.get("act")?.clone()).ok()?;
    let rules = match document.get("rules") {
        None => None,
        Some(value) => Some(Arc::new(serde_json::from_value(value.clone()).ok().and_then(Rules::of)?)),
    };
    let say = document.get("say").and_then(Value::as_str).map(str::to_owned);
    Some(Message { seat, act, rules, say })
}

/// Returns the JSON Schema of a message.
pub(super) fn schema() -> Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        json!({
            "description": "A message of the negotiation: rules to propose or to counter with, or an answer to the other's.",
            "type": "object",
            "properties": {
                "act": { "type": "string", "enum": ["propose", "counter", "accept", "reject"] },
                "rules": document::schema(),
                "hash": { "type": "string", "pattern": "^[0-9a-f]{8}$", "description": "With accept: the hash of the rules." },
                "say": { "type": "string", "maxLength": MOST_CHARS, "description": "At most 120 words to the other player." },
            },
            "required": ["act"],
            "additionalProperties": false,
        })
    });
    SCHEMA.clone()
}

/// Returns the JSON Schema of a ply.
pub(super) fn play_schema() -> Value {
    json!({
        "description": "A ply, such as c3, c3=7, n:c3=7, b1-b2 or pass.",
        "type": "object",
        "properties": { "move": { "type": "string", "maxLength": 40 } },
        "required": ["move"],
        "additionalProperties": false,
    })
}

/// Returns the fields of a JSON object. Adds an issue for each field that is not in `keys`, and if `document` is not an
/// object.
fn fields<'a>(document: &'a Value, keys: &[&str], flaws: &mut Vec<Issue>) -> Option<&'a Map<String, Value>> {
    let Value::Object(map) = document else {
        flaws.push(flaw("unparsed", "", document, keys.to_vec(), "expected a JSON object"));
        return None;
    };
    for (key, value) in map.iter().filter(|(key, _)| !keys.contains(&key.as_str())) {
        flaws.push(flaw("schema", format!("/{key}"), value, keys.to_vec(), format!("unknown field {key}")));
    }
    Some(map)
}

impl FreeStyle {
    pub(super) fn read_document(&self, s: &State, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        match self.to_move(s) {
            ToMove::Seat(p) if p == seat && s.play.is_none() => self.read_message(s, seat, document),
            turn if turn.seats().has(seat) && s.play.is_some() => self.read_ply(s, seat, document),
            _ => Err(vec![flaw("schema", "", document, "nothing", "the seat is not to move")]),
        }
    }

    fn read_ply(&self, s: &State, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        let mut flaws = Vec::new();
        let text = match document {
            Value::String(text) => text.as_str(),
            other => {
                let map = fields(other, &["move"], &mut flaws);
                match map.and_then(|m| m.get("move")) {
                    Some(Value::String(text)) => text,
                    other => {
                        let got = other.cloned().unwrap_or_default();
                        flaws.push(flaw("schema", "/move", &got, "a ply as text", "expected text in the field move"));
                        return Err(flaws);
                    }
                }
            }
        };
        let read = self.rules(s).and_then(|rules| words::read(rules, text));
        match read {
            Some(a) if flaws.is_empty() && self.is_legal(s, seat, a) => Ok(ParsedMove::Action(a)),
            read => {
                let code = if read.is_some() { "illegal" } else { "unparsed" };
                let allowed = "c3, c3=7, n:c3=7, b1-b2 or pass, as the rules allow";
                flaws.push(flaw(code, "/move", &json!(text), allowed, self.why_not_text(s, seat, text)));
                Err(flaws)
            }
        }
    }

    fn read_message(&self, s: &State, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        let mut flaws = Vec::new();
        let Some(map) = fields(document, &["act", "rules", "hash", "say"], &mut flaws) else { return Err(flaws) };
        let given = map.get("act").cloned().unwrap_or_default();
        let act = serde_json::from_value::<MessageAct>(given.clone()).ok();
        if act.is_none() {
            let allowed = vec!["propose", "counter", "accept", "reject"];
            flaws.push(flaw("schema", "/act", &given, allowed, "the field act is missing or unknown"));
        }
        let say = match map.get("say") {
            None | Some(Value::Null) => None,
            Some(Value::String(text))
                if text.split_whitespace().count() <= MOST_WORDS && text.chars().count() <= MOST_CHARS =>
            {
                Some(text.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|t| !t.is_empty())
            }
            Some(other) => {
                let allowed = format!("a text of at most {MOST_WORDS} words and {MOST_CHARS} characters");
                flaws.push(flaw("too_long", "/say", other, allowed, "expected text within the length limit in say"));
                None
            }
        };
        let proposes = matches!(act, Some(MessageAct::Propose | MessageAct::Counter));
        for (key, belongs) in [("rules", proposes), ("hash", act == Some(MessageAct::Accept))] {
            if let Some(value) = map.get(key).filter(|_| act.is_some() && !belongs) {
                let message = format!("the field {key} is not allowed for this act");
                flaws.push(flaw("schema", format!("/{key}"), value, Value::Null, message));
            }
        }
        let mut canonical = Map::new();
        let mut id = None;
        match act {
            Some(MessageAct::Propose | MessageAct::Counter) => {
                if self.last(s) {
                    let message = self.why_not(s, seat, 0);
                    flaws.push(flaw("last_message", "/act", &given, vec!["accept", "reject"], message));
                }
                let name = if self.open(s, 1 - seat).is_some() { "counter" } else { "propose" };
                canonical.insert("act".into(), name.into());
                match map.get("rules").map(|value| validate::judge(value).into_rules()) {
                    None => {
                        flaws.push(flaw("schema", "/rules", &Value::Null, "an FSR/1 document", "the rules are missing"))
                    }
                    Some(Err(issues)) => {
                        flaws.extend(issues.into_iter().map(|i| Issue { path: format!("/rules{}", i.path), ..i }))
                    }
                    Some(Ok(rules)) => {
                        id = (0..3).find(|&k| Rules::built_in(k).canonical == rules.canonical).map(|k| k as Action);
                        canonical.insert("rules".into(), rules.canonical);
                    }
                }
            }
            Some(MessageAct::Accept) => {
                let open = self.open(s, 1 - seat).map(|rules| rules.hash.clone());
                let got = map.get("hash").cloned().unwrap_or_default();
                if open.is_none() || got.as_str() != open.as_deref() {
                    let message = match &open {
                        None => self.why_not(s, seat, ACCEPT),
                        Some(_) => "expected the hash of the other seat's latest proposal".into(),
                    };
                    flaws.push(flaw("reference", "/hash", &got, open.map_or(Value::Null, Value::from), message));
                }
                canonical.insert("act".into(), "accept".into());
                canonical.insert("hash".into(), got);
                id = Some(ACCEPT);
            }
            Some(MessageAct::Reject) => {
                canonical.insert("act".into(), "reject".into());
                id = Some(REJECT);
            }
            None => {}
        }
        if !flaws.is_empty() {
            return Err(flaws);
        }
        match (id, say) {
            (Some(a), None) => Ok(ParsedMove::Action(a)),
            (_, say) => {
                canonical.extend(say.map(|text| ("say".to_owned(), text.into())));
                Ok(ParsedMove::Document(canonical.into()))
            }
        }
    }
}

impl FreeStyle {
    /// Draws a legal document. In the negotiation, about half of the documents propose rules as long as a proposal is
    /// legal.
    pub(super) fn sample_document(&self, s: &State, seat: Seat, rng: &mut Stream) -> Option<Value> {
        if let Some(rules) = self.rules(s) {
            let all = (self.to_move(s).seats().has(seat)).then(|| self.random_action(s, seat, rng))?;
            return Some(json!({ "move": words::name(rules, all) }));
        }
        let say = ["Let us play.", "Is this fair?", "I like numbers."][rng.below(3)];
        let open = self.open(s, 1 - seat);
        match rng.below(4) {
            0 | 1 if !self.last(s) => {
                let rules = sample::valid(rng).canonical;
                Some(json!({ "act": if open.is_some() { "counter" } else { "propose" }, "rules": rules, "say": say }))
            }
            2 if open.is_some() => Some(json!({ "act": "accept", "hash": open.map(|r| &r.hash), "say": say })),
            _ => Some(json!({ "act": "reject", "say": say })),
        }
    }
}

/// Returns the result of the validation of a rule document: `valid`, `issues`, `warnings`, `canonical`, `hash`,
/// `summary`, `symmetric` and `playouts`.
pub(super) fn analysis(question: &Value) -> Value {
    let verdict = validate::verdict(question);
    let mut out = json!({
        "valid": verdict.issues.is_empty(),
        "issues": verdict.issues,
        "warnings": verdict.warnings,
    });
    if let Some(rules) = &verdict.rules {
        out["canonical"] = rules.canonical.clone();
        out["hash"] = rules.hash.clone().into();
        out["summary"] = rules.summary().into();
        out["symmetric"] = validate::symmetric(&rules.document).into();
    }
    if let Some(p) = verdict.playouts {
        let mean = f64::from(p.plies) / f64::from(p.wins[0] + p.wins[1] + p.draws);
        out["playouts"] = json!({ "wins": p.wins, "draws": p.draws, "mean_plies": mean });
    }
    out
}
