use std::collections::BTreeMap;

use ludex_env::anchor_ladder;
use ludex_protocol::record::{EndReason, Record};
use ludex_referee::read::Source;
use ludex_referee::testing::{altered, break_off, parts, play, seal};
use ludex_referee::verify::Verifier;
use ludex_report::scale::rate;

use super::*;

fn anchors() -> BTreeMap<String, f64> {
    BTreeMap::from([("random".to_owned(), 0.0), ("mcts".to_owned(), 1000.0)])
}

fn result(record: &Record) -> GameResult {
    let source = Source { file: "test".to_owned(), line: 1 };
    Verifier::new(ludex_games::builtin()).verify(&parts(record), source).expect("a true record").into_result()
}

/// Returns a match that the agent on seat `loser` loses by forfeit. The pair has the number `seed`.
fn lost_by(names: [&str; 2], seed: u64, loser: usize) -> GameResult {
    let mut record = play("tic_tac_toe", &names, seed);
    record.footer.pair = Some(seed.to_string());
    break_off(&mut record, 1, EndReason::Resign, Some(loser));
    result(&seal(record))
}

fn taken(games: &[GameResult]) -> StandingTable {
    let mut table = StandingTable::new(LadderSettings::default(), anchors(), 0.0);
    table.take(&games.iter().collect::<Vec<_>>(), 1_000);
    table
}

#[test]
fn matches_of_a_pair_count_as_one_block() {
    let mut table = taken(&[lost_by(["ann", "bob"], 1, 1), lost_by(["bob", "ann"], 1, 0)]);
    let [ann, bob] = ["ann", "bob"].map(|name| &table.agents[name]);
    assert_eq!((table.matches, ann.wins, ann.losses, bob.wins, bob.losses), (2, 2, 0, 0, 2));
    assert_eq!((&ann.blocks, bob.blocks.len(), ann.last_ms), (&BTreeMap::from([("WW bob".to_owned(), 1)]), 0, 1_000));
    let start = table.skill("nobody");
    assert_eq!((start.rating, start.deviation), (500.0, 350.0), "the middle of the anchors");
    // No chain of matches leads to an anchor.
    table.skills = table.fit();
    let [ann, bob] = ["ann", "bob"].map(|name| table.skill(name));
    assert!(ann.rating > 550.0 && (ann.rating + bob.rating - 1000.0).abs() < 1e-6, "{ann:?} {bob:?}");
    assert_eq!((ann.deviation, bob.deviation), (350.0, 350.0));
}

#[test]
fn table_agrees_with_ludex_rate() {
    let game = ludex_games::load("tic_tac_toe").expect("a game");
    let draws = anchor_ladder::draws(game.info().page, &game.spec().string);
    let anchors = BTreeMap::from([("random".to_owned(), 0.0)]);
    let mut table = StandingTable::new(LadderSettings::default(), anchors, draws);
    let mut all = Vec::new();
    for k in 0..90_u64 {
        let names = [["ann", "random"], ["ann", "bob"], ["bob", "eve"]][k as usize % 3];
        let mut played = play("tic_tac_toe", &[names[1], names[0]], k);
        played.footer.pair = Some(k.to_string());
        let pair = [lost_by(names, k, (k % 5 != 0).into()), result(&seal(played))];
        table.take(&pair.iter().collect::<Vec<_>>(), k as i64);
        all.extend(pair);
    }
    table.skills = table.fit();
    let scale = rate(&all, &RatingOptions::default()).pop().expect("a scale");
    for name in ["ann", "bob", "eve"] {
        let row = scale.agents.iter().find(|row| row.name == name).expect("an agent");
        let (skill, half) = (table.skill(name), (row.high.unwrap() - row.low.unwrap()) / 2.0);
        assert!((row.rating.unwrap() - skill.rating).abs() < 0.01, "{row:?} {skill:?}");
        assert!((1.96 * skill.deviation / half - 1.0).abs() < 0.2, "{row:?} {skill:?}");
    }
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
    let mut table = StandingTable::new(LadderSettings::default(), anchors(), 0.0);
    let day = 86_400_000;
    for k in 0..60_u64 {
        let at = day + k as i64 * 1_000;
        for other in ["bob", "random"] {
            let games = [lost_by(["ann", other], k, 1), lost_by([other, "ann"], k, (k % 4 == 0).into())];
            table.take(&games.iter().collect::<Vec<_>>(), at);
        }
    }
    table.take(&[&lost_by(["eve", "ann"], 99, 0)], 2 * day);
    table.skills = table.fit();
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
    let text = serde_json::to_string(&table.agents).unwrap();
    assert_eq!(serde_json::from_str::<BTreeMap<String, StandingEntry>>(&text).unwrap(), table.agents);
}
