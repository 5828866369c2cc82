//! Reading answers: which move an answer means, and what stands beside it.

use ludex_env::erased::DynView;
use ludex_env::{Action, Ask};
use ludex_protocol::Move;
use serde_json::Value;

use super::api::{CUT, REFUSED};
use crate::reading::understand;

/// Labels: a move follows such a word and a colon.
const LABELS: [&str; 3] = ["answer", "action", "move"];
/// Handed to the rules when there is nothing to quote. No game reads it as a move; a test checks that.
pub(super) const NOTHING: &str = "no move";
/// How much of an answer without a move is shown to the rules, and so to the model.
const EXCERPT: usize = 120;
/// A last line without a label is taken for a move if it has at most this many characters: longer ones are prose.
const BARE: usize = 60;

/// What an answer turned out to be.
pub(super) struct Reading {
    /// `ok`, `illegal`, `unparsed`, `empty`, `refused` or `truncated`.
    pub(super) verdict: &'static str,
    /// The move, where there is one.
    pub(super) mv: Option<Move>,
    /// The move's own text.
    pub(super) read: Option<String>,
    /// Without a move, the text that is handed to the rules so that they say what is wrong with it.
    pub(super) said: String,
    /// The letter, if it is one of A to E.
    pub(super) emotion: Option<char>,
    pub(super) analysis: Option<String>,
}

impl Reading {
    pub(super) fn ok(&self) -> bool {
        self.mv.is_some()
    }

    /// What the agent answers: the move, or the text that the rules will refuse.
    pub(super) fn into_move(self) -> Move {
        self.mv.unwrap_or(Move::Text(self.said))
    }
}

/// Reads an answer to `ask`: of everything in it that may be a move, the last that is one.
pub(super) fn read(ask: &Ask<'_>, view: &dyn DynView, answer: &str, finish: Option<&str>) -> Reading {
    let all = candidates(answer);
    let found = all.iter().rev().find_map(|c| Some((c, meant(ask, view, c)?)));
    let beside = |name: &str| note(answer, name);
    let emotion = beside("emotion").and_then(|text| letter(&text));
    let analysis = beside("analysis");
    if let Some((_, mv)) = found {
        let read = match &mv {
            Move::Id(a) => {
                Action::try_from(*a).map(|a| view.action_text(ask.seat, a)).unwrap_or_else(|_| a.to_string())
            }
            Move::Document(document) => document.to_string(),
            Move::Text(text) => text.clone(),
        };
        return Reading { verdict: "ok", mv: Some(mv), read: Some(read), said: String::new(), emotion, analysis };
    }
    let illegal = all.iter().rev().find(|c| names_any(ask, view, c));
    let last = all.last().map(Candidate::text).unwrap_or_default();
    let (verdict, said) = match (illegal, finish) {
        (_, Some(REFUSED)) => ("refused", answer.trim().to_owned()),
        (Some(c), _) => ("illegal", c.text()),
        (_, Some(CUT)) => ("truncated", NOTHING.to_owned()),
        _ if answer.trim().is_empty() => ("empty", NOTHING.to_owned()),
        _ => ("unparsed", last),
    };
    Reading { verdict, mv: None, read: None, said: harmless(ask, view, &said), emotion, analysis }
}

/// The number from 1 to `most` that a vote ends with.
pub(super) fn vote(answer: &str, most: usize) -> Option<usize> {
    let line = answer.lines().rev().find(|l| l.chars().any(|c| c.is_ascii_digit()))?;
    let last = line.split(|c: char| !c.is_ascii_digit()).rfind(|n| !n.is_empty())?;
    last.parse().ok().filter(|n| (1..=most).contains(n))
}

/// The emotion that an answer to the question for one names.
pub(super) fn emotion(answer: &str) -> Option<char> {
    note(answer, "emotion").as_deref().or(answer.trim().lines().next_back()).and_then(letter)
}

/// Something in an answer that may be the move.
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

