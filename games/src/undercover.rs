#![doc = include_str!("undercover.md")]

mod marks;
mod picture;
mod speech;
#[cfg(test)]
mod tests;
mod view;
mod words;

use std::sync::Arc;

use arrayvec::ArrayVec;
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

pub use view::{Clue, GuessedWord, Out, RevealView, View, Vote};
use words::{Lexicon, lexicon};

/// A word game in which the players vote out those who have a different word.
pub struct Undercover {
    params: Params,
    /// Fixed words of the undercovers and of the other players; `None` if chance draws the words.
    given: Option<[String; 2]>,
    /// The undercovers win when at most this many players remain.
    survive: usize,
}

/// Parameters of players, roles and visibility.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of players, 3 to 10.
    #[schemars(range(min = 3, max = 10))]
    pub players: u32,
    /// Number of undercovers, 1 to 3; must be less than half of the players.
    #[schemars(range(min = 1, max = 3))]
    pub undercovers: u32,
    /// Seats of the undercovers.
    pub undercover: Seats,
    /// If true, chance draws which word of the pair the undercovers get; otherwise they get the first word.
    pub swap: bool,
    /// The undercovers win when at most this many players remain. With 0: 2 in games of 3 or 4 players, 3 in larger
    /// games.
    pub survive: u32,
    /// Part of the history that text and array include.
    pub memory: Memory,
    /// If true, a vote may include guesses of other players' words.
    pub guesses: bool,
    /// Maximum number of characters of a clue, 20 to 1000.
    #[schemars(range(min = 20, max = 1000))]
    pub clue_chars: u32,
    /// Fixed words of the undercovers and of the other players, such as `sun;moon`. Default: chance draws the words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<String>,
}

/// Seats of the undercovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Seats {
    /// Seats drawn by chance.
    Drawn,
    /// The seats with the highest numbers.
    Last,
}

/// Part of the history that text and array include.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// All clues and votes so far.
    All,
    /// The current round only.
    Round,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            players: 5,
            undercovers: 1,
            undercover: Seats::Drawn,
            swap: true,
            survive: 0,
            memory: Memory::All,
            guesses: false,
            clue_chars: 200,
            pair: None,
        }
    }
}

/// Maximum number of players.
const MOST: usize = 10;
/// Maximum number of rounds: from ten players to two.
const ROUNDS: usize = 8;
/// Maximum number of clues in a game.
const CLUES: usize = 52;
/// Action id of an empty clue.
const BLANK: Action = 0;
/// Number of stock clues, which have the action ids 1 to 64.
pub const STOCK_CLUES: usize = 64;
/// Action id of the vote for seat 0; the votes for other seats follow.
const VOTE: Action = 1 + STOCK_CLUES as Action;
const ACTIONS: u32 = VOTE + MOST as u32;
/// Marker for an absent seat or pair, or for a clue in free text.
const NONE: u8 = u8::MAX;

/// The current phase of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Chance draws the pair of words.
    Pair,
    /// Chance draws which word of the pair the undercovers get.
    Swap,
    /// Chance draws an undercover.
    Role,
    /// A player gives a clue.
    Clue,
    /// All players vote simultaneously.
    Vote,
    /// Chance draws which of the players with the most votes is eliminated.
    Tie,
    /// The game has ended.
    Over,
}

/// Guesses of other players' words that one voter submitted in one round.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Guess {
    round: u8,
    seat: u8,
    words: Vec<(u8, String)>,
}

/// A position of the game.
#[derive(Clone, Debug)]
pub struct State {
    phase: Phase,
    pair: u16,
    swap: bool,
    /// Bit set of the undercovers drawn so far.
    undercover: u16,
    alive: u16,
    round: u8,
    /// Number of clues in this round.
    spoken: u8,
    /// Seat and stock clue number of each clue; the number is [`NONE`] for free text.
    clues: ArrayVec<(u8, u8), CLUES>,
    /// Free-text clues, each with its index in `clues`.
    texts: Vec<(u8, Arc<str>)>,
    /// Targets of the votes, by round and seat.
    votes: [[u8; MOST]; ROUNDS],
    guesses: Vec<Arc<Guess>>,
    /// Eliminated seats in order, one per round.
    out: ArrayVec<u8, MOST>,
}

