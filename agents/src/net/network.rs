//! A network in an ONNX file, checked against a game.

use std::borrow::Cow;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_env::{Action, DynState, GameRef, Seat, Stream, Viewer};
use ludex_protocol::spec::{Dtype, Spec, TensorSpec, Utility};
use ndarray::{Array1, Array2, ArrayD, ArrayView1, ArrayView2, ArrayViewMut1, Axis, IxDyn};
use sha2::{Digest, Sha256};
use tract_onnx::pb::{GraphProto, ModelProto, type_proto};
use tract_onnx::prelude::*;

use super::shipped;
use crate::error::AgentError;

/// Maximum size of a file.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum time of the evaluation of one position at load.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Array of a view that a network reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayKind {
    /// Observation array, which need not contain the history.
    Tensor,
    /// Array of the perfect-recall information state.
    Info,
}

impl ArrayKind {
    /// Returns the array's spec; `None` if the game has no such array.
    pub fn spec(self, game: &Spec) -> Option<&TensorSpec> {
        let arrays = match self {
            ArrayKind::Tensor => &game.views.tensor,
            ArrayKind::Info => &game.views.info,
        };
        arrays.as_ref()?.values().next()
    }

    /// Writes the array of `seat` into `out`, which has the size declared in the spec.
    pub fn write(self, state: &dyn DynState, seat: Seat, out: &mut [u8]) {
        match self {
            ArrayKind::Tensor => state.tensor(Viewer::Seat(seat), out),
            ArrayKind::Info => state.info(Viewer::Seat(seat), out),
        }
    }
}

/// Network whose file fits a game.
pub struct Network {
    plan: Arc<TypedSimplePlan>,
    kind: ArrayKind,
    /// Type of the elements of the game's array.
    dtype: Dtype,
    /// Shape of one observation in the file.
    shape: Vec<usize>,
    /// True if the file declares a batch of one, so that rows are evaluated one by one.
    single: bool,
    /// Index of the observations among the inputs.
    obs: usize,
    /// Index of the logits among the outputs.
    policy: usize,
    /// Index of the values among the outputs.
    value: Option<usize>,
    /// Recurrent states, in the order of their numbers.
    states: Vec<StateSlot>,
    players: usize,
    utility: Utility,
    digest: String,
}

/// Place and shape of a recurrent state.
struct StateSlot {
    input: usize,
    output: usize,
    /// Shape of the state of one row.
    shape: Vec<usize>,
}

/// Outputs of a network for a batch of N rows.
pub struct NetworkOutput {
    /// Logits, of shape `[N, A]`.
    pub policy: Array2<f32>,
    /// Values, of shape `[N, 1]` or `[N, P]`.
    pub value: Option<Array2<f32>>,
    /// Next recurrent states, of shape `[N, ...]` each.
    pub states: Vec<ArrayD<f32>>,
}

impl Network {
    /// Loads a network for `game` from a file, or by its name (`ludex:NAME`) if it is part of the program.
    ///
    /// # Errors
    /// Returns the reason: a file that cannot be read, is larger than 64 MiB or no network; inputs or outputs that do
    /// not fit the game; layers with subgraphs; a position that takes longer than 5 s; rows of a batch that affect each
    /// other; outputs that are not finite.
    pub fn load(file: &Path, game: &GameRef, kind: ArrayKind) -> Result<Network, String> {
        let bytes = read(file)?;
        let caught = catch_unwind(AssertUnwindSafe(|| Network::parse(&bytes, game.spec(), kind)));
        let network = caught.unwrap_or_else(|_| Err("the file cannot be evaluated".to_owned()))?;
        network.rehearse(game)?;
        Ok(network)
    }

