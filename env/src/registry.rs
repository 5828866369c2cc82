//! The registry of games: loads a game by name and parameters.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use ludex_protocol::spec::{Anchor, Params, Preset, Spec, Views};

use crate::anchor_ladder;
use crate::documents::Schemas;
use crate::dyn_game::{GameRef, TypedGame};
use crate::game::{CompleteGame, GameInfo};
use crate::params::{ParamError, canonical, split, typed};
use crate::typed::Loaded;

/// A registered game, before parameters are chosen.
#[derive(Clone, Copy)]
pub struct RegisteredGame {
    /// Identity, texts and ladder of the game.
    pub info: GameInfo,
    load: fn(&Params) -> Result<GameRef, ParamError>,
}

impl RegisteredGame {
    /// Returns the registry entry of a game.
    pub const fn of<G: CompleteGame>() -> Self {
        RegisteredGame { info: G::INFO, load: load_typed::<G> }
    }

    /// Returns the entry of a game with two implementations of the same rules. `S` is used for the parameters that `S`
    /// accepts, `G` for all other parameters.
    pub const fn of_either<S: CompleteGame, G: CompleteGame>() -> Self {
        RegisteredGame { load: load_either::<S, G>, ..RegisteredGame::of::<G>() }
    }

    /// Loads the game with `params`. A `preset` is applied first; parameters that are absent have their defaults.
    ///
    /// # Errors
    /// Fails with the name of the parameter that is unknown, has the wrong type, or is out of range.
    pub fn load(&self, params: &Params) -> Result<GameRef, ParamError> {
        (self.load)(params)
    }
}

/// A list of games that can be loaded by name. Cheap to clone.
#[derive(Clone)]
pub struct Games(Arc<[RegisteredGame]>);

impl Games {
    /// Appends the game `G`.
    pub fn with<G: CompleteGame>(self) -> Self {
        self.with_entry(RegisteredGame::of::<G>())
    }

    /// Appends the game of `entry`, and removes an existing game with the same id.
    pub fn with_entry(self, entry: RegisteredGame) -> Self {
        Games(self.0.iter().copied().filter(|e| e.info.id != entry.info.id).chain([entry]).collect())
    }

    /// Iterates over the entries in order.
    pub fn iter(&self) -> std::slice::Iter<'_, RegisteredGame> {
        self.0.iter()
    }

    /// Returns the entry with this id; ignores aliases.
    pub fn entry(&self, id: &str) -> Option<&RegisteredGame> {
        self.iter().find(|e| e.info.id == id)
    }

    /// Loads a game from a game string, e.g. `countdown`, `countdown(objects=3)` or a name from another program.
    ///
    /// # Errors
    /// Fails on an unknown game, with the nearest name, or on an invalid parameter.
    pub fn load(&self, text: &str) -> Result<GameRef, ParamError> {
        self.load_with(text, &Params::new())
    }

    /// Loads a game in the same way as [`load`](Self::load); `more` overrides parameters of the string.
    ///
    /// # Errors
    /// Fails under the conditions of [`load`](Self::load).
    pub fn load_with(&self, text: &str, more: &Params) -> Result<GameRef, ParamError> {
        let (name, mut params) = split(text)?;
        params.extend(more.iter().map(|(k, v)| (k.clone(), v.clone())));
        if let Some(e) = self.entry(&name) {
            return e.load(&params);
        }
        for e in self {
            if let Some(alias) = e.info.aliases.iter().find(|a| a.name == name) {
                return e.load(&(alias.map)(params)?);
            }
        }
        let known = self.iter().flat_map(|e| std::iter::once(e.info.id).chain(e.info.aliases.iter().map(|a| a.name)));
        Err(ParamError::unknown("game", &name, known.map(str::to_owned).collect()))
    }
}