const _: () = assert!(size_of::<State>() <= 512, "a position fits into 512 bytes, without the texts");

impl Undercover {
    fn players(&self) -> usize {
        self.params.players as usize
    }

    /// Returns the word of the undercovers and the word of the other players.
    fn words_of<'a>(&'a self, s: &State) -> [&'a str; 2] {
        self.words_at(s.pair, s.swap)
    }

    fn words_at(&self, pair: u16, swap: bool) -> [&str; 2] {
        if let Some([a, b]) = &self.given {
            return [a, b];
        }
        let [a, b] = lexicon().pairs.get(usize::from(pair)).copied().unwrap_or(["", ""]);
        if swap { [b, a] } else { [a, b] }
    }

    /// Returns the word of a seat.
    fn word<'a>(&'a self, s: &State, seat: Seat) -> &'a str {
        self.words_of(s)[usize::from(!SeatSet(s.undercover).has(seat))]
    }

    /// Returns true if all words and roles are drawn.
    fn dealt(s: &State) -> bool {
        !matches!(s.phase, Phase::Pair | Phase::Swap | Phase::Role)
    }

    /// Skips chance draws that the parameters make unnecessary.
    fn settle(&self, s: &mut State) {
        let last = self.params.undercover == Seats::Last;
        loop {
            s.phase = match s.phase {
                Phase::Pair if self.given.is_some() => Phase::Role,
                Phase::Swap if !self.params.swap => Phase::Role,
                Phase::Role if last && s.undercover == 0 => {
                    let n = self.players();
                    s.undercover = SeatSet::first(n).0 & !SeatSet::first(n - self.params.undercovers as usize).0;
                    Phase::Clue
                }
                Phase::Role if s.undercover.count_ones() >= self.params.undercovers => Phase::Clue,
                _ => return,
            }
        }
    }

    /// Returns the seat that gives the next clue.
    fn speaker(s: &State) -> Seat {
        SeatSet(s.alive).iter().nth(s.spoken.into()).unwrap_or(0)
    }

    /// Iterates over the clues of the current round: seat, stock clue number, and index in `clues`.
    fn running(s: &State) -> impl Iterator<Item = (u8, u8, usize)> {
        let from = s.clues.len().saturating_sub(s.spoken.into());
        s.clues.iter().enumerate().skip(from).map(|(k, &(seat, id))| (seat, id, k))
    }

    /// Returns the text of the clue at an index in `clues`.
    fn text_of(s: &State, at: usize) -> &str {
        match s.clues.get(at).map(|c| c.1) {
            Some(0) => "",
            Some(NONE) => s.texts.iter().find(|t| usize::from(t.0) == at).map_or("", |t| &t.1),
            Some(id) => lexicon().clues.get(usize::from(id) - 1).map_or("", |c| c.text),
            None => "",
        }
    }

    /// Returns true if the speaker may give this stock clue. A clue must not contain the speaker's word or repeat a
    /// clue of this round.
    fn may_say(&self, s: &State, id: u8) -> bool {
        let repeated = Self::running(s).any(|(_, other, at)| match other {
            NONE => {
                let stock = &lexicon().clues[usize::from(id) - 1];
                words::equal(&words::stems(Self::text_of(s, at)), &stock.stems)
            }
            _ => other == id,
        });
        // Stock clues contain no word of the built-in pairs, so only fixed words are checked.
        !repeated
            && (self.given.is_none()
                || !words::holds(lexicon().clues[usize::from(id) - 1].text, self.word(s, Self::speaker(s))))
    }

    fn clue(&self, s: &mut State, id: u8, text: Option<Arc<str>>) {
        let seat = Self::speaker(s) as u8;
        if s.clues.try_push((seat, id)).is_ok()
            && let Some(text) = text
        {
            s.texts.push((s.clues.len() as u8 - 1, text));
        }
        s.spoken += 1;
        if u32::from(s.spoken) >= s.alive.count_ones() {
            s.phase = Phase::Vote;
        }
    }

    /// Returns the seats with the most votes, as a bit set.
    fn most(s: &State) -> u16 {
        let votes = &s.votes[usize::from(s.round).min(ROUNDS - 1)];
        let mut count = [0; MOST];
        votes.iter().filter(|&&v| usize::from(v) < MOST).for_each(|&v| count[usize::from(v)] += 1);
        let most = count.iter().copied().max().unwrap_or(0);
        (0..MOST).filter(|&seat| count[seat] == most && s.alive >> seat & 1 == 1).fold(0, |set, seat| set | 1 << seat)
    }

    fn vote(&self, s: &mut State, targets: impl Iterator<Item = (Seat, u8)>) {
        let round = usize::from(s.round).min(ROUNDS - 1);
        s.votes[round] = [NONE; MOST];
        targets.for_each(|(seat, target)| s.votes[round][seat] = target);
        let most = Self::most(s);
        match most.count_ones() {
            1 => self.put_out(s, most.trailing_zeros() as u8),
            _ => s.phase = Phase::Tie,
        }
    }

    fn put_out(&self, s: &mut State, seat: u8) {
        s.alive &= !(1 << seat);
        let _ = s.out.try_push(seat);
        (s.spoken, s.round) = (0, s.round + 1);
        let bad = (s.alive & s.undercover).count_ones();
        let good = (s.alive & !s.undercover).count_ones();
        let over = bad == 0 || bad >= good || (bad + good) as usize <= self.survive || usize::from(s.round) >= ROUNDS;
        s.phase = if over { Phase::Over } else { Phase::Clue };
    }

    /// Returns the winning side once the game has ended: 1 for the undercovers, 0 for the other players.
    fn won(s: &State) -> Option<u16> {
        (s.phase == Phase::Over).then(|| u16::from(s.alive & s.undercover != 0))
    }

    fn vote_text(target: usize) -> String {
        format!("vote: player_{target}")
    }
}

