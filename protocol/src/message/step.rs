//! Acts in environments.

use serde::{Deserialize, Serialize};

use super::FromClient;
use super::welcome::Scope;
use crate::column::Column;
use crate::envelope::Message;
use crate::error::{ErrorCode, Refusal};
use crate::limits::Limits;
use crate::moves::Move;

/// `step`: one action for each environment named. Either `actions` or `moves`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepEnvs {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// Action ids, R or R x P entries; -1 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Column<i32>>,
    /// The same as ids, texts and documents; `null` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<Option<Move>>>,
}

impl StepEnvs {
    /// Whether there are either `actions` or `moves`. What was decoded has one of them.
    pub fn is_whole(&self) -> bool {
        self.actions.is_some() != self.moves.is_some()
    }
}

impl Message for StepEnvs {
    const TYPE: &'static str = "step";
    const READ_OFTEN: bool = true;
}

impl FromClient for StepEnvs {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }

    fn complete(&self) -> Result<(), Refusal> {
        match self.is_whole() {
            true => Ok(()),
            false => Err(Refusal::new(ErrorCode::BadField, "a step has either `actions` or `moves`").path("actions")),
        }
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        for (at, chosen) in self.moves.iter().flatten().enumerate() {
            let fits = match chosen {
                None | Some(Move::Id(_)) => Ok(()),
                Some(Move::Text(text)) => limits.text("moves", text),
                Some(Move::Document(document)) => limits.document("moves", document),
            };
            fits.map_err(|refusal| refusal.at(at))?;
        }
        Ok(())
    }
}
