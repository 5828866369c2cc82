use ludex_protocol::record::{EndReason, Record};
use ludex_referee::VerifiedRecord;
use ludex_referee::testing::{break_off, play, verify};

use super::*;

fn verified(records: impl IntoIterator<Item = Record>) -> Vec<VerifiedRecord> {
    records.into_iter().map(verify).collect()
}

/// Returns `n` pairs of `a` against `random`. `random` resigns in every third pair, so `a` is ahead.
fn pairs(game: &str, n: u64) -> Vec<Record> {
    let mut out = Vec::new();
    for seed in 0..n {
        for names in [["a", "random"], ["random", "a"]] {
            let mut record = play(game, &names, seed);
            if seed % 3 == 0 {
                let keep = record
                    .events
                    .iter()
                    .filter(|e| matches!(e, ludex_protocol::record::RecordEvent::Chance(_)))
                    .count();
                break_off(&mut record, keep, EndReason::Resign, Some(usize::from(names[1] == "random")));
            }
            record.footer.pair = Some(seed.to_string());
            out.push(record);
        }
    }
    out
}

/// Returns a match between `a` and `b` that ended at minute `minute` with the resignation of the loser.
fn won(winner: usize, minute: u32, episode: &str) -> Record {
    let mut record = play("tic_tac_toe", &["a", "b"], 1);
    break_off(&mut record, 2, EndReason::Resign, Some(1 - winner));
    record.header.episode = episode.into();
    record.footer.ended = Some(format!("2026-11-20T20:{minute:02}:00.000Z"));
    record
}

fn quick() -> RatingOptions {
    RatingOptions { resamples: 50, ..RatingOptions::default() }
}

#[test]
fn scales_of_different_games_are_separate() {
    let games = verified([pairs("tic_tac_toe", 6), pairs("kuhn_poker", 6)].concat());
    let scales = rate(&games, &quick());
    assert_eq!(scales.iter().map(|s| &*s.game).collect::<Vec<_>>(), ["kuhn_poker", "tic_tac_toe"]);
    for s in &scales {
        assert_eq!((s.games, s.blocks), (12, 6));
        let [a, random] = &s.agents[..] else { panic!("{s:?}") };
        assert_eq!((&*random.name, random.rating, random.fixed, random.low), ("random", Some(0.0), true, None));
        assert!(a.rating.unwrap() > 0.0 && a.low.unwrap() < a.rating.unwrap() && a.anchored, "{a:?}");
        assert_eq!(s.crosstable[0][1], a.tally);
        assert_eq!((a.tally.games(), a.games), (12, 12));
        assert!(a.elo.unwrap() > 1500.0 && a.mu.unwrap() > 25.0);
        assert_eq!(s.seats.iter().map(|r| r.tally.games()).collect::<Vec<_>>(), [12, 12]);
        assert!(s.name.starts_with(&format!("{}@{}/", s.string, s.rules)));
    }
    // Different parameters make a different game, and different constants make a different ladder.
    let other = verified(pairs("kuhn_poker(players=2)", 1));
    assert_eq!(rate(&other, &quick())[0].name, scales[0].name);
    let constants = RatingOptions { fixed: Some(BTreeMap::from([("a".into(), 100.0)])), ..quick() };
    let moved = &rate(&games, &constants)[0];
    assert_ne!(moved.name, scales[0].name);
    let best = moved.agents.iter().find(|r| r.name == "a").unwrap();
    assert_eq!((best.rating, best.fixed), (Some(100.0), true));
}

#[test]
fn anchor_of_level_zero_has_the_constant_rating_zero() {
    let mut record = play("tic_tac_toe", &["a", "random"], 1);
    (record.header.seats[1].name, record.header.seats[1].spec) = ("anchor".into(), Some("anchor level=0".into()));
    assert_eq!(rate(&verified([record]), &quick())[0].constants.values().copied().collect::<Vec<_>>(), [0.0]);
}

#[test]
fn order_of_records_does_not_matter() {
    let mut games = verified(pairs("tic_tac_toe", 8));
    let forth = rate(&games, &quick());
    games.reverse();
    assert_eq!(rate(&games, &quick()), forth);
}

#[test]
fn elo_follows_the_order_of_play_not_of_names() {
    // The first player loses, and then wins by forfeit against an opponent that now has more points.
    for names in [["x", "y"], ["y", "x"]] {
        let games = verified([won(1, 1, names[0]), won(0, 2, names[1])]);
        let scale = &rate(&games, &quick())[0];
        let a = scale.agents.iter().find(|r| r.name == "a").unwrap();
        // 1484 against 1516: the expectation is 0.454078.
        assert!((a.elo.unwrap() - (1484.0 + 32.0 * (1.0 - 0.454_078))).abs() < 1e-3, "{names:?}: {:?}", a.elo);
    }
}

