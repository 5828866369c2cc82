//! Compact result of a verified record for ratings and metrics: a few hundred bytes for any game length.

use std::borrow::Cow;

use ludex_env::{GameRef, MarkValue};
use ludex_protocol::record::{AgentKind, EndReason, MoveRecord, Notes, Record, RecordEvent};
use ludex_protocol::spec::Spec;

use crate::answer_counts::Answers;
use crate::moments::Moments;
use crate::rating::PlayedGame;

/// Result of a verified record, created only by a [`Verifier`](crate::Verifier) as part of a
/// [`VerifiedRecord`](crate::VerifiedRecord).
#[derive(Clone)]
pub struct GameResult {
    pub(crate) game: GameRef,
    pub episode: String,
    /// Start time from the record.
    pub started: String,
    /// End time from the record.
    pub ended: Option<String>,
    /// Name of the run that the episode belongs to.
    pub run: Option<String>,
    /// Id of the episode's pair: the episodes on one seed with swapped seats.
    pub pair: Option<String>,
    /// Id of the suite's part that the episode belongs to.
    pub part: Option<String>,
    /// Position in the order of the run's plan, used by ratings that depend on the order; 0 if unknown.
    pub order: usize,
    /// True if an illegal move ended the match and the plan schedules a replacement. The match then does not count.
    pub replayed: bool,
    pub rated: bool,
    /// First of the flags that mark the match as special, e.g. `peek`, other than [`MULTI_SEAT`].
    pub flag: Option<String>,
    /// Reason for the end of the episode.
    pub reason: EndReason,
    pub at_fault: Option<usize>,
    /// Seat that lost without having acted, see [`Record::absent_seat`].
    pub absent: Option<usize>,
    /// Number of moves; a joint move counts as one move, and chance events are excluded.
    pub moves: u32,
    /// Record digest in lower-case hex.
    pub digest: String,
    /// Team of each seat; empty without teams.
    pub teams: Vec<usize>,
    /// Return of each seat in the mirror match; empty without a mirror match.
    pub mirror: Vec<f64>,
    pub seats: Vec<SeatResult>,
}

/// Result of one seat.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatResult {
    pub name: String,
    /// Agent spec, if the server ran the agent.
    pub spec: Option<String>,
    pub kind: AgentKind,
    /// Return of the seat. May be absent only in a match that does not count.
    pub payoff: Option<f64>,
    /// Score in each hand, in order, for games that report scores of hands.
    pub hand_scores: Vec<f64>,
    /// Reply counts by verdict, for a language model.
    pub answers: Answers,
    /// Number of the seat's refused attempts.
    pub refused: u64,
    /// Number of the seat's own moves.
    pub turns: u32,
    /// Durations of the agent's own moves in milliseconds. Excludes forced moves and turns without a move.
    pub times: Moments,
    /// Tokens of the agent's replies.
    pub tokens: TokenUse,
    /// Cost of the agent's replies.
    pub spent: SeatCost,
    /// Marks of the seat's moves that the [`Verifier`](crate::Verifier) collected, in the order of play.
    pub marks: Vec<SeatMark>,
}

impl SeatResult {
    /// Creates an empty result for an agent.
    pub fn new(name: &str, spec: Option<String>, kind: AgentKind) -> SeatResult {
        SeatResult {
            name: name.to_owned(),
            spec,
            kind,
            payoff: None,
            hand_scores: Vec::new(),
            answers: Answers::default(),
            refused: 0,
            turns: 0,
            times: Moments::default(),
            tokens: TokenUse::default(),
            spent: SeatCost::default(),
            marks: Vec::new(),
        }
    }
}

/// Mark of one of a seat's moves.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatMark {
    pub name: Cow<'static, str>,
    pub value: MarkValue,
    /// Index of the marked move's turn among the seat's own turns, from 0. For a mark of a step in which the seat did
    /// not move, the index of the seat's next turn.
    pub turn: u32,
}

/// The flag of a match in which one client has several seats, and so sees what each of them sees. Such a match counts.
pub const MULTI_SEAT: &str = "multi_seat";

/// Name of the mark from the move note `emotion`: a letter from `A` (desperate) to `E` (excited).
pub const EMOTION: &str = "emotion";

