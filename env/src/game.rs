//! What a game is: rules with parameters over plain states.

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use smallvec::SmallVec;

use ludex_protocol::error::Issue;
use ludex_protocol::record::{Record, RefusedMove};
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, Params, RewardModel, TensorSpec, Utility};

use crate::draw::Stream;
use crate::notation::Notation;
use crate::params::ParamError;
use crate::picture::{self, Gesture, Picture};

pub use crate::marks::{Mark, MarkDoc, MarkValue, Marks};
pub use crate::outcomes::{Action, Outcomes};

/// A player's place, from 0.
pub type Seat = usize;

/// A set of seats (at most 16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeatSet(pub u16);

impl SeatSet {
    /// Seats `0..n`.
    pub const fn first(n: usize) -> Self {
        SeatSet(((1u32 << n) - 1) as u16)
    }

    /// Whether `seat` is in the set.
    pub const fn has(self, seat: Seat) -> bool {
        seat < 16 && self.0 >> seat & 1 == 1
    }

    /// The seats, ascending.
    pub fn iter(self) -> impl Iterator<Item = Seat> {
        (0..16).filter(move |&s| self.has(s))
    }

    /// How many seats are in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Who moves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToMove {
    /// One seat.
    Seat(Seat),
    /// Chance.
    Chance,
    /// Several seats at once.
    Simultaneous(SeatSet),
    /// Nobody: the episode is over.
    Over,
}

impl ToMove {
    /// OpenSpiel's number: seat >= 0, -1 chance, -2 simultaneous, -4 over.
    pub const fn code(self) -> i8 {
        match self {
            ToMove::Seat(s) => s as i8,
            ToMove::Chance => -1,
            ToMove::Simultaneous(_) => -2,
            ToMove::Over => -4,
        }
    }

    /// The seat that acts alone.
    pub const fn seat(self) -> Option<Seat> {
        match self {
            ToMove::Seat(seat) => Some(seat),
            _ => None,
        }
    }

    /// The seats that act now.
    pub const fn seats(self) -> SeatSet {
        match self {
            ToMove::Seat(s) => SeatSet(1 << s),
            ToMove::Simultaneous(set) => set,
            ToMove::Chance | ToMove::Over => SeatSet(0),
        }
    }
}

/// Whose eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewer {
    /// A player.
    Seat(Seat),
    /// What everybody at the table sees.
    Public,
}

impl Viewer {
    /// The seat, unless it is the public.
    pub const fn seat(self) -> Option<Seat> {
        match self {
            Viewer::Seat(seat) => Some(seat),
            Viewer::Public => None,
        }
    }
}

/// Where legal actions go: a list, a mask, a counter.
pub trait ActionSink {
    /// Takes one legal action; games put them in ascending order.
    fn put(&mut self, a: Action);

    /// Takes several, for games that find them in one go.
    #[inline]
    fn put_all(&mut self, all: &[Action]) {
        all.iter().for_each(|&a| self.put(a));
    }
}

impl ActionSink for Vec<Action> {
    #[inline]
    fn put(&mut self, a: Action) {
        self.push(a);
    }

    #[inline]
    fn put_all(&mut self, all: &[Action]) {
        self.extend_from_slice(all);
    }
}

/// A sink that counts.
#[derive(Default)]
pub struct Count(pub usize);

impl ActionSink for Count {
    #[inline]
    fn put(&mut self, _: Action) {
        self.0 += 1;
    }
}

/// A sink that looks for one action.
pub struct Find {
    /// The action looked for.
    pub wanted: Action,
    /// Whether it came by.
    pub found: bool,
}

impl ActionSink for Find {
    #[inline]
    fn put(&mut self, a: Action) {
        self.found |= a == self.wanted;
    }
}

/// A list that stays off the heap while it is short.
#[derive(Default)]
struct Short(SmallVec<[Action; 64]>);

impl ActionSink for Short {
    #[inline]
    fn put(&mut self, a: Action) {
        self.0.push(a);
    }
}

/// A sink that writes ones into a byte mask; ids beyond its end are left out.
pub struct MaskSink<'a>(pub &'a mut [u8]);

impl ActionSink for MaskSink<'_> {
    #[inline]
    fn put(&mut self, a: Action) {
        if let Some(b) = self.0.get_mut(a as usize) {
            *b = 1;
        }
    }
}

