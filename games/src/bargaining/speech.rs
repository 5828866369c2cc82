//! Notations of moves: short text, JSON documents and sentences.

use ludex_env::game::{Action, GameMoves, GameText, ParsedMove, Seat};
use ludex_protocol::error::Issue;
use serde_json::{Map, Value, json};

use super::{AGREE, Bargaining, PerItem, State};

/// Maximum length of a message in characters.
const MOST_WORDS: usize = 1_000;
const NUMBERS: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

/// Returns the JSON Schema for a move given as a JSON document.
pub(super) fn schema() -> Value {
    json!({
        "description": "An offer (how many of each item you keep) or a deal, and words for the other player.",
        "type": "object",
        "properties": {
            "offer": { "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": 7 }, "minItems": 3, "maxItems": 3 },
            "deal": { "const": true, "description": "Accepts the other's last offer." },
            "say": { "type": "string", "maxLength": MOST_WORDS },
        },
        "oneOf": [{ "required": ["offer"] }, { "required": ["deal"] }],
        "additionalProperties": false,
    })
}

fn issue(path: &str, got: &Value, allowed: impl Into<Value>, message: impl Into<String>) -> Vec<Issue> {
    vec![Issue::new(path, got, allowed, message)]
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    words.map(str::to_ascii_lowercase).collect()
}

fn number(word: &str) -> Option<u8> {
    let named = NUMBERS.iter().position(|n| *n == word).map(|n| n as u8);
    named.or_else(|| word.parse().ok())
}

impl Bargaining {
    /// Returns the index of the item with this name, singular or plural.
    fn item(&self, word: &str) -> Option<usize> {
        let singular = word.strip_suffix('s').unwrap_or(word);
        self.names().iter().position(|name| name.eq_ignore_ascii_case(singular))
    }

    /// Parses text that contains a move and nothing else.
    pub(super) fn short(&self, text: &str) -> Option<Action> {
        let mut words = words(text);
        words.retain(|w| w != "offer" && w != "and");
        match &words[..] {
            [word] if matches!(word.as_str(), "agree" | "deal") => Some(AGREE),
            [id] => id.parse().ok(),
            [a, b, c] => self.id(&[number(a)?, number(b)?, number(c)?]),
            six if six.len() == 6 => {
                let name_first = self.item(&six[0]).is_some();
                let mut kept = [None; 3];
                for pair in six.chunks_exact(2) {
                    let [name, n] = if name_first { [&pair[0], &pair[1]] } else { [&pair[1], &pair[0]] };
                    kept[self.item(name)?] = Some(number(n)?);
                }
                self.id(&[kept[0]?, kept[1]?, kept[2]?])
            }
            _ => None,
        }
    }

    /// Parses a move in free text: the short notation, three numbers each followed by an item name, or the word "deal".
    fn free(&self, text: &str) -> Option<Action> {
        if let Some(a) = self.short(text) {
            return Some(a);
        }
        let (mut kept, mut last): ([Option<u8>; 3], _) = ([None; 3], None);
        let words = words(text);
        for word in &words {
            match self.item(word) {
                Some(item) => kept[item] = last.take().or(kept[item]),
                None => last = number(word).or(last),
            }
        }
        if let [Some(a), Some(b), Some(c)] = kept {
            return self.id(&[a, b, c]);
        }
        words.iter().any(|w| w == "deal" || w == "agree").then_some(AGREE)
    }

    /// Converts a document that matches the schema to an action and an optional message.
    pub(super) fn decode(&self, document: &Value) -> Result<(Action, Option<String>), Vec<Issue>> {
        let a = match document.get("offer") {
            None => AGREE,
            Some(offer) => {
                let kept: Option<PerItem> = serde_json::from_value(offer.clone()).ok();
                let wrong =
                    || issue("/offer", offer, "three numbers with a sum of at most 7", "the offer is not valid");
                kept.and_then(|kept| self.id(&kept)).ok_or_else(wrong)?
            }
        };
        let say = document.get("say").and_then(Value::as_str).unwrap_or_default().trim();
        Ok((a, (!say.is_empty()).then(|| say.to_owned())))
    }

    /// Splits a sentence such as `I like hats. player_0: 1 hats 2 balls 0 apples` into the move after the speaker's
    /// name and the message before it. Without the name, parses the whole text as a move.
    fn sentence(&self, seat: Seat, text: &str) -> Option<(Action, Option<String>)> {
        let lower = text.to_ascii_lowercase();
        let name = [format!("player_{seat}:"), format!("p{seat}:")];
        let found = name.iter().find_map(|name| lower.rfind(name.as_str()).map(|at| (at, at + name.len())));
        let Some((before, after)) = found else { return self.free(text).map(|a| (a, None)) };
        let say: String = text[..before].trim().chars().take(MOST_WORDS).collect();
        let say = say.trim().to_owned();
        self.free(&text[after..]).map(|a| (a, (!say.is_empty()).then_some(say)))
    }

    pub(super) fn read_document(&self, s: &State, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        if !self.params.talk {
            return Err(issue("", document, "an action id, or its text", "documents require the parameter talk"));
        }
        let (a, say) = match document {
            Value::String(text) => self.sentence(seat, text).ok_or_else(|| {
                let names = self.names().join(", ");
                let allowed = format!("`player_{seat}:`, then `Deal` or a number before each of {names}");
                vec![Issue::unparsed(document, allowed, "the text contains neither an offer nor a deal")]
            })?,
            other => self.decode(other)?,
        };
        let Some(say) = say else { return Ok(ParsedMove::Action(a)) };
        if !self.is_legal(s, seat, a) {
            let path = if a == AGREE { "/deal" } else { "/offer" };
            let allowed = if a == AGREE { json!("an offer") } else { json!({ "at most": s.pool }) };
            return Err(issue(path, document, allowed, self.why_not(s, seat, a)));
        }
        let mut canonical = Map::new();
        if a == AGREE {
            canonical.insert("deal".into(), true.into());
        } else {
            canonical.insert("offer".into(), json!(self.offer(a)));
        }
        canonical.insert("say".into(), say.into());
        Ok(ParsedMove::Document(canonical.into()))
    }
}
