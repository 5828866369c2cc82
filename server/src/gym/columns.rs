//! The rows of a batch as the `batch` message, without a copy of what is big.

use ludex_env::batch::{DynBatch, Observer, ViewSet};
use ludex_env::columns::{Columns, MaskForm, Ragged as Lists};
use ludex_protocol::batch::{Batch, ChanceRows, Ended, Mask, Ragged, Skipped};
use ludex_protocol::spec::{Dtype, Spec, TensorSpec};
use ludex_protocol::{Column, Tensor, Tensors};

/// How the arrays of a handle are called and shaped; fixed when it is opened.
pub(super) struct Shape {
    obs: Option<Array>,
    info: Option<Array>,
    /// Seats, where every seat has a row of its own.
    seats: Option<u32>,
    views: ViewSet,
    lists: MaskForm,
}

/// One array of a view.
struct Array {
    name: String,
    d: Dtype,
    s: Vec<u32>,
}

impl Array {
    fn of((name, spec): (String, TensorSpec)) -> Self {
        Array { name, d: spec.d, s: spec.s }
    }

    fn bytes(&self) -> usize {
        self.s.iter().map(|&side| side as usize).product::<usize>() * self.d.size()
    }

    /// The array over many rows.
    fn tensors(&self, bytes: Vec<u8>, seats: Option<u32>) -> Tensors {
        let per_view = self.bytes().max(1);
        let views = (bytes.len() / per_view) as u32;
        let mut s = match seats {
            Some(seats) => vec![views / seats.max(1), seats],
            None => vec![views],
        };
        s.extend_from_slice(&self.s);
        Tensors::from([(self.name.clone(), Tensor { d: self.d, s, b: bytes })])
    }
}

impl Shape {
    /// The shape of the answers of `batch`.
    pub(super) fn new(batch: &dyn DynBatch) -> Self {
        let (spec, config) = (batch.spec(), batch.config());
        let info = spec.views.info.iter().flatten().next().filter(|_| config.views.info);
        Shape {
            obs: batch.observation().filter(|_| config.views.tensor).map(Array::of),
            info: info.map(|(name, array)| Array::of((name.clone(), array.clone()))),
            seats: (config.observer == Observer::All).then_some(spec.players),
            views: config.views,
            lists: config.mask,
        }
    }

    /// About how many bytes one environment takes in an answer.
    pub(super) fn row_bytes(&self, spec: &Spec) -> usize {
        let views = self.seats.unwrap_or(1) as usize;
        let mask = match self.lists {
            MaskForm::Bytes => spec.actions as usize,
            MaskForm::Bits => (spec.actions as usize).div_ceil(8),
            MaskForm::Ids => 4 * (spec.actions as usize).min(64),
            MaskForm::None => 0,
        };
        let array = |a: &Option<Array>| a.as_ref().map_or(0, Array::bytes);
        // Documents and texts are guessed: a position rarely needs more than this.
        let words = 512 * (usize::from(self.views.structure) + usize::from(self.views.text));
        views * (array(&self.obs) + array(&self.info) + mask + words) + 12 * spec.players as usize + 16
    }

    /// The answer; the big columns are moved out of `c` and come back by [`recycle`].
    pub(super) fn batch(&self, env: u32, envs: Option<Column<u32>>, c: &mut Columns) -> Batch {
        let v = &self.views;
        let tensors = |array: &Option<Array>, bytes: &mut Vec<u8>| {
            array.as_ref().map(|a| a.tensors(std::mem::take(bytes), self.seats))
        };
        let ended = (!c.last.at.is_empty()).then(|| {
            let last = std::mem::take(&mut c.last);
            Ended {
                at: Column::from_slice(&last.at),
                seat: (!last.seat.is_empty()).then(|| Column::from_slice(&last.seat)),
                obs: self.obs.as_ref().map(|a| a.tensors(last.obs, self.seats)),
                info: self.info.as_ref().map(|a| a.tensors(last.info, self.seats)),
                structure: v.structure.then_some(last.structure),
                text: v.text.then_some(last.text),
                returns: Column::from_slice(&last.returns),
                length: Column::from_slice(&last.length),
            }
        });
        Batch {
            env,
            envs,
            to_move: Column::from_slice(&c.to_move),
            seat: (!c.seat.is_empty()).then(|| Column::from_slice(&c.seat)),
            obs: tensors(&self.obs, &mut c.obs),
            info: tensors(&self.info, &mut c.info),
            structure: v.structure.then(|| std::mem::take(&mut c.structure)),
            text: v.text.then(|| std::mem::take(&mut c.text)),
            mask: match c.mask_form {
                MaskForm::Bytes | MaskForm::Bits => Some(Mask::Dense(packed(&mut c.mask))),
                MaskForm::Ids => {
                    let Lists { o, a } = &c.ids;
                    Some(Mask::Ids(Ragged { o: Column::from_slice(o), a: Column::from_slice(a) }))
                }
                MaskForm::None => None,
            },
            chance: c.chance.as_ref().map(|rows| ChanceRows {
                o: Column::from_slice(&rows.ids.o),
                a: Column::from_slice(&rows.ids.a),
                p: Column::from_slice(&rows.p),
            }),
            reward: Column::from_slice(&c.reward),
            returns: v.returns.then(|| Column::from_slice(&c.returns)),
            terminated: packed(&mut c.terminated),
            truncated: packed(&mut c.truncated),
            length: Column::from_slice(&c.length),
            episode: Column::from_slice(&c.episode),
            ended,
            illegal: (!c.illegal.is_empty()).then(|| Column::from_slice(&c.illegal)),
            skipped: (!c.skipped_at.is_empty()).then(|| Skipped {
                at: Column::from_slice(&c.skipped_at),
                returns: Column::from_slice(&c.skipped_returns),
            }),
        }
    }
}

/// Bytes as a column, moved.
fn packed(bytes: &mut Vec<u8>) -> Column<u8> {
    Column::from_bytes(std::mem::take(bytes)).unwrap_or_default()
}

/// Gives the big buffers of an answer that was written back to the columns, for the next one.
pub(super) fn recycle(batch: Batch, c: &mut Columns) {
    let bytes = |tensors: Option<Tensors>| tensors.and_then(|t| t.into_values().next()).map(|t| t.b);
    if let Some(b) = bytes(batch.obs) {
        c.obs = b;
    }
    if let Some(b) = bytes(batch.info) {
        c.info = b;
    }
    if let Some(Mask::Dense(mask)) = batch.mask {
        c.mask = mask.into_bytes();
    }
    c.terminated = batch.terminated.into_bytes();
    c.truncated = batch.truncated.into_bytes();
}