/// A sink that keeps the `nth` action that comes by.
pub struct Nth {
    /// How many to let pass.
    pub left: usize,
    /// The one kept.
    pub kept: Option<Action>,
}

impl ActionSink for Nth {
    #[inline]
    fn put(&mut self, a: Action) {
        if self.left == 0 && self.kept.is_none() {
            self.kept = Some(a);
        }
        self.left = self.left.wrapping_sub(1);
    }
}

/// What a viewer learns from one action. The default of a field is "nothing".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventView {
    /// The action id, when the viewer may know it.
    pub action: Option<Action>,
    /// What happened, in words that depend on nothing hidden from the viewer. `None`: the viewer sees no event at all.
    pub text: Option<String>,
}

/// Who made a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mover {
    /// Chance.
    Chance,
    /// A seat.
    Seat(Seat),
}

/// What a proposal or speech turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum ParsedMove {
    /// An ordinary action.
    Action(Action),
    /// A document or speech, in the canonical form that records keep.
    Document(Value),
}

/// Facts of a game under given parameters; the shape of everything that travels.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Names of the seats, in seat order; their number is the number of players.
    pub seats: Vec<String>,
    /// Who moves when.
    pub dynamics: Dynamics,
    /// What kind of luck there is.
    pub chance: ChanceMode,
    /// Whether anything is hidden.
    pub information: Information,
    /// How returns relate.
    pub utility: Utility,
    /// When rewards are paid.
    pub rewards: RewardModel,
    /// Bounds of every seat's return.
    pub returns: [f64; 2],
    /// Bound on the moves of an episode (a joint move is one, chance none).
    pub max_length: u32,
    /// Number of action ids.
    pub actions: u32,
    /// Bound on chance outcome ids.
    pub max_chance: u32,
    /// How legal actions travel.
    pub legal: LegalForm,
    /// The observation array, if the game has one: name and shape. One byte per element.
    pub tensor: Option<(&'static str, TensorSpec)>,
    /// The perfect-recall array, if the game has one.
    pub info: Option<(&'static str, TensorSpec)>,
    /// Whether [`Game::openspiel_tensor`] is given, and its shape.
    pub openspiel: Option<TensorSpec>,
    /// JSON Schemas of documents, for games of proposals. The key of a turn is `phase/seat-name` if it is in the map, else
    /// `phase`. Schemas say structure and size alone, and nothing that depends on what is hidden.
    pub proposals: Option<std::collections::BTreeMap<String, Value>>,
}

/// What is played to compare two agents of a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One episode: won, drawn or lost.
    Episode,
    /// This many seeds. On each, two episodes are played with the seats swapped (with four seats two against two); the greater
    /// sum of returns wins.
    /// Long enough for skill to show through the luck.
    Duplicate(u32),
    /// No duel: each agent's mean return in the company of these agents, one after the other.
    Field(&'static [&'static str]),
}

/// A named set of parameters: name, parameters as JSON text, what it changes and whose it is.
pub type PresetText = (&'static str, &'static str, &'static str);

/// Another name of a game, and what its parameters mean in ours.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The name that is accepted.
    pub name: &'static str,
    /// Its parameters in ours; `Ok` where they are the same.
    pub map: fn(Params) -> Result<Params, ParamError>,
}

