//! Requests a move from a seat.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ServerBody;
use crate::call::ChatMessage;
use crate::envelope::Message;
use crate::legal::Legal;
use crate::serde_helpers::or_default;
use crate::tensor::Tensors;

/// A viewer's knowledge of a state, in the requested forms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeatView {
    /// Structured view as JSON.
    #[serde(rename = "struct", default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Value>,
    /// View as plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Observation arrays from the seat's perspective, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<Tensors>,
    /// Perfect-recall information state, by array name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<Tensors>,
    /// Picture of the position (SVG).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<PictureView>,
    /// Messages of the prompt for a language model, in a `turn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Vec<ChatMessage>>,
}

/// A picture of a position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PictureView {
    /// SVG document. Clickable elements carry `data-cell`.
    pub svg: String,
    /// Cells to click for each legal action of the seat to move, in click order. The keys are action ids. Actions
    /// without cells are omitted.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub gestures: BTreeMap<String, Vec<String>>,
}

/// `turn`: the client's seat is to move.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnFrame {
    /// Sequence number of the message within the match for this viewer.
    pub seq: u64,
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Seat that is to move.
    pub seat: u32,
    /// Number of earlier turns of this seat.
    pub turn: u32,
    /// Number of refused attempts in this turn.
    #[serde(rename = "try", default, deserialize_with = "or_default")]
    pub attempt: u32,
    /// Milliseconds until the seat loses on time; absent: no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    /// Bank of every seat in milliseconds.
    #[serde(default, deserialize_with = "or_default")]
    pub bank_ms: Vec<u64>,
    /// Legal actions of the seat.
    #[serde(default, deserialize_with = "or_default")]
    pub legal: Legal,
    /// Text of each legal action, in the order of `legal` (view `texts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Views of the state for the seat.
    #[serde(default, deserialize_with = "or_default")]
    pub view: SeatView,
    /// Name of the current phase, in games with several phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Key in the spec's `document_schemas`: names the JSON Schema for documents in this turn. Absent: documents are not
    /// accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
}

impl Message for TurnFrame {
    const TYPE: &'static str = "turn";
    const WRITTEN_OFTEN: bool = true;
}

impl ServerBody for TurnFrame {}
