//! Games without their types.

use std::sync::Arc;

use ludex_protocol::Refusal;
use ludex_protocol::error::Issue;
use ludex_protocol::spec::Spec;
use serde_json::Value;

use crate::batch::{BatchConfig, DynBatch, Envs};
use crate::dyn_state::{DynState, DynView};
use crate::game::{Game, MarkDoc, Unit};
use crate::missed_wins;
use crate::notation::Notation;
use crate::typed::{Loaded, box_state, seeing};

/// A game with its parameters fixed.
pub trait DynGame: Send + Sync {
    /// Everything it tells about itself (without the rules page).
    fn spec(&self) -> &Spec;
    /// Its page: rules, actions, observation table, presets, version history (Markdown).
    fn page(&self) -> &'static str;
    /// What players are told, as a template over the parameters; see [`Game::MANUAL`].
    fn manual(&self) -> &'static str {
        ""
    }
    /// The id as a static string, as seeds need it.
    fn id(&self) -> &'static str;
    /// What two agents of the ladder are compared by.
    fn unit(&self) -> Unit;
    /// What its marks are, under these parameters.
    fn marks_docs(&self) -> Vec<MarkDoc> {
        Vec::new()
    }
    /// Whether its marks tell the score of every hand.
    fn hand_scores(&self) -> bool {
        false
    }
    /// What a seat of each team is called, by the team's number; empty where teams have no names.
    fn roles(&self) -> &'static [&'static str] {
        &[]
    }
    /// The notation that other programs keep whole games in, where there is one; see [`Game::NOTATION`].
    fn notation(&self) -> Option<Notation> {
        None
    }
    /// The first position.
    fn start(&self) -> Box<dyn DynState>;
    /// A view from its serde form, as a remote agent receives it.
    ///
    /// # Errors
    /// What does not fit, in serde's words.
    fn read_view(&self, value: &Value) -> Result<Box<dyn DynView>, String>;
    /// The answer to a question about the rules, as [`Game::analyze`] gives it.
    ///
    /// # Errors
    /// What is wrong with the question, and where.
    fn analyze(&self, question: &Value) -> Result<Value, Issue>;
    /// A batch of environments.
    ///
    /// # Errors
    /// Settings that do not fit the game.
    fn batch(&self, config: BatchConfig) -> Result<Box<dyn DynBatch>, Refusal>;
}

/// A shared game.
pub type GameRef = Arc<dyn DynGame>;

/// The erased form of a typed game.
pub(crate) struct TypedGame<G: Game>(pub(crate) Arc<Loaded<G>>);

impl<G: Game> DynGame for TypedGame<G> {
    fn spec(&self) -> &Spec {
        &self.0.spec
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
        let missed = if missed_wins::fits(&self.0.spec) { missed_wins::DOCS } else { &[] };
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
        box_state(&self.0, self.0.game.start())
    }

    fn read_view(&self, value: &Value) -> Result<Box<dyn DynView>, String> {
        let view = serde_json::from_value(value.clone()).map_err(|e| e.to_string())?;
        Ok(seeing(&self.0, view))
    }

    fn analyze(&self, question: &Value) -> Result<Value, Issue> {
        self.0.game.analyze(question)
    }

    fn batch(&self, config: BatchConfig) -> Result<Box<dyn DynBatch>, Refusal> {
        Ok(Box::new(Envs::new(self.0.clone(), config)?))
    }
}
