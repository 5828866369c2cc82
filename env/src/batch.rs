//! Batches: many environments of one game, stepped in one call.
//!
//! [`DynBatch`] is the type-erased interface for hosts. Its implementation is typed, so that stepping an environment
//! needs no virtual calls and no allocations once the buffers have grown. Each reply is a [`Batch`] of the protocol.
//! The host sends the reply unchanged, then passes it back for reuse.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use ludex_protocol::message::{Autoreset, ChanceBy, GymView, MaskForm, Observer, OnIllegal, Rotate};
use ludex_protocol::record::RecordEvent;
use ludex_protocol::spec::{Spec, Utility};
use ludex_protocol::{Batch, ErrorCode, Refusal};

use crate::budget::{Budget, Scheduler};
use crate::dyn_state::DynState;
use crate::game::{Seat, ToMove};
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
    /// The native layout: u8, from the observer's perspective.
    #[default]
    Ludex,
    /// The layout of OpenSpiel's observation tensors: f32.
    OpenSpiel,
}

/// The policy of one seat; `None` if the client plays the seat.
pub type SeatPolicy = Option<Arc<dyn Policy>>;

/// Settings of a batch.
#[derive(Clone, Default)]
pub struct BatchConfig {
    /// Number of environments, at least 1.
    pub count: usize,
    /// Policies of the seats, in seat order; empty if the client plays every seat.
    pub seats: Vec<SeatPolicy>,
    /// Rotation of the entries of `seats` from episode to episode.
    pub rotate: Rotate,
    /// Source of chance outcomes: the server or the client.
    pub chance: ChanceBy,
    /// Reset mode of finished environments.
    pub autoreset: Autoreset,
    /// Views to include in replies. `None`: the observation array, if the game has one.
    pub views: Option<Vec<GymView>>,
    /// Layout of the observation array.
    pub layout: Layout,
    /// Encoding of legal actions. `None`: a byte mask up to 512 actions, else lists of ids.
    pub mask: Option<MaskForm>,
    /// Seats whose views the replies contain.
    pub observer: Observer,
    /// Consequence of an illegal action.
    pub on_illegal: OnIllegal,
    /// Maximum number of moves in an episode, where a joint move counts as one move and chance does not count. A longer
    /// episode is truncated. `None`: no limit.
    pub max_steps: Option<u32>,
    /// True to collect finished episodes for [`DynBatch::take_episodes`].
    pub record: bool,
    /// Base seed for a first reset without seeds: environment i uses `seed + i`.
    pub seed: u64,
    /// Scheduler of long calls, which pause between texts or documents, between snapshots, and between moves of server
    /// agents. If the scheduler stops a call, the environments are left in an unspecified state.
    pub scheduler: Option<Arc<dyn Scheduler>>,
}

impl BatchConfig {
    /// Lets other work run.
    ///
    /// # Errors
    /// Fails if the scheduler stopped the call.
    fn pause(&self) -> Result<(), Refusal> {
        self.budget().pause().map_err(|stopped| Refusal::new(ErrorCode::Internal, stopped.to_string()))
    }

    /// Returns the budget of a call: the scheduler, without a deadline. Also applies to each move of a server agent.
    fn budget(&self) -> Budget<'_> {
        Budget::default().with_scheduler(self.scheduler.as_deref())
    }
}

/// Actions of one step.
#[derive(Clone, Copy, Debug)]
pub enum Actions<'a> {
    /// Action ids; -1: no action.
    Ids(&'a [i32]),
    /// Ids, texts or documents; `None`: no action.
    Moves(&'a [Option<Move>]),
}

/// Seeds for a reset.
#[derive(Clone, Debug, Default)]
pub enum ResetSeeds {
    /// The current seed of each environment; the episode number increases by one.
    #[default]
    Continue,
    /// Base seed: environment i uses the base seed + i.
    Base(u64),
    /// One seed for each environment to reset, in the order of `rows`.
    Each(Vec<u64>),
}

/// Snapshots to restore, each decoded on demand.
pub type SnapshotIter<'a> = dyn ExactSizeIterator<Item = Result<Snapshot, Refusal>> + 'a;

/// The seed and moves of one environment: small to transmit. Restoring plays every move again, with checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Format version, currently 1.
    pub v: u32,
    /// Rules hash of the game.
    pub hash: String,
    /// Parameters of the game.
    pub params: ludex_protocol::spec::Params,
    /// Seed of the environment.
    pub seed: u64,
    /// Episode number of the environment, from 0; a reset with a seed restarts the count.
    pub episode: u64,
    /// Agent specs of the seats, as supplied by the host.
    pub seats: Vec<String>,
    /// Rotation of the episode: entry (k + shift) mod P of `seats` plays seat k, where P is the number of seats.
    /// `None`: the shift follows the batch's setting `rotate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<u32>,
    /// History as pairs of mover and move. The mover is a seat, -1 for chance, or -2 for a joint move. A joint move is
    /// a list with one id per seat (-1 for seats that did not act). `{"document": ...}` is a document or utterance.
    /// `{"forfeit": true}`, only as the last move, marks a seat that lost by an illegal move.
    pub h: Vec<(i32, Value)>,
}

