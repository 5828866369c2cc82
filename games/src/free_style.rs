#![doc = include_str!("free_style.md")]

mod board;
pub mod document;
mod effects;
mod ids;
mod legal;
mod marks;
mod picture;
mod play;
pub mod position;
pub mod rules;
mod sample;
mod score;
mod speech;
mod summary;
#[cfg(test)]
mod tests;
mod validate;
mod view;
mod words;
mod world;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use ludex_env::draw::Stream;
use ludex_env::game::{
    Action, ActionSink, EventView, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation,
    GameSearch, GameText, Marks, Mover, Outcomes, ParsedMove, Seat, SeatSet, ToMove, Unit, Viewer,
};
use ludex_env::params::{ParamError, in_range};
use ludex_env::picture::{Gesture, Picture};
use ludex_env::tensor::stretches;
use ludex_protocol::error::Issue;
use ludex_protocol::record::RefusedMove;
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};

use ids::{ACCEPT, ACTIONS, REJECT};
use position::{BoardState, Winner};
use rules::Rules;
use speech::Message;
pub use view::{Phase, View};

/// The game for two seats: first they negotiate a rule document, then they play by it.
pub struct FreeStyle {
    params: Params,
    /// The rules, if the parameters set them. The game then has no negotiation.
    fixed: Option<Arc<Rules>>,
}

/// Parameters of the negotiation, or of the rules that replace it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Rules of a game without a negotiation: `F0`, `F1`, `F2`, or an FSR document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Value>,
    /// Maximum number of messages in the negotiation, 2 to 16.
    #[schemars(range(min = 2, max = 16))]
    pub messages: u32,
    /// Rules that apply if the seats do not agree.
    pub fallback: Fallback,
    /// The seat that writes the first message, 0 or 1.
    #[schemars(range(min = 0, max = 1))]
    pub first: u8,
}

/// Rules that apply if the seats do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Fallback {
    /// One of the three built-in rule sets, drawn by chance.
    #[serde(rename = "drawn")]
    Drawn,
    /// `line4`: four in a line wins.
    F0,
    /// `turncoats`: neighboring pieces change sides.
    F1,
    /// `hidden numbers`: each row compares the sums of hidden numbers.
    F2,
}

impl Default for Params {
    fn default() -> Self {
        Params { rules: None, messages: 8, fallback: Fallback::Drawn, first: 0 }
    }
}

/// A state of the negotiation or of the play that follows it.
#[derive(Clone, Debug)]
pub struct State {
    /// The messages so far, oldest first.
    talk: Vec<Arc<Message>>,
    /// The agreed or drawn rules. `None` during the negotiation, and if the parameters set the rules.
    rules: Option<Arc<Rules>>,
    /// The seat that wrote `rules`.
    author: u8,
    agreed: bool,
    /// The position on the board. `None` until the rules and the first mover are known.
    play: Option<BoardState>,
}

/// Names of the built-in rule sets.
const NAMES: [&str; 3] = ["F0", "F1", "F2"];

/// Returns the text of the message with id `a`.
fn message_text(a: Action) -> String {
    match a {
        0..ACCEPT => format!("propose {}", NAMES[a as usize]),
        ACCEPT => "accept".into(),
        _ => "reject".into(),
    }
}

impl FreeStyle {
    fn rules<'a>(&'a self, s: &'a State) -> Option<&'a Arc<Rules>> {
        s.rules.as_ref().or(self.fixed.as_ref())
    }

    /// Returns the rules and the position on the board; `None` before play starts.
    fn course<'a>(&'a self, s: &'a State) -> Option<(&'a Rules, &'a BoardState)> {
        Some((self.rules(s)?, s.play.as_ref()?))
    }

    /// Returns the seat that writes the next message.
    fn speaker(&self, s: &State) -> Seat {
        (usize::from(self.params.first) + s.talk.len()) % 2
    }

    /// Returns true if only one message is left.
    fn last(&self, s: &State) -> bool {
        s.talk.len() + 1 >= self.params.messages as usize
    }

    /// Returns the rules that `seat` proposed last, if any.
    fn open<'a>(&self, s: &'a State, seat: Seat) -> Option<&'a Arc<Rules>> {
        s.talk.iter().rev().filter(|m| m.seat == seat).find_map(|m| m.rules.as_ref())
    }

    /// Appends a message. Starts play after an acceptance, and after the last message if the fallback rules are fixed.
    fn say(&self, s: &mut State, message: Message) {
        let (seat, accepts) = (message.seat, message.act == speech::MessageAct::Accept);
        s.talk.push(Arc::new(message));
        if accepts {
            let Some(rules) = self.open(s, 1 - seat).cloned() else { return };
            (s.author, s.agreed) = ((1 - seat) as u8, true);
            return self.begin(s, rules);
        }
        let fixed = match self.params.fallback {
            Fallback::Drawn => return,
            Fallback::F0 => 0,
            Fallback::F1 => 1,
            Fallback::F2 => 2,
        };
        if s.talk.len() >= self.params.messages as usize {
            self.begin(s, Rules::built_in(fixed).clone());
        }
    }

    /// Sets the rules and starts play. If chance draws the first mover, play starts only after that draw.
    fn begin(&self, s: &mut State, rules: Arc<Rules>) {
        s.play = rules.first(s.author.into()).map(|first| BoardState::start(&rules, first));
        s.rules = Some(rules);
    }
}

