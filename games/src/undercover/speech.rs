//! Notations of clues and votes.

use std::collections::BTreeMap;

use ludex_env::draw::Stream;
use ludex_env::game::{Action, GameMoves, GameText, ParsedMove, Seat, SeatSet};
use ludex_protocol::error::Issue;
use serde_json::{Map, Value, json};

use super::words::{self, lexicon};
use super::{BLANK, NONE, Phase, State, Undercover, VOTE};

/// Text that hosts submit for an agent that sends no reply. Every game refuses it, even where free text is legal.
const NO_MOVE: &str = "no move";
/// Maximum number of characters of a guess.
const GUESS: usize = 40;

fn issue(code: &str, path: &str, got: &Value, allowed: impl Into<Value>, message: impl Into<String>) -> Vec<Issue> {
    vec![Issue::new(path, got, allowed, message).code(code)]
}

/// Returns the vote's action id and the guesses (seat and word) of a canonical vote.
pub(super) fn ballot(document: &Value) -> (Action, Vec<(u8, String)>) {
    let target = document.get("vote").and_then(Value::as_str).and_then(number).unwrap_or(0);
    let guesses = document.get("guesses").and_then(Value::as_object).into_iter().flatten();
    let guesses = guesses.filter_map(|(key, word)| Some((number(key)? as u8, word.as_str()?.to_owned())));
    (target.min(9), guesses.collect())
}

/// Parses the name of a seat, such as `player_1`.
fn number(name: &str) -> Option<Action> {
    name.strip_prefix("player_").and_then(|n| n.parse().ok())
}

/// Returns the last seat named in a text. A text that is only a number names the seat of that number.
fn parse_vote(text: &str) -> Option<Action> {
    let lower = text.to_ascii_lowercase();
    let after = lower.rmatch_indices("player_").find_map(|(at, found)| {
        let digits: String = lower[at + found.len()..].chars().take_while(char::is_ascii_digit).take(4).collect();
        digits.parse().ok()
    });
    let bare = lower.trim().trim_start_matches("vote:").trim();
    after.or_else(|| bare.parse().ok())
}

/// Collapses white space, and removes all quotes around the text: the result is the same if it is read again, as in a record.
fn trimmed(text: &str) -> String {
    let quotes = [('"', '"'), ('\'', '\''), ('\u{201c}', '\u{201d}'), ('\u{2018}', '\u{2019}'), ('\u{ab}', '\u{bb}')];
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut bare = text.as_str();
    while let Some(inner) = quotes.iter().find_map(|&(a, b)| bare.strip_prefix(a)?.strip_suffix(b)) {
        bare = inner.trim();
    }
    bare.to_owned()
}

impl Undercover {
    pub(super) fn schemas(&self) -> BTreeMap<String, Value> {
        let clue = json!({
            "description": "A clue to your word, which must not hold the word itself.",
            "type": "object",
            "properties": { "clue": { "type": "string", "maxLength": self.params.clue_chars } },
            "required": ["clue"],
            "additionalProperties": false,
        });
        let name = json!({ "type": "string", "pattern": "^player_[0-9]$" });
        let mut fields = Map::from_iter([("vote".to_owned(), name)]);
        if self.params.guesses {
            let guesses = json!({
                "description": "The words of others, as far as you can guess them.",
                "type": "object",
                "patternProperties": { "^player_[0-9]$": { "type": "string", "maxLength": GUESS } },
                "additionalProperties": false,
            });
            fields.insert("guesses".into(), guesses);
        }
        let vote = json!({
            "description": "The player who should be out.",
            "type": "object",
            "properties": fields,
            "required": ["vote"],
            "additionalProperties": false,
        });
        [("clue".to_owned(), clue), ("vote".to_owned(), vote)].into()
    }

    pub(super) fn read_document(&self, s: &State, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        match s.phase {
            Phase::Clue if Self::speaker(s) == seat => self.read_clue(s, seat, document),
            Phase::Vote if s.alive >> seat & 1 == 1 => self.read_vote(s, seat, document),
            _ => Err(issue("schema", "", document, "nothing", "the seat does not act now")),
        }
    }

