//! Arguments of `reset`, and actions.

use ludex_client::protocol::spec::{Params, Spec};
use serde_json::{Value, json};

use super::failure::RequestFailure;
use super::reward::{RewardRule, RewardScale};

/// Maximum length of an episode id in characters.
const MAX_EPISODE_ID: usize = 255;

/// Maximum value of `tries`.
const MAX_TRIES: u64 = 100;

/// Arguments of a `reset` message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arguments {
    /// Seed of the episode; `None` for the next one of the environment's series.
    pub(super) seed: Option<u64>,
    pub(super) episode_id: Option<String>,
    /// Seat of the model.
    pub(super) seat: u32,
    opponents: Opponents,
    /// Number of refused answers in one turn that end the episode.
    pub(super) tries: u32,
    pub(super) reward: RewardRule,
    pub(super) setup: EnvSetup,
}

/// Agents of the other seats.
#[derive(Clone, Debug, PartialEq)]
enum Opponents {
    /// One agent for all other seats.
    Same(String),
    /// One agent for each other seat, in seat order.
    Each(Vec<String>),
}

/// Settings for which another environment is opened.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EnvSetup {
    /// Settings of the prompt.
    pub(super) prompt: Params,
    pub(super) max_steps: Option<u32>,
    pub(super) record: bool,
}

impl EnvSetup {
    /// Returns true if the prompts are one conversation.
    pub(super) fn is_chat(&self) -> bool {
        self.prompt.get("prompting").is_some_and(|value| value == "chat")
    }

    /// Returns true if the model may see the list of legal moves.
    pub(super) fn lists_legal(&self) -> bool {
        self.prompt.get("legal").is_none_or(|value| *value != json!(false) && value != "false")
    }
}

impl Arguments {
    /// Reads arguments. Names that are no argument of `reset` are settings of the prompt, which the server checks.
    ///
    /// # Errors
    /// A value of a wrong type or out of range.
    pub(super) fn read(mut from: Params) -> Result<Self, RequestFailure> {
        let from = &mut from;
        let id = format!("a text of at most {MAX_EPISODE_ID} characters");
        let short = |value: &Value| text(value).filter(|id| id.chars().count() <= MAX_EPISODE_ID);
        let tries = format!("a whole number from 1 to {MAX_TRIES}");
        let few = |value: &Value| value.as_u64().filter(|n| (1..=MAX_TRIES).contains(n)).map(|n| n as u32);
        let seat = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let finite = |value: &Value| value.as_f64().filter(|number| number.is_finite());
        let scale = take(from, "scale", "\"return\" or \"unit\"", RewardScale::read)?.unwrap_or_default();
        let divisor = take(from, "divisor", "a number above 0", |value| finite(value).filter(|d| *d > 0.0))?;
        if let Some(divisor) = divisor.filter(|d| scale == RewardScale::Unit && *d != 1.0) {
            return Err(RequestFailure::field("divisor", "1 with scale \"unit\"", Some(&json!(divisor))));
        }
        let arguments = Arguments {
            seed: take(from, "seed", "a whole number of at least 0", Value::as_u64)?,
            episode_id: take(from, "episode_id", &id, short)?,
            seat: take(from, "seat", "a seat", seat)?.unwrap_or(0),
            opponents: take(from, "opponents", "an agent or a list of agents", Opponents::read)?
                .unwrap_or_else(|| Opponents::Same("random".to_owned())),
            tries: take(from, "tries", &tries, few)?.unwrap_or(3),
            reward: RewardRule {
                scale,
                divisor: divisor.unwrap_or(1.0),
                penalty: take(from, "penalty", "a number", finite)?.unwrap_or(0.0),
            },
            setup: EnvSetup {
                max_steps: take(from, "max_steps", "a whole number of at least 1", |value| {
                    seat(value).filter(|n| *n > 0)
                })?,
                record: take(from, "record", "true or false", Value::as_bool)?.unwrap_or(false),
                prompt: Params::new(),
            },
        };
        let mut prompt = std::mem::take(from);
        prompt.entry("prompting").or_insert_with(|| json!("chat"));
        Ok(Arguments { setup: EnvSetup { prompt, ..arguments.setup }, ..arguments })
    }

