//! Many environments of one game, stepped together.
//!
//! [`DynBatch`] is what hosts hold; inside, the rows are typed, so a step makes no virtual call and, once its buffers
//! have grown, no allocation. The answer is the protocol's [`Batch`], which the host sends as it is and hands in again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use ludex_protocol::message::{Autoreset, ChanceBy, GymView, MaskForm, Observer, OnIllegal, Rotate};
use ludex_protocol::record::RecordEvent;
use ludex_protocol::spec::{Spec, Utility};
use ludex_protocol::{Batch, ErrorCode, Refusal};

use crate::dyn_state::DynState;
use crate::game::Seat;
use crate::policy::Policy;
use ludex_protocol::Move;

mod check;
mod columns;
mod episode;
mod snapshot;
mod step;
mod write_batch;

pub(crate) use episode::Envs;

/// Layout of observation arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Ours: u8, egocentric.
    #[default]
    Ludex,
    /// OpenSpiel's: f32.
    OpenSpiel,
}

/// A seat's player: `None` is the client.
pub type SeatPolicy = Option<Arc<dyn Policy>>;

/// Settings of a batch.
#[derive(Clone, Default)]
pub struct BatchConfig {
    /// How many environments, at least 1.
    pub count: usize,
    /// One entry per seat; empty = every seat is the client's.
    pub seats: Vec<SeatPolicy>,
    /// Seat rotation.
    pub rotate: Rotate,
    /// Who decides chance.
    pub chance: ChanceBy,
    /// What happens to finished environments.
    pub autoreset: Autoreset,
    /// Which views; absent: the observation array, where the game has one.
    pub views: Option<Vec<GymView>>,
    /// Layout of the observation array.
    pub layout: Layout,
    /// Form of the legal actions; absent: bytes up to 512 actions, else ids.
    pub mask: Option<MaskForm>,
    /// Whose view.
    pub observer: Observer,
    /// What illegal actions do.
    pub on_illegal: OnIllegal,
    /// Truncates episodes after this many moves of seats.
    pub max_steps: Option<u32>,
    /// Whether episodes that end are kept for [`DynBatch::take_episodes`].
    pub record: bool,
    /// Seed of the first episodes when the first reset brings none; environment i has this + i.
    pub seed: u64,
}

/// The actions of a step.
#[derive(Clone, Copy, Debug)]
pub enum Actions<'a> {
    /// Ids; -1 = none.
    Ids(&'a [i32]),
    /// Ids, text or proposals; `None` = none.
    Moves(&'a [Option<Move>]),
}

/// Seeds of a reset.
#[derive(Clone, Debug, Default)]
pub enum ResetSeeds {
    /// Each environment continues with its next episode.
    #[default]
    Continue,
    /// Environment i gets this + i.
    Base(u64),
    /// By position in the list of environments.
    Each(Vec<u64>),
}

/// Snapshots to restore, each made when it is asked for.
pub type SnapshotIter<'a> = dyn ExactSizeIterator<Item = Result<Snapshot, Refusal>> + 'a;

/// One environment, small enough to send and to check: its seed, and its moves, replayed on restore.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Form of the snapshot, 1.
    pub v: u32,
    /// Hash of the game.
    pub hash: String,
    /// Parameters of the game.
    pub params: ludex_protocol::spec::Params,
    /// Seed.
    pub seed: u64,
    /// Episode number.
    pub episode: u64,
    /// Specs of the seats, as the host knows them.
    pub seats: Vec<String>,
    /// Rotation: seat k is played by entry (k + shift) mod P; absent = as the batch rotates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<u32>,
    /// Who did what: a seat, -1 for chance, -2 for a joint move with a list of ids (-1 for seats that did not act).
    /// `{"said": ...}` is a proposal or speech; `{"forfeit": true}`, at the end only, a seat that lost by an illegal move.
    pub h: Vec<(i32, Value)>,
}

/// An episode that ended, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Index of its environment.
    pub env: u32,
    /// Its number, as the chance key has it.
    pub number: u64,
    /// The seed, if all chance came from it: not where the client plays chance, nor in a restored episode or one that was
    /// given another seed on the way.
    pub seed: Option<u64>,
    /// Rotation: seat k was played by entry (k + shift) mod P.
    pub shift: u32,
    /// What happened, as records tell it.
    pub events: Vec<RecordEvent>,
    /// Returns, one per seat.
    pub returns: Vec<f64>,
    /// Whether the step limit ended it.
    pub truncated: bool,
    /// The seat whose illegal move ended it.
    pub at_fault: Option<Seat>,
}

