//! Reply to `view`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ServerBody;
use super::answers::ReadAnswer;
use super::turn::PictureView;
use crate::call::ChatMessage;
use crate::envelope::Message;
use crate::tensor::Tensors;

/// `viewed`: reply to `view`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Viewed {
    /// Observation arrays from the seat's perspective, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<Tensors>,
    /// Structured view as JSON.
    #[serde(rename = "struct", default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Value>,
    /// View as plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Perfect-recall information state, by array name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<Tensors>,
    /// Picture of the position (SVG).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<PictureView>,
    /// Prompt for a language model in the seat: its messages, in the form of chat endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Vec<ChatMessage>>,
    /// Texts of the ids in the request's `names`; an empty text for an id that is not an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Ids of the texts in the request's `parse`; `null` for a text that is not an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsed: Option<Vec<Option<u32>>>,
    /// The request's `answers`, as read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<ReadAnswer>>,
    /// Name of the current phase, in games with several phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Key in the spec's `document_schemas`: names the JSON Schema for the seat's documents. Absent: the seat does not
    /// act, or documents are not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
}

impl Message for Viewed {
    const TYPE: &'static str = "viewed";
}

impl ServerBody for Viewed {}
