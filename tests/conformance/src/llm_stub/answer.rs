//! Answers of the stub: a move with text around it, or an injected fault.

use ludex_env::Stream;
use serde_json::{Map, Value, json};

use super::StubOptions;
use super::error::StubError;
use super::move_source::MoveSource;
use super::request::{JsonForm, StubRequest, tokens};

/// Reason an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    Stop,
    /// The token limit was reached.
    Length,
    Refused,
}

/// One choice of a reply.
pub(super) struct StubAnswer {
    pub(super) text: String,
    pub(super) finish: Finish,
    /// Arguments of the tool call, if the request forces a tool.
    pub(super) input: Option<Value>,
}

/// Sentence that fills the reasoning; no game parses it as a move.
const REASONING: &str = "I look at what each choice leads to, think about what the others could do then, and weigh what \
                         is gained against what is given away. ";
const PROSE: &str = "This is a position that I would like to think about some more before saying anything about it.";
const REFUSAL: &str = "I cannot help with that.";

/// Value of a schema property for thoughts or critiques.
const THOUGHT: &str = "I would keep what is safe and look for what gains most after that.";

/// Names of schema properties that are filled with reasoning.
const REASONS: [&str; 7] = ["reason", "reasoning", "analysis", "thought", "thoughts", "critique", "explanation"];

/// Returns choice `k` of the reply to a request whose body has this hash.
pub(super) fn answer(
    moves: &MoveSource,
    options: &StubOptions,
    request: &StubRequest,
    hash: &[u8; 32],
    k: usize,
) -> Result<StubAnswer, StubError> {
    let name = format!("ludex.v1:stub:answer:{}:{}:{k}", options.seed, hex::encode(hash));
    let mut luck = Stream::from_text(&name);
    let StubOptions { empty, refuse, truncate, prose, .. } = *options;
    let [empty, refuse, truncate, prose] = [empty, refuse, truncate, prose].map(|p| luck.unit() < p);
    let plain = |text: &str, finish| Ok(StubAnswer { text: text.to_owned(), finish, input: None });
    let room = options.out_tokens as usize * 4;
    if empty {
        return plain("", Finish::Stop);
    }
    if refuse {
        return plain(REFUSAL, Finish::Refused);
    }
    if truncate {
        let opening = if request.form.as_ref().is_some_and(|form| !form.is_optional) { "{\"reason\": \"" } else { "" };
        return plain(&format!("{opening}{}", reasoning(room.max(REASONING.len() / 2))), Finish::Length);
    }
    if prose {
        return plain(PROSE, Finish::Stop);
    }
    let parts = AnswerParts { moves, request, name: &name, luck, damage: options.document_damage() };
    let (text, input) = match request.form.as_ref().filter(|form| !form.is_optional || parts.has_moves()) {
        Some(form) => {
            let object = Value::Object(parts.object(form, room)?);
            (object.to_string(), form.tool.is_some().then_some(object))
        }
        None => (parts.text(room)?, None),
    };
    Ok(match request.limit.filter(|&most| tokens(text.chars().count()) > most) {
        Some(most) => {
            let text = text.chars().take(usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(4)).collect();
            StubAnswer { text, finish: Finish::Length, input: input.map(|_| Value::Object(Map::new())) }
        }
        None => StubAnswer { text, finish: Finish::Stop, input },
    })
}

/// Returns reasoning of about this many characters, made of whole words.
fn reasoning(chars: usize) -> String {
    let text: String = REASONING.chars().cycle().take(chars).collect();
    match text.rfind(' ') {
        Some(end) if text.len() > 8 => format!("{}.", text[..end].trim_end_matches([',', '.', ' '])),
        _ => String::new(),
    }
}

/// Inputs from which an answer is composed.
struct AnswerParts<'a> {
    moves: &'a MoveSource,
    request: &'a StubRequest,
    name: &'a str,
    luck: Stream,
    /// Probability that a document is damaged.
    damage: f64,
}