impl Game for Undercover {
    type Params = Params;
    type State = State;
    type View = View;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("undercover.j2"),
        players: [3, 10],
        presets: &[
            (
                "llmarena",
                r#"{"undercover":"last","swap":false,"memory":"round"}"#,
                "LLMArena: the last seat is the undercover and has the first word of the pair; earlier rounds are hidden",
            ),
            (
                "llmarena_guess",
                r#"{"undercover":"last","swap":false,"memory":"round","guesses":true}"#,
                "as llmarena, and a vote may include guesses of other players' words",
            ),
        ],
        ladder: &[(0, 1, "random"), (1, 1, "stock_speaker")],
        unit: Unit::Field(&["random", "stock_speaker"]),
        marks: marks::DOCS,
        roles: &["other", "undercover"],
        ..GameInfo::new("undercover", "Undercover", include_str!("undercover.md"))
    };

    fn new(params: Params) -> Result<Self, ParamError> {
        in_range(&params)?;
        let most = ((params.players - 1) / 2).min(3);
        if params.undercovers > most {
            return Err(ParamError::value("undercovers", params.undercovers, format!("1 to {most}")));
        }
        let survive = match params.survive {
            0 if params.players < 5 => 2,
            0 => 3,
            n if (2..params.players).contains(&n) => n,
            n => return Err(ParamError::value("survive", n, format!("0, or 2 to {}", params.players - 1))),
        };
        let given = match &params.pair {
            None => None,
            Some(text) => {
                let allowed = "two words such as sun;moon, each of 1 to 3 parts and at most 30 characters, \
                               neither containing the other";
                let wrong = || ParamError::value("pair", text.as_str(), allowed);
                let (a, b) = text.split_once(';').ok_or_else(wrong)?;
                let [a, b] = [a, b].map(|w| w.split_whitespace().collect::<Vec<_>>().join(" "));
                words::pair(&format!("{a}\t{b}\tgiven")).map_err(|why| {
                    let mut e = wrong();
                    e.message = format!("pair = {text:?}: {why}");
                    e
                })?;
                Some([a, b])
            }
        };
        Ok(Undercover { params, given, survive: survive as usize })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn facts(&self) -> Facts {
        let parts = [
            ("word", 512),
            ("alive", 10),
            ("clues", 10 * 65),
            ("votes", 10 * 10),
            ("seat", 10),
            ("phase", 2),
            ("round", 8),
        ];
        let n = self.players();
        Facts {
            seats: (0..n).map(|p| format!("player_{p}")).collect(),
            dynamics: Dynamics::Mixed,
            chance: ChanceMode::Explicit,
            information: Information::Imperfect,
            utility: Utility::GeneralSum,
            rewards: RewardModel::Terminal,
            returns: [-1.0, 1.0],
            max_length: (self.survive + 1..=n).map(|k| k as u32 + 1).sum(),
            actions: ACTIONS,
            max_chance: if self.given.is_some() { MOST as u32 } else { lexicon().pairs.len() as u32 },
            legal: LegalForm::Ids,
            tensor: Some(("observation", stretches(&parts, 1.0))),
            info: None,
            openspiel: None,
            document_schemas: Some(self.schemas()),
        }
    }

    fn start(&self) -> State {
        let mut s = State {
            phase: Phase::Pair,
            pair: 0,
            swap: false,
            undercover: 0,
            alive: SeatSet::first(self.players()).0,
            round: 0,
            spoken: 0,
            clues: ArrayVec::new(),
            texts: Vec::new(),
            votes: [[NONE; MOST]; ROUNDS],
            guesses: Vec::new(),
            out: ArrayVec::new(),
        };
        self.settle(&mut s);
        s
    }

    #[inline]
    fn to_move(&self, s: &State) -> ToMove {
        match s.phase {
            Phase::Pair | Phase::Swap | Phase::Role | Phase::Tie => ToMove::Chance,
            Phase::Clue => ToMove::Seat(Self::speaker(s)),
            Phase::Vote => ToMove::Simultaneous(SeatSet(s.alive)),
            Phase::Over => ToMove::Over,
        }
    }

    fn legal(&self, s: &State, seat: Seat, out: &mut impl ActionSink) {
        match s.phase {
            Phase::Clue if seat == Self::speaker(s) => {
                out.put(BLANK);
                (1..=STOCK_CLUES as u8).filter(|&id| self.may_say(s, id)).for_each(|id| out.put(id.into()));
            }
            Phase::Vote if s.alive >> seat & 1 == 1 => {
                SeatSet(s.alive & !(1 << seat)).iter().for_each(|p| out.put(VOTE + p as Action));
            }
            _ => {}
        }
    }

    fn play_unchecked(&self, s: &mut State, a: Action) {
        match s.phase {
            Phase::Pair => {
                s.pair = (a as usize).min(lexicon().pairs.len() - 1) as u16;
                s.phase = Phase::Swap;
                self.settle(s);
            }
            Phase::Swap => {
                (s.swap, s.phase) = (a & 1 == 1, Phase::Role);
                self.settle(s);
            }
            Phase::Role => {
                s.undercover |= 1 << (a as usize).min(self.players() - 1);
                self.settle(s);
            }
            Phase::Tie => self.put_out(s, (a as usize).min(self.players() - 1) as u8),
            Phase::Clue => self.clue(s, if a < VOTE { a as u8 } else { 0 }, None),
            Phase::Vote | Phase::Over => {}
        }
    }

    fn returns(&self, s: &State, out: &mut [f64]) {
        out.fill(0.0);
        let Some(side) = Self::won(s) else { return };
        for (seat, r) in out.iter_mut().enumerate() {
            *r = if s.undercover >> seat & 1 == side { 1.0 } else { -1.0 };
        }
    }

    fn view(&self, s: &State, who: Viewer) -> View {
        self.seen_by(s, who.seat().filter(|&p| p < self.players()))
    }

    fn sample_world(&self, view: &View, rng: &mut Stream) -> State {
        self.world_of(view, rng)
    }
}