    fn read_clue(&self, s: &State, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        let form = format!("player_{seat}: your clue");
        let given = match document {
            Value::String(text) => {
                let name = format!("player_{seat}:");
                match text.to_ascii_lowercase().rfind(&name) {
                    Some(at) => trimmed(&text[at + name.len()..]),
                    None if text.trim() == NO_MOVE => {
                        let message = "expected a clue, got the text for a missing reply";
                        return Err(vec![Issue::unparsed(document, form, message)]);
                    }
                    None if text.trim().lines().count() > 1 => {
                        let message = "expected one line, or a line that begins with your name";
                        return Err(vec![Issue::unparsed(document, form, message)]);
                    }
                    None => trimmed(text),
                }
            }
            other => match other.get("clue").and_then(Value::as_str) {
                Some(text) => trimmed(text),
                None => return Err(issue("schema", "/clue", other, form, "expected a text in the field clue")),
            },
        };
        let mut flaws = Vec::new();
        let (got, path) = (json!(given), if document.is_string() { "" } else { "/clue" });
        let most = self.params.clue_chars as usize;
        if given.chars().count() > most {
            flaws.extend(issue("too_long", path, &got, format!("at most {most} characters"), "the clue is too long"));
        }
        if words::holds(&given, self.word(s, seat)) {
            flaws.extend(issue("contains_word", path, &got, "a clue without the word", "the clue contains your word"));
        }
        let stems = words::stems(&given);
        let stock = lexicon().clues.iter().position(|c| words::equal(&c.stems, &stems)).map(|k| k as Action + 1);
        let same = |(_, id, at): (u8, u8, usize)| match stock {
            Some(a) if id != NONE => Action::from(id) == a,
            _ => words::equal(&words::stems(Self::text_of(s, at)), &stems),
        };
        if Self::running(s).any(same) {
            let message = "another player has already given this clue in this round";
            flaws.extend(issue("repeated", path, &got, "a clue that is new in this round", message));
        }
        if !flaws.is_empty() {
            return Err(flaws);
        }
        match stock {
            _ if given.is_empty() => Ok(ParsedMove::Action(BLANK)),
            Some(a) => Ok(ParsedMove::Action(a)),
            None => Ok(ParsedMove::Document(json!({ "clue": given }))),
        }
    }

    fn read_vote(&self, s: &State, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        let living: Vec<String> = SeatSet(s.alive & !(1 << seat)).iter().map(|p| format!("player_{p}")).collect();
        let (target, path) = match document {
            Value::String(text) => (parse_vote(text), ""),
            other => (other.get("vote").and_then(Value::as_str).and_then(parse_vote), "/vote"),
        };
        let Some(target) = target else {
            let unparsed = Issue::unparsed(document, living, "the vote names no player");
            return Err(vec![Issue { path: path.into(), ..unparsed }]);
        };
        let a = VOTE.saturating_add(target);
        let mut flaws = Vec::new();
        if !self.is_legal(s, seat, a) {
            let code = match target as usize {
                p if p == seat => "own_seat",
                p if p >= self.players() => "unknown_seat",
                _ => "not_alive",
            };
            flaws.extend(issue(code, path, &json!(format!("player_{target}")), living, self.why_not(s, seat, a)));
        }
        let mut guesses: Vec<(Action, String)> = Vec::new();
        for (key, word) in document.get("guesses").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("/guesses/{key}");
            let word = trimmed(word.as_str().unwrap_or_default());
            match number(key) {
                _ if !self.params.guesses => {
                    let message = "guesses are disabled in this game";
                    flaws.extend(issue("schema", &path, &json!(word), Value::Null, message));
                }
                Some(p) if p as usize == seat => {
                    flaws.extend(issue(
                        "own_seat",
                        &path,
                        &json!(word),
                        "other players",
                        "you cannot guess your own word",
                    ));
                }
                Some(p) if (p as usize) < self.players() && word.chars().count() <= GUESS => guesses.push((p, word)),
                Some(p) if (p as usize) < self.players() => {
                    let allowed = format!("at most {GUESS} characters");
                    flaws.extend(issue("too_long", &path, &json!(word), allowed, "the guess is too long"));
                }
                _ => {
                    let message = format!("{key} is not a player");
                    flaws.extend(issue("unknown_seat", &path, &json!(word), "players", message));
                }
            }
        }
        guesses.sort();
        guesses.dedup_by_key(|g| g.0);
        guesses.retain(|g| !g.1.is_empty());
        if !flaws.is_empty() {
            return Err(flaws);
        }
        if guesses.is_empty() {
            return Ok(ParsedMove::Action(a));
        }
        let guesses: Map<String, Value> = guesses.into_iter().map(|(p, w)| (format!("player_{p}"), w.into())).collect();
        Ok(ParsedMove::Document(json!({ "vote": format!("player_{target}"), "guesses": guesses })))
    }

    /// Draws a random document that is legal for `seat`.
    pub(super) fn sample_document(&self, s: &State, seat: Seat, rng: &mut Stream) -> Option<Value> {
        match s.phase {
            Phase::Clue => {
                let parts =
                    ["I saw one", "Nobody fears it", "It reminds me of Sundays", "Many have it", "Think of a trip"];
                let text = format!("{} {}", parts[rng.below(parts.len())], 100 + rng.below(900));
                let most = self.params.clue_chars as usize;
                let document = json!({ "clue": text.chars().take(most).collect::<String>() });
                self.read_clue(s, seat, &document).is_ok().then_some(document)
            }
            Phase::Vote => {
                let target = self.random_action(s, seat, rng).saturating_sub(VOTE);
                let mut document = json!({ "vote": format!("player_{target}") });
                if self.params.guesses {
                    let other = (seat + 1 + rng.below(self.players() - 1)) % self.players();
                    let list = &lexicon().words;
                    document["guesses"] = json!({ format!("player_{other}"): list[rng.below(list.len())] });
                }
                Some(document)
            }
            _ => None,
        }
    }
}
