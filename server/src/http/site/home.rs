//! The front page: the games as pictures, what is running, how to connect.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::header::{self, HeaderMap};
use ludex_protocol::message::ListMatches;
use ludex_protocol::spec::Params;
use serde_json::{Value, json};

use super::{Answer, App, admitted, matches, show};
use crate::store::MatchFilter;

/// What games are played with, to search for.
const MATERIALS: [&[&str]; 5] = [&["cards"], &["dice", "die"], &["tiles"], &["board"], &["words"]];
/// How often the rules of a game name what it is played with.
const NAMED: usize = 3;

/// Running matches that are listed.
const RUNNING: u32 = 12;

pub(super) async fn page(State(app): App, headers: HeaderMap) -> Answer {
    let shared = &app.0;
    // Everybody may see the games; what is running is for those who may come in.
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
        running = matches::lines(shared, &filter, RUNNING).await.0;
    }
    let games: Vec<Value> = shared
        .catalogue
        .entries()
        .iter()
        .map(|entry| {
            let live = live.get(&entry.game);
            let game = shared.catalogue.load(&entry.game, &Params::new()).ok();
            let material = game.and_then(|game| material(game.page()));
            json!({ "id": entry.game, "title": entry.title, "players": entry.players, "chance": entry.chance, "information": entry.information, "dynamics": entry.dynamics, "live": live, "material": material })
        })
        .collect();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:7878");
    let address = format!("{}://{host}", if shared.config.tls.is_some() { "wss" } else { "ws" });
    show("home.html", json!({ "games": games, "running": running, "address": address, "open": guest.is_some() }))
}

/// What a game is played with, by its rules: the first that they name more than in passing.
fn material(rules: &str) -> Option<&'static str> {
    let named = |names: &[&str]| {
        let words = rules.split(|c: char| !c.is_alphabetic());
        words.filter(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name))).count()
    };
    MATERIALS.into_iter().find(|names| named(names) >= NAMED).map(|names| names[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_found_by_what_they_are_played_with() {
        let games = ludex_env::Games::builtin();
        let of = |id: &str| material(games.load_with(id, &Params::new()).unwrap().page());
        for (wanted, ids) in [
            (
                "cards",
                &["battle_cards", "fight_the_landlord", "hanabi", "kuhn_poker", "leduc_poker", "texas_holdem"][..],
            ),
            ("dice", &["liars_dice", "pig"]),
            ("tiles", &["mcr_mahjong"]),
            ("board", &["chess", "connect_four", "go", "reversi", "tic_tac_toe"]),
            ("words", &["undercover"]),
        ] {
            for id in ids {
                assert_eq!(of(id), Some(wanted), "{id}");
            }
        }
        assert_eq!(of("nim"), None);
    }
}