impl GameMoves for Undercover {
    fn is_legal(&self, s: &State, seat: Seat, a: Action) -> bool {
        match s.phase {
            Phase::Clue => seat == Self::speaker(s) && (a == BLANK || a < VOTE && self.may_say(s, a as u8)),
            Phase::Vote => {
                let target = a.wrapping_sub(VOTE) as usize;
                s.alive >> seat & 1 == 1 && target < MOST && s.alive >> target & 1 == 1 && target != seat
            }
            _ => false,
        }
    }

    fn play_together_unchecked(&self, s: &mut State, joint: &[Action]) {
        if s.phase == Phase::Vote {
            let target = |seat: usize| joint.get(seat).map_or(NONE, |a| a.saturating_sub(VOTE).min(9) as u8);
            self.vote(
                s,
                SeatSet(s.alive).iter().map(|seat| (seat, target(seat))).collect::<ArrayVec<_, MOST>>().into_iter(),
            );
        }
    }

    fn play_joint_unchecked(&self, s: &mut State, joint: &[Option<ParsedMove>]) {
        if s.phase != Phase::Vote {
            return;
        }
        let mut ids = [0; MOST];
        for (seat, parsed) in joint.iter().enumerate().take(MOST) {
            match parsed {
                Some(ParsedMove::Action(a)) => ids[seat] = *a,
                Some(ParsedMove::Document(document)) => {
                    let (target, words) = speech::ballot(document);
                    ids[seat] = VOTE + target;
                    s.guesses.push(Arc::new(Guess { round: s.round, seat: seat as u8, words }));
                }
                None => {}
            }
        }
        self.play_together_unchecked(s, &ids[..joint.len().min(MOST)]);
    }

