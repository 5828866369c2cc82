//! Requests to join: their stored form, and checks.

use ludex_agents::llm::Prompter;
use ludex_env::GameRef;
use ludex_protocol::error::{ErrorCode, Refusal, truncate_text};
use ludex_protocol::message::{Join, MatchView};
use serde::{Deserialize, Serialize};
use serde_json::json;

use ludex_store::{JoinRow, Unkept, text};

/// Stored form of a join. The number of remaining matches is derived from the join's stored matches.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::matches) struct StoredJoin {
    #[serde(skip)]
    pub(in crate::matches) id: String,
    pub(in crate::matches) request: Join,
    /// Total number of matches; `None`: unlimited until `leave`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::matches) count: Option<u32>,
    /// Id of the `join` request. A client that repeats this request after a crash of the server gets the same join.
    #[serde(default)]
    pub(in crate::matches) re: i64,
}

/// Checks that a game supports the views, the layout, the seat and the settings of prompts that a join requests.
pub fn shows(game: &GameRef, r: &Join) -> Result<(), Box<Refusal>> {
    let spec = game.spec();
    let bad = |path: &str, message: String| Refusal::new(ErrorCode::BadField, message).path(path);
    let lacks = |view: MatchView, has: bool| r.views.contains(&view) && !has;
    let refusal = if r.seat.is_some_and(|s| s >= spec.players) {
        bad("seat", format!("expected a seat from 0 to {} in {}", spec.players - 1, spec.game)).got(r.seat)
    } else if let Some(layout) = r.layout.as_ref().filter(|l| !spec.views.layouts.contains(l)) {
        let message = format!("expected a layout that {} supports, got {:?}", spec.game, truncate_text(layout));
        bad("layout", message).allowed(json!(spec.views.layouts))
    } else if lacks(MatchView::Tensor, spec.views.tensor.is_some()) || lacks(MatchView::Info, spec.views.info.is_some())
    {
        bad("views", format!("expected only views that {} supports", spec.game))
    } else if r.views.contains(&MatchView::Prompt) || !r.prompt.is_empty() {
        return Prompter::from_settings(&r.prompt, game).map(drop).map_err(Box::new);
    } else {
        return Ok(());
    };
    Err(Box::new(refusal))
}

impl StoredJoin {
    /// Returns the row of the join.
    ///
    /// # Errors
    ///
    /// Data that cannot be serialized.
    pub(in crate::matches) fn row(&self, session: &str) -> Result<JoinRow, Unkept> {
        Ok(JoinRow { id: self.id.clone(), session: session.to_owned(), body: text(self)? })
    }
}
