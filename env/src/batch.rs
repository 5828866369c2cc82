//! Many environments of one game, stepped together.
//!
//! [`DynBatch`] is what hosts hold; inside, the rows are typed, so a step makes no virtual call and, once its buffers
//! have grown, no allocation. Rows of the answer go to [`Columns`], which the host reuses or takes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use ludex_protocol::spec::{Spec, TensorSpec, Utility};

use crate::columns::{Columns, MaskForm};
use crate::erased::{DynState, Given};
use crate::game::Seat;
use crate::policy::Policy;

mod check;
mod episode;
mod show;
mod snapshot;
mod step;

pub(crate) use episode::Batch;

/// What happens to a finished environment (the three modes of Gymnasium).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Autoreset {
    /// The next step resets it and ignores its action.
    #[default]
    NextStep,
    /// It is reset in the same step; the ended episode's last view goes to [`Columns::last`].
    SameStep,
    /// The client resets it.
    Disabled,
}

/// Who plays which seat, episode by episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rotate {
    /// Always as listed.
    #[default]
    None,
    /// In episode e, seat k is played by entry (k + e) mod P.
    Cycle,
    /// As `Cycle`, with a shift drawn from the episode's key for the purpose `rotate`.
    Random,
}

/// Whose view a row shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observer {
    /// The client's only seat, else the seat to move.
    #[default]
    Acting,
    /// Every seat.
    All,
}

/// What an illegal action does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnIllegal {
    /// The whole call is refused, nothing moves.
    #[default]
    Refuse,
    /// The offender's episode ends with its least return.
    Lose,
}

/// Layout of observation arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Ours: u8, egocentric.
    #[default]
    Ludex,
    /// OpenSpiel's: f32.
    OpenSpiel,
}

/// Which views a batch's rows carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewSet {
    /// The observation array.
    pub tensor: bool,
    /// The perfect-recall array.
    pub info: bool,
    /// The structured view.
    pub structure: bool,
    /// The view in words.
    pub text: bool,
    /// The returns so far.
    pub returns: bool,
}

/// A seat's player: `None` is the client.
pub type Player = Option<Arc<dyn Policy>>;

/// Settings of a batch.
#[derive(Clone, Default)]
pub struct BatchConfig {
    /// How many environments, at least 1.
    pub count: usize,
    /// One entry per seat; empty = every seat is the client's.
    pub seats: Vec<Player>,
    /// Seat rotation.
    pub rotate: Rotate,
    /// Whether the client injects chance outcomes.
    pub client_chance: bool,
    /// What happens to finished environments.
    pub autoreset: Autoreset,
    /// Which views.
    pub views: ViewSet,
    /// Layout of the observation array.
    pub layout: Layout,
    /// Form of the legal actions.
    pub mask: MaskForm,
    /// Whose view.
    pub observer: Observer,
    /// What illegal actions do.
    pub on_illegal: OnIllegal,
    /// Truncates episodes after this many moves of seats.
    pub max_steps: Option<u32>,
    /// Whether episodes that end are told whole ([`Columns::ended`]).
    pub record: bool,
    /// Seed of the first episodes when the first reset brings none; environment i has this + i.
    pub seed: u64,
}

/// What kind of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchCode {
    /// A list has the wrong length.
    BadShape,
    /// A setting or index does not exist here.
    BadField,
    /// An action is not legal.
    IllegalAction,
    /// The environment is finished or was never reset.
    EnvOver,
    /// A snapshot does not replay.
    BadSnapshot,
    /// A bound was hit.
    Limit,
}

/// A refused call; nothing has moved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct BatchError {
    /// What kind.
    pub code: BatchCode,
    /// The field at fault.
    pub path: &'static str,
    /// Position in that field.
    pub at: Option<usize>,
    /// What was given.
    pub got: Value,
    /// What is allowed.
    pub allowed: Value,
    /// One sentence.
    pub message: String,
}

impl BatchError {
    fn new(code: BatchCode, path: &'static str, message: impl Into<String>) -> Self {
        BatchError { code, path, at: None, got: Value::Null, allowed: Value::Null, message: message.into() }
    }
}

/// The actions of a step.
#[derive(Clone, Copy, Debug)]
pub enum Actions<'a> {
    /// Ids; -1 = none.
    Ids(&'a [i32]),
    /// Ids, text or proposals; `None` = none.
    Given(&'a [Option<Given>]),
}

/// Seeds of a reset.
#[derive(Clone, Debug, Default)]
pub enum Seeds {
    /// The series goes on.
    #[default]
    Continue,
    /// Environment i gets this + i.
    Base(u64),
    /// By position in the list of environments.
    Each(Vec<u64>),
}

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

/// A batch without its type.
pub trait DynBatch: Send {
    /// The game's spec.
    fn spec(&self) -> &Spec;
    /// Name and shape of the observation array in the batch's layout, if the game has one.
    fn observation(&self) -> Option<(String, TensorSpec)>;
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
    fn set_seats(&mut self, seats: Vec<Player>) -> Result<(), BatchError>;
    /// Starts episodes in `rows` (all, if `None`).
    ///
    /// # Errors
    /// An index out of range, seeds of the wrong number, or 1,000 episodes in a row that end before the client acts.
    fn reset(&mut self, rows: Option<&[u32]>, seeds: &Seeds, out: &mut Columns) -> Result<(), BatchError>;
    /// Steps `rows` (all, if `None`).
    ///
    /// # Errors
    /// One bad entry refuses the whole call and nothing moves.
    fn step(&mut self, rows: Option<&[u32]>, actions: Actions<'_>, out: &mut Columns) -> Result<(), BatchError>;
    /// The state of environment `i`, if it exists and was reset.
    fn state(&self, i: usize) -> Option<Box<dyn DynState>>;
    /// Copies of `rows` as a new batch: the same random streams, or fresh ones with `seed`.
    ///
    /// # Errors
    /// An index out of range.
    fn fork(&self, rows: Option<&[u32]>, seed: Option<u64>) -> Result<Box<dyn DynBatch>, BatchError>;
    /// Snapshots of `rows`; `seats` is what the host calls its players.
    ///
    /// # Errors
    /// An index out of range, or an environment that was never reset.
    fn snapshot(&self, rows: Option<&[u32]>, seats: &[String]) -> Result<Vec<Snapshot>, BatchError>;
    /// Replays snapshots into `rows` with checked moves.
    ///
    /// # Errors
    /// A snapshot of other rules, or one that does not replay; nothing changes then.
    fn restore(&mut self, rows: Option<&[u32]>, items: &[Snapshot], out: &mut Columns) -> Result<(), BatchError>;
}

fn check_seats(seats: &[Player], players: usize) -> Result<(), BatchError> {
    let wrong = |message: String| {
        let e = BatchError::new(BatchCode::BadShape, "seats", message);
        Err(BatchError { got: seats.len().into(), allowed: players.into(), ..e })
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
