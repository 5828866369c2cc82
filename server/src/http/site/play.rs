//! The page on which a person plays a game. Its script uses the protocol, like any other client.

use std::iter;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::HeaderMap;
use ludex_gym::catalogue::Catalogue;
use ludex_pages::play::{GameVariant, LevelOption, PlayPage};
use ludex_pages::{Page, text};
use ludex_protocol::spec::{Params, Spec};

use super::{Answer, App, admitted, compute, errors, games, show};

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
    let levels = levels
        .into_iter()
        .map(|level| LevelOption { level, rating: rating(level).map(|r| r.round() as i64) })
        .collect();
    let (catalogue, of) = (app.0.catalogue.clone(), spec.clone());
    let variants = match compute(&app.0, &app.1, move || variants(&catalogue, &of)).await {
        Ok(variants) => variants,
        Err(failure) => return *failure,
    };
    show(Page::Play(PlayPage {
        id: spec.game.clone(),
        string: spec.string.clone(),
        title: spec.title.clone(),
        players: spec.players,
        seats: spec.seats.clone(),
        named: app.0.config.opponents.named.keys().cloned().collect(),
        agent: grant.default_name().map(str::to_owned),
        prefix: grant.prefix().to_owned(),
        asked: id,
        variants,
        levels,
    }))
}

/// Returns the variants of a game: the default parameters and the presets, without duplicates.
fn variants(catalogue: &Catalogue, spec: &Spec) -> Vec<GameVariant> {
    let names = spec
        .presets
        .iter()
        .map(|(name, preset)| (format!("{}(preset={name})", spec.game), name.as_str(), preset.note.as_str()));
    let mut list = Vec::new();
    for (id, name, note) in iter::once((spec.game.clone(), "usual", "")).chain(names) {
        let Ok(game) = catalogue.load(&id, &Params::new()) else { continue };
        let string = &game.spec().string;
        if !list.iter().any(|seen: &GameVariant| seen.string == *string) {
            list.push(GameVariant { id, name: name.to_owned(), note: note.to_owned(), string: string.clone() });
        }
    }
    list
}
