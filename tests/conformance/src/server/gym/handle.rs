//! Environments under one handle: every batch is checked before it is used.

mod shape;

use ludex_env::Stream;
use ludex_protocol::message::{
    Autoreset, Batch, ClientMessage, CloseHandle, GymView, Mask, MaskForm, Observer, Open, Reset, Seed, StepEnvs,
    to_move,
};
use ludex_protocol::spec::{Dynamics, Spec};
use ludex_protocol::{Column, Tensors};
use serde_json::Value;

use super::super::incoming::IncomingMessage;
use super::super::link::Link;
use super::super::{LawResult, law_holds};

/// Maximum number of actions for which the default mask has one byte per action.
const DENSE: u32 = 512;

/// Creates a request for `count` environments in which the client plays all seats; other settings have their defaults.
pub(in super::super) fn plain(spec: &Spec, count: u32) -> Open {
    let observer = if spec.dynamics == Dynamics::Sequential { Observer::Acting } else { Observer::All };
    Open { params: spec.params.clone(), count, observer, ..Open::new(&spec.game) }
}

/// Creates the same request as [`plain`], with all views that the game has.
pub(super) fn all_views(spec: &Spec, count: u32) -> Open {
    let mut views = vec![GymView::Struct, GymView::Text, GymView::Returns];
    views.extend(spec.views.tensor.is_some().then_some(GymView::Tensor));
    views.extend(spec.views.info.is_some().then_some(GymView::Info));
    Open { views: Some(views), ..plain(spec, count) }
}

/// Handle of open environments that checks every batch.
#[derive(Clone)]
pub(in super::super) struct CheckedHandle {
    pub env: u32,
    pub open: Open,
    pub spec: Spec,
}

impl CheckedHandle {
    /// Opens environments and checks the reply.
    pub async fn open(link: &mut Link, open: Open) -> LawResult<CheckedHandle> {
        let opened = link.call(ClientMessage::Open(Box::new(open.clone()))).await?.opened()?;
        let count = opened.count;
        law_holds(count == open.count, || format!("opened {count}"), &format!("{} environments", open.count))?;
        Ok(CheckedHandle { env: opened.env, open, spec: opened.spec })
    }

    pub fn count(&self) -> usize {
        self.open.count as usize
    }

    pub fn players(&self) -> usize {
        self.spec.players as usize
    }

    /// Returns the number of seats that the client plays.
    pub fn own_seats(&self) -> usize {
        let seats = self.open.seats.as_ref();
        seats.map_or(self.players(), |seats| seats.iter().filter(|seat| *seat == "agent").count())
    }

    /// Returns the number of entries in `actions` per environment.
    pub fn width(&self) -> usize {
        let one = self.spec.dynamics == Dynamics::Sequential || self.own_seats() == 1;
        if one { 1 } else { self.players() }
    }

    /// Returns the number of view rows per environment.
    pub fn view_rows(&self) -> usize {
        if self.open.observer == Observer::All { self.players() } else { 1 }
    }

    pub fn mask_form(&self) -> MaskForm {
        let default = if self.spec.actions <= DENSE { MaskForm::U1 } else { MaskForm::Ids };
        self.open.mask.unwrap_or(default)
    }

    // ---- requests ---------------------------------------------------------------------------------------------------

    /// Starts episodes; environment i uses seed + i.
    pub async fn reset(&self, link: &mut Link, seed: u64) -> LawResult<Batch> {
        self.reset_with(link, Reset { seed: Some(Seed(seed)), ..Reset::default() }).await
    }

    pub async fn reset_with(&self, link: &mut Link, reset: Reset) -> LawResult<Batch> {
        let envs = reset.envs.clone();
        let heard = link.call(ClientMessage::Reset(Reset { env: self.env, ..reset })).await?;
        self.batch(heard, envs.as_ref())
    }

    /// Sends one action per entry to every environment and returns the checked batch.
    pub async fn step(&self, link: &mut Link, actions: &[i32]) -> LawResult<Batch> {
        let heard = self.try_step(link, actions).await?;
        self.batch(heard, None)
    }