impl AnswerParts<'_> {
    /// Chooses a move for the position if the request includes it, otherwise from the list of moves in the prompt.
    /// `None` if the request has neither.
    fn choose_move(&mut self) -> Result<Option<Value>, StubError> {
        if let Some(about) = &self.request.about {
            let chosen = self.moves.choose(about, self.name)?;
            let damaged = chosen.is_object() && self.luck.unit() < self.damage;
            return Ok(Some(if damaged { damage(chosen, &mut self.luck) } else { chosen }));
        }
        let all = listed_moves(&self.request.question);
        let listed: Vec<&str> = all.iter().map(String::as_str).collect();
        Ok(self.pick(&listed).map(Value::from))
    }

    /// Returns true if the request includes the position or lists moves.
    fn has_moves(&self) -> bool {
        self.request.about.is_some() || !listed_moves(&self.request.question).is_empty()
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> Option<&'t str> {
        (!of.is_empty()).then(|| of[self.luck.below(of.len())])
    }

    /// Picks a random choice id of the prompt, or 1 if the prompt has none.
    fn vote(&mut self) -> &str {
        let ids = choice_ids(&self.request.question);
        self.pick(&ids).unwrap_or("1")
    }

    fn emotion(&mut self) -> &'static str {
        self.pick(&["A", "B", "C", "D", "E"]).unwrap_or("A")
    }

    /// Returns labelled text: reasoning, then a line for each label that the prompt requests.
    fn text(mut self, room: usize) -> Result<String, StubError> {
        let purpose = self.request.purpose();
        if matches!(purpose, "thought" | "critique") {
            return Ok(format!("{} {THOUGHT}", reasoning(room.saturating_sub(THOUGHT.len()))));
        }
        let mut labels = self.request.labels();
        if labels.is_empty() {
            labels.push("Answer");
        }
        let mut lines = Vec::new();
        for label in labels {
            let value = match label {
                "Emotion" => self.emotion().to_owned(),
                "Best" | "Vote" | "Label" | "Labels" => self.vote().to_owned(),
                "Analysis" | "Reason" => THOUGHT.to_owned(),
                _ if purpose == "vote" => self.vote().to_owned(),
                _ if purpose == "emotion" => self.emotion().to_owned(),
                _ => match self.choose_move()? {
                    Some(Value::String(text)) => text,
                    Some(document) => document.to_string(),
                    None => return Ok(format!("{} {PROSE}", reasoning(room.saturating_sub(PROSE.len())))),
                },
            };
            lines.push(format!("{label}: {value}"));
        }
        let last = lines.join("\n");
        let reasoning = reasoning(room.saturating_sub(last.chars().count()));
        Ok(if reasoning.is_empty() { last } else { format!("{reasoning}\n{last}") })
    }

    /// Returns an object with every property of the schema; the first suitable property is filled with reasoning.
    fn object(mut self, form: &JsonForm, room: usize) -> Result<Map<String, Value>, StubError> {
        let none = Map::new();
        let properties = form.schema["properties"].as_object().unwrap_or(&none);
        let mut object = Map::new();
        let mut reasons = None;
        for (name, schema) in properties {
            // The only argument of a tool is the move, whatever its name.
            let role = if form.is_optional && properties.len() == 1 { "move" } else { name };
            let value = self.value(role, schema)?;
            if reasons.is_none() && value == THOUGHT && REASONS.contains(&name.as_str()) {
                reasons = Some(name.clone());
            }
            object.insert(name.clone(), value);
        }
        if let Some(name) = reasons {
            object.insert(name.clone(), "".into());
            let rest = Value::Object(object.clone()).to_string().chars().count();
            let text = reasoning(room.saturating_sub(rest));
            object.insert(name, if text.is_empty() { THOUGHT.into() } else { text.into() });
        }
        Ok(object)
    }

    fn value(&mut self, name: &str, schema: &Value) -> Result<Value, StubError> {
        let choices = schema["enum"].as_array().filter(|all| !all.is_empty());
        Ok(match (name, choices, schema["type"].as_str().unwrap_or("string")) {
            (name, None, _) if REASONS.contains(&name) => THOUGHT.into(),
            ("move", ..) => self.choose_move()?.unwrap_or_else(|| PROSE.into()),
            ("emotion", None, _) => self.emotion().into(),
            (_, Some(choices), _) => choices[self.luck.below(choices.len())].clone(),
            (_, _, "integer" | "number") => self.vote().parse::<u32>().unwrap_or(1).into(),
            (_, _, "boolean") => true.into(),
            (_, _, "array") => {
                let choices = schema["items"]["enum"].as_array().into_iter().flatten().cloned();
                choices.filter(|_| self.luck.below(2) == 0).collect::<Vec<_>>().into()
            }
            (_, _, "object") => Value::Object(Map::new()),
            _ if self.request.purpose() == "vote" => self.vote().into(),
            _ => THOUGHT.into(),
        })
    }
}