impl Game for FreeStyle {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("free_style.j2"),
        presets: &[("qitown", "{}", "Qi Town: the defaults, eight messages and then a game by the agreed rules")],
        ladder: &[(0, 1, "random"), (1, 1, "rule_maker"), (2, 1, "rule_maker sims=200")],
        unit: Unit::Duplicate(1),
        marks: marks::DOCS,
        ..GameInfo::new("free_style", "Free style", include_str!("free_style.md"))
    };

    fn new(mut params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        let fixed = match params.rules.take() {
            None => None,
            Some(Value::String(name)) if NAMES.contains(&name.as_str()) => {
                let k = NAMES.iter().position(|n| *n == name).unwrap_or(0);
                params.rules = Some(name.into());
                Some(Rules::built_in(k).clone())
            }
            Some(document) => {
                let rules = validate::verdict(&document).into_rules().map_err(|flaws| {
                    let all: Vec<String> = flaws.iter().map(|f| format!("{}: {}", f.path, f.message)).collect();
                    let mut e = ParamError::value("rules", document, "F0, F1, F2 or a valid FSR document");
                    e.message = format!("the rules are not valid: {}", all.join("; "));
                    e
                })?;
                params.rules = Some(rules.canonical.clone());
                Some(Arc::new(rules))
            }
        };
        Ok(FreeStyle { params, fixed })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let parts = [
            ("owner", 25 * 2),
            ("kind", 25 * 4),
            ("number", 25 * 26),
            ("unknown", 25),
            ("supply", 8),
            ("phase", 3),
            ("ply", 1),
        ];
        let random = |r: &Arc<Rules>| r.first(0).is_none();
        let (dynamics, chance, information, length) = match &self.fixed {
            None => (Dynamics::Mixed, ChanceMode::Explicit, Information::Imperfect, self.params.messages + 100),
            Some(r) => (
                if r.together() { Dynamics::Simultaneous } else { Dynamics::Sequential },
                if random(r) { ChanceMode::Explicit } else { ChanceMode::Deterministic },
                if r.open() { Information::Perfect } else { Information::Imperfect },
                r.document.ply_cap.into(),
            ),
        };
        let play = ("play".to_owned(), speech::play_schema());
        let negotiate = self.fixed.is_none().then(|| ("negotiate".to_owned(), speech::schema()));
        Facts {
            seats: vec!["a".into(), "b".into()],
            dynamics,
            chance,
            information,
            utility: Utility::ZeroSum,
            rewards: RewardModel::Terminal,
            returns: [-1.0, 1.0],
            max_length: length,
            actions: ACTIONS,
            max_chance: match &self.fixed {
                None => 3,
                Some(r) => {
                    if random(r) {
                        2
                    } else {
                        0
                    }
                }
            },
            legal: LegalForm::Ids,
            tensor: Some(("observation", stretches(&parts, 101.0))),
            info: None,
            openspiel: None,
            document_schemas: Some(negotiate.into_iter().chain([play]).collect()),
        }
    }

    fn start(&self) -> State {
        let first = self.fixed.as_ref().and_then(|r| r.first(0).map(|first| BoardState::start(r, first)));
        State { talk: Vec::new(), rules: None, author: 0, agreed: false, play: first }
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        let Some(rules) = self.rules(s) else {
            let over = s.talk.len() >= self.params.messages as usize;
            return if over { ToMove::Chance } else { ToMove::Seat(self.speaker(s)) };
        };
        match &s.play {
            None => ToMove::Chance,
            Some(play) if play.over.is_some() => ToMove::Over,
            Some(play) if rules.together() => ToMove::Simultaneous(SeatSet(play.acts.into())),
            Some(play) => ToMove::Seat(usize::from(play.mover & 1)),
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        if let Some((rules, play)) = self.course(s) {
            return legal::actions(rules, play, seat, out);
        }
        if self.to_move(s) != ToMove::Seat(seat) {
            return;
        }
        if !self.last(s) {
            out.put_all(&[0, 1, 2]);
        }
        if self.open(s, 1 - seat).is_some() {
            out.put(ACCEPT);
        }
        out.put(REJECT);
    }

    #[inline]
    fn play_unchecked(&self, s: &mut State, a: Action) {
        let Some(rules) = s.rules.as_ref().or(self.fixed.as_ref()) else {
            if self.to_move(s) == ToMove::Chance {
                return self.begin(s, Rules::built_in(a as usize).clone());
            }
            let message = Message::of_id(self.speaker(s), a);
            return self.say(s, message);
        };
        match &mut s.play {
            // Under simultaneous rules, single plies are ignored.
            Some(play) if !rules.together() => play.step(rules, a),
            Some(_) => {}
            play => *play = Some(BoardState::start(rules, a as usize & 1)),
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(0.0);
        if let Some(Winner::Seat(seat)) = s.play.as_ref().and_then(|p| p.over).map(|o| o.winner) {
            out.copy_from_slice(if seat == 0 { &[1.0, -1.0] } else { &[-1.0, 1.0] });
        }
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        self.seen_by(s, who.seat().filter(|&p| p < 2))
    }

    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        self.world_of(view, rng)
    }
}

