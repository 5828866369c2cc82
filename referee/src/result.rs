//! What ratings and metrics need of a verified record: a few hundred bytes, however long the game was.

use std::borrow::Cow;

use ludex_env::{GameRef, MarkValue};
use ludex_protocol::record::{AgentKind, EndReason, MoveRecord, Notes, Record, RecordEvent};
use ludex_protocol::spec::Spec;

use crate::answer_counts::Answers;
use crate::moments::Moments;
use crate::rating::PlayedGame;

/// The result of a verified record. Only [`Verifier`](crate::Verifier) makes one, inside of a
/// [`Verified`](crate::Verified) record.
#[derive(Clone)]
pub struct GameResult {
    pub(crate) game: GameRef,
    /// Name of the episode.
    pub episode: String,
    /// When it started, as the record says.
    pub started: String,
    /// When it ended, as the record says.
    pub ended: Option<String>,
    /// The run that it belongs to.
    pub run: Option<String>,
    /// The pair that it belongs to: same seed, seats swapped.
    pub pair: Option<String>,
    /// The part of the run's suite that it belongs to.
    pub part: Option<String>,
    /// Its place in the order of the run's plan; 0 where nobody said. Ratings that depend on the order follow it.
    pub order: usize,
    /// Whether the run's plan plays another match in its place, because an illegal move ended it. Then it does not count.
    pub replayed: bool,
    /// Whether the match was rated.
    pub rated: bool,
    /// The first of the flags that make it special, e.g. `peek`.
    pub flag: Option<String>,
    /// Why it ended.
    pub reason: EndReason,
    /// The seat that forfeited.
    pub at_fault: Option<usize>,
    /// Moves that were played: a joint move is one, chance is not counted.
    pub moves: u32,
    /// The record's digest, lower-case hex.
    pub digest: String,
    /// The team of each seat; empty if there are no teams.
    pub teams: Vec<usize>,
    /// The returns of its mirror by seat; empty without one.
    pub mirror: Vec<f64>,
    /// The result of each seat.
    pub seats: Vec<SeatResult>,
}

/// What an agent did on its seat.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatResult {
    /// The agent's name.
    pub name: String,
    /// Its spec, if the server played it.
    pub spec: Option<String>,
    /// What it is.
    pub kind: AgentKind,
    /// Its return; absent where a match that does not count has none.
    pub payoff: Option<f64>,
    /// Its score in each hand, in order, where the game tells it.
    pub hand_scores: Vec<f64>,
    /// What became of its answers, if it is a language model.
    pub answers: Answers,
    /// Its refused attempts.
    pub refused: u64,
    /// The milliseconds of its own moves; turns without a move and forced moves are left out.
    pub times: Moments,
    /// The tokens of its answers.
    pub tokens: TokenUse,
    /// What its answers cost.
    pub spent: SeatCost,
    /// What was marked of its moves, in the order of play: the marks that the [`Verifier`](crate::Verifier) was asked for.
    pub marks: Vec<SeatMark>,
}

impl SeatResult {
    /// A seat of which nothing is known but who sat there.
    pub(crate) fn new(name: &str, spec: Option<String>, kind: AgentKind) -> SeatResult {
        SeatResult {
            name: name.to_owned(),
            spec,
            kind,
            payoff: None,
            hand_scores: Vec::new(),
            answers: Answers::default(),
            refused: 0,
            times: Moments::default(),
            tokens: TokenUse::default(),
            spent: SeatCost::default(),
            marks: Vec::new(),
        }
    }
}

/// A mark of a seat.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatMark {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its value.
    pub value: MarkValue,
    /// The seat's own turn, from 0: that of its move, or for a mark of a step without a move of the seat, that of its next one.
    pub turn: u32,
}

/// The mark that is made of the note `emotion` of a move: a letter from `A` (desperate) to `E` (excited).
pub const EMOTION: &str = "emotion";

/// Tokens of a seat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUse {
    /// Moves whose notes say what they cost, and refused attempts likewise.
    pub answers: u64,
    /// Moves among them.
    pub moves: u64,
    /// Tokens that were read.
    pub input: u64,
    /// Tokens that were written.
    pub out: u64,
}

impl TokenUse {
    /// Tokens that were read and written.
    pub fn total(&self) -> u64 {
        self.input + self.out
    }

    /// The sum of two.
    pub fn plus(self, other: TokenUse) -> TokenUse {
        TokenUse {
            answers: self.answers + other.answers,
            moves: self.moves + other.moves,
            input: self.input + other.input,
            out: self.out + other.out,
        }
    }

    /// Adds the attempts at a move.
    fn take(&mut self, m: &MoveRecord) {
        let mut used = false;
        for notes in m.tries.iter().filter_map(|attempt| attempt.notes.as_ref()).chain(m.notes.as_ref()) {
            let Some(tokens) = notes.tokens else { continue };
            used = true;
            self.answers += 1;
            self.input += tokens.input;
            self.out += tokens.out;
        }
        self.moves += u64::from(used);
    }
}