/// The move that a candidate is, if it is one that may be made.
fn meant(ask: &Ask<'_>, view: &dyn DynView, candidate: &Candidate) -> Option<Move> {
    let documents = view.spec().proposals.is_some();
    match candidate {
        Candidate::Text(text) => {
            // Bare numbers mean what the game's own notation says; ids are not for models, who cannot know them.
            let parsed = forms(text).find_map(|form| view.parse(ask.seat, ask.legal, form));
            let heard = || documents.then(|| understand(ask, view, &Move::Text(text.clone())).ok()).flatten();
            parsed.map(|a| Move::Id(a.into())).or_else(heard)
        }
        Candidate::Document(document) if documents => understand(ask, view, &Move::Document(document.clone())).ok(),
        Candidate::Document(_) => None,
    }
}

/// Whether a candidate names an action of the game at all.
fn names_any(ask: &Ask<'_>, view: &dyn DynView, candidate: &Candidate) -> bool {
    let Candidate::Text(text) = candidate else { return false };
    let all: Vec<Action> = (0..view.spec().actions).collect();
    forms(text).any(|form| view.parse(ask.seat, &all, form).is_some())
}

/// `said`, cut to an excerpt; or [`NOTHING`] if the rules would read it as a move after all (as games of speech might).
fn harmless(ask: &Ask<'_>, view: &dyn DynView, said: &str) -> String {
    let line: Vec<&str> = said.split_whitespace().collect();
    let line: String = line.join(" ").chars().take(EXCERPT).collect();
    if line.is_empty() || understand(ask, view, &Move::Text(line.clone())).is_ok() { NOTHING.to_owned() } else { line }
}

/// The forms of a candidate to try: as it is, without markup, without brackets, and without a trailing explanation.
fn forms(text: &str) -> impl Iterator<Item = &str> {
    const MARKUP: &[char] = &['*', '`', '<', '>', '_', '"', '\'', '\u{201c}', '\u{201d}', '.', ',', ';', '!', ' '];
    const BRACKETS: &[char] = &['[', ']', '(', ')', '{', '}', '$'];
    let plain = text.trim();
    let bare = plain.trim_matches(MARKUP);
    let naked = bare.trim_matches(|c| MARKUP.contains(&c) || BRACKETS.contains(&c));
    let cut = [" (", " - ", " \u{2013} ", " \u{2014} ", ". ", " because "].iter().filter_map(|s| bare.find(s)).min();
    let first = cut.map_or(bare, |end| bare[..end].trim_matches(MARKUP));
    [plain, bare, naked, first].into_iter().filter(|form| !form.is_empty())
}

/// Everything that may be the move, in the order of the answer: values of JSON objects, and text after labels. A short last
/// line comes first in the list, so that it is tried last.
fn candidates(answer: &str) -> Vec<Candidate> {
    let mut found: Vec<(usize, Candidate)> = Vec::new();
    let objects = objects(answer);
    for (start, end, object) in &objects {
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
    found.sort_by_key(|(at, _)| *at);
    let line = answer.lines().map(str::trim).rfind(|l| l.chars().any(char::is_alphanumeric));
    let last = line.filter(|l| l.chars().count() <= BARE).map(|l| Candidate::Text(l.to_owned()));
    last.into_iter().chain(found.into_iter().map(|(_, c)| c)).collect()
}

/// The JSON objects in a text (fenced or not), with where each begins and ends; none inside another.
fn objects(text: &str) -> Vec<(usize, usize, Value)> {
    let mut all = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find('{').map(|at| from + at) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        from = match values.next() {
            Some(Ok(object)) => {
                let end = start + values.byte_offset();
                all.push((start, end, object));
                end
            }
            _ => start + 1,
        };
    }
    all
}