    fn chance(&self, s: &State, out: &mut Outcomes) {
        match s.phase {
            Phase::Pair => out.uniform(0..lexicon().pairs.len() as Action),
            Phase::Swap => out.uniform(0..2),
            Phase::Role => {
                let left = SeatSet::first(self.players()).0 & !s.undercover;
                out.uniform(SeatSet(left).iter().map(|p| p as Action));
            }
            Phase::Tie => out.uniform(SeatSet(Self::most(s)).iter().map(|p| p as Action)),
            _ => {}
        }
    }

    fn parse_document(&self, s: &State, seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        self.read_document(s, seat, document)
    }

    fn sample(&self, s: &State, seat: Seat, rng: &mut Stream) -> Option<Value> {
        self.sample_document(s, seat, rng)
    }

    fn play_document(&self, s: &mut State, _seat: Seat, document: &Value) {
        if let (Phase::Clue, Some(text)) = (s.phase, document.get("clue").and_then(Value::as_str)) {
            self.clue(s, NONE, Some(text.into()));
        }
    }

    fn default_move(&self, s: &State, seat: Seat, rng: &mut Stream) -> ParsedMove {
        ParsedMove::Action(match s.phase {
            Phase::Vote => self.random_action(s, seat, rng),
            _ => self.default_action(s, seat),
        })
    }
}

