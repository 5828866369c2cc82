//! Environments under one handle, as a careful client sees them: every batch is checked before it is used.

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

/// Up to this many actions a mask has one byte for each by default.
const DENSE: u32 = 512;

/// Returns a request for `count` environments in which a client can play all seats, with defaults for the rest.
pub(in super::super) fn plain(spec: &Spec, count: u32) -> Open {
    let observer = if spec.dynamics == Dynamics::Sequential { Observer::Acting } else { Observer::All };
    Open { params: spec.params.clone(), count, observer, ..Open::new(&spec.game) }
}

/// The same with all views that the game has.
pub(super) fn all_views(spec: &Spec, count: u32) -> Open {
    let mut views = vec![GymView::Struct, GymView::Text, GymView::Returns];
    views.extend(spec.views.tensor.is_some().then_some(GymView::Tensor));
    views.extend(spec.views.info.is_some().then_some(GymView::Info));
    Open { views: Some(views), ..plain(spec, count) }
}

/// An open handle; every batch is checked.
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

    /// Seats that the client plays.
    pub fn own_seats(&self) -> usize {
        let seats = self.open.seats.as_ref();
        seats.map_or(self.players(), |seats| seats.iter().filter(|seat| *seat == "agent").count())
    }

    /// Entries of one environment in `actions`.
    pub fn width(&self) -> usize {
        let one = self.spec.dynamics == Dynamics::Sequential || self.own_seats() == 1;
        if one { 1 } else { self.players() }
    }

    /// Rows of views for each environment.
    pub fn view_rows(&self) -> usize {
        if self.open.observer == Observer::All { self.players() } else { 1 }
    }

    pub fn mask_form(&self) -> MaskForm {
        let default = if self.spec.actions <= DENSE { MaskForm::U1 } else { MaskForm::Ids };
        self.open.mask.unwrap_or(default)
    }

    // ---- requests ---------------------------------------------------------------------------------------------------

    /// Starts episodes: environment i plays that of seed + i.
    pub async fn reset(&self, link: &mut Link, seed: u64) -> LawResult<Batch> {
        self.reset_with(link, Reset { seed: Some(Seed(seed)), ..Reset::default() }).await
    }

    pub async fn reset_with(&self, link: &mut Link, reset: Reset) -> LawResult<Batch> {
        let envs = reset.envs.clone();
        let heard = link.call(ClientMessage::Reset(Reset { env: self.env, ..reset })).await?;
        self.batch(heard, envs.as_ref())
    }

    /// Acts in every environment.
    pub async fn step(&self, link: &mut Link, actions: &[i32]) -> LawResult<Batch> {
        let heard = self.try_step(link, actions).await?;
        self.batch(heard, None)
    }

    /// The same, with any answer.
    pub async fn try_step(&self, link: &mut Link, actions: &[i32]) -> LawResult<IncomingMessage> {
        let actions = Some(Column::from(actions));
        link.call(ClientMessage::Step(StepEnvs { env: self.env, actions, ..StepEnvs::default() })).await
    }

    /// Reads the state without moving, with entries of -1.
    pub async fn look(&self, link: &mut Link) -> LawResult<Batch> {
        self.step(link, &vec![-1; self.count() * self.width()]).await
    }

    pub async fn close(self, link: &mut Link) -> LawResult {
        link.call(ClientMessage::Close(CloseHandle { env: self.env })).await?.ok()
    }

    /// The batch in a reply, with its shape checked.
    pub fn batch(&self, heard: IncomingMessage, envs: Option<&Column<u32>>) -> LawResult<Batch> {
        let batch = *heard.batch()?;
        shape::check(self, envs, &batch)?;
        Ok(batch)
    }

    // ---- what a batch says ------------------------------------------------------------------------------------------

    /// Legal actions in view row `v`.
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

    /// The seats that act in a row, each with its legal actions. Empty at chance nodes and when it is over.
    pub fn acting(&self, batch: &Batch, row: usize) -> Vec<(usize, Vec<u32>)> {
        let all = |seat| (seat, self.legal_in(batch, row * self.view_rows() + seat));
        match batch.to_move.get(row) {
            Some(seat) if seat >= 0 && self.view_rows() == 1 => vec![(seat as usize, self.legal_in(batch, row))],
            Some(seat) if seat >= 0 => vec![all(seat as usize)],
            Some(to_move::SIMULTANEOUS) if self.view_rows() > 1 => {
                (0..self.players()).map(all).filter(|(_, legal)| !legal.is_empty()).collect()
            }
            // The client's only seat among those that move together.
            Some(to_move::SIMULTANEOUS) => {
                let seat = batch.seat.as_ref().and_then(|seats| seats.get(row)).unwrap_or(0);
                vec![(seat as usize, self.legal_in(batch, row))]
            }
            _ => Vec::new(),
        }
    }

    /// Outcomes of the chance node in a row.
    pub fn outcomes(&self, batch: &Batch, row: usize) -> Vec<(u32, f64)> {
        let Some(rows) = &batch.chance else { return Vec::new() };
        let (Some(from), Some(to)) = (rows.o.get(row), rows.o.get(row + 1)) else { return Vec::new() };
        (from as usize..to as usize).filter_map(|at| Some((rows.a.get(at)?, rows.p.get(at)?))).collect()
    }

    /// Random actions for a row, the same for the same seed, episode and ply; `None` where only proposals move.
    pub fn choose_row(&self, batch: &Batch, row: usize, seed: u64) -> Option<Vec<i32>> {
        let mut chosen = vec![-1; self.width()];
        let (episode, ply) = (batch.episode.get(row)?, batch.length.get(row)?);
        let mut rng = Stream::from_text(&format!("conformance:{seed}:{episode}:{ply}"));
        match batch.to_move.get(row)? {
            // Ignored, or the beginning of the next episode.
            to_move::OVER => chosen.fill(0),
            to_move::CHANCE => {
                let outcomes = self.outcomes(batch, row);
                chosen[0] = outcomes.get(rng.below(outcomes.len()))?.0 as i32;
            }
            // Only one of the masks is shown.
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

    /// Random actions for all rows; row i plays as under seed + i.
    pub fn choose(&self, batch: &Batch, seed: u64) -> Option<Vec<i32>> {
        let mut all = Vec::new();
        for row in 0..self.count() {
            all.extend(self.choose_row(batch, row, seed.wrapping_add(row as u64))?);
        }
        Some(all)
    }

    /// Returns true if the episode of a row ended with this batch.
    pub fn ended(batch: &Batch, row: usize) -> bool {
        batch.terminated.get(row) == Some(1) || batch.truncated.get(row) == Some(1)
    }

    /// Everything that a row says, to be compared with another.
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

    /// The same for all rows.
    pub fn rows(&self, batch: &Batch) -> Vec<Row> {
        (0..self.count()).map(|row| self.row(batch, row)).collect()
    }

    /// Returns true if a finished episode stays until the next reset or step.
    pub fn keeps_ends(&self) -> bool {
        self.open.autoreset != Autoreset::SameStep
    }
}

/// One row of a batch.
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
    /// The state that a row shows, without its last rewards.
    pub fn state(self) -> Row {
        Row { reward: Vec::new(), ..self }
    }
}
