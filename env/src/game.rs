//! The [`Game`] trait, which every game implements, and the types in its signatures.

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

/// Index of a player, from 0.
pub type Seat = usize;

/// A set of seats 0 to 15, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeatSet(pub u16);

impl SeatSet {
    /// Returns the set of seats `0..n`, `n` at most 16.
    pub const fn first(n: usize) -> Self {
        SeatSet(((1u32 << n) - 1) as u16)
    }

    /// Returns true if `seat` is in the set.
    pub const fn has(self, seat: Seat) -> bool {
        seat < 16 && self.0 >> seat & 1 == 1
    }

    /// Iterates over the seats in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Seat> {
        (0..16).filter(move |&s| self.has(s))
    }

    /// Returns the number of seats in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns true if the set has no seats.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The party that moves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToMove {
    /// A single seat, which moves alone.
    Seat(Seat),
    /// Chance, which draws one of [`Game::chance`].
    Chance,
    /// Several seats at once, in a joint move.
    Simultaneous(SeatSet),
    /// No party: the episode has ended.
    Over,
}

impl ToMove {
    /// Returns OpenSpiel's player id: the seat (0 or greater), -1 chance, -2 simultaneous, -4 terminal.
    pub const fn code(self) -> i8 {
        match self {
            ToMove::Seat(s) => s as i8,
            ToMove::Chance => -1,
            ToMove::Simultaneous(_) => -2,
            ToMove::Over => -4,
        }
    }

    /// Returns the seat if a single seat moves.
    pub const fn seat(self) -> Option<Seat> {
        match self {
            ToMove::Seat(seat) => Some(seat),
            _ => None,
        }
    }

    /// Returns the seats that move now; empty at chance nodes and after the end.
    pub const fn seats(self) -> SeatSet {
        match self {
            ToMove::Seat(s) => SeatSet(1 << s),
            ToMove::Simultaneous(set) => set,
            ToMove::Chance | ToMove::Over => SeatSet(0),
        }
    }
}

/// The observer that a view is computed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewer {
    /// A player, who sees the public information and their own.
    Seat(Seat),
    /// A spectator, who sees only the public information.
    Public,
}

impl Viewer {
    /// Returns the seat, or `None` for the public.
    pub const fn seat(self) -> Option<Seat> {
        match self {
            Viewer::Seat(seat) => Some(seat),
            Viewer::Public => None,
        }
    }
}

/// A receiver of legal actions, such as a list, a mask or a counter.
pub trait ActionSink {
    /// Adds one legal action. Games add actions in ascending order, each once.
    fn put(&mut self, a: Action);

    /// Adds several legal actions, in ascending order.
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

/// A sink that counts the actions.
#[derive(Default)]
pub struct Count(pub usize);

impl ActionSink for Count {
    #[inline]
    fn put(&mut self, _: Action) {
        self.0 += 1;
    }
}

/// A sink that searches for one action.
pub struct Find {
    /// The action to search for.
    pub wanted: Action,
    /// True once the action was added.
    pub found: bool,
}

impl ActionSink for Find {
    #[inline]
    fn put(&mut self, a: Action) {
        self.found |= a == self.wanted;
    }
}

/// A list that stays off the heap up to 64 actions.
#[derive(Default)]
struct Short(SmallVec<[Action; 64]>);

impl ActionSink for Short {
    #[inline]
    fn put(&mut self, a: Action) {
        self.0.push(a);
    }
}

/// A sink that sets the byte of each action to 1 and ignores ids beyond the end of the slice.
pub struct MaskSink<'a>(pub &'a mut [u8]);

impl ActionSink for MaskSink<'_> {
    #[inline]
    fn put(&mut self, a: Action) {
        if let Some(b) = self.0.get_mut(a as usize) {
            *b = 1;
        }
    }
}