    fn parse(bytes: &[u8], game: &Spec, kind: ArrayKind) -> Result<Network, String> {
        let onnx = tract_onnx::onnx();
        let proto = onnx.proto_model_for_read(&mut Cursor::new(bytes)).map_err(|_| "not an ONNX file".to_owned())?;
        let graph = proto.graph.as_ref().ok_or("not an ONNX file: it has no graph")?;
        if let Some(node) = graph.node.iter().find(|node| node.attribute.iter().any(|a| a.g.is_some())) {
            return Err(format!("expected layers without subgraphs, got {}", node.op_type));
        }
        let array = kind.spec(game).ok_or_else(|| format!("{} has no array of this view", game.game))?;
        let slots = Slots::find(graph)?;
        let rows = Rows::of(graph, slots.obs, array)?;
        let plan = plan(&onnx, &proto, &slots, &rows).map_err(|e| format!("the file cannot be evaluated: {e:#}"))?;
        Ok(Network {
            plan,
            kind,
            dtype: array.d,
            shape: rows.shape,
            single: rows.single,
            obs: slots.obs,
            policy: slots.policy,
            value: slots.value,
            states: slots.states,
            players: game.players as usize,
            utility: game.utility,
            digest: hex::encode(Sha256::digest(bytes)),
        })
    }

    /// Returns the SHA-256 of the file in hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the first 12 digits of [`Network::digest`].
    pub fn short_digest(&self) -> String {
        self.digest.chars().take(12).collect()
    }

    /// Returns the array that the network reads.
    pub fn kind(&self) -> ArrayKind {
        self.kind
    }

    /// Returns the number of elements of an observation.
    pub fn observation_len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the zero states of one row; empty for a network without recurrent state.
    pub fn initial_states(&self) -> Vec<ArrayD<f32>> {
        self.states.iter().map(|slot| ArrayD::zeros(row_shape(1, &slot.shape))).collect()
    }

    /// Converts an array of the game, as [`ArrayKind::write`] writes it, to floats.
    ///
    /// # Panics
    /// Panics if `out` has fewer elements than the array.
    pub fn observe(&self, array: &[u8], mut out: ArrayViewMut1<'_, f32>) {
        fn put<const W: usize>(array: &[u8], out: &mut ArrayViewMut1<'_, f32>, read: fn([u8; W]) -> f32) {
            let (elements, _) = array.as_chunks::<W>();
            elements.iter().enumerate().for_each(|(i, element)| out[i] = read(*element));
        }
        match self.dtype {
            Dtype::U1 => put(array, &mut out, |[b]| f32::from(b)),
            Dtype::I1 => put(array, &mut out, |b| f32::from(i8::from_le_bytes(b))),
            Dtype::I2 => put(array, &mut out, |b| f32::from(i16::from_le_bytes(b))),
            Dtype::I4 => put(array, &mut out, |b| i32::from_le_bytes(b) as f32),
            Dtype::F4 => put(array, &mut out, f32::from_le_bytes),
        }
    }