impl GameText for Undercover {
    fn outcome_text(&self, s: &State, a: Action) -> String {
        match s.phase {
            Phase::Pair => {
                let [x, y] = self.words_at(a as u16, false);
                format!("the pair is {x} and {y}")
            }
            Phase::Swap if a == 0 => "the first word is the undercovers'".into(),
            Phase::Swap => "the second word is the undercovers'".into(),
            Phase::Role => format!("player_{a} is undercover"),
            _ => format!("the tie puts player_{a} out"),
        }
    }

    fn text(&self, view: &View) -> String {
        self.words(view)
    }

    fn action_text(&self, _view: &View, _seat: Seat, a: Action) -> String {
        match a {
            BLANK => "blank".into(),
            _ if a < VOTE => lexicon().clues.get(a as usize - 1).map_or(String::new(), |c| c.text.into()),
            _ => Self::vote_text((a - VOTE) as usize),
        }
    }

    fn why_not(&self, s: &State, seat: Seat, a: Action) -> String {
        let target = a.wrapping_sub(VOTE) as usize;
        match s.phase {
            Phase::Clue if a >= VOTE => "a clue is due now; the vote comes after all clues".into(),
            Phase::Clue if a > 0 && words::holds(lexicon().clues[a as usize - 1].text, self.word(s, seat)) => {
                "the clue contains your word".into()
            }
            Phase::Clue => "another player has already given this clue in this round".into(),
            Phase::Vote if a < VOTE => "a vote is due now, not a clue: name a player".into(),
            Phase::Vote if target == seat => "you cannot vote for yourself".into(),
            Phase::Vote if target >= self.players() => format!("player_{target} is not in the game"),
            Phase::Vote => format!("player_{target} is already eliminated"),
            _ => "no player is to move".into(),
        }
    }

    fn parse(&self, view: &View, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        let text = text.trim();
        legal.iter().copied().find(|&a| self.action_text(view, seat, a).eq_ignore_ascii_case(text))
    }

    fn phase(&self, s: &State) -> Option<&'static str> {
        Some(match s.phase {
            Phase::Pair | Phase::Swap | Phase::Role => "draw",
            Phase::Clue => "clue",
            Phase::Vote => "vote",
            Phase::Tie => "tie",
            Phase::Over => "over",
        })
    }
}

impl GameObservation for Undercover {
    fn observe_action(&self, before: &State, _who: Viewer, by: Mover, a: Action) -> EventView {
        let hidden = |text: &str| EventView { action: None, text: Some(text.into()) };
        match (by, before.phase) {
            (Mover::Chance, Phase::Pair) => hidden("a pair of words is drawn"),
            (Mover::Chance, Phase::Swap) => hidden("it is drawn which word the undercovers get"),
            (Mover::Chance, Phase::Role) => hidden("an undercover is drawn"),
            (Mover::Chance, _) => EventView { action: Some(a), text: Some(self.outcome_text(before, a)) },
            (Mover::Seat(seat), Phase::Clue) => {
                let text = match a {
                    BLANK => "says nothing".to_owned(),
                    _ => lexicon().clues.get(a as usize - 1).map_or(String::new(), |c| c.text.into()),
                };
                EventView { action: Some(a), text: Some(format!("player_{seat}: {text}")) }
            }
            _ => EventView { action: Some(a), text: Some(Self::vote_text(a.saturating_sub(VOTE) as usize)) },
        }
    }

    fn observe_document(&self, before: &State, who: Viewer, seat: Seat, document: &Value) -> EventView {
        if before.phase != Phase::Vote {
            let text = document.get("clue").and_then(Value::as_str).unwrap_or_default();
            return EventView { action: None, text: Some(format!("player_{seat}: {text}")) };
        }
        // Guesses are visible to the voter only.
        let (target, words) = speech::ballot(document);
        let vote = Self::vote_text(target as usize);
        if who == Viewer::Seat(seat) {
            let list: Vec<String> = words.iter().map(|(p, w)| format!("player_{p} {w}")).collect();
            return EventView { action: None, text: Some(format!("{vote}, with the guesses: {}", list.join(", "))) };
        }
        EventView { action: Some(VOTE + target), text: Some(vote) }
    }