/// The text after each `label` and colon, to the end of the line; if that is empty, the next line that is not.
fn labelled<'a>(text: &'a str, label: &'a str) -> impl Iterator<Item = (usize, String)> + 'a {
    let lower = text.to_ascii_lowercase();
    let places: Vec<usize> = lower.match_indices(label).map(|(at, _)| at).collect();
    places.into_iter().filter_map(move |at| {
        if text[..at].ends_with(char::is_alphanumeric) {
            return None;
        }
        let behind = text[at + label.len()..].trim_start_matches(['*', '_', '`', '"', ' ']);
        let behind = behind.strip_prefix(':').or_else(|| behind.strip_prefix('\u{ff1a}'))?;
        let mut lines = behind.lines().map(str::trim);
        let text = lines.find(|l| l.chars().any(char::is_alphanumeric)).unwrap_or_default();
        Some((at, text.to_owned()))
    })
}

/// What an answer says beside the move under this name, in JSON or behind a label.
fn note(answer: &str, name: &str) -> Option<String> {
    let json =
        objects(answer).into_iter().rev().find_map(|(_, _, object)| Some(object.get(name)?.as_str()?.to_owned()));
    json.or_else(|| labelled(answer, name).last().map(|(_, text)| text)).filter(|text| !text.trim().is_empty())
}

/// The letter from A to E that a text is or begins with.
fn letter(text: &str) -> Option<char> {
    let mut chars = text.trim_start_matches(|c: char| !c.is_alphanumeric()).chars();
    let first = chars.next()?.to_ascii_uppercase();
    let alone = chars.next().is_none_or(|c| !c.is_alphanumeric());
    (('A'..='E').contains(&first) && alone).then_some(first)
}

#[cfg(test)]
mod tests {
    use ludex_env::{AgentKey, Viewer, load};

    use super::*;

    /// The verdict and the move read of an answer to the first question of a game.
    fn first(game: &str, answer: &str) -> (&'static str, Option<String>) {
        let game = load(game).unwrap();
        let state = game.start();
        let legal = state.legal_list(0);
        let view = state.view(Viewer::Seat(0));
        let ask = Ask::on_view(&*view, 0, 0, &legal, AgentKey::Own(&[0; 32]));
        let reading = read(&ask, &*view, answer, None);
        (reading.verdict, reading.read)
    }

    #[test]
    fn the_last_valid_move_wins() {
        let read = |answer| first("tic_tac_toe", answer).1;
        for answer in [
            "x(1,1)",
            "Answer: x(1,1)",
            "**Answer:** `x(1,1)`.",
            "Answer: x(0,0)\nNo, better:\nAnswer: x(1,1)",
            "Answer: x(1,1)\nAnswer: x(7,7)",
            r#"{"reason": "Answer: x(0,0)", "move": "x(1,1)"}"#,
            "Sure:\n```json\n{\"move\": \"x(1,1)\"}\n```\nGood luck!",
            r#"{"move": "x(0,0)"} or rather {"move": "x(1,1)"}"#,
            "My move: x(1,1) (the centre)",
            "Final answer:\n\nx(1,1)",
            "ANSWER: <x(1,1)>",
            "{broken {\"move\": 4}",
            "I take the centre.\nx(1,1)",
            "Action: b2 - it is the centre",
        ] {
            assert_eq!(read(answer).as_deref(), Some("x(1,1)"), "{answer}");
        }
    }

    #[test]
    fn verdicts() {
        let verdict = |answer| first("tic_tac_toe", answer).0;
        assert_eq!(verdict(""), "empty");
        assert_eq!(verdict("I would rather not say what I think about it, as it is a difficult position."), "unparsed");
        assert_eq!(verdict("Answer: o(1,1)"), "unparsed");
        assert_eq!(verdict("Remove: x(1,1) is what I would do first of all in such a position, I think."), "unparsed");
    }