/// A batch without its type.
///
/// `reset`, `step` and `restore` write their answer over `out` and reuse its memory. They leave `out.env` and `out.envs`,
/// which are the host's, as they are.
pub trait DynBatch: Send {
    /// The game's spec.
    fn spec(&self) -> &Spec;
    /// About how many bytes one environment takes in an answer.
    fn row_bytes(&self) -> usize;
    /// How many environments.
    fn count(&self) -> usize;
    /// Entries per row of [`Actions`]: 1, or the number of seats.
    fn width(&self) -> usize;
    /// The settings.
    fn config(&self) -> &BatchConfig;
    /// Replaces the seats' players, in every environment from its next episode on.
    ///
    /// # Errors
    /// A list of the wrong length, or one that leaves the client another number of seats.
    fn set_seats(&mut self, seats: Vec<SeatPolicy>) -> Result<(), Refusal>;
    /// Starts episodes in `rows` (all, if `None`).
    ///
    /// # Errors
    /// An index out of range, seeds of the wrong number, or 1,000 episodes in a row that end before the client acts.
    fn reset(&mut self, rows: Option<&[u32]>, seeds: &ResetSeeds, out: &mut Batch) -> Result<(), Refusal>;
    /// Steps `rows` (all, if `None`).
    ///
    /// # Errors
    /// One bad entry refuses the whole call and nothing moves.
    fn step(&mut self, rows: Option<&[u32]>, actions: Actions<'_>, out: &mut Batch) -> Result<(), Refusal>;
    /// The episodes that ended in the last call, whole, with [`BatchConfig::record`]; each is given once.
    fn take_episodes(&mut self) -> Vec<Episode>;
    /// How many bytes of memory the documents of the current episodes take, about.
    fn said_bytes(&self) -> usize;
    /// The state of environment `i`, if it exists and was reset.
    fn state(&self, i: usize) -> Option<Box<dyn DynState>>;
    /// Copies of `rows` as a new batch: the same random streams, or fresh ones with `seed`.
    ///
    /// # Errors
    /// An index out of range.
    fn fork(&self, rows: Option<&[u32]>, seed: Option<u64>) -> Result<Box<dyn DynBatch>, Refusal>;
    /// Snapshots of `rows`; `seats` is what the host calls its players.
    ///
    /// # Errors
    /// An index out of range, or an environment that was never reset.
    fn snapshot(&self, rows: Option<&[u32]>, seats: &[String]) -> Result<Vec<Snapshot>, Refusal>;
    /// Replays snapshots into `rows` with checked moves. They are taken one by one, up to the first that is wrong.
    ///
    /// # Errors
    /// Those of `items`, a snapshot of other rules, or one that does not replay; nothing changes then.
    fn restore(&mut self, rows: Option<&[u32]>, items: &mut SnapshotIter<'_>, out: &mut Batch) -> Result<(), Refusal>;
}

fn check_seats(seats: &[SeatPolicy], players: usize) -> Result<(), Refusal> {
    let wrong = |message: String| {
        Err(Refusal::new(ErrorCode::BadShape, message).path("seats").got(seats.len()).allowed(players))
    };
    if !seats.is_empty() && seats.len() != players {
        return wrong(format!("{} seats were given, the game has {players}", seats.len()));
    }
    if !seats.is_empty() && seats.iter().all(Option::is_some) {
        return wrong("no seat is left to the client".into());
    }
    Ok(())
}

/// What a forfeit of `seat` makes of the sums so far: the offender gets the least return; in two-player zero- and
/// constant-sum games the other gets the greatest, elsewhere the others keep theirs.
pub fn forfeit(spec: &Spec, seat: Seat, returns: &mut [f64]) {
    if returns.len() == 2 && matches!(spec.utility, Utility::ZeroSum | Utility::ConstantSum) {
        returns.fill(spec.max_return);
    }
    if let Some(r) = returns.get_mut(seat) {
        *r = spec.min_return;
    }
}
