//! Answers `view`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FromServer;
use super::turn::PictureView;
use crate::envelope::Message;
use crate::tensor::Tensors;

/// `viewed`: answers `view`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Viewed {
    /// The egocentric observation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<Tensors>,
    /// The structured view.
    #[serde(rename = "struct", default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<Value>,
    /// The text view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The perfect-recall information state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<Tensors>,
    /// The position drawn for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<PictureView>,
    /// The texts of the ids asked for; empty where the id names no action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// The ids of the texts asked for; `null` where the text names no action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsed: Option<Vec<Option<u32>>>,
    /// The phase, in games that have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Which of the spec's `proposals` a document of the seat must fit; absent: it is not asked, or no documents are heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
}

impl Message for Viewed {
    const TYPE: &'static str = "viewed";
}

impl FromServer for Viewed {}