impl FromIterator<RegisteredGame> for Games {
    fn from_iter<I: IntoIterator<Item = RegisteredGame>>(entries: I) -> Self {
        Games(entries.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Games {
    type Item = &'a RegisteredGame;
    type IntoIter = std::slice::Iter<'a, RegisteredGame>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn load_typed<G: CompleteGame>(raw: &Params) -> Result<GameRef, ParamError> {
    let mut schema = schemars::schema_for!(G::Params).to_value();
    let mut raw = raw.clone();
    raw.retain(|_, v| !v.is_null());
    if !G::INFO.presets.is_empty() {
        let names: Vec<&str> = G::INFO.presets.iter().map(|p| p.0).collect();
        if let Some(wanted) = raw.remove("preset") {
            let mut full = preset_params::<G>(wanted.as_str().unwrap_or_default()).ok_or_else(|| {
                let mut e = ParamError::value("preset", wanted, names.clone());
                e.message = format!("unknown preset {}; allowed: {}", e.got, names.join(", "));
                e
            })?;
            full.extend(raw);
            raw = full;
        }
        let shown = serde_json::json!({
            "description": "Named set of parameters, applied before all other parameters.", "enum": names, "type": "string",
        });
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.insert("preset".into(), shown);
        }
    }
    let game = G::new(typed::<G::Params>(&raw, &schema)?).map_err(|mut e| {
        // Reports the value as submitted, such as 7 instead of 7.0 for a float parameter.
        if let Some(given) = e.name.as_ref().and_then(|name| raw.get(name)) {
            e.got = given.clone();
        }
        e
    })?;
    let spec = spec_of(&game, schema);
    let schemas = Schemas::new(spec.document_schemas.as_ref()).map_err(|why| ParamError::syntax(G::INFO.id, &why))?;
    Ok(Arc::new(TypedGame { of: Arc::new(Loaded { game, spec, schemas }), load: load_typed::<G> }))
}

fn load_either<S: CompleteGame, G: CompleteGame>(raw: &Params) -> Result<GameRef, ParamError> {
    load_typed::<S>(raw).or_else(|_| load_typed::<G>(raw))
}

fn preset_params<G: CompleteGame>(name: &str) -> Option<Params> {
    let (_, text, _) = G::INFO.presets.iter().find(|p| p.0 == name)?;
    serde_json::from_str(text).ok()
}

fn spec_of<G: CompleteGame>(game: &G, params_schema: Value) -> Spec {
    let f = game.facts();
    let params = match serde_json::to_value(game.params()) {
        Ok(Value::Object(map)) => map.into_iter().filter(|(_, v)| !v.is_null()).collect(),
        _ => Params::new(),
    };
    let string = canonical(G::INFO.id, &params);
    let mut anchors: Vec<Anchor> =
        G::INFO.ladder.iter().map(|&(level, bot, agent)| anchor(level, bot, agent)).collect();
    anchor_ladder::rate(&mut anchors, G::INFO.page, &string, G::INFO.rules);
    let one = |t: Option<(&'static str, _)>| t.map(|(name, spec)| BTreeMap::from([(name.to_owned(), spec)]));
    let mut layouts = Vec::new();
    if f.tensor.is_some() {
        layouts.push("ludex".to_owned());
    }
    if f.openspiel.is_some() {
        layouts.push("openspiel".to_owned());
    }
    // The properties that policies and records depend on. Documentation is excluded and may change freely.
    let identity = format!("{}|{}|{}|{:?}|{:?}|{:?}", G::INFO.rules, string, f.actions, f.max_chance, f.tensor, f.info);
    let presets = G::INFO.presets.iter().filter_map(|(name, _, note)| {
        let params = preset_params::<G>(name)?;
        Some(((*name).to_owned(), Preset { params, note: (*note).to_owned() }))
    });
    Spec {
        game: G::INFO.id.into(),
        title: G::INFO.title.into(),
        string,
        rules: G::INFO.rules,
        hash: hex::encode(&Sha256::digest(identity.as_bytes())[..8]),
        players: f.seats.len() as u32,
        player_range: G::INFO.players,
        seats: f.seats,
        dynamics: f.dynamics,
        chance: f.chance,
        information: f.information,
        utility: f.utility,
        rewards: f.rewards,
        min_return: f.returns[0],
        max_return: f.returns[1],
        max_length: f.max_length,
        actions: f.actions,
        max_chance: f.max_chance,
        legal: f.legal,
        views: Views {
            tensor: one(f.tensor),
            structure: schemars::schema_for!(G::View).to_value(),
            text: true,
            info: one(f.info),
            layouts,
        },
        document_schemas: f.document_schemas,
        params_schema,
        presets: presets.collect(),
        anchors,
        text: None,
        params,
    }
}

fn anchor(level: u32, bot: u32, agent: &str) -> Anchor {
    Anchor { level, bot, agent: agent.into(), rating: None, low: None, high: None }
}
