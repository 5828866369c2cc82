//! The page on which a person plays a game. Its script uses the protocol, like any other client.

use std::iter;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::HeaderMap;
use ludex_gym::catalogue::Catalogue;
use ludex_protocol::spec::{Params, Spec};
use serde_json::{Value, json};

use super::{Answer, App, admitted, compute, errors, games, show, text};

pub(super) async fn page(State(app): App, headers: HeaderMap, path: Result<Path<String>, PathRejection>) -> Answer {
    let id = path.map(|Path(id)| id).unwrap_or_default();
    let game = match games::game_of(&id, &app.1, &app.0).await {
        Ok(game) => game,
        Err(refusal) => return errors::game(&id, &refusal),
    };
    let grant = match admitted(&app, &headers, &format!("/play/{}", text::path(&id))).await {
        Ok(grant) => grant,
        Err(shut) => return *shut,
    };
    let spec = game.spec();
    let mut levels: Vec<u32> = spec.anchors.iter().map(|anchor| anchor.level).collect();
    levels.dedup();
    let rating = |level: u32| spec.anchors.iter().find(|a| a.level == level).and_then(|a| a.rating);
    let levels: Vec<Value> = levels
        .into_iter()
        .map(|level| json!({ "level": level, "rating": rating(level).map(|r| r.round() as i64) }))
        .collect();
    let (catalogue, of) = (app.0.catalogue.clone(), spec.clone());
    let variants = match compute(&app.0, &app.1, move || variants(&catalogue, &of)).await {
        Ok(variants) => variants,
        Err(failure) => return *failure,
    };
    let named: Vec<&String> = app.0.config.opponents.named.keys().collect();
    let context = json!({ "id": spec.game, "asked": id, "variants": variants, "string": spec.string, "title": spec.title, "seats": spec.seats, "players": spec.players, "levels": levels, "named": named, "agent": grant.default_name(), "prefix": grant.prefix(), "owner": grant.owner });
    show("play.html", context)
}

/// Returns the variants of a game: the default parameters and the presets, without duplicates.
fn variants(catalogue: &Catalogue, spec: &Spec) -> Vec<Value> {
    let names = spec
        .presets
        .iter()
        .map(|(name, preset)| (format!("{}(preset={name})", spec.game), name.as_str(), preset.note.as_str()));
    let mut seen = Vec::new();
    let mut list = Vec::new();
    for (id, name, note) in iter::once((spec.game.clone(), "usual", "")).chain(names) {
        let Ok(game) = catalogue.load(&id, &Params::new()) else { continue };
        let string = &game.spec().string;
        if !seen.contains(string) {
            seen.push(string.clone());
            list.push(json!({ "id": id, "name": name, "note": note, "string": string }));
        }
    }
    list
}