/// Dollars of a seat, by the notes of its moves and of its refused attempts: `usd` where the host counted, `cost` where an agent that
/// connects said so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeatCost {
    /// Moves whose notes say what they cost.
    pub moves: u64,
    /// What they cost together.
    pub usd: f64,
}

impl SeatCost {
    /// The sum of two.
    pub fn plus(self, other: SeatCost) -> SeatCost {
        SeatCost { moves: self.moves + other.moves, usd: self.usd + other.usd }
    }

    /// Adds the attempts at a move.
    fn take(&mut self, m: &MoveRecord) {
        let notes = m.tries.iter().filter_map(|attempt| attempt.notes.as_ref()).chain(m.notes.as_ref());
        let of = |notes: &Notes| notes.more.get("usd").or_else(|| notes.more.get("cost"))?.as_f64();
        let told: Vec<f64> = notes.filter_map(of).filter(|usd| (0.0..=DEAREST).contains(usd)).collect();
        self.moves += u64::from(!told.is_empty());
        self.usd += told.iter().sum::<f64>();
    }
}

/// What a move may cost in dollars; what an agent notes beyond that is a slip.
const DEAREST: f64 = 10_000.0;

impl GameResult {
    pub(crate) fn new(
        game: GameRef,
        record: &Record,
        reason: EndReason,
        at_fault: Option<usize>,
        moves: u32,
        teams: Option<Vec<usize>>,
        digest: String,
    ) -> Self {
        let (header, footer) = (&record.header, &record.footer);
        let seat = |(seat, who): (usize, &ludex_protocol::record::RecordSeat)| SeatResult {
            payoff: footer.returns.get(seat).copied(),
            ..SeatResult::new(&who.name, who.spec.clone(), who.kind)
        };
        let mut seats: Vec<SeatResult> = header.seats.iter().enumerate().map(seat).collect();
        for event in &record.events {
            let RecordEvent::Move(m) = event else { continue };
            let Some(seat) = seats.get_mut(m.seat as usize) else { continue };
            seat.answers.take(m);
            seat.tokens.take(m);
            seat.spent.take(m);
            seat.refused += m.tries.len() as u64;
            if is_own(m) {
                seat.times.push(m.ms as f64);
            }
        }
        GameResult {
            game,
            episode: header.episode.clone(),
            started: header.started.clone(),
            ended: footer.ended.clone(),
            run: footer.run.clone(),
            pair: footer.pair.clone(),
            part: footer.run.as_deref().and_then(|run| part_of(run, &header.episode)),
            order: 0,
            replayed: false,
            rated: header.rated,
            flag: header.flags.first().cloned(),
            reason,
            at_fault,
            moves,
            digest,
            teams: teams.unwrap_or_default(),
            mirror: footer.mirror.clone(),
            seats,
        }
    }

    /// Makes each agent another one in each role: `NAME/ROLE`, in games whose teams have names. A constant of a ladder holds for
    /// all roles together, so agents are not constants then.
    pub fn by_role(&mut self) {
        let roles = self.game.roles();
        for (seat, team) in self.seats.iter_mut().zip(&self.teams) {
            let Some(role) = roles.get(*team) else { continue };
            seat.name = format!("{}/{role}", seat.name);
            seat.spec = seat.spec.as_ref().map(|spec| format!("{spec}/{role}"));
        }
    }

    /// What its game tells about itself.
    pub fn spec(&self) -> &Spec {
        self.game.spec()
    }

    /// Its game.
    pub fn game(&self) -> &GameRef {
        &self.game
    }

    /// The plain result, as ratings take it: `players` names who sat on each seat, `pair` the block.
    pub(crate) fn played(&self, players: Vec<usize>, pair: Option<usize>) -> PlayedGame {
        let scores = self.seats.iter().map_while(|seat| seat.payoff).collect();
        PlayedGame { seats: players, scores, teams: self.teams.clone(), forfeit: self.at_fault, pair }
    }
}

impl AsRef<GameResult> for GameResult {
    fn as_ref(&self) -> &GameResult {
        self
    }
}

/// The part of a run's match, by its name `RUN.PART.PAIRING.INDEX.TURN`.
fn part_of(run: &str, episode: &str) -> Option<String> {
    let key = episode.strip_prefix(run)?.strip_prefix('.')?;
    let [part, _, _, _] = key.strip_suffix(".re").unwrap_or(key).split('.').collect::<Vec<_>>()[..] else {
        return None;
    };
    Some(part.to_owned())
}

/// Whether the agent itself made the move.
fn is_own(m: &MoveRecord) -> bool {
    !m.forced && (m.action.is_some() || m.said.is_some())
}
