//! A small game for tests. Chance deals secrets, both seats choose stakes simultaneously, then one seat proposes a
//! document and the other seat replies with an id or a text. A parameter enables one flaw at a time, which the checks
//! of the game laws must detect.

use ludex_env::game::{EventView, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch, GameText};
use ludex_env::{
    Action, ActionSink, Facts, Game, GameRef, Issue, Mover, Outcomes, ParamError, ParsedMove, Seat, SeatSet, Stream,
    ToMove, game::Viewer, tensor::stretches,
};
use ludex_protocol::Move;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub struct Offers {
    params: Params,
}

#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    pub flaw: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    secrets: [u8; 2],
    dealt: usize,
    stakes: Option<[u8; 2]>,
    offer: Option<Offer>,
    answer: Option<Answer>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    Pass,
    Give(u8),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Accept,
    Refuse,
    Words(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    seat: Option<u8>,
    secret: Option<u8>,
    dealt: u8,
    stakes: Option<[u8; 2]>,
    offer: Option<Offer>,
    answer: Option<Answer>,
    shown: Option<[u8; 2]>,
}

const SECRETS: u8 = 4;
const PASS: Action = 3;

/// Returns the game with the given flaw, or without a flaw if the text is empty.
pub fn offers(flaw: &str) -> GameRef {
    let games = ludex_games::builtin().with::<Offers>();
    games.load_with("offers", &serde_json::Map::from_iter([("flaw".into(), flaw.into())])).unwrap()
}

/// Returns a document or a text instead of an id in about half of the cases, if the game accepts one.
pub fn propose(s: &dyn ludex_env::DynState, seat: Seat, rng: &mut Stream) -> Option<Move> {
    if let ToMove::Simultaneous(_) = s.turn() {
        return None;
    }
    match (seat, rng.below(3)) {
        (_, 0) => None,
        (0, k) => Some(Move::Document(json!({ "offer": (k - 1) * 4, "note": s.spec().game }))),
        (_, k) => Some(Move::Text(format!("  not for {k}! "))),
    }
}

impl Offers {
    fn flaw(&self, name: &str) -> bool {
        self.params.flaw == name
    }

    fn accepted(&self, s: &State) -> bool {
        s.answer == Some(Answer::Accept)
    }
}

impl Game for Offers {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo { presets: &[], ..GameInfo::new("offers", "Offers", "# Offers\n") };

    fn new(params: Params) -> Result<Self, ParamError> {
        Ok(Offers { params })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let schema = json!({ "type": "object", "properties": { "offer": { "type": "integer", "maximum": 9 } } });
        let stake = json!({
            "type": "object",
            "properties": { "stake": { "type": "integer", "minimum": 0, "maximum": 9 } },
            "required": ["stake"],
            "additionalProperties": false,
        });
        Facts {
            seats: vec!["giver".into(), "taker".into()],
            dynamics: Dynamics::Mixed,
            chance: ChanceMode::Explicit,
            information: Information::Imperfect,
            utility: Utility::GeneralSum,
            rewards: if self.flaw("early_reward") { RewardModel::Terminal } else { RewardModel::Step },
            returns: [-9.0, if self.flaw("bounds") { 0.5 } else { 10.0 }],
            max_length: if self.flaw("length") { 2 } else { 3 },
            actions: 4,
            max_chance: u32::from(SECRETS),
            legal: LegalForm::Ids,
            tensor: Some(("table", stretches(&[("secret", 1), ("stakes", 2)], 9.0))),
            info: None,
            openspiel: None,
            document_schemas: Some(
                [
                    ("stake".to_owned(), stake),
                    ("offer".to_owned(), schema),
                    ("answer/taker".to_owned(), json!({ "type": "string" })),
                ]
                .into(),
            ),
        }
    }

    fn start(&self) -> State {
        State { secrets: [0; 2], dealt: 0, stakes: None, offer: None, answer: None }
    }