    /// Evaluates N observations, given as an array of shape `[N, len]`, from recurrent states of shape `[N, ...]`.
    ///
    /// # Errors
    /// Fails if the network panics or returns outputs of another shape or values that are not finite.
    pub fn evaluate(
        &self,
        observations: ArrayView2<'_, f32>,
        states: &[ArrayD<f32>],
    ) -> Result<NetworkOutput, AgentError> {
        let run = || {
            if !self.single || observations.nrows() == 1 {
                return self.run(observations, states);
            }
            let rows = (0..observations.nrows()).map(|i| {
                let at = |state: &ArrayD<f32>| state.slice_axis(Axis(0), (i..=i).into()).to_owned();
                let states: Vec<_> = states.iter().map(at).collect();
                self.run(observations.slice_axis(Axis(0), (i..=i).into()), &states)
            });
            Ok(NetworkOutput::concatenate(rows.collect::<TractResult<Vec<_>>>()?))
        };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(evaluation)) if evaluation.is_finite() => Ok(evaluation),
            Ok(Ok(_)) => Err(AgentError::failed("the network returned a number that is not finite")),
            Ok(Err(e)) => Err(AgentError::failed(format!("the network failed: {e:#}"))),
            Err(_) => Err(AgentError::failed("the network failed")),
        }
    }

    fn run(&self, observations: ArrayView2<'_, f32>, states: &[ArrayD<f32>]) -> TractResult<NetworkOutput> {
        let n = observations.nrows();
        let mut inputs: TVec<TValue> = tvec![Tensor::default().into(); self.states.len() + 1];
        let shaped = observations.to_shape(row_shape(n, &self.shape))?.into_owned();
        inputs[self.obs] = Tensor::from(shaped).into();
        for (slot, state) in self.states.iter().zip(states) {
            inputs[slot.input] = Tensor::from(state.clone()).into();
        }
        let outputs = self.plan.run(inputs)?;
        let array =
            |at: usize| -> TractResult<ArrayD<f32>> { Ok(outputs[at].to_plain_array_view::<f32>()?.to_owned()) };
        let matrix = |at: usize| -> TractResult<Array2<f32>> {
            let flat = array(at)?;
            let columns = flat.len() / n;
            Ok(flat.into_shape_with_order((n, columns))?)
        };
        Ok(NetworkOutput {
            policy: matrix(self.policy)?,
            value: self.value.map(matrix).transpose()?,
            states: self.states.iter().map(|slot| array(slot.output)).collect::<TractResult<_>>()?,
        })
    }

    /// Checks the outputs for the initial position and for random observations, each alone and all in a batch.
    fn rehearse(&self, game: &GameRef) -> Result<(), String> {
        let array = self.kind.spec(game.spec()).ok_or("the game has no such array")?;
        let mut bytes = vec![0; array.bytes()];
        self.kind.write(&*game.start(), 0, &mut bytes);
        let mut rng = Stream::from_text("rows of a batch");
        let mut rows = Array2::from_shape_simple_fn((3, self.observation_len()), || {
            (array.low + rng.unit() * (array.high - array.low)) as f32
        });
        self.observe(&bytes, rows.row_mut(0));
        let initial = self.initial_states();
        let states: Vec<_> = initial
            .iter()
            .map(|state| ndarray::concatenate![Axis(0), state.view(), state.view(), state.view()])
            .collect();
        let batch = self.evaluate(rows.view(), &states).map_err(|e| e.message)?;
        let actions = game.spec().actions as usize;
        if batch.policy.ncols() != actions {
            return Err(format!("policy: expected {actions} logits per row, got {}", batch.policy.ncols()));
        }
        if let Some(value) = batch.value.as_ref().map(Array2::ncols).filter(|&n| n != 1 && n != self.players) {
            return Err(format!("value: expected 1 or {} values per row, got {value}", self.players));
        }
        let apart = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-3 * (1.0 + a.abs());
        for row in 0..3 {
            let begun = Instant::now();
            let alone = self.evaluate(rows.slice_axis(Axis(0), (row..=row).into()), &initial).map_err(|e| e.message)?;
            if begun.elapsed() > MAX_TIME {
                return Err(format!("expected at most {} s for a position", MAX_TIME.as_secs()));
            }
            if alone.policy.row(0).iter().zip(batch.policy.row(row)).any(apart) {
                return Err("rows of a batch affect each other; export the network in evaluation mode".to_owned());
            }
        }
        Ok(())
    }

    /// Returns true if the network gives a value for every seat.
    pub fn values_all_seats(&self, columns: usize) -> bool {
        let one_is_enough = self.players == 1
            || self.utility == Utility::Identical
            || (self.players == 2 && self.utility == Utility::ZeroSum);
        columns == self.players || (columns == 1 && one_is_enough)
    }

    /// Writes the value of each seat into `out`, from a row of values of the observing seat.
    pub fn seat_values(&self, row: ArrayView1<'_, f32>, observer: Seat, out: &mut [f32]) {
        for (k, seat) in (observer..self.players).chain(0..observer).enumerate() {
            out[seat] = match (row.get(k), self.utility) {
                (Some(&value), _) => value,
                (None, Utility::Identical) => row[0],
                (None, _) => -row[0],
            };
        }
    }
}

impl NetworkOutput {
    fn is_finite(&self) -> bool {
        let finite = |array: &Array2<f32>| array.iter().all(|x| x.is_finite());
        finite(&self.policy) && self.value.as_ref().is_none_or(finite)
    }

