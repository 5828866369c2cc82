//! Laws of the match plane, checked against the server's built-in agent `random`.

mod acts;
mod play;
mod record;
mod resume;
pub(super) mod table;
pub(super) mod terms;
mod watch;

use futures_util::FutureExt as _;
use ludex_protocol::message::Scope;

use super::{Law, Trial, law};

const fn of_play(section: u32, name: &'static str, tried: Trial) -> Law {
    law(section, name, Some(Scope::Play), tried)
}

pub(super) const LAWS: &[Law] = &[
    of_play(5, "plays matches to their end, frame by frame", |b| play::to_the_end(b).boxed_local()),
    of_play(5, "plays the number of matches that a join requests", |b| play::count(b).boxed_local()),
    of_play(5, "explains why it refuses a join", |b| play::wrong_joins(b).boxed_local()),
    of_play(5, "accepts one move for each turn and try", |b| acts::acts(b).boxed_local()),
    of_play(5, "forfeits a match after the last try", |b| acts::tries(b).boxed_local()),
    of_play(5, "ends a match when a seat resigns", |b| acts::resigns(b).boxed_local()),
    of_play(5, "keeps seed, salt and digest secret until the end", |b| record::secrets(b).boxed_local()),
    of_play(10, "releases a record that verifies", |b| record::released(b).boxed_local()),
    of_play(7, "continues after a cut at any message", |b| resume::cuts(b).boxed_local()),
    of_play(7, "sends everything in a resync", |b| resume::resyncs(b).boxed_local()),
    of_play(7, "drops old keys and connections", |b| resume::keys(b).boxed_local()),
    of_play(7, "gives seats to the client that reclaims them", |b| resume::reclaims(b).boxed_local()),
    law(5, "shows a match to spectators", Some(Scope::Spectate), |b| watch::spectators(b).boxed_local()),
];