    fn to_move(&self, s: &State) -> ToMove {
        match s {
            State { dealt: 0 | 1, .. } => ToMove::Chance,
            State { stakes: None, .. } => ToMove::Simultaneous(SeatSet::first(2)),
            State { offer: None, .. } => ToMove::Seat(0),
            State { offer: Some(Offer::Give(_)), answer: None, .. } => ToMove::Seat(1),
            _ => ToMove::Over,
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        match self.to_move(s) {
            ToMove::Simultaneous(_) if self.flaw("legal_leak") && seat == 0 && s.secrets[1] == 0 => out.put(1),
            ToMove::Simultaneous(_) if self.flaw("order") => [2, 0, 1].into_iter().for_each(|a| out.put(a)),
            ToMove::Simultaneous(_) => (0..3).for_each(|a| out.put(a)),
            ToMove::Seat(0) if seat == 0 => out.put(PASS),
            ToMove::Seat(1) if seat == 1 => (0..2).for_each(|a| out.put(a)),
            _ => {}
        }
    }

    fn play_unchecked(&self, s: &mut State, a: Action) {
        match self.to_move(s) {
            ToMove::Chance => {
                s.secrets[s.dealt] = a as u8;
                s.dealt += 1;
            }
            ToMove::Seat(0) => s.offer = Some(Offer::Pass),
            ToMove::Seat(_) => s.answer = Some(if a == 0 { Answer::Accept } else { Answer::Refuse }),
            ToMove::Simultaneous(_) | ToMove::Over => {}
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        let stakes = s.stakes.unwrap_or_default();
        out.copy_from_slice(&stakes.map(|stake| -f64::from(stake)));
        if let (true, Some(Offer::Give(n))) = (self.accepted(s), &s.offer) {
            out[0] += 9.0 - f64::from(*n);
            out[1] += f64::from(*n);
        }
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        let seat = match who {
            Viewer::Seat(seat) => Some(seat),
            Viewer::Public => None,
        };
        let answer = s.answer.clone().filter(|_| !self.flaw("forgets_answer"));
        View {
            seat: seat.map(|p| p as u8),
            secret: seat.filter(|&p| p < s.dealt).map(|p| s.secrets[p]),
            dealt: s.dealt as u8,
            stakes: s.stakes,
            offer: s.offer.clone(),
            answer,
            shown: self.accepted(s).then_some(s.secrets),
        }
    }

    fn sample_world(&self, v: &View, rng: &mut Stream) -> State {
        let mut s = State {
            secrets: [0; 2],
            dealt: usize::from(v.dealt.min(2)),
            stakes: v.stakes,
            offer: v.offer.clone(),
            answer: v.answer.clone(),
        };
        for p in 0..s.dealt {
            let own = v.secret.filter(|_| v.seat.map(usize::from) == Some(p));
            let known = own.or(v.shown.map(|all| all[p]));
            s.secrets[p] = known.unwrap_or_else(|| rng.below(usize::from(SECRETS)) as u8);
        }
        s
    }
}

impl GameMoves for Offers {
    fn chance(&self, _s: &State, out: &mut Outcomes) {
        out.uniform(0..u32::from(SECRETS));
    }

    fn play_joint_unchecked(&self, s: &mut State, joint: &[Option<ParsedMove>]) {
        let stake = |p: usize| match &joint[p] {
            Some(ParsedMove::Action(a)) => *a as u8,
            Some(ParsedMove::Document(said)) => said["stake"].as_u64().unwrap_or(0) as u8,
            None => 0,
        };
        s.stakes = Some([stake(0), stake(1)]);
    }

    fn play_together_unchecked(&self, s: &mut State, joint: &[Action]) {
        s.stakes = Some([joint[0] as u8, joint[1] as u8]);
    }

    fn sample(&self, s: &State, _seat: Seat, rng: &mut Stream) -> Option<Value> {
        s.stakes.is_none().then(|| json!({ "stake": rng.below(10) }))
    }

    fn default_move(&self, s: &State, _seat: Seat, rng: &mut Stream) -> ParsedMove {
        match s {
            State { stakes: None, .. } => ParsedMove::Document(json!({ "stake": rng.below(10) })),
            State { offer: None, .. } => ParsedMove::Action(PASS),
            _ => ParsedMove::Action(0),
        }
    }

    fn parse_document(&self, s: &State, seat: Seat, said: &Value) -> Result<ParsedMove, Vec<Issue>> {
        let issue = |path: &str, got: &Value, allowed: Value, message: &str| {
            Err(vec![Issue::new(path, got, allowed, message).code("unknown_offer")])
        };
        match (self.to_move(s), said) {
            (ToMove::Seat(0), Value::Object(map)) if seat == 0 => match map.get("offer").and_then(Value::as_u64) {
                Some(0) => Ok(ParsedMove::Action(if self.flaw("hears_illegal") { 0 } else { PASS })),
                Some(n) if n <= 9 => Ok(ParsedMove::Document(json!({ "offer": n }))),
                _ => issue("/offer", &map.get("offer").cloned().unwrap_or_default(), "0 to 9".into(), "unknown offer"),
            },
            (ToMove::Seat(1), Value::String(words)) if seat == 1 && !words.trim().is_empty() => {
                let words = if self.flaw("not_canonical") { format!("{words}.") } else { words.trim().to_owned() };
                Ok(ParsedMove::Document(words.into()))
            }
            (ToMove::Simultaneous(_), Value::Object(map)) => Ok(ParsedMove::Document(json!({ "stake": map["stake"] }))),
            _ => issue("", said, "an offer, or words of refusal".into(), "expected an offer or text"),
        }
    }

    fn play_document(&self, s: &mut State, _seat: Seat, said: &Value) {
        match said {
            Value::String(words) => s.answer = Some(Answer::Words(words.clone())),
            other => s.offer = Some(Offer::Give(other["offer"].as_u64().unwrap_or(0) as u8)),
        }
    }
}

impl GameText for Offers {
    fn text(&self, v: &View) -> String {
        format!("{v:?}")
    }

    fn action_text(&self, v: &View, seat: Seat, a: Action) -> String {
        match (seat, a) {
            (_, a) if v.stakes.is_none() => format!("stake {a}"),
            (0, _) => "pass".into(),
            (_, 0) => "accept".into(),
            _ if self.flaw("names") => "accept".into(),
            _ => "refuse".into(),
        }
    }

    fn phase(&self, s: &State) -> Option<&'static str> {
        Some(match s {
            State { stakes: None, .. } => "stake",
            State { offer: None, .. } => "offer",
            _ => "answer",
        })
    }
}

impl GameObservation for Offers {
    fn observe_document(&self, before: &State, _who: Viewer, seat: Seat, said: &Value) -> EventView {
        let leak = if self.flaw("said_leak") { format!(" with {}", before.secrets[seat]) } else { String::new() };
        EventView { action: None, text: Some(format!("{said}{leak}")) }
    }

    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        let to = before.dealt;
        let known = by != Mover::Chance || who == Viewer::Seat(to) || self.flaw("event_leak");
        let text = match by {
            Mover::Chance if self.flaw("text_leak") => format!("secret {a} for {to}"),
            Mover::Chance => format!("a secret for {to}"),
            Mover::Seat(seat) => self.action_text(&self.view(before, Viewer::Public), seat, a),
        };
        EventView { action: known.then_some(a), text: Some(text) }
    }

    fn reveals(&self, now: &State, _who: Viewer) -> Vec<(String, Value)> {
        if !self.accepted(now) || self.flaw("no_reveal") {
            return Vec::new();
        }
        vec![("the secrets".into(), json!(now.secrets))]
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        let me = if who == Viewer::Seat(1) { 1 } else { 0 };
        if !self.flaw("tensor_holes") {
            out.fill(0);
        }
        if self.flaw("tensor_leak") {
            out[0] = s.secrets[1 - me];
        } else if who != Viewer::Public && s.dealt > me {
            out[0] = s.secrets[me];
        }
        if let Some(stakes) = s.stakes {
            out[1] = stakes[me];
            out[2] = stakes[1 - me] + if self.flaw("tensor_range") { 9 } else { 0 };
        }
    }
}

impl GameDisplay for Offers {}

impl GameSearch for Offers {}

impl GameMarks for Offers {}
