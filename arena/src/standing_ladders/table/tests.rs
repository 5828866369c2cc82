use std::collections::BTreeMap;

use ludex_protocol::record::{EndReason, Record};
use ludex_referee::read::Source;
use ludex_referee::testing::{altered, break_off, parts, play, seal};
use ludex_referee::verify::Verifier;

use super::*;

fn anchors() -> BTreeMap<String, f64> {
    BTreeMap::from([("random".to_owned(), 0.0), ("mcts".to_owned(), 1000.0)])
}

fn result(record: &Record) -> GameResult {
    let source = Source { file: "test".to_owned(), line: 1 };
    Verifier::new(ludex_games::builtin()).verify(&parts(record), source).expect("a true record").into_result()
}

/// Returns a match that the agent on seat `loser` loses by forfeit.
fn lost_by(names: [&str; 2], seed: u64, loser: usize) -> GameResult {
    let mut record = play("tic_tac_toe", &names, seed);
    break_off(&mut record, 1, EndReason::Resign, Some(loser));
    result(&seal(record))
}

fn taken(games: &[GameResult]) -> StandingTable {
    let mut table = StandingTable::new(LadderSettings::default(), anchors());
    table.take(&games.iter().collect::<Vec<_>>(), 1_000);
    table
}

#[test]
fn matches_of_a_pair_count_as_one_rating_update() {
    let table = taken(&[lost_by(["ann", "bob"], 1, 1), lost_by(["bob", "ann"], 1, 0)]);
    let [ann, bob] = ["ann", "bob"].map(|name| &table.agents[name]);
    assert_eq!((table.matches, ann.wins, ann.losses, bob.wins, bob.losses), (2, 2, 0, 0, 2));
    let start = table.skill("nobody", 0);
    assert_eq!((start.rating, start.deviation), (500.0, 350.0), "the middle of the anchors");
    let two = start.after_games(&[(start, 1.0), (start, 1.0)], 0.0);
    assert_eq!(ann.skill, two);
    assert!((ann.skill.rating + bob.skill.rating - 1000.0).abs() < 1e-9);
    assert_eq!((ann.met.as_str(), bob.met.as_str(), ann.last_ms), ("bob", "ann", 1_000));
}

#[test]
fn anchor_rating_is_constant_and_clients_cannot_claim_it_by_name() {
    let table = taken(&[lost_by(["random", "ann"], 3, 0)]);
    assert_eq!(table.agents.keys().collect::<Vec<_>>(), ["ann"]);
    assert_eq!(table.anchors, anchors());
    let table = taken(&[lost_by(["mcts", "ann"], 3, 0)]);
    assert_eq!(table.agents.keys().collect::<Vec<_>>(), ["ann", "mcts"], "a client of this name");
    let rows = table.rows(2_000);
    assert_eq!(rows.iter().filter(|row| row.agent == "mcts" && row.anchor).count(), 1);
}

#[test]
fn uncounted_matches_do_not_change_the_table() {
    let mut unrated = play("tic_tac_toe", &["ann", "bob"], 4);
    unrated.header.rated = false;
    let mut aborted = play("tic_tac_toe", &["ann", "bob"], 4);
    break_off(&mut aborted, 1, EndReason::Aborted, None);
    aborted.footer.outcome.clear();
    let mine = lost_by(["ann", "ann"], 5, 0);
    for game in [result(&seal(unrated)), mine] {
        assert!(taken(&[game]).agents.is_empty());
    }
    // A record whose result contradicts its moves never becomes a result.
    let forged =
        altered(&play("tic_tac_toe", &["ann", "bob"], 4), |value| value["returns"] = serde_json::json!([0.5, 0.5]));
    assert!(
        Verifier::new(ludex_games::builtin()).verify(&forged, Source { file: "test".to_owned(), line: 1 }).is_err()
    );
}

#[test]
fn only_established_active_agents_have_ranks() {
    let mut table = StandingTable::new(LadderSettings::default(), anchors());
    let day = 86_400_000;
    for k in 0..60_u64 {
        let at = day + k as i64 * 1_000;
        let games = [lost_by(["ann", "bob"], k, 1), lost_by(["bob", "ann"], k, (k % 4 == 0).into())];
        table.take(&games.iter().collect::<Vec<_>>(), at);
    }
    table.take(&[&lost_by(["eve", "ann"], 99, 0)], 2 * day);
    let at = |days: i64| -> Vec<(String, Option<u64>, RankStatus)> {
        let rows = table.rows(days * day).into_iter().filter(|row| !row.anchor);
        rows.map(|row| (row.agent, row.rank, row.standing)).collect()
    };
    let row = |name: &str, rank, standing| (name.to_owned(), rank, standing);
    assert_eq!(
        at(2),
        [
            row("ann", Some(1), RankStatus::Ranked),
            row("eve", None, RankStatus::Provisional),
            row("bob", Some(2), RankStatus::Ranked)
        ]
    );
    assert!(
        at(32).contains(&row("bob", None, RankStatus::Inactive))
            && at(32).contains(&row("ann", Some(1), RankStatus::Ranked))
    );
    let known = table.agents["ann"].skill.deviation;
    assert!(table.skill("ann", 400 * day).deviation > known + 100.0, "inactivity increases the deviation");
    let text = serde_json::to_string(&table.agents).unwrap();
    assert_eq!(serde_json::from_str::<BTreeMap<String, StandingEntry>>(&text).unwrap(), table.agents);
}