/// The rules of a game with fixed parameters. Immutable; states are plain data apart from it.
///
/// The required methods say what the game is; the provided ones are what hosts ask for, and may be overridden
/// where a game knows a faster or a stricter way. `docs/adding-a-game.md` walks through them.
///
/// **Unchecked moves.** `play_unchecked` with any id in `0..actions` (or `0..max_chance` at chance) is memory-safe
/// and must not panic; whether it is legal is the caller's business. Hosts use the checked forms of [`crate::DynState`].
pub trait Game: Sized + Send + Sync + 'static {
    /// Typed parameters; their JSON Schema is the one that users see. Unknown fields must be denied.
    type Params: Clone + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// One position. `Copy` where possible; no generator, no clock.
    type State: Clone + Send + Sync + 'static;
    /// All that one viewer knows, with perfect recall. Everything that a player gets is made from it.
    type View: Clone + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// The id, in snake case.
    const ID: &'static str;
    /// Names of other programs that mean this game.
    const ALIASES: &'static [Alias] = &[];
    /// The title for people.
    const TITLE: &'static str;
    /// Rules version, raised with every change of behaviour.
    const RULES: u32 = 1;
    /// The game's page (its `.md` file).
    const PAGE: &'static str;
    /// What a player of given parameters is told, as a template over them (`<id>.j2`, see `docs/adding-a-game.md`): the rules, then
    /// `## Moves`, how moves are written, then `## Position`, how a position is. Empty: the page stands in for it.
    const MANUAL: &'static str = "";
    /// Least and greatest number of seats.
    const PLAYERS: [u32; 2] = [2, 2];
    /// Presets in the order in which they are listed; the first, if any, are the defaults' names.
    const PRESETS: &'static [PresetText] = &[];
    /// The ladder: `(level, bot, agent spec)`, level 0 = random.
    const LADDER: &'static [(u32, u32, &'static str)] = &[(0, 1, "random")];
    /// What agents of the ladder are compared by.
    const UNIT: Unit = Unit::Episode;
    /// What [`marks`](Game::marks) and [`tried`](Game::tried) count: printed on the game's page under `## Marks`. Games of two
    /// seats without luck and secrets need not list `missed_win` and `missed_block`, which are counted of all of them.
    const MARKS: &'static [MarkDoc] = &[];
    /// Whether [`marks`](Game::marks) tells the score of every hand of an episode as `hand_score`, so that blocks of many entrants
    /// can be ranked hand by hand.
    const HAND_SCORES: bool = false;
    /// What a seat of each team is called, by the team's number: see [`teams`](Game::teams).
    const ROLES: &'static [&'static str] = &[];
    /// The notation that other programs keep whole games in, where there is one; [`in_notation`](Game::in_notation) writes it.
    const NOTATION: Option<Notation> = None;

    /// The game with these parameters.
    ///
    /// # Errors
    /// A parameter out of its range, by name.
    fn new(params: Self::Params) -> Result<Self, ParamError>;
    /// The parameters.
    fn params(&self) -> &Self::Params;
    /// The facts.
    fn facts(&self) -> Facts;

    /// The first position.
    fn start(&self) -> Self::State;
    /// Who moves.
    fn to_move(&self, s: &Self::State) -> ToMove;
    /// Legal actions of `seat`, ascending; nothing if it does not act now.
    fn legal(&self, s: &Self::State, seat: Seat, out: &mut impl ActionSink);
    /// Plays an action of the seat to move, or a chance outcome.
    fn play_unchecked(&self, s: &mut Self::State, a: Action);
    /// Sum of rewards so far, per seat; `out` has one place per seat.
    fn returns(&self, s: &Self::State, out: &mut [f64]);
    /// What `who` knows.
    fn view(&self, s: &Self::State, who: Viewer) -> Self::View;
    /// A full state that the owner of `view` cannot tell from the true one, weighed by chance alone.
    fn sample_world(&self, view: &Self::View, rng: &mut Stream) -> Self::State;
    /// The view in words, with a board where there is one.
    fn text(&self, view: &Self::View) -> String;
    /// The name of an action of `seat`, as the owner of `view` may know it.
    fn action_text(&self, view: &Self::View, seat: Seat, a: Action) -> String;

    /// The view as a person at a terminal sees it, where [`text`](Game::text) holds what only programs read. A board whose
    /// men move towards one side is seen from the side of `from`.
    fn drawing(&self, view: &Self::View, _from: Viewer) -> String {
        self.text(view)
    }
    /// The view as a picture, made from the view alone, seen from the side of `from`. What a person can touch carries
    /// `data-cell`. The default writes the [`drawing`](Game::drawing) into a box. It must not panic on any view that serde reads.
    fn picture(&self, view: &Self::View, from: Viewer) -> Picture {
        picture::text_box(Self::TITLE, &self.drawing(view, from))
    }
    /// The cells of the [`picture`](Game::picture) that a person touches, in order, to mean action `a` of `seat`. `None`: the
    /// action is a button. Several actions may have one gesture; then their texts tell them apart.
    fn gesture(&self, _view: &Self::View, _seat: Seat, _a: Action) -> Option<Gesture> {
        None
    }
    /// What an action means, where its name does not tell it, such as the chips of a bet; else empty.
    fn gloss(&self, _view: &Self::View, _seat: Seat, _a: Action) -> String {
        String::new()
    }
    /// The observation array into `out` (of the declared size, holding anything).
    fn tensor(&self, _s: &Self::State, _who: Viewer, out: &mut [u8]) {
        out.fill(0);
    }
    /// The perfect-recall array into `out`.
    fn info(&self, _s: &Self::State, _who: Viewer, out: &mut [u8]) {
        out.fill(0);
    }
    /// The observation in OpenSpiel's layout, where [`Facts::openspiel`] declares one.
    fn openspiel_tensor(&self, _s: &Self::State, _seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
    }
    /// Outcomes at a chance node.
    fn chance(&self, _s: &Self::State, _out: &mut Outcomes) {}
    /// The name of a chance outcome.
    fn outcome_text(&self, _s: &Self::State, a: Action) -> String {
        a.to_string()
    }
    /// Plays a joint action: one id per seat, in seat order; seats that do not act hold any id.
    fn play_together_unchecked(&self, _s: &mut Self::State, _joint: &[Action]) {}
    /// Plays a joint move of ids and sayings: one entry per seat, `None` for seats that do not act. The default knows ids
    /// alone.
    fn play_joint_unchecked(&self, s: &mut Self::State, joint: &[Option<ParsedMove>]) {
        let id = |heard: &Option<ParsedMove>| if let Some(ParsedMove::Action(a)) = heard { *a } else { 0 };
        let ids: SmallVec<[Action; 16]> = joint.iter().map(id).collect();
        self.play_together_unchecked(s, &ids);
    }
    /// The legal actions of `seat` as a mask of ones and zeros (`out` has one byte per action id).
    fn mask(&self, s: &Self::State, seat: Seat, out: &mut [u8]) {
        out.fill(0);
        self.legal(s, seat, &mut MaskSink(out));
    }
    /// Whether `a` is legal for `seat` now. The default looks through [`legal`](Game::legal).
    fn is_legal(&self, s: &Self::State, seat: Seat, a: Action) -> bool {
        let mut find = Find { wanted: a, found: false };
        self.legal(s, seat, &mut find);
        find.found
    }
    /// A uniformly random legal action of `seat`, which must act now.
    fn random_action(&self, s: &Self::State, seat: Seat, rng: &mut Stream) -> Action {
        let mut all = Short::default();
        self.legal(s, seat, &mut all);
        if all.0.is_empty() { 0 } else { all.0[rng.below(all.0.len())] }
    }
    /// Why `a` is illegal for `seat` to move, in the game's own words.
    fn why_not(&self, s: &Self::State, seat: Seat, a: Action) -> String {
        format!("{} is not legal here", self.action_text(&self.view(s, Viewer::Seat(seat)), seat, a))
    }
    /// Why `text`, which [`parse`](Game::parse) takes for no legal action, is refused: the reason of the action that it
    /// names, if it names one.
    fn why_not_text(&self, s: &Self::State, seat: Seat, text: &str) -> String {
        let all: Vec<Action> = (0..self.facts().actions).collect();
        match self.parse(&self.view(s, Viewer::Seat(seat)), seat, &all, text) {
            Some(a) if !self.is_legal(s, seat, a) => self.why_not(s, seat, a),
            _ => format!("{text:?} names no legal action"),
        }
    }
    /// What `who` learns when `by` plays `a` in `before`. The default shows everything: right for perfect information only.
    fn observe_action(&self, before: &Self::State, _who: Viewer, by: Mover, a: Action) -> EventView {
        let text = match by {
            Mover::Chance => self.outcome_text(before, a),
            Mover::Seat(seat) => self.action_text(&self.view(before, Viewer::Public), seat, a),
        };
        EventView { action: Some(a), text: Some(text) }
    }
    /// What `who` learns when `seat` says `said` in `before`. The default shows it to everybody.
    fn observe_document(&self, _before: &Self::State, _who: Viewer, _seat: Seat, said: &Value) -> EventView {
        EventView { action: None, text: Some(said.as_str().map_or_else(|| said.to_string(), str::to_owned)) }
    }
    /// What is laid open to `who` on reaching `now`, as text and data (a showdown, a secret role).
    fn reveals(&self, _now: &Self::State, _who: Viewer) -> Vec<(String, Value)> {
        Vec::new()
    }
    /// The action that `text` names, in any notation that people use for the game. The default knows the action
    /// texts of `legal`, whatever their case.
    fn parse(&self, view: &Self::View, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim();
        legal.iter().copied().find(|&a| self.action_text(view, seat, a).eq_ignore_ascii_case(text))
    }
    /// Reads what `seat` says: a document that fits the turn's schema (see [`Facts::proposals`]), or a sentence, which is a
    /// JSON string and no name of an action.
    ///
    /// # Errors
    /// All flaws, each with its place and a code that the game's page explains. [`Issue::unparsed`] says that a sentence
    /// holds no move. The default takes no documents.
    fn parse_document(&self, _s: &Self::State, _seat: Seat, said: &Value) -> Result<ParsedMove, Vec<Issue>> {
        let message = format!("{} takes no proposals", Self::ID);
        Err(vec![Issue::new("", said, "an action id, or its text", message)])
    }
    /// A document that [`hear`](Game::hear) accepts from `seat`, which acts now. Over many draws every clause of the schema
    /// occurs. The default has none.
    fn sample(&self, _s: &Self::State, _seat: Seat, _rng: &mut Stream) -> Option<Value> {
        None
    }
    /// Plays what [`hear`](Game::hear) gave as [`Heard::Said`].
    fn play_document(&self, _s: &mut Self::State, _seat: Seat, _said: &Value) {}
    /// The team of each seat in an episode that is over: seats with the same number play together and are not compared with
    /// each other. `None` where every seat plays for itself.
    fn teams(&self, _s: &Self::State) -> Option<Vec<usize>> {
        None
    }
    /// What the rules count of a step: what each seat did in `joint`, from `before` to `after`. Asked only while a record is
    /// played again. All marks stand in [`MARKS`](Game::MARKS). The default counts nothing.
    fn marks(&self, _before: &Self::State, _joint: &[Option<ParsedMove>], _after: &Self::State, _out: &mut Marks) {}
    /// What the rules count of the attempts of `seat` in `s` that were refused before its move; none is the usual case. Asked
    /// and explained as [`marks`](Game::marks). The default counts nothing.
    fn refusal_marks(&self, _s: &Self::State, _seat: Seat, _tries: &[RefusedMove], _out: &mut Marks) {}
    /// Answers a question about the rules apart from any episode, as `ludex analyze` reads it: which hand wins, what can be
    /// played. The game's page says what may be asked.
    ///
    /// # Errors
    /// What is wrong with the question, and where. The default answers none.
    fn analyze(&self, _question: &Value) -> Result<Value, Issue> {
        Err(Issue { message: format!("{} answers no questions", Self::ID), ..Issue::default() })
    }
    /// A record of this game, which ended in `end`, in [`NOTATION`](Game::NOTATION). Asked only where there is one.
    ///
    /// # Errors
    /// What the notation cannot say.
    fn in_notation(&self, _end: &Self::State, _record: &Record) -> Result<String, String> {
        Err(format!("{} has no notation of its own", Self::ID))
    }
    /// The name of the phase, for games that have several.
    fn phase(&self, _s: &Self::State) -> Option<&'static str> {
        None
    }
    /// What the policy `default` plays for a seat whose answers were all refused: a legal move. The stream is the one that
    /// the policy `random` draws from. The default is [`default_action`](Game::default_action).
    fn default_move(&self, s: &Self::State, seat: Seat, _rng: &mut Stream) -> ParsedMove {
        ParsedMove::Action(self.default_action(s, seat))
    }
    /// The default move of games that need no draw for it.
    fn default_action(&self, s: &Self::State, seat: Seat) -> Action {
        let mut first = Nth { left: 0, kept: None };
        self.legal(s, seat, &mut first);
        first.kept.unwrap_or(0)
    }
    /// A guess at `seat`'s return, within the bounds of returns, for search; `None` where the game gives none.
    fn evaluate(&self, _s: &Self::State, _seat: Seat) -> Option<f64> {
        None
    }
    /// What search should look at: legal actions of `seat` to move, at least one, the most promising first. May leave out
    /// what no player would think of. Returns how many in front are to be looked at in this very order; behind them
    /// search prefers what has done well elsewhere. The default is all legal actions.
    fn search_moves(&self, s: &Self::State, seat: Seat, out: &mut Vec<Action>) -> usize {
        self.legal(s, seat, out);
        0
    }
    /// Legal actions of `seat` to move that search follows beyond its horizon, because the evaluation cannot judge the
    /// position before they are played: exchanges, and answers to threats. The most promising first. Returns whether the
    /// seat may also leave them be, and have the position be worth its evaluation. The default has none.
    fn quiescence_moves(&self, _s: &Self::State, _seat: Seat, _out: &mut Vec<Action>) -> bool {
        true
    }
    /// A hash of everything that matters for the rest of the episode, for transposition tables.
    fn hash(&self, _s: &Self::State) -> Option<u64> {
        None
    }
}
