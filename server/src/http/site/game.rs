//! The page of a game: rules, ladder, best agents, and matches.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::HeaderMap;
use flate2::Compression;
use ludex_env::message_views::view_of;
use ludex_env::{DynGame, ToMove, Viewer};
use ludex_pages::game::GamePage;
use ludex_pages::{Page, text};
use ludex_protocol::Refusal;
use ludex_protocol::message::MatchView;
use ludex_store::{MatchFilter, MatchState};

use super::super::failed;
use super::svg::svg;
use super::{Answer, App, admitted, compute, errors, games, matches, scales, show};
use crate::page_cache::{PageKey, PageKind};
use crate::response_body::ResponseBody;

/// Maximum length of each list of matches on the page.
const LISTED: u32 = 10;

pub(super) async fn page(State(app): App, headers: HeaderMap, path: Result<Path<String>, PathRejection>) -> Answer {
    let shared = &app.0;
    let id = path.map(|Path(id)| id).unwrap_or_default();
    let game = match games::game_of(&id, &app.1, shared).await {
        Ok(game) => game,
        Err(refusal) => return errors::game(&id, &refusal),
    };
    let spec = game.spec();
    let guest = admitted(&app, &headers, "/").await.ok();
    let (mut live, mut recent, mut ratings) = (Vec::new(), Vec::new(), None);
    if guest.is_some() {
        let filter = |live| MatchFilter { game: Some(spec.game.clone()), live: Some(live), ..MatchFilter::default() };
        live = matches::lines(&app, &filter(true), LISTED).await.0;
        recent = matches::lines(&app, &filter(false), LISTED).await.0;
        let made = scales::ratings_soon(shared, Some(&spec.game)).await;
        ratings = made.map(|made| scales::tables(&made, &shared.catalogue, &shared.config.suites));
    }
    let source = game.info().page;
    let rules = match compute(shared, &app.1, move || text::rules(source)).await {
        Ok(rules) => rules,
        Err(failure) => return *failure,
    };
    show(Page::Game(GamePage {
        id: spec.game.clone(),
        title: spec.title.clone(),
        players: spec.player_range,
        information: spec.information,
        dynamics: spec.dynamics,
        anchors: spec.anchors.clone(),
        open: guest.is_some(),
        ratings,
        live,
        recent,
        rules,
    }))
}

/// Returns a picture of the initial position from the public's view.
pub(super) async fn picture(State(app): App, path: Result<Path<String>, PathRejection>) -> Answer {
    let (shared, peer) = &app;
    let id = path.map(|Path(id)| id).unwrap_or_default();
    let make = async {
        let refused = |refusal: Box<Refusal>| Box::new(failed(games::status_of(&refusal), *refusal));
        let game = games::game_of(&id, peer, shared).await.map_err(refused)?;
        let draw = move || Some(ResponseBody::new(first_picture(&*game)?, Some(Compression::fast())));
        compute(shared, peer, draw).await?.ok_or_else(|| Box::new(errors::no_page()))
    };
    let key = PageKey { id: id.clone(), state: MatchState::default(), kind: PageKind::Game };
    match shared.pages.get(key, |kind| shared.metrics.page(kind), make).await {
        Ok(picture) => svg(picture, "public, max-age=3600"),
        Err(failure) => *failure,
    }
}

/// Draws the initial position. If the game starts with chance, draws the position after the first deal.
fn first_picture(game: &dyn DynGame) -> Option<String> {
    let mut state = game.start();
    let mut outcomes = ludex_env::Outcomes::new();
    // Upper bound on the chance outcomes of the longest deal of any game.
    for _ in 0..1_000 {
        if state.turn() != ToMove::Chance {
            break;
        }
        outcomes.clear();
        state.chance(&mut outcomes);
        let Some(action) = outcomes.items().first().map(|(action, _)| *action) else { break };
        state.play_unchecked(action);
    }
    let view = view_of(&*state, Viewer::Public, &[MatchView::Picture], ludex_env::batch::Layout::Ludex);
    view.picture.map(|picture| picture.svg)
}
