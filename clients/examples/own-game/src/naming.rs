#![doc = include_str!("naming.md")]

use ludex_env::game::{
    Action, ActionSink, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, ParsedMove, Seat, SeatSet, ToMove, Viewer,
};
use ludex_env::{Issue, ParamError, Stream};
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Rules of the game.
pub struct Naming {
    params: Params,
}

/// Parameters of the game (none).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {}

/// Position of the game. All viewers see it completely.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// Number named by each seat; absent until both seats have named one.
    pub numbers: Option<[u8; 2]>,
    /// True if the first seat swapped, false if it did not; absent before the choice.
    pub swapped: Option<bool>,
    /// Text that the first seat submitted with the choice.
    pub words: Option<String>,
}

const KEEP: Action = 0;
const SWAP: Action = 1;
/// Count of the numbers that a seat can name by action id (0 to 3). Larger numbers require a document.
const IDS: u32 = 4;
/// Word that a document's field `say` must not contain.
const SECRET: &str = "please";

impl Game for Naming {
    type Params = Params;
    type State = State;
    type View = State;

    const INFO: GameInfo = GameInfo::new("naming", "Naming", include_str!("naming.md"));

    fn new(params: Params) -> Result<Self, ParamError> {
        Ok(Naming { params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let name = json!({
            "type": "object",
            "properties": { "number": { "type": "integer", "minimum": 0, "maximum": 9 } },
            "required": ["number"],
            "additionalProperties": false,
        });
        let swap = json!({
            "type": "object",
            "properties": { "swap": { "type": "boolean" }, "say": { "type": "string", "maxLength": 80 } },
            "required": ["swap", "say"],
            "additionalProperties": false,
        });
        Facts {
            seats: vec!["first".into(), "second".into()],
            dynamics: Dynamics::Mixed,
            chance: ChanceMode::Deterministic,
            information: Information::Perfect,
            utility: Utility::ZeroSum,
            rewards: RewardModel::Terminal,
            returns: [-9.0, 9.0],
            max_length: 2,
            actions: IDS,
            max_chance: 0,
            legal: LegalForm::Ids,
            tensor: None,
            info: None,
            openspiel: None,
            document_schemas: Some([("name".to_owned(), name), ("swap/first".to_owned(), swap)].into()),
        }
    }

    fn start(&self) -> State {
        State::default()
    }

    fn to_move(&self, s: &State) -> ToMove {
        match s {
            State { numbers: None, .. } => ToMove::Simultaneous(SeatSet::first(2)),
            State { swapped: None, .. } => ToMove::Seat(0),
            _ => ToMove::Over,
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        match self.to_move(s) {
            ToMove::Simultaneous(_) => (0..IDS).for_each(|a| out.put(a)),
            turn if turn == ToMove::Seat(seat) => [KEEP, SWAP].into_iter().for_each(|a| out.put(a)),
            _ => {}
        }
    }

    fn play_unchecked(&self, s: &mut State, a: Action) {
        s.swapped = Some(a == SWAP);
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        let ([a, b], Some(swapped)) = (s.numbers.unwrap_or_default(), s.swapped) else { return out.fill(0.0) };
        let gain = (f64::from(a) - f64::from(b)) * if swapped { -1.0 } else { 1.0 };
        out.copy_from_slice(&[gain, -gain]);
    }

    fn view(&self, s: &State, _who: Viewer) -> State {
        s.clone()
    }

    fn sample_world(&self, view: &State, _rng: &mut Stream) -> State {
        // Views can come from clients, so their numbers may be out of range.
        State { numbers: view.numbers.map(|both| both.map(|n| n.min(9))), ..view.clone() }
    }
}

impl GameMoves for Naming {
    fn play_together_unchecked(&self, s: &mut State, joint: &[Action]) {
        s.numbers = Some([joint[0] as u8, joint[1] as u8]);
    }

    fn play_joint_unchecked(&self, s: &mut State, joint: &[Option<ParsedMove>]) {
        let number = |p: usize| match &joint[p] {
            Some(ParsedMove::Action(a)) => *a as u8,
            Some(ParsedMove::Document(said)) => said["number"].as_u64().unwrap_or(0) as u8,
            None => 0,
        };
        s.numbers = Some([number(0), number(1)]);
    }

    fn play_document(&self, s: &mut State, _seat: Seat, said: &Value) {
        s.swapped = Some(said["swap"] == true);
        s.words = said["say"].as_str().map(str::to_owned);
    }

    /// Parses a document. The host has already checked the document's size and schema.
    fn parse_document(&self, s: &State, _seat: Seat, said: &Value) -> Result<ParsedMove, Vec<Issue>> {
        let Value::Object(document) = said else {
            let how = if s.numbers.is_none() { "a number from 0 to 9 in an object" } else { "keep or swap" };
            return Err(vec![Issue::unparsed(said, how, "these words name no move")]);
        };
        let say = document.get("say").unwrap_or(&Value::Null);
        if say.as_str().is_some_and(|words| words.to_lowercase().contains(SECRET)) {
            let issue = Issue::new("/say", say, "other words", format!("expected a text without {SECRET:?}"));
            return Err(vec![issue.code("begging")]);
        }
        Ok(ParsedMove::Document(said.clone()))
    }

    fn sample(&self, s: &State, _seat: Seat, rng: &mut Stream) -> Option<Value> {
        Some(match s.numbers {
            None => json!({ "number": rng.below(10) }),
            Some(_) => {
                let words = ["so be it", "", "ha!"][rng.below(3)];
                json!({ "swap": rng.below(2) == 1, "say": words })
            }
        })
    }

    fn default_move(&self, s: &State, _seat: Seat, rng: &mut Stream) -> ParsedMove {
        match s.numbers {
            None => ParsedMove::Document(json!({ "number": rng.below(10) })),
            Some(_) => ParsedMove::Action(KEEP),
        }
    }
}

impl GameText for Naming {
    fn phase(&self, s: &State) -> Option<&'static str> {
        Some(if s.numbers.is_none() { "name" } else { "swap" })
    }

    fn text(&self, view: &State) -> String {
        let mut lines = vec![match view.numbers {
            None => "Both seats name a number.".to_owned(),
            Some([a, b]) => format!("first named {a}, second named {b}."),
        }];
        lines.extend(view.swapped.map(|swapped| format!("first {}.", if swapped { "swapped" } else { "kept" })));
        lines.extend(view.words.as_ref().map(|words| format!("first said: {words}")));
        lines.join("\n")
    }

    fn action_text(&self, view: &State, _seat: Seat, a: Action) -> String {
        match (view.numbers, a) {
            (None, a) => a.to_string(),
            (_, KEEP) => "keep".into(),
            (_, SWAP) => "swap".into(),
            (_, a) => format!("action {a}"),
        }
    }
}

impl GameObservation for Naming {
    /// Describes a document for `_who`. Numbers are revealed once both seats have named one.
    fn observe_document(&self, before: &State, _who: Viewer, _seat: Seat, said: &Value) -> EventView {
        let text = match before.numbers {
            None => format!("names {}", said["number"]),
            Some(_) => format!("{}: {}", if said["swap"] == true { "swap" } else { "keep" }, said["say"]),
        };
        EventView { action: None, text: Some(text) }
    }
}

impl GameDisplay for Naming {}

impl GameSearch for Naming {}

impl GameMarks for Naming {
    fn teams(&self, _s: &State) -> Option<Vec<usize>> {
        Some(vec![0, 1])
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn naming_satisfies_all_laws() {
        let game = ludex_games::builtin().with::<Naming>().load("naming").unwrap();
        ludex_env::check::game(&game, 0..40).unwrap_or_else(|faults| panic!("{}", faults.join("\n")));
    }
}
