//! Parsing of model replies: the move and its notes.

use ludex_env::dyn_state::DynView;
use ludex_env::{Action, MoveRequest};
use ludex_protocol::Move;
use serde_json::Value;

mod lenient;

use super::api::{FINISH_CONTENT_FILTER, FINISH_LENGTH};
use super::position;
use super::relabel::Relabel;
use crate::parse_move::parse_move;

/// Labels that mark a move in a reply when followed by a colon.
const LABELS: [&str; 3] = ["answer", "action", "move"];
/// Text submitted if no part of the reply can be quoted. A test checks that no game parses it as a move.
pub(super) const NOTHING: &str = "no move";
/// Maximum number of characters quoted from a reply without a move.
const EXCERPT: usize = 120;
/// Maximum length in characters of an unlabeled last line that is parsed as a move. Longer lines are assumed to be
/// prose.
const BARE: usize = 60;

/// Maximum number of candidates for the move in a reply: the last ones. Bounds the time that a long reply takes.
const CANDIDATES: usize = 64;
/// Maximum number of opening braces in a reply that are tried in vain as the start of a JSON object.
const BRACES: usize = 4_000;

/// Result of parsing a reply.
pub(super) struct ParsedAnswer {
    /// Verdict on the reply: `ok`, `illegal`, `unparsed`, `empty`, `refused` or `truncated`.
    pub(super) verdict: &'static str,
    /// Legal move in the reply, if there is one.
    pub(super) mv: Option<Move>,
    /// Text of the move in the game's notation.
    pub(super) read: Option<String>,
    /// Move to submit if the reply contains no legal move: the whole document, or a text. The rules refuse it, and the
    /// model gets the reason.
    pub(super) refused: Option<Move>,
    /// Emotion as a letter from A to E.
    pub(super) emotion: Option<char>,
    pub(super) analysis: Option<String>,
}

impl ParsedAnswer {
    pub(super) fn ok(&self) -> bool {
        self.mv.is_some()
    }

    /// Returns the move; without a move, the input that the rules will refuse.
    pub(super) fn into_move(self) -> Move {
        self.mv.or(self.refused).unwrap_or_else(|| Move::Text(NOTHING.to_owned()))
    }
}

/// Parses the reply to `ask`. The move is the last candidate that is legal or, without a legal candidate, the only
/// legal move named on the last line. Reasoning before the answer is skipped.
///
/// `names` are other names of the board, which the reply uses.
pub(super) fn read(
    ask: &MoveRequest<'_>,
    view: &dyn DynView,
    names: Option<&Relabel>,
    answer: &str,
    finish: Option<&str>,
) -> ParsedAnswer {
    let answer = spoken(answer);
    let back = |text: &str| names.map_or_else(|| Some(text.to_owned()), |names| names.back(text));
    let usual = |candidate: Candidate| match candidate {
        Candidate::Text(text) => back(&text).map(Candidate::Text),
        document => Some(document),
    };
    let objects = objects(answer);
    let all: Vec<Candidate> = candidates(answer, &objects).into_iter().filter_map(usual).collect();
    let legal = lenient::LegalMoveTexts::new(ask, view);
    let found = all.iter().rev().find_map(|c| meant(ask, view, &legal, c));
    let found = found
        .or_else(|| short_line(answer).and_then(back).and_then(|line| legal.only(&line)).map(|a| Move::Id(a.into())));
    let beside = |name: &str| note(answer, &objects, name);
    let emotion = beside("emotion").and_then(|text| letter(&text));
    let analysis = beside("analysis");
    if let Some(mv) = found {
        let read = match &mv {
            Move::Id(a) => {
                Action::try_from(*a).map(|a| view.action_text(ask.seat, a)).unwrap_or_else(|_| a.to_string())
            }
            Move::Document(document) => document.to_string(),
            Move::Text(text) => text.clone(),
        };
        return ParsedAnswer { verdict: "ok", mv: Some(mv), read: Some(read), refused: None, emotion, analysis };
    }
    if let Some(Candidate::Document(document)) = all.iter().rev().find(|c| matches!(c, Candidate::Document(_)))
        && finish != Some(FINISH_CONTENT_FILTER)
        && position::schema(ask, view).is_some()
    {
        let refused = Some(Move::Document(document.clone()));
        return ParsedAnswer { verdict: "illegal", mv: None, read: None, refused, emotion, analysis };
    }
    let illegal = all.iter().rev().find_map(|c| names_any(ask, view, c));
    let last = all.last().map(Candidate::text).unwrap_or_default();
    let (verdict, said) = match (illegal, finish) {
        (_, Some(FINISH_CONTENT_FILTER)) => ("refused", answer.trim().to_owned()),
        (Some(name), _) => ("illegal", name.to_owned()),
        (_, Some(FINISH_LENGTH)) => ("truncated", NOTHING.to_owned()),
        _ if answer.trim().is_empty() => ("empty", NOTHING.to_owned()),
        _ => ("unparsed", last),
    };
    let refused = Some(Move::Text(harmless(ask, view, &said)));
    ParsedAnswer { verdict, mv: None, read: None, refused, emotion, analysis }
}

