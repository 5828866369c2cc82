//! Results of tools: text for models, and the same content as one JSON object for programs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ludex_client::Error;
use ludex_client::protocol::message::PictureView;
use rmcp::model::{CallToolResult, ContentBlock, EmbeddedResource, ResourceContents};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::arguments::PictureForm;

/// Result of a tool.
#[derive(Debug, Default)]
pub(super) struct ToolReply {
    blocks: Vec<ContentBlock>,
    fields: Map<String, Value>,
    is_error: bool,
}

/// Result of a tool, or the error that the model reads instead.
pub(super) type ToolResult = Result<ToolReply, ToolReply>;

impl ToolReply {
    /// Adds a field of the JSON object. A value that is not JSON becomes `null`.
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.fields.insert(name.to_owned(), serde_json::to_value(value).unwrap_or_default());
        self
    }

    /// Adds a block of text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(ContentBlock::text(text));
        self
    }

    /// Adds a picture of the position in the game `id`.
    pub fn picture(mut self, id: &str, form: PictureForm, picture: &PictureView) -> Self {
        self.blocks.push(match form {
            PictureForm::Image => ContentBlock::image(STANDARD.encode(&picture.svg), SVG),
            PictureForm::Resource => {
                let contents = ResourceContents::text(picture.svg.clone(), format!("ludex://play/{id}/picture.svg"));
                ContentBlock::Resource(EmbeddedResource::new(contents.with_mime_type(SVG)))
            }
        });
        self
    }

    /// Marks the result as an error.
    pub fn into_error(mut self) -> Self {
        self.is_error = true;
        self
    }
}

/// Media type of pictures.
const SVG: &str = "image/svg+xml";

/// Returns an error with a code and a text.
pub(super) fn failure(code: &str, message: impl Into<String>) -> ToolReply {
    let message = message.into();
    let reply = ToolReply::default().text(format!("{code}: {message}"));
    reply.with("error", json!({ "code": code, "message": message })).into_error()
}

impl From<Error> for ToolReply {
    fn from(error: Error) -> Self {
        let Error::Refused(refusal) = &error else { return failure("connection", error.to_string()) };
        let hint = refusal.nearest.as_ref().map(|word| format!(" (nearest: {word})")).unwrap_or_default();
        ToolReply::default().text(format!("{refusal}{hint}")).with("error", refusal).into_error()
    }
}

impl From<ToolReply> for CallToolResult {
    fn from(reply: ToolReply) -> Self {
        let mut result = match reply.is_error {
            true => CallToolResult::error(reply.blocks),
            false => CallToolResult::success(reply.blocks),
        };
        result.structured_content = Some(Value::Object(reply.fields));
        result
    }
}
