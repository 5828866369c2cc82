//! The front page: the games as pictures, the running matches, and how to connect.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::header::HeaderMap;
use ludex_pages::Page;
use ludex_pages::home::{GameCard, HomePage};
use ludex_protocol::message::ListMatches;
use ludex_store::MatchFilter;

use super::{Answer, App, address, admitted, matches, show};

/// Maximum number of running matches on the page.
const RUNNING: u32 = 12;

pub(super) async fn page(State(app): App, headers: HeaderMap) -> Answer {
    let shared = &app.0;
    // The list of games is public; running matches require access.
    let guest = admitted(&app, &headers, "/").await.ok();
    let mut live: BTreeMap<String, usize> = BTreeMap::new();
    let mut running = Vec::new();
    if guest.is_some() {
        let all = ListMatches { limit: u32::MAX, ..ListMatches::default() };
        let entries = shared.hub.matches(&all).await.map(|list| list.matches).unwrap_or_default();
        for entry in &entries {
            let id = entry.game.split('(').next().unwrap_or_default();
            *live.entry(id.to_owned()).or_default() += 1;
        }
        let filter = MatchFilter { live: Some(true), ..MatchFilter::default() };
        running = matches::lines(&app, &filter, RUNNING).await.0;
    }
    let games: Vec<GameCard> = shared
        .catalogue
        .entries()
        .iter()
        .map(|entry| GameCard {
            id: entry.game.clone(),
            title: entry.title.clone(),
            players: entry.players,
            chance: entry.chance,
            information: entry.information,
            dynamics: entry.dynamics,
            live: live.get(&entry.game).copied(),
            material: shared.catalogue.material(&entry.game),
        })
        .collect();
    show(Page::Home(HomePage { games, running, address: address(shared, &headers), open: guest.is_some() }))
}