    /// Returns a seat's own word before the first clue, the role of an eliminated player, and all hidden information at
    /// the end.
    fn reveals(&self, now: &State, who: Viewer) -> Vec<(String, Value)> {
        let mut out = Vec::new();
        if now.phase == Phase::Clue
            && now.clues.is_empty()
            && let Some(seat) = who.seat().filter(|&p| p < self.players())
        {
            let word = self.word(now, seat);
            out.push((format!("your word is {word}"), json!({ "word": word })));
        }
        if let Some(&seat) = now.out.last().filter(|_| now.spoken == 0) {
            let undercover = now.undercover >> seat & 1 == 1;
            let role = if undercover { "an undercover" } else { "one of the others" };
            out.push((
                format!("player_{seat} is out and was {role}"),
                json!({ "out": seat, "undercover": undercover }),
            ));
        }
        if now.phase == Phase::Over {
            let [bad, good] = self.words_of(now);
            let list: Vec<String> = SeatSet(now.undercover).iter().map(|p| format!("player_{p}")).collect();
            let seats: Vec<usize> = SeatSet(now.undercover).iter().collect();
            out.push((
                format!("undercover: {} with {bad}; the others had {good}", list.join(", ")),
                json!({ "undercovers": seats, "words": [bad, good] }),
            ));
        }
        out
    }

    fn tensor(&self, s: &State, who: Viewer, out: &mut [u8]) {
        self.encode(s, who.seat().filter(|&p| p < self.players()), out);
    }
}

impl GameDisplay for Undercover {
    /// Returns the view as text without the rules, which the manual describes in full.
    fn drawing(&self, view: &View, _from: Viewer) -> String {
        self.words(view).replacen(&format!("{}\n", self.rules()), "", 1)
    }

    fn picture(&self, view: &View, _from: Viewer) -> Picture {
        picture::picture(self, view)
    }

    /// Returns a click on a seat for a vote; clues are buttons.
    fn gesture(&self, _view: &View, _seat: Seat, a: Action) -> Option<Gesture> {
        a.checked_sub(VOTE).map(|target| Gesture::of([format!("p{target}")]))
    }
}

impl GameSearch for Undercover {}

impl GameMarks for Undercover {
    fn teams(&self, s: &State) -> Option<Vec<usize>> {
        (s.phase == Phase::Over).then(|| (0..self.players()).map(|p| usize::from(s.undercover >> p & 1)).collect())
    }

    fn marks(&self, before: &State, _joint: &[Option<ParsedMove>], after: &State, out: &mut Marks) {
        self.count(before, after, out);
    }

    fn refusal_marks(&self, s: &State, seat: Seat, tries: &[RefusedMove], out: &mut Marks) {
        Self::count_refusals(s, seat, tries, out);
    }

    fn analyze(&self, question: &Value) -> Result<Value, Issue> {
        words::answer(question).map_err(|message| Issue { message, ..Issue::default() })
    }
}

/// Returns the id of the stock clue with this text.
pub fn stock_clue(text: &str) -> Option<Action> {
    lexicon().clues.iter().position(|c| c.text == text).map(|k| k as Action + 1)
}

/// Returns the category of the first pair that contains a word, such as `fruit` or `tool`.
pub fn category(word: &str) -> Option<&'static str> {
    let lexicon = lexicon();
    let pair = lexicon.pairs.iter().position(|pair| pair.contains(&word))?;
    lexicon.categories.get(pair).copied()
}

/// Returns all words of the word pairs, sorted.
pub fn all_words() -> &'static [&'static str] {
    &lexicon().words
}

/// Returns the index of a word in the sorted list of all words.
fn place(lexicon: &Lexicon, word: &str) -> Option<usize> {
    lexicon.words.binary_search(&word).ok()
}
