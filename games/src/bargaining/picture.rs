//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::Picture;

use super::{Bargaining, Phase, View};
use crate::picture::items::Division;

pub(super) fn picture(game: &Bargaining, view: &View) -> Picture {
    let mut values = Vec::new();
    match (&view.shown, view.seat, view.values) {
        (Some(both), ..) => {
            values.extend(both.iter().enumerate().map(|(p, v)| (format!("Values of p{p}"), v.to_vec())))
        }
        (None, Some(p), Some(own)) => values.push((format!("Your values (p{p})"), own.to_vec())),
        _ => {}
    }
    let message = |k: usize| view.words.iter().find(|w| usize::from(w.turn) == k).map(|w| w.text.clone());
    let offers = view.offers.iter().enumerate().map(|(k, kept)| (k % 2, kept.to_vec(), message(k).unwrap_or_default()));
    let status = match (view.phase, view.to_move) {
        (Phase::Agreed, _) => format!("p{} agrees", view.offers.len() % 2),
        (Phase::Failed, _) => "no agreement".to_owned(),
        (_, Some(p)) => format!("p{p} to move"),
        (Phase::Chance, None) => "chance decides whether there is another turn".to_owned(),
        (_, None) => "values are drawn".to_owned(),
    };
    let items = game.names().map(String::from).to_vec();
    let pool = view.pool.map(|pool| pool.to_vec()).unwrap_or_default();
    Division { items, pool, values, offers: offers.collect(), status }.picture(Bargaining::INFO.title)
}
