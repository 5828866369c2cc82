//! A seat is to move.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FromServer;
use crate::envelope::Message;
use crate::legal::Legal;
use crate::serde_helpers::or_default;
use crate::tensor::Tensors;

/// What a viewer sees of a state, in the forms that it asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeatView {
    /// The structured view.
    #[serde(rename = "struct", default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Value>,
    /// The text view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The egocentric observation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<Tensors>,
    /// The perfect-recall information state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<Tensors>,
    /// The position drawn for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<PictureView>,
}

/// A position drawn for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PictureView {
    /// An SVG document. What a person can touch carries `data-cell`.
    pub svg: String,
    /// For the seat that is to move: legal action -> the cells that a person touches, in order, to mean it. Actions that are
    /// missing here have no cells.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub gestures: BTreeMap<String, Vec<String>>,
}

/// `turn`: this seat is to move.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnFrame {
    /// Number within the match for this viewer.
    pub seq: u64,
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// This seat's own turns, from 0.
    pub turn: u32,
    /// Refusals within the turn.
    #[serde(rename = "try", default, deserialize_with = "or_default")]
    pub attempt: u32,
    /// After this much the seat has lost on time; absent: no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    /// The bank of every seat.
    #[serde(default, deserialize_with = "or_default")]
    pub bank_ms: Vec<u64>,
    /// The legal actions.
    #[serde(default, deserialize_with = "or_default")]
    pub legal: Legal,
    /// The text of each legal action (view `texts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// What the seat sees.
    #[serde(default, deserialize_with = "or_default")]
    pub view: SeatView,
    /// The phase, in games that have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Which of the spec's `proposals` a document of this turn follows; absent: documents are not heard now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
}

impl Message for TurnFrame {
    const TYPE: &'static str = "turn";
    const WRITTEN_OFTEN: bool = true;
}

impl FromServer for TurnFrame {}