    /// Joins evaluations in row order.
    ///
    /// # Panics
    /// Panics if `parts` is empty or from different networks.
    fn concatenate(parts: Vec<NetworkOutput>) -> NetworkOutput {
        let policy: Vec<_> = parts.iter().map(|part| part.policy.view()).collect();
        let values: Option<Vec<_>> = parts.iter().map(|part| part.value.as_ref().map(|value| value.view())).collect();
        let states = (0..parts[0].states.len()).map(|k| {
            let states: Vec<_> = parts.iter().map(|part| part.states[k].view()).collect();
            ndarray::concatenate(Axis(0), &states).expect("states of one network have one shape")
        });
        NetworkOutput {
            policy: ndarray::concatenate(Axis(0), &policy).expect("rows have one length"),
            value: values.map(|values: Vec<_>| ndarray::concatenate(Axis(0), &values).expect("rows have one length")),
            states: states.collect(),
        }
    }

    /// Splits off the rows `range`.
    pub(super) fn rows(&self, range: std::ops::Range<usize>) -> NetworkOutput {
        let slice = ndarray::Slice::from(range);
        NetworkOutput {
            policy: self.policy.slice_axis(Axis(0), slice).to_owned(),
            value: self.value.as_ref().map(|value| value.slice_axis(Axis(0), slice).to_owned()),
            states: self.states.iter().map(|state| state.slice_axis(Axis(0), slice).to_owned()).collect(),
        }
    }

    /// Returns the probabilities of the legal actions in row `i`: a softmax over their logits.
    pub fn probabilities(&self, i: usize, legal: &[Action]) -> Array1<f32> {
        let logits = self.policy.row(i);
        let logits: Array1<f32> = legal.iter().map(|&a| logits[a as usize]).collect();
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weights = logits.mapv(|logit| (logit - most).exp());
        let sum = weights.sum();
        weights / sum
    }
}

/// Inputs and outputs of a file by their meaning.
struct Slots {
    obs: usize,
    policy: usize,
    value: Option<usize>,
    states: Vec<StateSlot>,
}

impl Slots {
    fn find(graph: &GraphProto) -> Result<Slots, String> {
        let inputs: Vec<&str> = inputs(graph).map(|input| input.name.as_str()).collect();
        let outputs: Vec<&str> = graph.output.iter().map(|output| output.name.as_str()).collect();
        let at = |names: &[&str], name: &str| names.iter().position(|n| *n == name);
        let mut states = Vec::new();
        while let Some(input) = at(&inputs, &format!("state_{}", states.len())) {
            let name = format!("next_state_{}", states.len());
            let output = at(&outputs, &name).ok_or_else(|| format!("expected an output {name}, got {outputs:?}"))?;
            states.push(StateSlot { input, output, shape: declared_state(graph, input)? });
        }
        let obs = at(&inputs, "obs").or((inputs.len() == 1).then_some(0));
        let obs = obs.ok_or_else(|| format!("expected an input obs, got {inputs:?}"))?;
        if inputs.len() != states.len() + 1 {
            return Err(format!("expected the inputs obs and state_0, state_1, ..., got {inputs:?}"));
        }
        let policy = at(&outputs, "policy").or((outputs.len() == 1).then_some(0));
        let policy = policy.ok_or_else(|| format!("expected an output policy, got {outputs:?}"))?;
        Ok(Slots { obs, policy, value: at(&outputs, "value"), states })
    }
}

/// Batch axis and shape of the observations of a file.
struct Rows {
    shape: Vec<usize>,
    single: bool,
}

impl Rows {
    fn of(graph: &GraphProto, obs: usize, array: &TensorSpec) -> Result<Rows, String> {
        let declared = declared(graph, obs)?;
        let own: Vec<usize> = array.s.iter().map(|&n| n as usize).collect();
        let fits = |shape: &[usize]| {
            declared.len() == shape.len() + 1
                && declared[1..].iter().zip(shape).all(|(file, game)| file.is_none_or(|file| file == *game))
        };
        let flat = vec![array.len()];
        let Some(shape) = [own, flat].into_iter().find(|shape| fits(shape)) else {
            return Err(format!("obs: expected shape [N, {}], got {}", list(&array.s), shape_text(&declared)));
        };
        match declared[0] {
            None => Ok(Rows { shape, single: false }),
            Some(1) => Ok(Rows { shape, single: true }),
            Some(n) => Err(format!("obs: expected a first axis of variable length or of length 1, got {n}")),
        }
    }
}