    /// Returns the player of each seat, as `open` and `reset` take them.
    ///
    /// # Errors
    /// A seat that the game lacks, or a wrong number of opponents.
    pub(super) fn seats(&self, spec: &Spec) -> Result<Vec<String>, RequestFailure> {
        if self.seat >= spec.players {
            let expected = format!("a seat of {}, 0 to {}", spec.game, spec.players.saturating_sub(1));
            return Err(RequestFailure::field("seat", &expected, Some(&json!(self.seat))));
        }
        let others = spec.players as usize - 1;
        let mut seats = match &self.opponents {
            Opponents::Same(agent) => vec![agent.clone(); others],
            Opponents::Each(agents) => agents.clone(),
        };
        if seats.len() != others {
            let agents = if others == 1 { "agent" } else { "agents" };
            let expected = format!("{others} {agents} for {}", spec.game);
            return Err(RequestFailure::field("opponents", &expected, Some(&json!(seats.len()))));
        }
        seats.insert(self.seat as usize, "agent".to_owned());
        Ok(seats)
    }
}

impl Opponents {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Array(agents) => agents.iter().map(text).collect::<Option<_>>().map(Opponents::Each),
            _ => text(value).map(Opponents::Same),
        }
    }
}

/// Returns the text of an action, as the model wrote it: its field `answer`. A value that is not text counts as its JSON.
/// An action without the field counts as the model's JSON answer, since clients parse answers that are objects.
///
/// # Errors
/// An action without fields.
pub(super) fn answer(mut action: Params) -> Result<String, RequestFailure> {
    action.remove("metadata");
    match action.remove("answer") {
        Some(Value::Null) => Err(RequestFailure::field("answer", "the text of the answer", Some(&Value::Null))),
        Some(Value::String(text)) => Ok(text),
        Some(value) => Ok(value.to_string()),
        None if action.is_empty() => Err(RequestFailure::field("answer", "the text of the answer", None)),
        None => Ok(Value::Object(action).to_string()),
    }
}

/// Takes a field out of a map; `null` counts as absent.
fn take<T>(
    from: &mut Params,
    name: &str,
    expected: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, RequestFailure> {
    match from.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(&value).map(Some).ok_or_else(|| RequestFailure::field(name, expected, Some(&value))),
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Params {
        value.as_object().unwrap().clone()
    }

    fn read(value: Value) -> Result<Arguments, String> {
        Arguments::read(map(value)).map_err(|failure| failure.message())
    }

    #[test]
    fn absent_arguments_have_defaults() {
        let arguments = read(json!({ "seed": null })).unwrap();
        assert_eq!((arguments.seed, arguments.seat, arguments.tries), (None, 0, 3));
        assert!(arguments.setup.is_chat() && arguments.setup.lists_legal() && !arguments.setup.record);
    }

    #[test]
    fn unknown_names_are_settings_of_the_prompt() {
        let setup = read(json!({ "seed": 1, "history": 8, "prompting": "cot", "legal": "false" })).unwrap().setup;
        assert_eq!(Value::Object(setup.prompt.clone()), json!({ "history": 8, "prompting": "cot", "legal": "false" }));
        assert!(!setup.is_chat() && !setup.lists_legal());
    }

    #[test]
    fn bad_values_name_the_field() {
        for (bad, name) in [
            (json!({ "seed": -1 }), "seed"),
            (json!({ "seed": "7" }), "seed"),
            (json!({ "seat": 1.5 }), "seat"),
            (json!({ "opponents": ["random", 7] }), "opponents"),
            (json!({ "tries": 0 }), "tries"),
            (json!({ "scale": "log" }), "scale"),
            (json!({ "divisor": 0 }), "divisor"),
            (json!({ "divisor": 2, "scale": "unit" }), "divisor"),
            (json!({ "max_steps": 0 }), "max_steps"),
            (json!({ "episode_id": "x".repeat(256) }), "episode_id"),
        ] {
            let message = read(bad.clone()).unwrap_err();
            assert!(
                message.contains("VALIDATION_ERROR") && message.contains(&format!("{name}: expected")),
                "{message}"
            );
        }
    }

    #[test]
    fn answer_is_the_text_of_the_model() {
        for (action, text) in [
            (json!({ "answer": " d1\n" }), " d1\n"),
            (json!({ "answer": 4, "metadata": {} }), "4"),
            (json!({ "answer": { "offer": [1] } }), r#"{"offer":[1]}"#),
            (json!({ "move": "d1" }), r#"{"move":"d1"}"#),
        ] {
            assert_eq!(answer(map(action)).unwrap(), text);
        }
        assert!(answer(map(json!({ "metadata": {} }))).is_err() && answer(map(json!({ "answer": null }))).is_err());
    }
}
