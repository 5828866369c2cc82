//! Games with their type erased.

use std::sync::Arc;

use ludex_protocol::Refusal;
use ludex_protocol::error::Issue;
use ludex_protocol::spec::{Params, Spec};
use serde_json::Value;

use crate::batch::{BatchConfig, DynBatch, Envs};
use crate::dyn_state::{DynState, DynView};
use crate::game::{CompleteGame, GameInfo, MarkDoc};
use crate::missed_wins;
use crate::params::ParamError;
use crate::typed::{Loaded, box_state, seeing};

/// A game with fixed parameters.
pub trait DynGame: Send + Sync {
    /// Returns the game's specification, without the rules page.
    fn spec(&self) -> &Spec;
    /// Returns the identity, texts and ladder of the game.
    fn info(&self) -> &'static GameInfo;
    /// Returns the game's id as a static string, as needed by [`Draw::new`](crate::draw::Draw::new).
    fn id(&self) -> &'static str {
        self.info().id
    }
    /// Returns the documentation of the game's marks under these parameters.
    fn marks_docs(&self) -> Vec<MarkDoc> {
        Vec::new()
    }
    /// Returns the initial state.
    fn start(&self) -> Box<dyn DynState>;
    /// Deserializes a view, as received by a remote agent.
    ///
    /// # Errors
    /// Returns serde's message.
    fn read_view(&self, value: &Value) -> Result<Box<dyn DynView>, String>;
    /// Loads the game with `params`; parameters that are absent have their defaults.
    ///
    /// # Errors
    /// Fails with the name of the parameter that is unknown, has the wrong type, or is out of range.
    fn reload(&self, params: &Params) -> Result<GameRef, ParamError>;
    /// Answers a query about the rules; see [`GameMarks::analyze`](crate::game::GameMarks::analyze).
    ///
    /// # Errors
    /// Fails with an issue that contains the path of the invalid value in the query.
    fn analyze(&self, question: &Value) -> Result<Value, Issue>;
    /// Opens a batch of environments.
    ///
    /// # Errors
    /// Fails on settings that the game does not support.
    fn batch(&self, config: BatchConfig) -> Result<Box<dyn DynBatch>, Refusal>;
}

/// A reference-counted game, cheap to clone.
pub type GameRef = Arc<dyn DynGame>;

/// Implementation of [`DynGame`] for a typed game.
pub(crate) struct TypedGame<G: CompleteGame> {
    pub(crate) of: Arc<Loaded<G>>,
    /// Function that loads the game with different parameters.
    pub(crate) load: fn(&Params) -> Result<GameRef, ParamError>,
}

impl<G: CompleteGame> DynGame for TypedGame<G> {
    fn spec(&self) -> &Spec {
        &self.of.spec
    }

    fn info(&self) -> &'static GameInfo {
        const { &G::INFO }
    }

    fn marks_docs(&self) -> Vec<MarkDoc> {
        let missed = if missed_wins::fits(&self.of.spec) { missed_wins::DOCS } else { &[] };
        [G::INFO.marks, missed].concat()
    }

    fn start(&self) -> Box<dyn DynState> {
        box_state(&self.of, self.of.game.start())
    }

    fn read_view(&self, value: &Value) -> Result<Box<dyn DynView>, String> {
        let view = serde_json::from_value(value.clone()).map_err(|e| e.to_string())?;
        Ok(seeing(&self.of, view))
    }

    fn reload(&self, params: &Params) -> Result<GameRef, ParamError> {
        (self.load)(params)
    }

    fn analyze(&self, question: &Value) -> Result<Value, Issue> {
        self.of.game.analyze(question)
    }

    fn batch(&self, config: BatchConfig) -> Result<Box<dyn DynBatch>, Refusal> {
        Ok(Box::new(Envs::new(self.of.clone(), config)?))
    }
}
