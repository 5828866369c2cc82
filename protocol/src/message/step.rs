//! Plays actions in environments.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::column::Column;
use crate::envelope::Message;
use crate::error::{ErrorCode, Refusal};
use crate::limits::Limits;
use crate::moves::Move;

/// `step`: plays one action in each listed environment. Exactly one of `actions`, `moves` and `answers` must be
/// present.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepEnvs {
    /// Handle of the environments.
    pub env: u32,
    /// Indices of the environments to step; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// Action ids; -1: no action. One id per environment; if the game has joint moves and the client plays several
    /// seats, one id per environment and seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Column<i32>>,
    /// Moves as ids, texts and documents; `null`: no move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<Option<Move>>>,
    /// Answers of a language model as it wrote them; `null`: no move. A row with an answer that is not a legal move
    /// does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<Option<String>>>,
}

impl StepEnvs {
    /// Returns true if exactly one of `actions`, `moves` and `answers` is present. The decoder refuses other messages.
    pub fn is_whole(&self) -> bool {
        [self.actions.is_some(), self.moves.is_some(), self.answers.is_some()]
            .into_iter()
            .filter(|given| *given)
            .count()
            == 1
    }
}

impl Message for StepEnvs {
    const TYPE: &'static str = "step";
    const REPLIES: &'static [&'static str] = &["batch"];
    const READ_OFTEN: bool = true;
}

impl ClientBody for StepEnvs {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }

    fn complete(&self) -> Result<(), Refusal> {
        match self.is_whole() {
            true => Ok(()),
            false => {
                let text = "expected exactly one of `actions`, `moves` and `answers`";
                Err(Refusal::new(ErrorCode::BadField, text).path("actions"))
            }
        }
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        for (at, chosen) in self.moves.iter().flatten().enumerate() {
            let fits = match chosen {
                None | Some(Move::Id(_)) => Ok(()),
                Some(Move::Text(text)) => limits.text("moves", text),
                Some(Move::Document(document)) => limits.document("moves", document),
            };
            fits.map_err(|refusal| refusal.index(at))?;
        }
        for (at, answer) in self.answers.iter().flatten().enumerate() {
            let fits = answer.as_ref().map_or(Ok(()), |text| limits.text("answers", text));
            fits.map_err(|refusal| refusal.index(at))?;
        }
        Ok(())
    }
}