/// Damages a document as weak models do: truncates it, renames or adds a field, changes a type, nests it deeply, or
/// embeds it in text.
fn damage(document: Value, luck: &mut Stream) -> Value {
    let text = document.to_string();
    let mut fields = document.as_object().cloned().unwrap_or_default();
    let name = fields.keys().nth(luck.below(fields.len().max(1))).cloned().unwrap_or_default();
    match luck.below(6) {
        0 => text.chars().take(text.chars().count() / 2).collect::<String>().into(),
        1 => {
            let value = fields.remove(&name).unwrap_or_default();
            fields.insert(format!("{name}_"), value);
            fields.into()
        }
        2 => {
            fields.insert(name, "?".into());
            fields.into()
        }
        3 => {
            let deep = (0..20).fold(document, |inner, _| json!([inner]));
            fields.insert(name, deep);
            fields.into()
        }
        4 => format!("```json\n{text}\n```").into(),
        _ => format!("I thought of {{this}} first. {text} That is my answer.").into(),
    }
}

/// Returns the moves listed after `Legal moves` in a prompt. A list on one line (the same line or the next one) is
/// separated by commas or semicolons. A list with one move per line ends at an empty line. Text in brackets after a
/// move is dropped if the prompt says that such text explains the move. Of a range of moves (`with every whole number A
/// from ..`), only the first and the last move are returned.
fn listed_moves(prompt: &str) -> Vec<String> {
    let mut lines =
        prompt.lines().skip_while(|line| !line.trim_start_matches(['#', '*', ' ']).starts_with("Legal moves"));
    let head = lines.next().and_then(|line| line.split_once(':')).map_or("", |(_, rest)| rest.trim_matches(['*', ' ']));
    let below = lines.skip_while(|l| l.trim().is_empty()).map(str::trim).take_while(|l| !l.is_empty());
    let below: Vec<&str> = if head.is_empty() { below.collect() } else { vec![head] };
    let explained = prompt.contains("what stands in brackets behind a move explains it");
    let mut moves: Vec<String> = Vec::new();
    for line in &below {
        let one = below.len() == 1 || explained;
        if let Some((pattern, numbers)) = line.split_once(MANY) {
            moves.extend(ends(pattern, numbers));
        } else if line.contains("; ") {
            moves.extend(line.split("; ").map(str::to_owned));
        // A line that ends like a sentence is one move that contains a comma, as in nim.
        } else if one && !line.ends_with([';', ')']) {
            moves.extend(line.split(',').map(str::to_owned));
        } else {
            moves.push((*line).to_owned());
        }
    }
    let bare = moves.iter().map(|m| m.trim().trim_start_matches("- ").trim_matches('`'));
    let bare = bare.map(|m| m.split_once(" (").filter(|_| explained).map_or(m, |(name, _)| name).to_owned());
    bare.filter(|m| !m.is_empty()).collect()
}

/// Marker of a range of moves in a prompt.
const MANY: &str = " with every whole number ";