/// A sink that keeps one action by its position.
pub struct Nth {
    /// Number of actions to skip before the one to keep.
    pub left: usize,
    /// The action at that position, if there was one.
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

/// The information that one viewer gets from an action. By default, none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventView {
    /// The action id, if the viewer may know it.
    pub action: Option<Action>,
    /// Description of the event, independent of anything hidden from the viewer. `None`: the viewer gets no event.
    pub text: Option<String>,
}

/// The party that made a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mover {
    /// Chance, which drew an outcome.
    Chance,
    /// A player, by seat.
    Seat(Seat),
}

/// The parsed form of a submitted document or utterance.
#[derive(Clone, Debug, PartialEq)]
pub enum ParsedMove {
    /// An ordinary action id.
    Action(Action),
    /// A document or utterance, in the canonical form that records store.
    Document(Value),
}

/// Properties of a game with given parameters. They fix the shape of every message and of every array.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Names of the seats, in seat order; their count is the number of players.
    pub seats: Vec<String>,
    /// Order of moves: sequential, simultaneous or mixed.
    pub dynamics: Dynamics,
    /// Kind of chance: none, sampled outcomes or explicit probabilities.
    pub chance: ChanceMode,
    /// Perfect or imperfect information.
    pub information: Information,
    /// Relation between the seats' returns, such as zero-sum.
    pub utility: Utility,
    /// Time of rewards: at each step or at the end.
    pub rewards: RewardModel,
    /// Least and greatest return of any seat.
    pub returns: [f64; 2],
    /// Upper bound on the moves of an episode. A joint move counts once; chance outcomes do not count.
    pub max_length: u32,
    /// Number of action ids; ids are `0..actions`.
    pub actions: u32,
    /// Exclusive upper bound on chance outcome ids; 0 without chance.
    pub max_chance: u32,
    /// Wire form of legal actions.
    pub legal: LegalForm,
    /// Name and shape of the observation array, one byte per element. `None`: the game has none.
    pub tensor: Option<(&'static str, TensorSpec)>,
    /// Name and shape of the perfect-recall array, one byte per element. `None`: the game has none.
    pub info: Option<(&'static str, TensorSpec)>,
    /// Shape of the array that [`Game::openspiel_tensor`] writes. `None`: the game does not implement it.
    pub openspiel: Option<TensorSpec>,
    /// JSON Schemas of documents, for games whose moves are documents. A turn uses the key `phase/seat-name` if present,
    /// else `phase`. Schemas describe structure and size only, and must not depend on hidden information.
    pub proposals: Option<std::collections::BTreeMap<String, Value>>,
}

/// The unit of play that compares two agents of an anchor ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One episode, scored as a win, draw or loss.
    Episode,
    /// A block of this many seeds, each played twice with the seats swapped (with four seats, two against two). The greater
    /// sum of returns wins. Choose the number large enough that skill outweighs luck.
    Duplicate(u32),
    /// No direct comparison: each agent's mean return at tables with these agents, one lineup after another.
    Field(&'static [&'static str]),
}

/// A named set of parameters: its name, the parameters as JSON text, and a note on changes and origin.
pub type PresetText = (&'static str, &'static str, &'static str);

/// An alternative name of a game, with a conversion of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The name accepted in game strings.
    pub name: &'static str,
    /// Converts the parameters of this alias to those of the game; `Ok` if they are identical.
    pub map: fn(Params) -> Result<Params, ParamError>,
}