fn plan(onnx: &tract_onnx::Onnx, proto: &ModelProto, slots: &Slots, rows: &Rows) -> TractResult<Arc<TypedSimplePlan>> {
    let mut model = onnx.model_for_proto_model(proto)?;
    let n: TDim = if rows.single { 1.to_dim() } else { model.symbols.sym("N").to_dim() };
    let fact = |shape: &[usize]| {
        let dims: TVec<TDim> = std::iter::once(n.clone()).chain(shape.iter().map(|d| d.to_dim())).collect();
        InferenceFact::dt_shape(f32::datum_type(), dims)
    };
    model.set_input_fact(slots.obs, fact(&rows.shape))?;
    for slot in &slots.states {
        model.set_input_fact(slot.input, fact(&slot.shape))?;
    }
    // Declared output shapes name the batch axis by symbols of their own.
    for output in 0..model.output_outlets()?.len() {
        model.set_output_fact(output, InferenceFact::default())?;
    }
    model.into_optimized()?.into_runnable()
}

fn read(file: &Path) -> Result<Cow<'static, [u8]>, String> {
    if let Some(found) = shipped::find(file) {
        return found.map(Cow::Borrowed);
    }
    let size = std::fs::metadata(file).map_err(|e| e.to_string())?.len();
    if size > MAX_BYTES {
        return Err(format!("expected at most {} MiB, got {} MiB", MAX_BYTES >> 20, size.div_ceil(1 << 20)));
    }
    std::fs::read(file).map(Cow::Owned).map_err(|e| e.to_string())
}

/// Returns the inputs of a graph, without its weights.
fn inputs(graph: &GraphProto) -> impl Iterator<Item = &tract_onnx::pb::ValueInfoProto> {
    graph.input.iter().filter(|input| graph.initializer.iter().all(|weight| weight.name != input.name))
}

/// Returns the declared shape of an input of floats, with `None` for axes of variable length.
fn declared(graph: &GraphProto, at: usize) -> Result<Vec<Option<usize>>, String> {
    use tract_onnx::pb::tensor_proto::DataType;
    use tract_onnx::pb::tensor_shape_proto::dimension::Value;

    let input = inputs(graph).nth(at).ok_or("expected an input")?;
    let Some(type_proto::Value::TensorType(tensor)) = input.r#type.as_ref().and_then(|t| t.value.as_ref()) else {
        return Err(format!("{}: expected a tensor", input.name));
    };
    if tensor.elem_type != DataType::Float as i32 {
        return Err(format!("{}: expected 32-bit floats, got another type", input.name));
    }
    let shape = tensor.shape.as_ref().ok_or_else(|| format!("{}: expected a shape", input.name))?;
    let axis = |value: &Option<Value>| match value {
        Some(Value::DimValue(n)) => usize::try_from(*n).ok().filter(|&n| n > 0),
        _ => None,
    };
    Ok(shape.dim.iter().map(|d| axis(&d.value)).collect())
}

fn declared_state(graph: &GraphProto, at: usize) -> Result<Vec<usize>, String> {
    let declared = declared(graph, at)?;
    let shape: Option<Vec<usize>> = declared.iter().skip(1).copied().collect();
    shape
        .ok_or_else(|| format!("state: expected one axis of variable length, the first, got {}", shape_text(&declared)))
}

fn row_shape(n: usize, shape: &[usize]) -> IxDyn {
    IxDyn(&[&[n], shape].concat())
}

fn list(shape: &[u32]) -> String {
    shape.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn shape_text(shape: &[Option<usize>]) -> String {
    let axes: Vec<String> = shape.iter().map(|axis| axis.map_or("N".to_owned(), |n| n.to_string())).collect();
    format!("[{}]", axes.join(", "))
}