    /// Sends the same request as [`step`](Self::step) and returns the reply, which may be an error.
    pub async fn try_step(&self, link: &mut Link, actions: &[i32]) -> LawResult<IncomingMessage> {
        let actions = Some(Column::from(actions));
        link.call(ClientMessage::Step(StepEnvs { env: self.env, actions, ..StepEnvs::default() })).await
    }

    /// Reads the state by a step in which every action is -1 (no action).
    pub async fn look(&self, link: &mut Link) -> LawResult<Batch> {
        self.step(link, &vec![-1; self.count() * self.width()]).await
    }

    pub async fn close(self, link: &mut Link) -> LawResult {
        link.call(ClientMessage::Close(CloseHandle { env: self.env })).await?.ok()
    }

    /// Returns the batch of a reply after checking its shape.
    pub fn batch(&self, heard: IncomingMessage, envs: Option<&Column<u32>>) -> LawResult<Batch> {
        let batch = *heard.batch()?;
        shape::check(self, envs, &batch)?;
        Ok(batch)
    }

    // ---- what a batch says ------------------------------------------------------------------------------------------

    /// Returns the legal actions in view row `v`.
    pub fn legal_in(&self, batch: &Batch, v: usize) -> Vec<u32> {
        let actions = self.spec.actions;
        match (&batch.mask, self.mask_form()) {
            (Some(Mask::Dense(mask)), MaskForm::Bits) => {
                let from = v * actions.div_ceil(8) as usize;
                let bit = |a: &u32| mask.get(from + *a as usize / 8).is_some_and(|byte| byte >> (a % 8) & 1 == 1);
                (0..actions).filter(bit).collect()
            }
            (Some(Mask::Dense(mask)), _) => {
                let row = mask.as_bytes().chunks_exact(actions.max(1) as usize).nth(v).unwrap_or_default();
                (0..).zip(row).filter(|(_, byte)| **byte == 1).map(|(a, _)| a).collect()
            }
            (Some(Mask::Ids(rows)), _) => rows.row(v),
            (None, _) => Vec::new(),
        }
    }