/// The rules of a game with fixed parameters. Immutable; each position is a separate plain value of type
/// [`State`](Game::State).
///
/// The required methods define the game. The provided methods serve hosts, agents and pages; override one where the game has
/// a faster or stricter implementation. `docs/adding-a-game.md` is the step-by-step guide.
///
/// **Unchecked moves.** `play_unchecked` with any id in `0..actions` (in `0..max_chance` at a chance node) must be
/// memory-safe and must not panic. Legality is the caller's responsibility; hosts call the checked forms of
/// [`crate::DynState`].
pub trait Game: Sized + Send + Sync + 'static {
    /// Typed parameters, published as a JSON Schema. Must deny unknown fields.
    type Params: Clone + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// One position. Preferably `Copy`; holds no random generator and no clock.
    type State: Clone + Send + Sync + 'static;
    /// Complete knowledge of one viewer, with perfect recall. Every observation of that viewer derives from this value
    /// alone.
    type View: Clone + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// The game's id, in snake case.
    const ID: &'static str;
    /// Names under which other programs know this game. Default: none.
    const ALIASES: &'static [Alias] = &[];
    /// The title, for display.
    const TITLE: &'static str;
    /// Version of the rules; increase it with every change of behavior. Default: 1.
    const RULES: u32 = 1;
    /// The game's documentation page in Markdown, whose first line is the title.
    const PAGE: &'static str;
    /// Template of the manual for players, rendered with the parameters (`<id>.j2`; see `docs/adding-a-game.md`): the rules,
    /// then `## Moves` with the notation of moves, then `## Position` with the format of positions. Default: empty, which
    /// uses [`PAGE`](Game::PAGE) as the manual.
    const MANUAL: &'static str = "";
    /// Least and greatest number of seats over all parameters. Default: two seats.
    const PLAYERS: [u32; 2] = [2, 2];
    /// Presets in display order. The first one, if any, names the default parameters. Default: none.
    const PRESETS: &'static [PresetText] = &[];
    /// The anchor ladder, as `(level, bot, agent spec)`; level 0 is `random`. Default: level 0 only.
    const LADDER: &'static [(u32, u32, &'static str)] = &[(0, 1, "random")];
    /// The unit of play that compares agents of the ladder. Default: one episode.
    const UNIT: Unit = Unit::Episode;
    /// Documentation of everything that [`marks`](Game::marks) and [`tried`](Game::tried) count, printed on the game's page
    /// under `## Marks`. Two-player games without chance and hidden information get `missed_win` and `missed_block`
    /// automatically. Default: none.
    const MARKS: &'static [MarkDoc] = &[];
    /// True if [`marks`](Game::marks) emits the score of every hand of an episode as `hand_score`, so that blocks of many
    /// entrants can be ranked hand by hand. Default: false.
    const HAND_SCORES: bool = false;
    /// Role names of the teams, indexed by team number; see [`teams`](Game::teams). Default: none.
    const ROLES: &'static [&'static str] = &[];
    /// The standard notation for complete games, if there is one; [`in_notation`](Game::in_notation) writes it. Default:
    /// none.
    const NOTATION: Option<Notation> = None;

    /// Creates the game with these parameters.
    ///
    /// # Errors
    /// Returns an error that names the first parameter out of range.
    fn new(params: Self::Params) -> Result<Self, ParamError>;
    /// Returns the parameters of the game.
    fn params(&self) -> &Self::Params;
    /// Returns the properties of the game under its parameters.
    fn facts(&self) -> Facts;

    /// Returns the initial state.
    fn start(&self) -> Self::State;
    /// Returns the party that moves next.
    fn to_move(&self, s: &Self::State) -> ToMove;
    /// Adds the legal actions of `seat` to `out`, in ascending order; none if the seat does not move now.
    fn legal(&self, s: &Self::State, seat: Seat, out: &mut impl ActionSink);
    /// Applies an action of the seat to move, or a chance outcome. See "Unchecked moves" above.
    fn play_unchecked(&self, s: &mut Self::State, a: Action);
    /// Writes the sum of rewards so far into `out`, one element per seat.
    fn returns(&self, s: &Self::State, out: &mut [f64]);
    /// Returns everything that `who` knows.
    fn view(&self, s: &Self::State, who: Viewer) -> Self::View;
    /// Samples a full state that is consistent with `view`, from the prior distribution of chance alone. The owner of `view`
    /// must not be able to distinguish it from the true state.
    fn sample_world(&self, view: &Self::View, rng: &mut Stream) -> Self::State;
    /// Returns the view as text, with a diagram if the game has a board.
    fn text(&self, view: &Self::View) -> String;
    /// Returns the name of an action of `seat`, using only what the owner of `view` may know.
    fn action_text(&self, view: &Self::View, seat: Seat, a: Action) -> String;

    /// Returns the view as displayed in a terminal, for games whose [`text`](Game::text) contains lines that only programs
    /// need. A board with a forward direction is drawn from the side of `from`. Default: [`text`](Game::text).
    fn drawing(&self, view: &Self::View, _from: Viewer) -> String {
        self.text(view)
    }
    /// Returns the view as a picture, drawn from the side of `from` and from the view alone. Clickable elements carry
    /// `data-cell`. Must not panic on any view that deserializes. Default: [`drawing`](Game::drawing) in a text box.
    fn picture(&self, view: &Self::View, from: Viewer) -> Picture {
        picture::text_box(Self::TITLE, &self.drawing(view, from))
    }
    /// Returns the cells of the [`picture`](Game::picture) that a person clicks, in order, to play action `a` of `seat`.
    /// Actions with the same gesture are distinguished by their texts. `None`: the action is a button. Default: `None`.
    fn gesture(&self, _view: &Self::View, _seat: Seat, _a: Action) -> Option<Gesture> {
        None
    }
    /// Returns an explanation of an action whose name is not enough, such as the number of chips in a bet. Default: empty.
    fn gloss(&self, _view: &Self::View, _seat: Seat, _a: Action) -> String {
        String::new()
    }
    /// Writes the observation array into `out`, which has the declared size and arbitrary contents. Default: zeros.
    fn tensor(&self, _s: &Self::State, _who: Viewer, out: &mut [u8]) {
        out.fill(0);
    }
    /// Writes the perfect-recall array into `out`, which has the declared size and arbitrary contents. Default: zeros.
    fn info(&self, _s: &Self::State, _who: Viewer, out: &mut [u8]) {
        out.fill(0);
    }
    /// Writes the observation in OpenSpiel's layout into `out`, if [`Facts::openspiel`] declares it. Default: zeros.
    fn openspiel_tensor(&self, _s: &Self::State, _seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
    }
    /// Adds the outcomes of a chance node with their weights to `_out`. Default: none.
    fn chance(&self, _s: &Self::State, _out: &mut Outcomes) {}
    /// Returns the name of a chance outcome. Default: the id in decimal.
    fn outcome_text(&self, _s: &Self::State, a: Action) -> String {
        a.to_string()
    }
    /// Applies a joint action: one id per seat, in seat order, with any id for seats that do not act. Default: no change,
    /// for games without simultaneous moves.
    fn play_together_unchecked(&self, _s: &mut Self::State, _joint: &[Action]) {}
    /// Applies a joint move of actions and documents: one entry per seat, `None` for seats that do not act. Default:
    /// [`play_together_unchecked`](Game::play_together_unchecked) with the ids; documents count as id 0.
    fn play_joint_unchecked(&self, s: &mut Self::State, joint: &[Option<ParsedMove>]) {
        let id = |heard: &Option<ParsedMove>| if let Some(ParsedMove::Action(a)) = heard { *a } else { 0 };
        let ids: SmallVec<[Action; 16]> = joint.iter().map(id).collect();
        self.play_together_unchecked(s, &ids);
    }
    /// Writes the legal actions of `seat` as ones and zeros, one byte per action id. Default: collects
    /// [`legal`](Game::legal).
    fn mask(&self, s: &Self::State, seat: Seat, out: &mut [u8]) {
        out.fill(0);
        self.legal(s, seat, &mut MaskSink(out));
    }
    /// Returns true if `a` is legal for `seat` now. Default: searches [`legal`](Game::legal).
    fn is_legal(&self, s: &Self::State, seat: Seat, a: Action) -> bool {
        let mut find = Find { wanted: a, found: false };
        self.legal(s, seat, &mut find);
        find.found
    }
    /// Returns a uniformly random legal action of `seat`, which must act now. Default: draws from [`legal`](Game::legal).
    fn random_action(&self, s: &Self::State, seat: Seat, rng: &mut Stream) -> Action {
        let mut all = Short::default();
        self.legal(s, seat, &mut all);
        if all.0.is_empty() { 0 } else { all.0[rng.below(all.0.len())] }
    }
    /// Returns the rule that makes `a` illegal for `seat`, which is to move, as an error message. Default: a generic
    /// message.
    fn why_not(&self, s: &Self::State, seat: Seat, a: Action) -> String {
        format!("{} is not legal here", self.action_text(&self.view(s, Viewer::Seat(seat)), seat, a))
    }
    /// Returns an error message for `text` that [`parse`](Game::parse) matched to no legal action. Default: the reason of
    /// [`why_not`](Game::why_not) if the text names an illegal action, else a generic message.
    fn why_not_text(&self, s: &Self::State, seat: Seat, text: &str) -> String {
        let all: Vec<Action> = (0..self.facts().actions).collect();
        match self.parse(&self.view(s, Viewer::Seat(seat)), seat, &all, text) {
            Some(a) if !self.is_legal(s, seat, a) => self.why_not(s, seat, a),
            _ => format!("{text:?} names no legal action"),
        }
    }
    /// Returns the information that `who` gets when `by` plays `a` in the state `before`. Default: the full action, which is
    /// correct only for games of perfect information.
    fn observe_action(&self, before: &Self::State, _who: Viewer, by: Mover, a: Action) -> EventView {
        let text = match by {
            Mover::Chance => self.outcome_text(before, a),
            Mover::Seat(seat) => self.action_text(&self.view(before, Viewer::Public), seat, a),
        };
        EventView { action: Some(a), text: Some(text) }
    }
    /// Returns the information that `who` gets when `seat` submits the document `said` in the state `before`. Default: the
    /// full document.
    fn observe_document(&self, _before: &Self::State, _who: Viewer, _seat: Seat, said: &Value) -> EventView {
        EventView { action: None, text: Some(said.as_str().map_or_else(|| said.to_string(), str::to_owned)) }
    }
    /// Returns the information revealed to `who` on reaching `now`, such as a showdown or a secret role, as pairs of text
    /// and data. Default: none.
    fn reveals(&self, _now: &Self::State, _who: Viewer) -> Vec<(String, Value)> {
        Vec::new()
    }
    /// Returns the action of `legal` that `text` names, in any notation common for the game. Default: the action whose text
    /// matches, ignoring case and surrounding blanks.
    fn parse(&self, view: &Self::View, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim();
        legal.iter().copied().find(|&a| self.action_text(view, seat, a).eq_ignore_ascii_case(text))
    }
    /// Parses a submission of `seat`: a document that fits the schema of the turn (see [`Facts::proposals`]), or an
    /// utterance, which is a JSON string that names no action. Default: refuses everything.
    ///
    /// # Errors
    /// Returns every flaw with its path and a code that the game's page explains. [`Issue::unparsed`] marks an utterance
    /// that contains no move.
    fn parse_document(&self, _s: &Self::State, _seat: Seat, said: &Value) -> Result<ParsedMove, Vec<Issue>> {
        let message = format!("{} takes no proposals", Self::ID);
        Err(vec![Issue::new("", said, "an action id, or its text", message)])
    }
    /// Samples a document that [`hear`](Game::hear) accepts from `seat`, which acts now. Repeated sampling covers every
    /// clause of the schema. Default: `None`.
    fn sample(&self, _s: &Self::State, _seat: Seat, _rng: &mut Stream) -> Option<Value> {
        None
    }
    /// Applies a document that [`hear`](Game::hear) returned as [`Heard::Said`]. Default: no change.
    fn play_document(&self, _s: &mut Self::State, _seat: Seat, _said: &Value) {}
    /// Returns the team number of each seat in a finished episode. Seats of one team cooperate and are not compared with
    /// each other. `None`: every seat is its own team. Default: `None`.
    fn teams(&self, _s: &Self::State) -> Option<Vec<usize>> {
        None
    }
    /// Emits the marks of one step from `before` to `after`, in which the seats played `joint`. Called only while a record
    /// is replayed. Every mark must be declared in [`MARKS`](Game::MARKS). Default: none.
    fn marks(&self, _before: &Self::State, _joint: &[Option<ParsedMove>], _after: &Self::State, _out: &mut Marks) {}
    /// Emits the marks of the refused attempts of `seat` in state `s` before its move; `_tries` is usually empty. Called and
    /// declared like [`marks`](Game::marks). Default: none.
    fn refusal_marks(&self, _s: &Self::State, _seat: Seat, _tries: &[RefusedMove], _out: &mut Marks) {}
    /// Answers a query about the rules that is independent of any episode, such as the winner of a showdown, for `ludex
    /// analyze`. The game's page documents the queries. Default: refuses every query.
    ///
    /// # Errors
    /// Returns the flaw of the query with its path.
    fn analyze(&self, _question: &Value) -> Result<Value, Issue> {
        Err(Issue { message: format!("{} answers no questions", Self::ID), ..Issue::default() })
    }
    /// Returns a record of this game, whose final state is `end`, in [`NOTATION`](Game::NOTATION). Called only if a notation
    /// is declared.
    ///
    /// # Errors
    /// Returns the part of the record that the notation cannot express.
    fn in_notation(&self, _end: &Self::State, _record: &Record) -> Result<String, String> {
        Err(format!("{} has no notation of its own", Self::ID))
    }
    /// Returns the name of the current phase, for games with several. Default: `None`.
    fn phase(&self, _s: &Self::State) -> Option<&'static str> {
        None
    }
    /// Returns the legal move that the policy `default` plays for a seat whose attempts were all refused. `_rng` is the
    /// stream of the policy `random`. Default: [`default_action`](Game::default_action).
    fn default_move(&self, s: &Self::State, seat: Seat, _rng: &mut Stream) -> ParsedMove {
        ParsedMove::Action(self.default_action(s, seat))
    }
    /// Returns the default move for games that need no randomness for it. Default: the first legal action.
    fn default_action(&self, s: &Self::State, seat: Seat) -> Action {
        let mut first = Nth { left: 0, kept: None };
        self.legal(s, seat, &mut first);
        first.kept.unwrap_or(0)
    }
    /// Returns a heuristic estimate of `seat`'s return, within the bounds of returns, for search. Default: `None`.
    fn evaluate(&self, _s: &Self::State, _seat: Seat) -> Option<f64> {
        None
    }
    /// Adds the actions that search should examine to `out`: legal actions of `seat`, which is to move, at least one, best
    /// first. May omit actions that are never sensible. Returns the length of the prefix that search must examine in this
    /// order; it orders the rest by their success elsewhere in the tree. Default: all legal actions, prefix 0.
    fn search_moves(&self, s: &Self::State, seat: Seat, out: &mut Vec<Action>) -> usize {
        self.legal(s, seat, out);
        0
    }
    /// Adds the quiescence moves of `seat`, which is to move, to `_out`, best first: legal actions such as captures and
    /// answers to threats, which search follows beyond its horizon before it trusts the evaluation. Returns true if the seat
    /// may also decline them and accept the evaluation. Default: none, true.
    fn quiescence_moves(&self, _s: &Self::State, _seat: Seat, _out: &mut Vec<Action>) -> bool {
        true
    }
    /// Returns a hash of everything that affects the rest of the episode, for transposition tables. Default: `None`.
    fn hash(&self, _s: &Self::State) -> Option<u64> {
        None
    }
}