/// Opening and closing tag of reasoning in a reply.
const THOUGHTS: [&str; 2] = ["<think>", "</think>"];

/// Returns the reasoning between `<think>` tags. The opening tag may be missing; in a truncated reply, the closing tag
/// may be missing.
pub(super) fn thoughts(answer: &str) -> Option<&str> {
    let [open, close] = THOUGHTS;
    let end = answer.rfind(close);
    let begin = answer.find(open).map(|at| at + open.len());
    let text = match (begin, end) {
        (Some(begin), Some(end)) => answer.get(begin..end)?,
        (None, Some(end)) => &answer[..end],
        (Some(begin), None) if answer.trim_start().starts_with(open) => &answer[begin..],
        _ => return None,
    };
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// Returns the part of a reply after the reasoning.
pub(super) fn spoken(answer: &str) -> &str {
    let [open, close] = THOUGHTS;
    match answer.rfind(close) {
        Some(end) => &answer[end + close.len()..],
        None if answer.trim_start().starts_with(open) => "",
        None => answer,
    }
}

/// Parses the vote in a reply: the last number, if it is between 1 and `most`.
pub(super) fn vote(answer: &str, most: usize) -> Option<usize> {
    let answer = spoken(answer);
    let line = answer.lines().rev().find(|l| l.chars().any(|c| c.is_ascii_digit()))?;
    let last = line.split(|c: char| !c.is_ascii_digit()).rfind(|n| !n.is_empty())?;
    last.parse().ok().filter(|n| (1..=most).contains(n))
}

/// Parses the letter in a reply to an emotion prompt.
pub(super) fn emotion(answer: &str) -> Option<char> {
    let answer = spoken(answer);
    note(answer, &objects(answer), "emotion").as_deref().or(answer.trim().lines().next_back()).and_then(letter)
}

/// Part of a reply that may be the move.
enum Candidate {
    Text(String),
    Document(Value),
}

impl Candidate {
    fn text(&self) -> String {
        match self {
            Candidate::Text(text) => text.clone(),
            Candidate::Document(document) => document.to_string(),
        }
    }
}

/// Returns the legal move that a candidate denotes, if there is one.
fn meant(
    ask: &MoveRequest<'_>,
    view: &dyn DynView,
    legal: &lenient::LegalMoveTexts,
    candidate: &Candidate,
) -> Option<Move> {
    let documents = view.spec().document_schemas.is_some();
    // Bare numbers are parsed by the game's own notation only; models do not know action ids.
    let parsed = |text: &str| {
        let exact = forms(text).find_map(|form| view.parse(ask.seat, ask.legal, form));
        exact.or_else(|| forms(text).find_map(|form| legal.find_lenient(form)))
    };
    match candidate {
        Candidate::Text(text) => {
            let heard = || documents.then(|| parse_move(ask, view, &Move::Text(text.clone())).ok()).flatten();
            parsed(text).map(|a| Move::Id(a.into())).or_else(heard)
        }
        Candidate::Document(document) => {
            let heard = || documents.then(|| parse_move(ask, view, &Move::Document(document.clone())).ok()).flatten();
            // If documents are not accepted in this turn, an object denotes the only legal move among its values.
            let speaks = documents && position::schema(ask, view).is_some();
            let leaves = if speaks { Vec::new() } else { leaves(document) };
            let mut moves: Vec<Action> = leaves.iter().filter_map(|text| parsed(text)).collect();
            moves.dedup();
            heard().or(if let [only] = moves[..] { Some(Move::Id(only.into())) } else { None })
        }
    }
}

/// Returns all strings and numbers nested in a JSON document.
fn leaves(document: &Value) -> Vec<String> {
    match document {
        Value::String(text) => vec![text.clone()],
        Value::Number(number) => vec![number.to_string()],
        Value::Array(all) => all.iter().flat_map(leaves).collect(),
        Value::Object(all) => all.values().flat_map(leaves).collect(),
        Value::Bool(_) | Value::Null => Vec::new(),
    }
}

/// Removes a list number, such as `2. `, from the start of a line.
fn unlisted(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let behind = rest.strip_prefix(['.', ')']).filter(|_| rest.len() < line.len());
    behind.filter(|text| text.starts_with(' ')).map_or(line, str::trim_start)
}

/// Returns the last line that contains a letter or digit, if it is short enough to be a move.
fn short_line(answer: &str) -> Option<&str> {
    let line = answer.lines().map(str::trim).rfind(|l| l.chars().any(char::is_alphanumeric));
    line.filter(|line| line.chars().count() <= BARE)
}

/// Returns the first form of a candidate that names an action of the game, even if the action is illegal.
fn names_any<'a>(ask: &MoveRequest<'_>, view: &dyn DynView, candidate: &'a Candidate) -> Option<&'a str> {
    let Candidate::Text(text) = candidate else { return None };
    let all: Vec<Action> = (0..view.spec().actions).collect();
    forms(text).find(|form| view.parse(ask.seat, &all, form).is_some())
}

/// Returns an excerpt of `said`. Returns [`NOTHING`] if the rules would accept the excerpt as a move, as games with
/// free text do.
fn harmless(ask: &MoveRequest<'_>, view: &dyn DynView, said: &str) -> String {
    let line: Vec<&str> = said.split_whitespace().collect();
    let line: String = line.join(" ").chars().take(EXCERPT).collect();
    if line.is_empty() || parse_move(ask, view, &Move::Text(line.clone())).is_ok() { NOTHING.to_owned() } else { line }
}

/// Returns the forms of a candidate to parse: verbatim, without markup, without brackets, and without a trailing
/// explanation.
fn forms(text: &str) -> impl Iterator<Item = &str> {
    const MARKUP: &[char] = &['*', '`', '<', '>', '_', '"', '\'', '\u{201c}', '\u{201d}', '.', ',', ';', '!', ' '];
    const BRACKETS: &[char] = &['[', ']', '(', ')', '{', '}', '$'];
    let plain = text.trim();
    let bare = plain.trim_matches(MARKUP);
    let naked = bare.trim_matches(|c| MARKUP.contains(&c) || BRACKETS.contains(&c));
    let cut = [" (", " - ", " \u{2013} ", " \u{2014} ", ". ", " because "].iter().filter_map(|s| bare.find(s)).min();
    let first = cut.map_or(bare, |end| bare[..end].trim_matches(MARKUP));
    let whole = cut.map_or(bare, |end| bare[..end].trim_end());
    [plain, bare, naked, whole, first].into_iter().filter(|form| !form.is_empty())
}

/// Returns the candidates for the move in the order of the reply: JSON objects or their labeled values, and text after
/// labels. A short last line comes first in the list, because later candidates have precedence.
fn candidates(answer: &str, objects: &[FoundObject]) -> Vec<Candidate> {
    let mut found: Vec<(usize, Candidate)> = Vec::new();
    for (start, end, object) in objects {
        match LABELS.iter().rev().find_map(|label| object.get(*label)) {
            Some(Value::String(text)) => found.push((*end, Candidate::Text(text.clone()))),
            Some(value @ Value::Object(_)) => found.push((*end, Candidate::Document(value.clone()))),
            Some(Value::Null) => {}
            Some(value) => found.push((*end, Candidate::Text(value.to_string()))),
            None => found.push((*start, Candidate::Document(object.clone()))),
        }
    }
    let inside = |at: usize| objects.iter().any(|(start, end, _)| (*start..*end).contains(&at));
    for label in LABELS {
        let labelled = labelled(answer, label).filter(|(at, _)| !inside(*at));
        found.extend(labelled.map(|(at, text)| (at, Candidate::Text(text))));
    }
    found.extend(boxed(answer).map(|(at, text)| (at, Candidate::Text(text))));
    found.sort_by_key(|(at, _)| *at);
    found.drain(..found.len().saturating_sub(CANDIDATES));
    let last = short_line(answer).map(unlisted).map(|l| Candidate::Text(l.to_owned()));
    last.into_iter().chain(found.into_iter().map(|(_, c)| c)).collect()
}

/// Returns the contents of the last LaTeX `\boxed{}`, each with its offset, without an enclosing `\text{}`.
fn boxed(answer: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    const BOX: &str = "\\boxed{";
    last(answer.match_indices(BOX).map(|(at, _)| at)).into_iter().filter_map(|at| {
        let mut depth = 1;
        let inside = answer[at + BOX.len()..].split_inclusive(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        let text = inside.take(1).next()?.strip_suffix('}')?.trim();
        let worded = ["\\text{", "\\texttt{", "\\mathrm{", "\\textbf{"].iter().find_map(|word| text.strip_prefix(word));
        Some((at, worded.and_then(|text| text.strip_suffix('}')).unwrap_or(text).trim().to_owned()))
    })
}

/// Returns the last [`CANDIDATES`] items.
fn last<T>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.drain(..items.len().saturating_sub(CANDIDATES));
    items
}

/// JSON object in a text, with its start and end offsets.
pub(super) type FoundObject = (usize, usize, Value);

/// Returns the outermost JSON objects in a text with their start and end offsets. After [`BRACES`] braces that start no
/// object, the rest of the text has none.
pub(super) fn objects(text: &str) -> Vec<FoundObject> {
    let mut all = Vec::new();
    let (mut from, mut failed) = (0, 0);
    while failed <= BRACES
        && let Some(start) = text[from..].find('{').map(|at| from + at)
    {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        from = match values.next() {
            Some(Ok(object)) => {
                let end = start + values.byte_offset();
                all.push((start, end, object));
                end
            }
            _ => {
                failed += 1;
                start + 1
            }
        };
    }
    all
}

/// Returns the text that follows each `label` and colon, with its offset: the rest of the line or, if it is empty, the
/// next non-empty line. Only the last [`CANDIDATES`] places count.
pub(super) fn labelled<'a>(text: &'a str, label: &'a str) -> impl Iterator<Item = (usize, String)> + 'a {
    let lower = text.to_ascii_lowercase();
    let behind = |at: usize| {
        if text[..at].ends_with(char::is_alphanumeric) {
            return None;
        }
        let behind = text[at + label.len()..].trim_start_matches(['*', '_', '`', '"', ' ']);
        Some((at, behind.strip_prefix(':').or_else(|| behind.strip_prefix('\u{ff1a}'))?))
    };
    let places = last(lower.match_indices(label).filter_map(|(at, _)| behind(at)));
    places.into_iter().map(|(at, behind)| {
        let mut lines = behind.lines().map(str::trim);
        let text = lines.find(|l| l.chars().any(char::is_alphanumeric)).unwrap_or_default();
        (at, text.to_owned())
    })
}

/// Returns the note `name` of a reply, from a JSON field or after a label.
fn note(answer: &str, objects: &[FoundObject], name: &str) -> Option<String> {
    let json = objects.iter().rev().find_map(|(_, _, object)| Some(object.get(name)?.as_str()?.to_owned()));
    json.or_else(|| labelled(answer, name).last().map(|(_, text)| text)).filter(|text| !text.trim().is_empty())
}

/// Parses a letter from A to E at the start of a text.
fn letter(text: &str) -> Option<char> {
    let mut chars = text.trim_start_matches(|c: char| !c.is_alphanumeric()).chars();
    let first = chars.next()?.to_ascii_uppercase();
    let alone = chars.next().is_none_or(|c| !c.is_alphanumeric());
    (('A'..='E').contains(&first) && alone).then_some(first)
}

#[cfg(test)]
mod tests;