/// Token use of a seat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUse {
    /// Number of moves and refused attempts with a token count in their notes.
    pub answers: u64,
    /// Number of moves with a token count in their notes.
    pub moves: u64,
    pub input: u64,
    pub out: u64,
}

impl TokenUse {
    /// Returns the sum of input and output tokens.
    pub fn total(&self) -> u64 {
        self.input + self.out
    }

    /// Returns the sum of `self` and `other`.
    pub fn plus(self, other: TokenUse) -> TokenUse {
        TokenUse {
            answers: self.answers + other.answers,
            moves: self.moves + other.moves,
            input: self.input + other.input,
            out: self.out + other.out,
        }
    }

    /// Adds the tokens of a move and of its refused attempts.
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

/// Cost of a seat in dollars, from the notes of moves and refused attempts. The note `usd` holds a cost that the host
/// measured, and `cost` a cost that a remote agent reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeatCost {
    /// Number of moves with a cost in their notes.
    pub moves: u64,
    /// Total cost in dollars.
    pub usd: f64,
}

impl SeatCost {
    /// Returns the sum of `self` and `other`.
    pub fn plus(self, other: SeatCost) -> SeatCost {
        SeatCost { moves: self.moves + other.moves, usd: self.usd + other.usd }
    }

    /// Adds the cost of a move and of its refused attempts.
    fn take(&mut self, m: &MoveRecord) {
        let notes = m.tries.iter().filter_map(|attempt| attempt.notes.as_ref()).chain(m.notes.as_ref());
        let of = |notes: &Notes| notes.more.get("usd").or_else(|| notes.more.get("cost"))?.as_f64();
        let told: Vec<f64> = notes.filter_map(of).filter(|usd| (0.0..=DEAREST).contains(usd)).collect();
        self.moves += u64::from(!told.is_empty());
        self.usd += told.iter().sum::<f64>();
    }
}

/// Maximum plausible cost of a move in dollars; larger values in the notes are ignored.
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
            seat.turns += 1;
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
            flag: header.flags.iter().find(|flag| *flag != MULTI_SEAT).cloned(),
            reason,
            at_fault,
            absent: record.absent_seat().map(|seat| seat as usize),
            moves,
            digest,
            teams: teams.unwrap_or_default(),
            mirror: footer.mirror.clone(),
            seats,
        }
    }

    /// Appends the agent's role to the name and the spec of each agent, as `NAME/ROLE`, in games whose teams have role
    /// names. The agents then match no anchor of the ladder, because the ladder does not distinguish roles.
    pub fn by_role(&mut self) {
        let roles = self.game.info().roles;
        for (seat, team) in self.seats.iter_mut().zip(&self.teams) {
            let Some(role) = roles.get(*team) else { continue };
            seat.name = format!("{}/{role}", seat.name);
            seat.spec = seat.spec.as_ref().map(|spec| format!("{spec}/{role}"));
        }
    }

    /// Returns the spec of the game.
    pub fn spec(&self) -> &Spec {
        self.game.spec()
    }

    pub fn game(&self) -> &GameRef {
        &self.game
    }

    /// Converts to a plain result for ratings. `players` holds the player index of each seat, and `pair` is the block
    /// number.
    pub fn played(&self, players: Vec<usize>, pair: Option<usize>) -> PlayedGame {
        let scores = self.seats.iter().map_while(|seat| seat.payoff).collect();
        PlayedGame { seats: players, scores, teams: self.teams.clone(), forfeit: self.at_fault, pair }
    }
}

impl AsRef<GameResult> for GameResult {
    fn as_ref(&self) -> &GameResult {
        self
    }
}

/// Returns the id of the part, parsed from an episode name `RUN.PART.PAIRING.INDEX.TURN`.
fn part_of(run: &str, episode: &str) -> Option<String> {
    let key = episode.strip_prefix(run)?.strip_prefix('.')?;
    let [part, _, _, _] = key.strip_suffix(".re").unwrap_or(key).split('.').collect::<Vec<_>>()[..] else {
        return None;
    };
    Some(part.to_owned())
}

/// Returns true if the agent chose the move; false for a forced move and for a turn without a move.
pub fn is_own(m: &MoveRecord) -> bool {
    !m.forced && (m.action.is_some() || m.document.is_some())
}
