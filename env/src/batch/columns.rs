//! The layout of a batch's replies, and functions that write their columns.

use serde_json::Value;

use ludex_protocol::message::{Batch, ChanceRows, FinalRows, Mask, Ragged};
use ludex_protocol::spec::{Dtype, Spec, TensorSpec};
use ludex_protocol::{Column, Tensor, Tensors};

use super::{BatchConfig, ChanceBy, GymView, Layout, MaskForm, Observer};
use crate::game::{Action, Facts, Outcomes};

/// Largest number of actions for which the default mask has one byte per action.
const DENSE_ACTIONS: u32 = 512;

/// The arrays and columns of a batch's replies, fixed when the batch is opened.
#[derive(Clone)]
pub(super) struct Shape {
    pub(super) obs: Option<Array>,
    pub(super) info: Option<Array>,
    pub(super) structure: bool,
    pub(super) text: bool,
    pub(super) returns: bool,
    pub(super) mask: MaskForm,
    chance: bool,
    /// True if the client plays exactly one seat.
    one_seat: bool,
    players: usize,
    actions: usize,
    /// True if each row has one view per seat instead of a single view.
    all_seats: bool,
}

/// One array of a view.
#[derive(Clone)]
pub(super) struct Array {
    name: String,
    d: Dtype,
    s: Vec<u32>,
    /// Size of the array in bytes, for one view.
    pub(super) bytes: usize,
}

impl Array {
    fn new(name: &str, spec: &TensorSpec, d: Dtype) -> Self {
        let bytes = spec.s.iter().map(|&side| side as usize).product::<usize>() * d.size();
        Array { name: name.to_owned(), d, s: spec.s.clone(), bytes }
    }
}

impl Shape {
    /// Computes the reply layout for `config`.
    ///
    /// # Errors
    /// Returns the name of a view that the game does not have.
    pub(super) fn new(spec: &Spec, facts: &Facts, config: &BatchConfig, one_seat: bool) -> Result<Self, &'static str> {
        let first = spec.views.tensor.iter().flatten().next();
        let has = |view| match &config.views {
            Some(views) => views.contains(&view),
            None => view == GymView::Tensor && first.is_some(),
        };
        let obs = match (first, config.layout) {
            _ if !has(GymView::Tensor) => None,
            (None, _) => return Err("tensor"),
            (Some((name, array)), Layout::Ludex) => Some(Array::new(name, array, array.d)),
            (Some((name, _)), Layout::OpenSpiel) => facts.openspiel.as_ref().map(|t| Array::new(name, t, Dtype::F4)),
        };
        let info = match spec.views.info.iter().flatten().next() {
            _ if !has(GymView::Info) => None,
            None => return Err("info"),
            Some((name, array)) => Some(Array::new(name, array, array.d)),
        };
        let dense = if spec.actions <= DENSE_ACTIONS { MaskForm::U1 } else { MaskForm::Ids };
        Ok(Shape {
            obs,
            info,
            structure: has(GymView::Struct),
            text: has(GymView::Text),
            returns: has(GymView::Returns),
            mask: config.mask.unwrap_or(dense),
            chance: config.chance == ChanceBy::Client,
            one_seat,
            players: spec.players as usize,
            actions: spec.actions as usize,
            all_seats: config.observer == Observer::All,
        })
    }

    /// Returns the size in bytes of one view's mask in a dense encoding; 0 for id lists and without masks.
    pub(super) fn mask_bytes(&self) -> usize {
        match self.mask {
            MaskForm::U1 => self.actions,
            MaskForm::Bits => self.actions.div_ceil(8),
            MaskForm::Ids | MaskForm::None => 0,
        }
    }

    /// Returns the approximate size of one environment in a reply, in bytes.
    pub(super) fn row_bytes(&self) -> usize {
        let views = if self.all_seats { self.players } else { 1 };
        let mask = if self.mask == MaskForm::Ids { 4 * self.actions.min(64) } else { self.mask_bytes() };
        let array = |a: &Option<Array>| a.as_ref().map_or(0, |a| a.bytes);
        // Estimate of 512 bytes for each structure or text: a position rarely needs more.
        let words = 512 * (usize::from(self.structure) + usize::from(self.text));
        views * (array(&self.obs) + array(&self.info) + mask + words) + 12 * self.players + 16
    }

    /// Resizes every column to `rows` rows and sets rewards and flags to zero. All other columns may still contain
    /// values of an earlier reply.
    pub(super) fn prepare(&self, rows: usize, out: &mut Batch) {
        let views = if self.all_seats { rows * self.players } else { rows };
        out.to_move.resize(rows);
        resize(&mut out.seat, self.one_seat && rows > 0, rows);
        self.arrays(&self.obs, views, &mut out.obs);
        self.arrays(&self.info, views, &mut out.info);
        self.words(views, &mut out.structure, &mut out.text);
        match self.mask {
            MaskForm::U1 | MaskForm::Bits => {
                if !matches!(out.mask, Some(Mask::Dense(_))) {
                    out.mask = Some(Mask::Dense(Column::new()));
                }
                if let Some(Mask::Dense(mask)) = &mut out.mask {
                    mask.resize(views * self.mask_bytes());
                }
            }
            MaskForm::Ids => {
                if !matches!(out.mask, Some(Mask::Ids(_))) {
                    out.mask = Some(Mask::Ids(Ragged::default()));
                }
                if let Some(Mask::Ids(Ragged { o, a })) = &mut out.mask {
                    o.clear();
                    o.push(0);
                    a.clear();
                }
            }
            MaskForm::None => out.mask = None,
        }
        out.chance = self.chance.then(|| ChanceRows { o: Column::from([0]), ..ChanceRows::default() });
        zero(&mut out.reward, rows * self.players);
        resize(&mut out.returns, self.returns, rows * self.players);
        zero(&mut out.terminated, rows);
        zero(&mut out.truncated, rows);
        out.length.resize(rows);
        out.episode.resize(rows);
        (out.ended, out.illegal, out.skipped) = (None, None, None);
    }

    /// Clears the rows of `ended` but keeps its buffers.
    pub(super) fn clear_ended(&self, ended: &mut FinalRows) {
        ended.at.clear();
        resize(&mut ended.seat, self.one_seat, 0);
        ended.returns.clear();
        ended.length.clear();
    }

    /// Resizes the view columns of `ended` to `views` entries.
    pub(super) fn prepare_ended(&self, views: usize, ended: &mut FinalRows) {
        self.arrays(&self.obs, views, &mut ended.obs);
        self.arrays(&self.info, views, &mut ended.info);
        self.words(views, &mut ended.structure, &mut ended.text);
    }

    fn words(&self, views: usize, structure: &mut Option<Vec<Value>>, text: &mut Option<Vec<String>>) {
        if self.structure {
            structure.get_or_insert_default().resize(views, Value::Null);
        } else {
            *structure = None;
        }
        if self.text {
            text.get_or_insert_default().resize(views, String::new());
        } else {
            *text = None;
        }
    }

    fn arrays(&self, array: &Option<Array>, views: usize, to: &mut Option<Tensors>) {
        let Some(array) = array else {
            *to = None;
            return;
        };
        let tensors = to.get_or_insert_default();
        if tensors.len() != 1 || !tensors.contains_key(&array.name) {
            *tensors = Tensors::from([(array.name.clone(), Tensor { d: array.d, s: Vec::new(), b: Vec::new() })]);
        }
        for tensor in tensors.values_mut() {
            tensor.d = array.d;
            tensor.s.clear();
            if self.all_seats {
                tensor.s.extend([(views / self.players.max(1)) as u32, self.players as u32]);
            } else {
                tensor.s.push(views as u32);
            }
            tensor.s.extend_from_slice(&array.s);
            tensor.b.resize(views * array.bytes, 0);
        }
    }
}

