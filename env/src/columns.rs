//! The rows of a batch's answer as packed columns.

use ndarray::{ArrayView2, ArrayViewD, IxDyn};
use serde_json::Value;

use ludex_protocol::spec::{Dtype, Spec, TensorSpec};

use crate::batch::{BatchConfig, Layout, Observer, Snapshot};
use crate::game::{Action, Facts, Outcomes, Seat};

/// How legal actions are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaskForm {
    /// One byte per action.
    #[default]
    Bytes,
    /// One bit per action, least significant first, rows padded to bytes.
    Bits,
    /// Offsets and ascending ids.
    Ids,
    /// Not at all.
    None,
}

/// Lists of different lengths: row r holds `a[o[r]..o[r + 1]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ragged {
    /// Offsets, one more than rows.
    pub o: Vec<u32>,
    /// Entries.
    pub a: Vec<u32>,
}

/// Chance outcomes of rows at a chance node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChanceColumn {
    /// Offsets and outcome ids.
    pub ids: Ragged,
    /// Probabilities, one per id.
    pub p: Vec<f64>,
}

/// The last views of episodes that ended and were reset in one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Final {
    /// Positions in the answer.
    pub at: Vec<u32>,
    /// The client's seat in the ended episode, when it has exactly one.
    pub seat: Vec<i8>,
    /// Observation bytes.
    pub obs: Vec<u8>,
    /// Perfect-recall bytes.
    pub info: Vec<u8>,
    /// Structured views.
    pub structure: Vec<Value>,
    /// Texts.
    pub text: Vec<String>,
    /// Returns, one per seat.
    pub returns: Vec<f64>,
    /// Moves of the episode.
    pub length: Vec<u32>,
}

impl Final {
    /// Forgets all rows and keeps the memory.
    fn clear(&mut self) {
        self.at.clear();
        self.seat.clear();
        self.obs.clear();
        self.info.clear();
        self.structure.clear();
        self.text.clear();
        self.returns.clear();
        self.length.clear();
    }
}

/// An episode that ended, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Index of its environment.
    pub env: u32,
    /// Seed, number, rotation and moves.
    pub snapshot: Snapshot,
    /// Returns, one per seat.
    pub returns: Vec<f64>,
    /// Whether the step limit ended it.
    pub truncated: bool,
    /// The seat whose illegal move ended it.
    pub at_fault: Option<Seat>,
    /// Whether all chance came from the seed: not where the client plays chance, nor in a restored episode or one that
    /// was given another seed on the way.
    pub seeded: bool,
}

/// One answer of a batch: R rows, P seats, V = R views (R * P with [`Observer::All`]). Reused from step to step.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Number of rows.
    pub rows: usize,
    /// OpenSpiel's number of who moves, R.
    pub to_move: Vec<i8>,
    /// The client's seat when it has exactly one, R; else empty.
    pub seat: Vec<i8>,
    /// Observation bytes, V times the array's size; empty when not asked for.
    pub obs: Vec<u8>,
    /// Perfect-recall bytes, V times the array's size; empty when not asked for.
    pub info: Vec<u8>,
    /// Structured views, V.
    pub structure: Vec<Value>,
    /// Texts, V.
    pub text: Vec<String>,
    /// Form of the legal actions.
    pub mask_form: MaskForm,
    /// Masks as bytes or bits, V rows.
    pub mask: Vec<u8>,
    /// Bytes of one mask row.
    pub mask_len: usize,
    /// Legal ids, V rows.
    pub ids: Ragged,
    /// Chance outcomes, R rows, when the client plays chance.
    pub chance: Option<ChanceColumn>,
    /// Rewards since the client's last action, R times P.
    pub reward: Vec<f32>,
    /// Sums so far, R times P, when asked for.
    pub returns: Vec<f64>,
    /// Over by the rules, R.
    pub terminated: Vec<u8>,
    /// Over by the step limit, R.
    pub truncated: Vec<u8>,
    /// Moves so far, R.
    pub length: Vec<u32>,
    /// Episode numbers, R.
    pub episode: Vec<u32>,
    /// Rows that were reset in this step.
    pub last: Final,
    /// Episodes that ended in this call, with [`BatchConfig::record`].
    pub ended: Vec<Episode>,
    /// Positions of rows that an illegal action ended.
    pub illegal: Vec<u32>,
    /// Positions of episodes that ended before the client could act.
    pub skipped_at: Vec<u32>,
    /// Their returns, P each.
    pub skipped_returns: Vec<f64>,
}

/// The spec of the observation array in a layout.
pub(crate) fn obs_spec(spec: &Spec, facts: &Facts, layout: Layout) -> Option<TensorSpec> {
    match layout {
        Layout::Ludex => spec.views.tensor.as_ref().and_then(|t| t.values().next().cloned()),
        Layout::OpenSpiel => facts.openspiel.clone().map(|t| TensorSpec { d: Dtype::F4, ..t }),
    }
}