    #[test]
    fn documents_and_speech_are_moves_where_the_game_takes_them() {
        let game = load("bargaining(talk=true)").unwrap();
        let mut state = game.start();
        let mut draw = ludex_env::Draw::new(game.id(), 0, 0);
        let mut outcomes = ludex_env::Outcomes::new();
        while state.turn() == ludex_env::Turn::Chance {
            state.chance(&mut outcomes);
            state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
        }
        let legal = state.legal_list(0);
        let view = state.view(Viewer::Seat(0));
        let ask = Ask::on_view(&*view, 0, 0, &legal, AgentKey::Own(&[0; 32]));
        for answer in [
            r#"{"move": {"offer": [0, 0, 0], "say": "Take it."}}"#,
            r#"I offer: {"offer": [0, 0, 0], "say": "Take it."}"#,
            "Answer: Take it. player_0: 0 books 0 hats 0 basketballs",
        ] {
            let reading = read(&ask, &*view, answer, None);
            let said = serde_json::json!({"offer": [0, 0, 0], "say": "Take it."});
            assert_eq!(reading.mv, Some(Move::Document(said)), "{answer}");
        }
    }

    #[test]
    fn a_move_of_the_game_that_is_not_legal_now_is_illegal() {
        let state = load("tic_tac_toe").unwrap().start();
        let view = state.view(Viewer::Seat(0));
        let ask = Ask::on_view(&*view, 0, 0, &[0, 1], AgentKey::Own(&[0; 32]));
        let reading = read(&ask, &*view, "Answer: x(1,1)", None);
        assert_eq!((reading.verdict, reading.mv), ("illegal", None));
    }

    /// Odd answers in every game: nothing panics, and nothing is a move that the rules would not take.
    #[test]
    fn odd_answers_are_no_moves_and_no_harm() {
        let odd = [
            "",
            NOTHING,
            "{",
            "{}",
            "{\"move\": null}",
            "{\"move\": []}",
            "Answer:",
            "Move: \u{1f600}",
            "-1",
            "999999999999",
        ];
        for entry in ludex_env::games() {
            let game = load(entry.id).unwrap();
            let (mut state, mut draw) = (game.start(), ludex_env::Draw::new(game.id(), 0, 0));
            let mut outcomes = ludex_env::Outcomes::new();
            while state.turn() == ludex_env::Turn::Chance {
                state.chance(&mut outcomes);
                state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
            }
            let seat = state.turn().seats().iter().next().unwrap();
            let legal = state.legal_list(seat);
            let view = state.view(Viewer::Seat(seat));
            let ask = Ask::on_view(&*view, seat, 0, &legal, AgentKey::Own(&[0; 32]));
            for answer in odd {
                let reading = read(&ask, &*view, answer, None);
                let given = reading.into_move();
                let is_heard = state.read(seat, &given).is_ok();
                match given {
                    Move::Id(_) => assert!(is_heard, "{}: {answer:?}", entry.id),
                    Move::Text(_) => assert!(!is_heard, "{}: {answer:?}", entry.id),
                    Move::Document(_) => panic!("{}: {answer:?} was read as {given:?}", entry.id),
                }
            }
            assert!(state.read(seat, &Move::Text(NOTHING.into())).is_err(), "{}", entry.id);
            let text = view.action_text(seat, legal[0]);
            assert_eq!(
                read(&ask, &*view, &format!("Answer: {text}"), None).mv,
                Some(Move::Id(legal[0].into())),
                "{text}"
            );
            let json = serde_json::json!({ "move": text }).to_string();
            assert_eq!(read(&ask, &*view, &json, None).mv, Some(Move::Id(legal[0].into())), "{text}");
        }
    }

    #[test]
    fn votes_and_letters() {
        assert_eq!(vote("I compared them.\nBest: 2", 3), Some(2));
        assert_eq!(vote("The best choice is 3.", 3), Some(3));
        assert_eq!(vote("Best: 4", 3), None);
        assert_eq!(vote("none", 3), None);
        for (text, expected) in
            [("B", Some('B')), ("c (Peaceful)", Some('C')), ("Happy", None), ("F", None), ("Emotion: D", Some('D'))]
        {
            assert_eq!(emotion(text), expected, "{text}");
        }
    }

    #[test]
    fn what_stands_beside_the_move_is_read() {
        assert_eq!(note(r#"{"analysis": "fine", "move": "x"}"#, "analysis").as_deref(), Some("fine"));
        assert_eq!(note("Emotion: A\nAnalysis: I am lost.\nAnswer: x", "analysis").as_deref(), Some("I am lost."));
    }
}