/// Returns the first and the last move of a range, unless they are excluded. An example is the pattern `A,B` with the
/// numbers `A from 0 to 4 and every B from 0 to 9, but not 0,0`, which gives the move `4,9`.
fn ends(pattern: &str, numbers: &str) -> Vec<String> {
    let (ranges, but) = numbers.split_once(", but not ").unwrap_or((numbers, ""));
    let (ranges, last) = ranges.split_once(", up to ").map_or((ranges, None), |(ranges, last)| (ranges, Some(last)));
    let (mut low, mut high) = (pattern.to_owned(), pattern.to_owned());
    for range in ranges.split(" and every ") {
        let words: Vec<&str> = range.split(' ').collect();
        if let [letter, "from", first, "to", last] = words[..] {
            low = low.replacen(letter, first, 1);
            high = high.replacen(letter, last, 1);
        }
    }
    let all = [low, last.map_or(high, str::to_owned)];
    all.into_iter().filter(|text| !but.split("; ").any(|not| not == text)).collect()
}

/// Returns the choice ids in a prompt: the numbers of lines such as `Choice 2:`, otherwise the numbers at the start of
/// lines (`2.`).
fn choice_ids(prompt: &str) -> Vec<&str> {
    const WORDS: [&str; 5] = ["choice", "candidate", "option", "proposal", "idea"];
    let (mut named, mut bare) = (Vec::new(), Vec::new());
    for line in prompt.lines() {
        let line = line.trim_start_matches(['#', '*', '-', '[', '(', ' ']);
        let (word, rest) = line.split_once(' ').unwrap_or_default();
        let is_named = WORDS.iter().any(|w| word.eq_ignore_ascii_case(w));
        let (from, ids) = if is_named { (rest, &mut named) } else { (line, &mut bare) };
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        if end > 0 && from[end..].starts_with(['.', ')', ':', ']']) {
            ids.push(&from[..end]);
        }
    }
    if named.is_empty() { bare } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn move_list_is_parsed_from_all_prompt_formats() {
        assert_eq!(listed_moves("Board\nLegal moves: a1, b2,c3\nGo on."), ["a1", "b2", "c3"]);
        assert_eq!(listed_moves("**Legal moves:**\n\n- a1\n- take 2, leave 1\n\nOther"), ["a1", "take 2, leave 1"]);
        assert_eq!(listed_moves("Legal moves (2):\na1, b2\n"), ["a1", "b2"]);
        let many =
            "Legal moves:\nA,B with every whole number A from 0 to 4 and every B from 1 to 9, but not 0,1; 2,2\npass\n";
        assert_eq!(listed_moves(many), ["4,9", "pass"]);
        let upto =
            "Legal moves:\nbid: A.B with every whole number A from 0 to 3 and every B from 00 to 99, up to bid: 3.25";
        assert_eq!(listed_moves(upto), ["bid: 0.00", "bid: 3.25"]);
        let explained = "Legal moves (what stands in brackets behind a move explains it and is not part of it):\nFold, Pass\nCall (5 more)";
        assert_eq!(listed_moves(explained), ["Fold", "Pass", "Call"]);
        assert_eq!(listed_moves("Legal moves:\n7,1; 7,2\n"), ["7,1", "7,2"]);
        assert!(listed_moves("No list here: a1").is_empty());
        assert!(listed_moves("Legal moves").is_empty());
    }

    #[test]
    fn choice_ids_are_parsed_from_choices_and_numbered_lines() {
        assert_eq!(choice_ids("Which is best?\n1. go\n2) stay\n[3] leave"), ["1", "2", "3"]);
        assert_eq!(choice_ids("Moves:\n1. a\n2. b\n\n## Choice 7: x\nChoice 8:\ny"), ["7", "8"]);
        assert!(choice_ids("There are 3. It is 12 o'clock\n3 moves").is_empty());
    }

    #[test]
    fn reasoning_has_the_requested_length() {
        for chars in [20, 160, 4000] {
            let n = reasoning(chars).chars().count();
            assert!(n <= chars + 1 && n + 20 > chars, "{n} of {chars}");
        }
        assert_eq!(reasoning(3), "");
    }
}