fn zero<T: ludex_protocol::column::Element>(column: &mut Column<T>, len: usize) {
    column.clear();
    column.resize(len);
}

fn resize<T: ludex_protocol::column::Element>(column: &mut Option<Column<T>>, wanted: bool, len: usize) {
    if wanted {
        column.get_or_insert_default().resize(len);
    } else {
        *column = None;
    }
}

/// Returns the bytes of the only array in `tensors`; empty if there is none.
pub(super) fn bytes_of(tensors: &mut Option<Tensors>) -> &mut [u8] {
    tensors.iter_mut().flat_map(|t| t.values_mut()).next().map_or(&mut [], |t| &mut t.b)
}

/// Writes the mask of view `at` from `bytes`, which has one byte per action.
#[inline]
pub(super) fn put_mask(shape: &Shape, mask: &mut Option<Mask>, at: usize, bytes: &[u8]) {
    let row = at * shape.mask_bytes()..(at + 1) * shape.mask_bytes();
    match mask {
        Some(Mask::Dense(dense)) if shape.mask == MaskForm::U1 => dense.as_bytes_mut()[row].copy_from_slice(bytes),
        Some(Mask::Dense(dense)) => {
            for (out, eight) in dense.as_bytes_mut()[row].iter_mut().zip(bytes.chunks(8)) {
                *out = eight.iter().enumerate().fold(0, |b, (k, &one)| b | one << k);
            }
        }
        Some(Mask::Ids(Ragged { o, a })) => {
            a.extend(bytes.iter().enumerate().filter(|(_, b)| **b == 1).map(|(a, _)| a as u32));
            o.push(a.len() as u32);
        }
        None => {}
    }
}

/// Writes the mask of view `at` from a list of action ids.
pub(super) fn put_legal(shape: &Shape, mask: &mut Option<Mask>, at: usize, legal: &[Action]) {
    let row = at * shape.mask_bytes()..(at + 1) * shape.mask_bytes();
    match mask {
        Some(Mask::Dense(dense)) => {
            let row = &mut dense.as_bytes_mut()[row];
            row.fill(0);
            for &a in legal {
                if shape.mask == MaskForm::U1 {
                    row[a as usize] = 1;
                } else {
                    row[a as usize / 8] |= 1 << (a % 8);
                }
            }
        }
        Some(Mask::Ids(Ragged { o, a })) => {
            a.extend_from_slice(legal);
            o.push(a.len() as u32);
        }
        None => {}
    }
}

/// Appends the chance outcomes of the next row.
pub(super) fn put_chance(rows: &mut ChanceRows, outcomes: &Outcomes) {
    for (a, p) in outcomes.probabilities() {
        rows.a.push(a);
        rows.p.push(p);
    }
    rows.o.push(rows.a.len() as u32);
}
