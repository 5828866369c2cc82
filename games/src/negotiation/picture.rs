//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::Picture;

use super::{Negotiation, View};
use crate::picture::items::Division;

pub(super) fn picture(view: &View) -> Picture {
    let mut values = Vec::new();
    match (&view.shown, view.seat) {
        (Some(both), _) => values.extend(both.iter().enumerate().map(|(p, v)| (format!("Values of p{p}"), v.clone()))),
        (None, Some(p)) if !view.values.is_empty() => values.push((format!("Your values (p{p})"), view.values.clone())),
        _ => {}
    }
    let utterance = |k: usize| view.utterances.get(k).map(|u| format!("utters {u:?}")).unwrap_or_default();
    let offers = view.proposals.iter().enumerate().map(|(k, kept)| (k % 2, kept.clone(), utterance(k)));
    let status = match (view.to_move, view.agreed) {
        (Some(p), _) => format!("p{p} to move; at most {} proposals", view.limit.unwrap_or(0)),
        (None, true) => "the last proposal is agreed".to_owned(),
        (None, false) if view.shown.is_some() => "no agreement".to_owned(),
        (None, false) => "values are drawn".to_owned(),
    };
    let items = (1..=view.pool.len().min(8)).map(|k| format!("item {k}")).collect();
    Division { items, pool: view.pool.clone(), values, offers: offers.collect(), status }
        .picture(Negotiation::INFO.title)
}
