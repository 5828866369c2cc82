//! Games with their type erased.

use std::sync::Arc;

use ludex_protocol::Refusal;
use ludex_protocol::error::Issue;
use ludex_protocol::spec::{Params, Spec};
use serde_json::Value;

use crate::batch::{BatchConfig, DynBatch, Envs};
use crate::dyn_state::{DynState, DynView};
use crate::game::{Game, MarkDoc, Unit};
use crate::missed_wins;
use crate::notation::Notation;
use crate::params::ParamError;
use crate::typed::{Loaded, box_state, seeing};

/// A game with fixed parameters.
pub trait DynGame: Send + Sync {
    /// Returns the game's specification, which does not include the page.
    fn spec(&self) -> &Spec;
    /// Returns the game's page in Markdown: rules, actions, observation table, presets, version history.
    fn page(&self) -> &'static str;
    /// Returns the template of the manual for players; see [`Game::MANUAL`].
    fn manual(&self) -> &'static str {
        ""
    }
    /// Returns the id as a static string, the form needed for seeds.
    fn id(&self) -> &'static str;
    /// Returns the unit of play that compares two agents of the ladder.
    fn unit(&self) -> Unit;
    /// Returns the documentation of the game's marks under these parameters.
    fn marks_docs(&self) -> Vec<MarkDoc> {
        Vec::new()
    }
    /// Returns true if the marks include the score of every hand.
    fn hand_scores(&self) -> bool {
        false
    }
    /// Returns the role names of the teams, indexed by team number; empty if teams have no names.
    fn roles(&self) -> &'static [&'static str] {
        &[]
    }
    /// Returns the standard notation for complete games, if there is one; see [`Game::NOTATION`].
    fn notation(&self) -> Option<Notation> {
        None
    }
    /// Returns the initial state.
    fn start(&self) -> Box<dyn DynState>;
    /// Deserializes a view, as received by a remote agent.
    ///
    /// # Errors
    /// Returns serde's message.
    fn read_view(&self, value: &Value) -> Result<Box<dyn DynView>, String>;
    /// Loads the game with these parameters over the defaults.
    ///
    /// # Errors
    /// Names the parameter that is unknown, has the wrong type, or is out of range.
    fn reload(&self, params: &Params) -> Result<GameRef, ParamError>;
    /// Answers a query about the rules; see [`Game::analyze`].
    ///
    /// # Errors
    /// Returns the flaw of the query with its path.
    fn analyze(&self, question: &Value) -> Result<Value, Issue>;
    /// Opens a batch of environments.
    ///
    /// # Errors
    /// Fails on settings that the game does not support.
    fn batch(&self, config: BatchConfig) -> Result<Box<dyn DynBatch>, Refusal>;
}

/// A reference-counted game, cheap to clone.
pub type GameRef = Arc<dyn DynGame>;

/// The type-erased form of a typed game.
pub(crate) struct TypedGame<G: Game> {
    pub(crate) of: Arc<Loaded<G>>,
    /// Loads the game under other parameters.
    pub(crate) load: fn(&Params) -> Result<GameRef, ParamError>,
}

impl<G: Game> DynGame for TypedGame<G> {
    fn spec(&self) -> &Spec {
        &self.of.spec
    }

    fn page(&self) -> &'static str {
        G::PAGE
    }

    fn manual(&self) -> &'static str {
        G::MANUAL
    }

    fn id(&self) -> &'static str {
        G::ID
    }

    fn unit(&self) -> Unit {
        G::UNIT
    }

    fn marks_docs(&self) -> Vec<MarkDoc> {
        let missed = if missed_wins::fits(&self.of.spec) { missed_wins::DOCS } else { &[] };
        [G::MARKS, missed].concat()
    }

    fn hand_scores(&self) -> bool {
        G::HAND_SCORES
    }

    fn roles(&self) -> &'static [&'static str] {
        G::ROLES
    }

    fn notation(&self) -> Option<Notation> {
        G::NOTATION
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
