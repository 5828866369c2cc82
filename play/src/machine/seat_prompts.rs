//! Settings of a seat's prompts.

use std::fmt;
use std::sync::{Arc, OnceLock};

use ludex_agents::llm::Prompter;
use ludex_env::GameRef;
use ludex_protocol::error::Refusal;
use ludex_protocol::spec::Params;
use serde::{Deserialize, Serialize};

/// Settings of a seat's prompts, and the prompter, which is prepared on first use.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeatPrompts {
    settings: Params,
    #[serde(skip)]
    prompter: OnceLock<Arc<Prompter>>,
}

impl SeatPrompts {
    /// Creates the prompts of a seat with settings that [`Prompter::from_settings`] accepts for the game.
    pub fn new(settings: Params) -> Self {
        SeatPrompts { settings, prompter: OnceLock::new() }
    }

    pub(super) fn is_default(&self) -> bool {
        self.settings.is_empty()
    }

    /// Returns the prompter of the seat.
    ///
    /// # Errors
    /// Settings that the game does not accept.
    pub(super) fn prompter(&self, game: &GameRef) -> Result<Arc<Prompter>, Refusal> {
        if let Some(prompter) = self.prompter.get() {
            return Ok(prompter.clone());
        }
        let prompter = Arc::new(Prompter::from_settings(&self.settings, game)?);
        Ok(self.prompter.get_or_init(|| prompter).clone())
    }
}

impl fmt::Debug for SeatPrompts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SeatPrompts").field(&self.settings).finish()
    }
}