impl GameMoves for FreeStyle {
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        if let Some((rules, play)) = self.course(s) {
            return seat < 2 && legal::is_legal(rules, play, seat, a);
        }
        self.to_move(s) == ToMove::Seat(seat)
            && match a {
                0..ACCEPT => !self.last(s),
                ACCEPT => self.open(s, 1 - seat).is_some(),
                _ => a == REJECT,
            }
    }

    fn random_action(&self, s: &State, seat: Seat, rng: &mut Stream) -> Action {
        if let Some((rules, play)) = self.course(s) {
            return legal::random(rules, play, seat & 1, rng);
        }
        let mut all = Vec::new();
        self.legal(s, seat, &mut all);
        all.get(rng.below(all.len())).copied().unwrap_or(REJECT)
    }

    fn default_action(&self, s: &State, seat: Seat) -> Action {
        let mut all: Vec<Action> = Vec::new();
        self.legal(s, seat, &mut all);
        if s.play.is_none() { REJECT } else { all.first().copied().unwrap_or(ids::PASS) }
    }

    fn play_together_unchecked(&self, s: &mut State, joint: &[Action]) {
        let rules = s.rules.as_ref().or(self.fixed.as_ref());
        if let (Some(rules), Some(play), &[a, b]) = (rules, &mut s.play, joint) {
            let acts = play.acts;
            play.step_together(rules, [(acts & 1 == 1).then_some(a), (acts >> 1 & 1 == 1).then_some(b)]);
        }
    }

    fn chance(&self, s: &State, out: &mut Outcomes) {
        if self.to_move(s) == ToMove::Chance {
            out.uniform(0..if self.rules(s).is_some() { 2 } else { 3 });
        }
    }

    fn parse_document(&self, s: &State, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        self.read_document(s, seat, document)
    }

    fn sample(&self, s: &State, seat: Seat, rng: &mut Stream) -> Option<Value> {
        self.sample_document(s, seat, rng)
    }

    fn play_document(&self, s: &mut State, seat: Seat, document: &Value) {
        if let (true, Some(message)) = (self.rules(s).is_none(), speech::message(seat & 1, document)) {
            self.say(s, message);
        }
    }
}

impl GameText for FreeStyle {
    fn outcome_text(&self, s: &State, a: Action) -> String {
        match self.rules(s) {
            Some(_) => format!("seat {} moves first", ["a", "b"][a as usize & 1]),
            None => format!("without agreement the rules are {}", NAMES[(a as usize).min(2)]),
        }
    }

    fn text(&self, view: &View) -> String {
        self.words(view)
    }

    fn action_text(&self, view: &View, _seat: Seat, a: Action) -> String {
        match a {
            0..=REJECT => message_text(a),
            _ => self.rules_of(view).map_or_else(|| a.to_string(), |rules| words::name(&rules, a)),
        }
    }