#[test]
fn plan_order_takes_precedence_over_time() {
    // By time `a` wins first; by the plan it loses first, and its win then gives more points.
    let mut games = verified([won(0, 1, "x"), won(1, 2, "y")]);
    games[0].set_place(2, false);
    games[1].set_place(1, false);
    let a = |games: &[VerifiedRecord]| rate(games, &quick())[0].agents.iter().find(|r| r.name == "a").unwrap().clone();
    assert!((a(&games).elo.unwrap() - (1484.0 + 32.0 * (1.0 - 0.454_078))).abs() < 1e-3);
    games.iter_mut().for_each(|game| game.set_place(0, false));
    assert!((a(&games).elo.unwrap() - (1516.0 - 32.0 * (1.0 - 0.454_078))).abs() < 1e-3);
}

#[test]
fn each_part_of_a_run_has_its_own_scale() {
    let of_part = |part: &str, winner: usize| {
        let mut record = play("tic_tac_toe", &["a", "random"], 1);
        break_off(&mut record, 2, EndReason::Resign, Some(1 - winner));
        record.header.episode = format!("r.{part}.0-1.0.0");
        (record.footer.run, record.footer.pair) = (Some("r".into()), Some(format!("r.{part}.0-1.0")));
        record
    };
    let scales = rate(&verified([of_part("main", 0), of_part("ablation", 1)]), &quick());
    let parts: Vec<_> = scales.iter().map(|s| (s.part.as_deref().unwrap(), s.games)).collect();
    assert_eq!(parts, [("ablation", 1), ("main", 1)]);
    let rating = |s: &Scale| s.agents.iter().find(|a| a.name == "a").unwrap().rating.unwrap();
    assert!(rating(&scales[0]) < 0.0 && rating(&scales[1]) > 0.0);
    assert_eq!(scales[0].name, scales[1].name, "the constants are the same");
}

#[test]
fn allies_are_rated_as_a_team() {
    let games = verified((0..4).map(|seed| play("fight_the_landlord", &["a", "b", "c"], seed)));
    assert!(games.iter().all(|game| game.result().teams == [0, 1, 1]));
    let scale = &rate(&games, &quick())[0];
    let [b, c] = ["b", "c"].map(|name| scale.agents.iter().position(|a| a.name == name).unwrap());
    assert_eq!(scale.crosstable[b][c].games(), 0, "the farmers are not compared with each other");
    // Both farmers are rated as a team, so their skills are equal.
    assert_eq!(scale.agents[b].mu, scale.agents[c].mu);
}

#[test]
fn roles_are_rated_separately() {
    let names = ["a", "b", "c", "d", "e"];
    let results = |games: Vec<VerifiedRecord>| games.into_iter().map(VerifiedRecord::into_result).collect::<Vec<_>>();
    let mut games = results(verified((0..6).map(|seed| play("undercover", &names, seed))));
    let plain = &rate(&games, &quick())[0];
    assert!(plain.agents.iter().all(|a| a.rating.is_none() && a.elo.is_none() && a.mu.is_some()), "teams have skills");
    games.iter_mut().for_each(GameResult::by_role);
    let apart = &rate(&games, &quick())[0];
    for name in names {
        let of = |scale: &Scale, role: &str| {
            let found = scale.agents.iter().find(|a| a.name == format!("{name}{role}"));
            found.map_or((0, 0.0), |a| (a.games, a.games as f64 * a.metrics["mean_return"].value))
        };
        let [whole, one, other] = [of(plain, ""), of(apart, "/undercover"), of(apart, "/other")];
        assert_eq!((whole.0, one.0 + other.0), (6, 6), "{name}");
        assert!((whole.1 - one.1 - other.1).abs() < 1e-9, "{name}: {whole:?} {one:?} {other:?}");
    }
    let undercover = apart.agents.iter().filter(|a| a.name.ends_with("/undercover")).map(|a| a.games).sum::<u64>();
    assert_eq!(undercover, 6, "one in each game");
    // Agents of games without team names keep their names.
    let mut alone = results(verified([play("kuhn_poker", &["a", "b"], 1)]));
    alone[0].by_role();
    assert_eq!(alone[0].seats[0].name, "a");
}

#[test]
fn noncompetitive_games_are_not_rated() {
    for game in ["hanabi", "iterated_prisoners_dilemma", "bargaining"] {
        let scale = &rate(&verified([play(game, &["a", "random"], 1)]), &quick())[0];
        for a in &scale.agents {
            assert_eq!((a.rating, a.elo, a.mu, a.tally.games()), (None, None, None, 0), "{game}");
            assert!(a.metrics.contains_key("mean_return") && !a.metrics.contains_key("score_rate"), "{game}");
        }
    }
}

