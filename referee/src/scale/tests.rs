use ludex_protocol::record::{Reason, Record};

use super::*;
use crate::read::Source;
use crate::testing::{break_off, parts, play, seal};
use crate::verify::{Verified, Verifier};

fn verified(records: impl IntoIterator<Item = Record>) -> Vec<Verified> {
    let verifier = Verifier::new();
    records.into_iter().map(|r| verifier.verify(&parts(&seal(r)), Source::default()).unwrap()).collect()
}

/// `a` against `random`, `n` pairs; `a` has the better of it because the other resigns in every third.
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
                break_off(&mut record, keep, Reason::Resign, Some(usize::from(names[1] == "random")));
            }
            record.footer.pair = Some(seed.to_string());
            out.push(record);
        }
    }
    out
}

fn quick() -> RatingOptions {
    RatingOptions { resamples: 50, ..RatingOptions::default() }
}

#[test]
fn scales_are_never_mixed() {
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
    // Other parameters are another game, other constants another ladder.
    let other = verified(pairs("kuhn_poker(players=2)", 1));
    assert_eq!(rate(&other, &quick())[0].name, scales[0].name);
    let constants = RatingOptions { fixed: Some(BTreeMap::from([("a".into(), 100.0)])), ..quick() };
    let moved = &rate(&games, &constants)[0];
    assert_ne!(moved.name, scales[0].name);
    let best = moved.agents.iter().find(|r| r.name == "a").unwrap();
    assert_eq!((best.rating, best.fixed), (Some(100.0), true));
}

#[test]
fn the_order_of_the_records_is_nothing() {
    let mut games = verified(pairs("tic_tac_toe", 8));
    let forth = rate(&games, &quick());
    games.reverse();
    assert_eq!(rate(&games, &quick()), forth);
}

#[test]
fn only_what_counts_is_rated() {
    let mut records = pairs("tic_tac_toe", 4);
    records[0].header.rated = false;
    records[1].header.flags = vec!["peek".into()];
    break_off(&mut records[2], 1, Reason::NoShow, None);
    break_off(&mut records[3], 1, Reason::InfraError, None);
    let games = verified(records);
    let why: Vec<Option<String>> = games.iter().map(|g| quick().discards(g)).collect();
    let why: Vec<&str> = why.iter().map(|w| w.as_deref().unwrap_or("counts")).collect();
    assert_eq!(why, ["unrated", "peek", "no_show", "infra_error", "counts", "counts", "counts", "counts"]);
    assert_eq!(rate(&games, &quick())[0].games, 4);
    assert_eq!(rate(&games, &RatingOptions { unrated: true, ..quick() })[0].games, 6);
}

#[test]
fn a_client_cannot_pass_for_the_anchor() {
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
}

#[test]
fn simultaneous_games_and_mirrors() {
    let mut mirror = play("iterated_prisoners_dilemma", &["a", "a"], 1);
    mirror.header.episode = "mirror".into();
    let games = verified([mirror, play("iterated_prisoners_dilemma", &["a", "b"], 2)]);
    let scale = &rate(&games, &quick())[0];
    let a = scale.agents.iter().find(|r| r.name == "a").unwrap();
    assert_eq!((a.games, a.tally.games()), (2, 1));
    // Both seats of the mirror are measured.
    assert_eq!(a.metrics["mean_return"].n, 3);
    assert!(!a.anchored && scale.agents.iter().all(|r| r.rating.is_some()));
    assert!(scale.agents.iter().map(|r| r.rating.unwrap()).sum::<f64>().abs() < 1e-6);
}