impl Columns {
    /// Sizes every column for `rows` rows. Rewards and flags are zero; other fixed columns are left to be overwritten.
    pub(crate) fn prepare(
        &mut self,
        rows: usize,
        spec: &Spec,
        config: &BatchConfig,
        [obs_bytes, info_bytes]: [usize; 2],
        one_seat: bool,
    ) {
        let (p, n) = (spec.players as usize, spec.actions as usize);
        let views = if config.observer == Observer::All { rows * p } else { rows };
        let v = &config.views;
        let when = |wanted: bool, len: usize| if wanted { len } else { 0 };
        self.rows = rows;
        self.to_move.resize(rows, 0);
        self.seat.resize(when(one_seat, rows), 0);
        self.obs.resize(when(v.tensor, views * obs_bytes), 0);
        self.info.resize(when(v.info, views * info_bytes), 0);
        self.structure.resize(when(v.structure, views), Value::Null);
        self.text.resize(when(v.text, views), String::new());
        self.mask_form = config.mask;
        self.mask_len = match config.mask {
            MaskForm::Bytes => n,
            MaskForm::Bits => n.div_ceil(8),
            MaskForm::Ids | MaskForm::None => 0,
        };
        self.mask.resize(views * self.mask_len, 0);
        self.ids.o.clear();
        self.ids.a.clear();
        if config.mask == MaskForm::Ids {
            self.ids.o.push(0);
        }
        self.chance =
            config.client_chance.then(|| ChanceColumn { ids: Ragged { o: vec![0], a: Vec::new() }, p: Vec::new() });
        self.reward.clear();
        self.reward.resize(rows * p, 0.0);
        self.returns.resize(when(v.returns, rows * p), 0.0);
        self.terminated.clear();
        self.terminated.resize(rows, 0);
        self.truncated.clear();
        self.truncated.resize(rows, 0);
        self.length.resize(rows, 0);
        self.episode.resize(rows, 0);
        self.last.clear();
        self.illegal.clear();
        self.ended.clear();
        self.skipped_at.clear();
        self.skipped_returns.clear();
    }

    /// The mask of view `at` from one byte per action.
    #[inline]
    pub(crate) fn put_mask(&mut self, at: usize, bytes: &[u8]) {
        match self.mask_form {
            MaskForm::Bytes => self.mask[at * self.mask_len..(at + 1) * self.mask_len].copy_from_slice(bytes),
            MaskForm::Bits => {
                let row = &mut self.mask[at * self.mask_len..(at + 1) * self.mask_len];
                for (out, eight) in row.iter_mut().zip(bytes.chunks(8)) {
                    *out = eight.iter().enumerate().fold(0, |b, (k, &one)| b | one << k);
                }
            }
            MaskForm::Ids => {
                self.ids.a.extend(bytes.iter().enumerate().filter(|(_, b)| **b == 1).map(|(a, _)| a as u32));
                self.ids.o.push(self.ids.a.len() as u32);
            }
            MaskForm::None => {}
        }
    }

    /// The mask of view `at` from a list of ids.
    pub(crate) fn put_legal(&mut self, at: usize, legal: &[Action]) {
        let from = at * self.mask_len;
        match self.mask_form {
            MaskForm::Bytes => {
                let row = &mut self.mask[from..from + self.mask_len];
                row.fill(0);
                legal.iter().for_each(|&a| row[a as usize] = 1);
            }
            MaskForm::Bits => {
                let row = &mut self.mask[from..from + self.mask_len];
                row.fill(0);
                legal.iter().for_each(|&a| row[a as usize / 8] |= 1 << (a % 8));
            }
            MaskForm::Ids => {
                self.ids.a.extend_from_slice(legal);
                self.ids.o.push(self.ids.a.len() as u32);
            }
            MaskForm::None => {}
        }
    }

    /// The outcomes of the next row.
    pub(crate) fn put_chance(&mut self, outcomes: &Outcomes) {
        if let Some(c) = &mut self.chance {
            for (a, p) in outcomes.probabilities() {
                c.ids.a.push(a);
                c.p.push(p);
            }
            c.ids.o.push(c.ids.a.len() as u32);
        }
    }

    pub(crate) fn skip(&mut self, pos: usize, returns: &[f64]) {
        self.skipped_at.push(pos as u32);
        self.skipped_returns.extend_from_slice(returns);
    }

    /// The observations as an array with the views on axis 0, for arrays of `u8`.
    ///
    /// `None` if they were not asked for or `shape` is not theirs.
    pub fn observations(&self, shape: &[usize]) -> Option<ArrayViewD<'_, u8>> {
        let one: usize = shape.iter().product();
        let views = self.obs.len().checked_div(one)?;
        let full: Vec<usize> = std::iter::once(views).chain(shape.iter().copied()).collect();
        ArrayViewD::from_shape(IxDyn(&full), &self.obs).ok()
    }

    /// The byte masks as an array [V, A]; `None` in other forms.
    pub fn masks(&self) -> Option<ArrayView2<'_, u8>> {
        if self.mask_form != MaskForm::Bytes || self.mask_len == 0 {
            return None;
        }
        ArrayView2::from_shape((self.mask.len() / self.mask_len, self.mask_len), &self.mask).ok()
    }

    /// The rewards as an array [R, P].
    pub fn rewards(&self) -> Option<ArrayView2<'_, f32>> {
        ArrayView2::from_shape((self.rows, self.reward.len().checked_div(self.rows)?), &self.reward).ok()
    }
}