    /// In addition to the action text, accepts `counter F1`, extra spaces, and any letter case.
    fn parse(&self, view: &View, _seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let word = text.trim().to_ascii_lowercase();
        let found = match view.phase {
            Phase::Negotiate => {
                let name = word.strip_prefix("propose ").or_else(|| word.strip_prefix("counter ")).map(str::trim);
                let proposed = NAMES.iter().position(|n| name.is_some_and(|name| n.eq_ignore_ascii_case(name)));
                let other = || match word.as_str() {
                    "accept" => Some(ACCEPT),
                    "reject" => Some(REJECT),
                    _ => None,
                };
                proposed.map(|k| k as Action).or_else(other)
            }
            _ => self.rules_of(view).and_then(|rules| words::read(&rules, &word)),
        };
        found.filter(|a| legal.binary_search(a).is_ok())
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        if s.play.is_some() {
            let name = self.action_text(&self.view(s, Viewer::Seat(seat)), seat, a);
            return match a {
                0..=REJECT => "expected a ply, got a message: the negotiation is over".into(),
                _ => format!("the ply {name} is not legal in this position"),
            };
        }
        match a {
            0..ACCEPT => "the last message may only accept or reject".into(),
            ACCEPT => "the other seat has no proposal to accept".into(),
            _ => "expected a message (propose, accept or reject), got a ply: play has not started".into(),
        }
    }

    fn why_not_text(&self, s: &State, seat: Seat, text: &str) -> String {
        let read = self.course(s).and_then(|(rules, _)| words::read(rules, text));
        match read {
            Some(a) => self.why_not(s, seat, a),
            None if s.play.is_some() => format!("expected a ply such as c3, c3=7, n:c3=7, b1-b2 or pass, got {text:?}"),
            None => format!("expected a message (propose F0, accept, reject or a document), got {text:?}"),
        }
    }

    fn phase(&self, s: &State) -> Option<&'static str> {
        Some(match (self.to_move(s), self.rules(s)) {
            (ToMove::Over, _) => "over",
            (ToMove::Chance, _) => "draw",
            (_, None) => "negotiate",
            _ => "play",
        })
    }
}

impl GameObservation for FreeStyle {
    fn observe_action(&self, before: &State, who: Viewer, by: Mover, a: Action) -> EventView {
        match (by, self.course(before)) {
            (Mover::Chance, _) => EventView { action: Some(a), text: Some(self.outcome_text(before, a)) },
            (Mover::Seat(seat), Some((rules, play))) => {
                let seen = view::ply_view(rules, play, seat, a, who.seat());
                EventView { action: seen.action, text: Some(seen.text) }
            }
            (Mover::Seat(_), None) => EventView { action: Some(a), text: Some(message_text(a)) },
        }
    }

    /// Returns the numbers compared on contact. At the end, returns all hidden information.
    fn reveals(&self, now: &State, _who: Viewer) -> Vec<(String, Value)> {
        let Some((rules, play)) = self.course(now) else { return Vec::new() };
        let mut out = Vec::new();
        for (seat, met) in play.contact.iter().enumerate() {
            if let Some((own, other)) = met {
                let name = ["a", "b"][seat];
                out.push((
                    format!("{own} of seat {name} meets {other}"),
                    json!({ "seat": seat, "own": own, "other": other }),
                ));
            }
        }
        if play.over.is_some() && (rules.document.hidden.values || rules.document.hidden.pieces) {
            let plies = view::plies(rules, play, None);
            let list: Vec<String> =
                plies.iter().map(|p| format!("{} {}", ["a", "b"][usize::from(p.seat & 1)], p.text)).collect();
            let ids: Vec<_> = plies.iter().map(|p| json!([p.seat, p.action])).collect();
            out.push((format!("the plies were: {}", list.join(", ")), json!({ "plies": ids })));
        }
        out
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.encode(s, who.seat().filter(|&p| p < 2), out);
    }
}

impl GameDisplay for FreeStyle {
    fn picture(&self, view: &View, from: Viewer) -> Picture {
        picture::picture(view, from == Viewer::Seat(1))
    }

    /// Returns one click for a placement and two for a move. Messages and passes have no gesture and are shown as
    /// buttons.
    fn gesture(&self, view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        match ids::ply(a) {
            _ if view.phase != Phase::Play || a <= REJECT => None,
            ids::Ply::Pass => None,
            ids::Ply::Place { cell, .. } => Some(Gesture::of([board::name(cell)])),
            ids::Ply::Move { from, to } => Some(Gesture::of([from, to].map(board::name))),
        }
    }
}

impl GameSearch for FreeStyle {}

impl GameMarks for FreeStyle {
    fn marks(&self, before: &State, _joint: &[Option<ParsedMove>], after: &State, out: &mut Marks) {
        self.count(before, after, out);
    }

    fn refusal_marks(&self, s: &State, seat: Seat, tries: &[RefusedMove], out: &mut Marks) {
        self.count_refusals(s, seat, tries, out);
    }

    fn analyze(&self, question: &Value) -> Result<Value, Issue> {
        Ok(speech::analysis(question))
    }
}