    /// Returns the seats that act in a row, each with its legal actions. Empty at chance nodes and at the end of an
    /// episode.
    pub fn acting(&self, batch: &Batch, row: usize) -> Vec<(usize, Vec<u32>)> {
        let all = |seat| (seat, self.legal_in(batch, row * self.view_rows() + seat));
        match batch.to_move.get(row) {
            Some(seat) if seat >= 0 && self.view_rows() == 1 => vec![(seat as usize, self.legal_in(batch, row))],
            Some(seat) if seat >= 0 => vec![all(seat as usize)],
            Some(to_move::SIMULTANEOUS) if self.view_rows() > 1 => {
                (0..self.players()).map(all).filter(|(_, legal)| !legal.is_empty()).collect()
            }
            // Simultaneous turn in which the client plays one seat only.
            Some(to_move::SIMULTANEOUS) => {
                let seat = batch.seat.as_ref().and_then(|seats| seats.get(row)).unwrap_or(0);
                vec![(seat as usize, self.legal_in(batch, row))]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the outcomes of the chance node in a row, with their probabilities.
    pub fn outcomes(&self, batch: &Batch, row: usize) -> Vec<(u32, f64)> {
        let Some(rows) = &batch.chance else { return Vec::new() };
        let (Some(from), Some(to)) = (rows.o.get(row), rows.o.get(row + 1)) else { return Vec::new() };
        (from as usize..to as usize).filter_map(|at| Some((rows.a.get(at)?, rows.p.get(at)?))).collect()
    }

    /// Chooses random actions for a row, determined by seed, episode and ply. `None` if only documents are legal.
    pub fn choose_row(&self, batch: &Batch, row: usize, seed: u64) -> Option<Vec<i32>> {
        let mut chosen = vec![-1; self.width()];
        let (episode, ply) = (batch.episode.get(row)?, batch.length.get(row)?);
        let mut rng = Stream::from_text(&format!("conformance:{seed}:{episode}:{ply}"));
        match batch.to_move.get(row)? {
            // The entries are ignored, or they start the next episode.
            to_move::OVER => chosen.fill(0),
            to_move::CHANCE => {
                let outcomes = self.outcomes(batch, row);
                chosen[0] = outcomes.get(rng.below(outcomes.len()))?.0 as i32;
            }
            // The batch has the mask of one seat only.
            to_move::SIMULTANEOUS if self.view_rows() == 1 && self.width() > 1 => return None,
            _ => {
                for (seat, legal) in self.acting(batch, row) {
                    let column = if chosen.len() == 1 { 0 } else { seat };
                    *chosen.get_mut(column)? = *legal.get(rng.below(legal.len()))? as i32;
                }
            }
        }
        Some(chosen)
    }

    /// Chooses random actions for all rows; row i uses seed + i. `None` if only documents are legal in a row.
    pub fn choose(&self, batch: &Batch, seed: u64) -> Option<Vec<i32>> {
        let mut all = Vec::new();
        for row in 0..self.count() {
            all.extend(self.choose_row(batch, row, seed.wrapping_add(row as u64))?);
        }
        Some(all)
    }

    /// Returns true if the episode of a row ended in this batch.
    pub fn ended(batch: &Batch, row: usize) -> bool {
        batch.terminated.get(row) == Some(1) || batch.truncated.get(row) == Some(1)
    }

    /// Returns all values of a row, for comparison with another row.
    pub fn row(&self, batch: &Batch, row: usize) -> Row {
        let (seen, players) = (self.view_rows(), self.players());
        let views = row * seen..(row + 1) * seen;
        let tensors = |of: &Option<Tensors>| {
            let all = of.iter().flat_map(|tensors| tensors.values());
            all.map(|tensor| {
                let each = tensor.b.len() / (batch.to_move.len() * seen).max(1);
                tensor.b.get(views.start * each..views.end * each).unwrap_or_default().to_vec()
            })
            .collect::<Vec<_>>()
        };
        Row {
            to_move: batch.to_move.get(row),
            seat: batch.seat.as_ref().and_then(|seats| seats.get(row)),
            obs: tensors(&batch.obs),
            info: tensors(&batch.info),
            structure: batch.structure.iter().flatten().skip(views.start).take(seen).cloned().collect(),
            text: batch.text.iter().flatten().skip(views.start).take(seen).cloned().collect(),
            legal: views.map(|v| self.legal_in(batch, v)).collect(),
            chance: self.outcomes(batch, row),
            reward: (0..players).filter_map(|seat| batch.reward.get(row * players + seat)).collect(),
            returns: (0..players).filter_map(|seat| batch.returns.as_ref()?.get(row * players + seat)).collect(),
            over: [batch.terminated.get(row), batch.truncated.get(row)],
            length: batch.length.get(row),
            episode: batch.episode.get(row),
        }
    }

    /// Returns all values of all rows, for comparison.
    pub fn rows(&self, batch: &Batch) -> Vec<Row> {
        (0..self.count()).map(|row| self.row(batch, row)).collect()
    }

    /// Returns true if a finished episode stays visible until the next reset or step.
    pub fn keeps_ends(&self) -> bool {
        self.open.autoreset != Autoreset::SameStep
    }
}

/// Values of one row of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Row {
    pub to_move: Option<i8>,
    pub seat: Option<i8>,
    pub obs: Vec<Vec<u8>>,
    pub info: Vec<Vec<u8>>,
    pub structure: Vec<Value>,
    pub text: Vec<String>,
    pub legal: Vec<Vec<u32>>,
    pub chance: Vec<(u32, f64)>,
    pub reward: Vec<f32>,
    pub returns: Vec<f64>,
    pub over: [Option<u8>; 2],
    pub length: Option<u32>,
    pub episode: Option<u32>,
}

impl Row {
    /// Returns the row without rewards, which depend on the last step and not only on the state.
    pub fn state(self) -> Row {
        Row { reward: Vec::new(), ..self }
    }
}