#[test]
fn rating_does_not_change_when_agents_are_added() {
    let own = pairs("tic_tac_toe", 6);
    let mut others = own.clone();
    for (k, record) in others.iter_mut().enumerate() {
        record.header.episode = format!("other{k}");
        let seat = record.header.seats.iter_mut().find(|s| s.name == "a").unwrap();
        seat.name = format!("b{}", k % 2);
        // The other agents draw, resign and win at different rates.
        record.footer.pair = None;
    }
    let row = |records: Vec<Record>| {
        let scale = rate(&verified(records), &quick()).remove(0);
        (scale.agents.iter().find(|a| a.name == "a").unwrap().clone(), scale.draws)
    };
    let ((alone, draws), (among, same)) = (row(own.clone()), row([own, others].concat()));
    assert_eq!((alone.rating, alone.low, alone.high, draws), (among.rating, among.low, among.high, same));
}

#[test]
fn records_that_do_not_count_are_not_rated() {
    let mut records = pairs("tic_tac_toe", 4);
    records[0].header.rated = false;
    records[1].header.flags = vec!["peek".into()];
    break_off(&mut records[2], 1, EndReason::NoShow, None);
    break_off(&mut records[3], 1, EndReason::InfraError, None);
    let games = verified(records);
    let why: Vec<Option<String>> = games.iter().map(|g| quick().discards(g)).collect();
    let why: Vec<&str> = why.iter().map(|w| w.as_deref().unwrap_or("counts")).collect();
    assert_eq!(why, ["unrated", "peek", "no_show", "infra_error", "counts", "counts", "counts", "counts"]);
    assert_eq!(rate(&games, &quick())[0].games, 4);
    assert_eq!(rate(&games, &RatingOptions { unrated: true, ..quick() })[0].games, 6);
}

#[test]
fn client_with_an_anchor_name_is_not_the_anchor() {
    let mut records = pairs("tic_tac_toe", 3);
    let mut forged = pairs("tic_tac_toe", 3);
    for (k, record) in forged.iter_mut().enumerate() {
        record.header.episode = format!("forged{k}");
        record.header.seats.iter_mut().for_each(|s| s.spec = None);
    }
    records.append(&mut forged);
    let scale = &rate(&verified(records), &quick())[0];
    let by_name: BTreeMap<&str, &AgentRow> = scale.agents.iter().map(|a| (&*a.name, a)).collect();
    assert_eq!(by_name.keys().copied().collect::<Vec<_>>(), ["a", "random", "random (remote)"]);
    assert!(by_name["random"].fixed && !by_name["random (remote)"].fixed);
    // Nor if it is the only agent with this name.
    let mut alone = pairs("tic_tac_toe", 3);
    alone.iter_mut().for_each(|record| record.header.seats.iter_mut().for_each(|s| s.spec = None));
    let scale = &rate(&verified(alone), &quick())[0];
    assert!(scale.agents.iter().all(|agent| !agent.fixed && !agent.anchored), "{:?}", scale.agents);
}

#[test]
fn simultaneous_games_and_self_play_are_rated() {
    let mut mirror = play("iterated_prisoners_dilemma", &["a", "a"], 1);
    mirror.header.episode = "mirror".into();
    let games = verified([mirror, play("iterated_prisoners_dilemma", &["a", "b"], 2)]);
    let scale = &rate(&games, &quick())[0];
    let a = scale.agents.iter().find(|r| r.name == "a").unwrap();
    assert_eq!((a.games, a.tally.games()), (2, 0));
    // Both seats of the match of `a` against itself count.
    assert_eq!(a.metrics["mean_return"].n, 3);
    let mut mirror = play("tic_tac_toe", &["a", "a"], 1);
    mirror.header.episode = "mirror".into();
    let scale = &rate(&verified([mirror, play("tic_tac_toe", &["a", "b"], 2)]), &quick())[0];
    let a = scale.agents.iter().find(|r| r.name == "a").unwrap();
    assert_eq!((a.games, a.tally.games()), (2, 1));
    assert!(!a.anchored && scale.agents.iter().all(|r| r.rating.is_some()));
    assert!(scale.agents.iter().map(|r| r.rating.unwrap()).sum::<f64>().abs() < 1e-6);
}

/// Uses a game of four against one. The four are rated as a team and not compared with each other.
#[test]
fn undercover_game_has_two_teams() {
    let games = verified((0..3).map(|seed| play("undercover(preset=llmarena)", &["a", "b", "c", "d", "e"], seed)));
    for game in &games {
        assert_eq!(game.result().teams, [0, 0, 0, 0, 1]);
        let played = game.result().played((0..5).collect(), None);
        let duels = played.duels();
        assert!(duels.len() == 4 && duels.iter().all(|duel| duel.b == 4), "{duels:?}");
        let skills = trueskill(5, std::slice::from_ref(&played));
        assert!(skills[..4].iter().all(|skill| (skill.mu - skills[0].mu).abs() < 1e-9), "{skills:?}");
        assert_eq!(skills[0].mu > skills[4].mu, played.scores[0] > played.scores[4]);
    }
}