/// A finished episode with its complete history.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Index of the environment.
    pub env: u32,
    /// Episode number, a part of the key of the chance draws. Starts at 0; a reset with a seed restarts the count.
    pub number: u64,
    /// Seed of all chance outcomes. `None` if the client chose chance outcomes, the episode was restored, or the seed
    /// changed during the episode.
    pub seed: Option<u64>,
    /// Rotation of the episode: entry (k + shift) mod P of the batch's `seats` played seat k, where P is the number of
    /// seats.
    pub shift: u32,
    /// Events in record format.
    pub events: Vec<RecordEvent>,
    /// Return of each seat.
    pub returns: Vec<f64>,
    /// Team number of each seat, in games with teams.
    pub teams: Option<Vec<usize>>,
    /// True if the step limit ended the episode.
    pub truncated: bool,
    /// Seat whose illegal move ended the episode.
    pub at_fault: Option<Seat>,
}

/// A type-erased batch of environments.
///
/// `reset`, `step` and `restore` overwrite `out` and reuse its buffers. The host sets `out.env` and `out.envs`, which
/// these methods do not change.
pub trait DynBatch: Send {
    /// Returns the spec of the game.
    fn spec(&self) -> &Spec;
    /// Returns the approximate size of one environment in a reply, in bytes.
    fn row_bytes(&self) -> usize;
    /// Returns the number of environments.
    fn count(&self) -> usize;
    /// Returns the number of entries per row of [`Actions`]: 1 if the game is sequential or the client plays exactly
    /// one seat, else the number of seats.
    fn width(&self) -> usize;
    /// Returns the party to move in environment `i`; `Over` if no episode is running.
    fn turn(&self, i: usize) -> ToMove;
    /// Returns the seat whose view replies contain for environment `i`, with [`Observer::Acting`].
    fn viewer(&self, i: usize) -> Seat;
    /// Returns the settings of the batch.
    fn config(&self) -> &BatchConfig;
    /// Replaces the policies of the seats for future episodes.
    ///
    /// # Errors
    /// Fails if the list has the wrong length or changes the number of seats that the client plays.
    fn set_seats(&mut self, seats: Vec<SeatPolicy>) -> Result<(), Refusal>;
    /// Starts new episodes in `rows`; `None`: in all rows.
    ///
    /// # Errors
    /// Fails on an index out of range, a wrong number of seeds, or 1,000 consecutive episodes that end before the
    /// client acts.
    fn reset(&mut self, rows: Option<&[u32]>, seeds: &ResetSeeds, out: &mut Batch) -> Result<(), Refusal>;
    /// Steps `rows`; `None`: all rows.
    ///
    /// # Errors
    /// Refuses the whole call if one entry is invalid; no environment changes.
    fn step(&mut self, rows: Option<&[u32]>, actions: Actions<'_>, out: &mut Batch) -> Result<(), Refusal>;
    /// Takes the episodes that ended in the last call. Empty unless [`BatchConfig::record`] is set.
    fn take_episodes(&mut self) -> Vec<Episode>;
    /// Returns the approximate memory used by the documents of all current episodes, in bytes.
    fn document_bytes(&self) -> usize;
    /// Returns the state of environment `i`; `None` if the environment does not exist or was never reset.
    fn state(&self, i: usize) -> Option<Box<dyn DynState>>;
    /// Copies `rows` into a new batch. The copies get new random streams from `seed`, or continue the original streams
    /// if `seed` is `None`.
    ///
    /// # Errors
    /// Fails on an index out of range.
    fn fork(&self, rows: Option<&[u32]>, seed: Option<u64>) -> Result<Box<dyn DynBatch>, Refusal>;
    /// Returns snapshots of `rows`. Every snapshot stores `seats` as the agent specs of the seats.
    ///
    /// # Errors
    /// Fails on an index out of range or an environment that was never reset.
    fn snapshot(&self, rows: Option<&[u32]>, seats: &[String]) -> Result<Vec<Snapshot>, Refusal>;
    /// Restores `rows`: plays the moves of their snapshots with checks. Stops at the first invalid snapshot.
    ///
    /// # Errors
    /// Fails if `items` yields an error, or on a snapshot with a different rules hash or an invalid move. No
    /// environment changes.
    fn restore(&mut self, rows: Option<&[u32]>, items: &mut SnapshotIter<'_>, out: &mut Batch) -> Result<(), Refusal>;
}

fn check_seats(seats: &[SeatPolicy], players: usize) -> Result<(), Refusal> {
    let wrong = |message: String| {
        Err(Refusal::new(ErrorCode::BadShape, message).path("seats").got(seats.len()).allowed(players))
    };
    if !seats.is_empty() && seats.len() != players {
        return wrong(format!("expected {players} seats, got {}", seats.len()));
    }
    if !seats.is_empty() && seats.iter().all(Option::is_some) {
        return wrong("expected at least one seat for the client, got none".into());
    }
    Ok(())
}

/// Applies a forfeit of `seat` to `returns`, the sums of rewards so far. The offender gets the least possible return.
/// In two-player zero-sum and constant-sum games, the opponent gets the greatest possible return. In all other games,
/// the other seats keep their returns.
pub fn forfeit(spec: &Spec, seat: Seat, returns: &mut [f64]) {
    if returns.len() == 2 && matches!(spec.utility, Utility::ZeroSum | Utility::ConstantSum) {
        returns.fill(spec.max_return);
    }
    if let Some(r) = returns.get_mut(seat) {
        *r = spec.min_return;
    }
}
