mod fields;

use std::collections::BTreeSet;

use super::super::verdict::level;
use super::*;

fn plan(parts: &str, scale: f64) -> Plan {
    let text = format!("name = \"t\"\nversion = 1\ntitle = \"T\"\n{parts}");
    let games = ludex_games::builtin();
    Plan::new(Suite::parse(&text, &games).unwrap(), &[("me".into(), "random".into())], scale, &games).unwrap()
}

/// Plays a plan to its end. `rule` returns the score of a match by part, level, block number and turn.
fn play(plan: &Plan, rule: impl Fn(usize, Option<u32>, u64, usize) -> MatchScore) -> (Results, Vec<String>) {
    let (mut done, mut order) = (Results::new(), Vec::new());
    loop {
        let due = plan.next(&done);
        if due.is_empty() {
            return (done, order);
        }
        for block in due {
            let part = &plan.parts[block.part];
            let level = part.pairings().into_iter().find(|p| p.0 == block.pairing).and_then(|p| p.1);
            for due in block.matches {
                let key = key(&part.part.id, &block.pairing, block.index, due.turn);
                assert_eq!(plan.find(&key), Some((block.part, block.pairing.clone(), block.index, due.turn)));
                assert_eq!(
                    done.insert(key.clone(), rule(block.part, level, block.index, due.turn)),
                    None,
                    "{key} twice"
                );
                order.push(key);
            }
        }
    }
}

const LADDER: &str =
    "[[part]]\nid = \"p\"\ngame = \"connect_four\"\nschedule = \"SCHEDULE\"\nblocks = 8\nblocks_of_random = 2\n";

#[test]
fn bisection_and_climbing_find_the_same_level() {
    let levels = ludex_games::load("connect_four").unwrap().spec().anchors.iter().map(|a| a.level).max().unwrap();
    for strength in 0..=levels + 1 {
        // The candidate wins at all levels below its strength, and loses at all other levels.
        let rule = |_: usize, level: Option<u32>, _: u64, _: usize| {
            MatchScore::Points(f64::from(u8::from(level.unwrap() < strength)))
        };
        let found = |schedule: &str| {
            let plan = plan(&LADDER.replace("SCHEDULE", schedule), 1.0);
            let (done, order) = play(&plan, rule);
            assert!(order.len() as u64 <= plan.matches_at_most(), "{} of {}", order.len(), plan.matches_at_most());
            (level(&plan.parts[0], 0, &done).unwrap(), order.len())
        };
        let ((climbed, _), (halved, looks)) = (found("climb"), found("bisect"));
        assert_eq!((climbed.level, climbed.topped), (strength, strength > levels));
        assert_eq!((halved.level, halved.topped), (strength, strength > levels));
        assert!(looks <= 4 * 16, "{looks}");
    }
}

#[test]
fn level_without_counted_matches_is_unknown() {
    for schedule in ["climb", "bisect"] {
        let plan = plan(&LADDER.replace("SCHEDULE", schedule), 1.0);
        let (done, _) = play(&plan, |_, _, _, _| MatchScore::Discarded);
        assert!(matches!(plan.parts[0].climb(0, &done), Climb::Unknown(_)));
        assert_eq!(level(&plan.parts[0], 0, &done), None);
    }
}

#[test]
fn winning_half_of_decided_matches_passes_a_level() {
    let tally = |wins, draws, losses| Tally { wins, draws, losses };
    let part = |drawn: &str| {
        let text = LADDER.replace("SCHEDULE", "climb").replace("blocks = 8", &format!("blocks = 8\ndrawn = {drawn}"));
        plan(&text, 1.0).parts.remove(0)
    };
    let (plain, drawn) = (part("false"), part("true"));
    for part in [&plain, &drawn] {
        assert!(part.passed(&tally(8, 0, 8)) && part.passed(&tally(15, 1, 15)) && !part.passed(&tally(7, 30, 8)));
    }
    // Without decided matches, a level is passed only if a draw is its best possible result.
    assert!(!plain.passed(&tally(0, 5, 0)) && drawn.passed(&tally(0, 5, 0)));
    // BotzoneBench publishes a progress of 31.2 % for 5 wins, 0 draws and 27 losses.
    let plan = plan(&LADDER.replace("SCHEDULE", "climb").replace("blocks = 8", "blocks = 16"), 1.0);
    let rule = |_: usize, level: Option<u32>, index: u64, turn: usize| {
        MatchScore::Points(f64::from(u8::from(level == Some(0) || (turn == 0 && index < 5))))
    };
    let found = level(&plan.parts[0], 0, &play(&plan, rule).0).unwrap();
    assert_eq!((found.level, found.tally), (1, tally(5, 0, 27)));
    assert!((found.progress.unwrap().value - 31.25).abs() < 1e-9);
}

#[test]
fn unbeatable_top_level_is_passed_by_draws() {
    let text = "[[part]]\nid = \"p\"\ngame = \"tic_tac_toe\"\nschedule = \"climb\"\nblocks = 16\ndrawn = true\n";
    let plan = plan(text, 1.0);
    let top = *plan.parts[0].levels().last().unwrap();
    let result = |lost: u64| {
        let rule = move |_: usize, level: Option<u32>, index: u64, turn: usize| match level {
            Some(level) if level == top => MatchScore::Points(if turn == 0 && index < lost { 0.0 } else { 0.5 }),
            _ => MatchScore::Points(1.0),
        };
        level(&plan.parts[0], 0, &play(&plan, rule).0).unwrap()
    };
    assert_eq!((result(0).level, result(0).topped), (top + 1, true));
    // Published for Claude: 19 draws in 32 matches are 59.4 %.
    let some = result(13);
    assert_eq!((some.level, some.topped), (top, false));
    assert!((some.progress.unwrap().value - 59.375).abs() < 1e-9);
}

#[test]
fn first_blocks_of_all_pairings_precede_second_blocks() {
    let text = "[[part]]\nid = \"p\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\", \"mcts sims=5\"]\nblocks = 3\n";
    let (_, order) = play(&plan(text, 1.0), |_, _, _, _| MatchScore::Points(1.0));
    let expected: Vec<String> =
        (0..3).flat_map(|i| [[0, 1], [0, 2]].map(|p| [key("p", &p, i, 0), key("p", &p, i, 1)]).concat()).collect();
    assert_eq!(order, expected);
    assert_eq!(play(&plan(text, 0.01), |_, _, _, _| MatchScore::Discarded).1.len(), 4, "one block of each");
}

#[test]
fn invalid_matches_are_replaced_up_to_the_limit() {
    let text = "[[part]]\nid = \"p\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\"]\norder = \"halves\"\nblocks = 10\n[part.policy]\ninvalid = \"replay\"\n";
    let plan = plan(text, 1.0);
    assert_eq!(play(&plan, |_, _, _, _| MatchScore::Points(1.0)).1.len(), 20);
    // Three of the planned matches are invalid: three more are played.
    let (done, order) =
        play(&plan, |_, _, index, _| if index < 3 { MatchScore::Invalid } else { MatchScore::Points(1.0) });
    assert_eq!((order.len(), plan.parts[0].tally(&[0, 1], &done).games()), (23, 20));
    assert_eq!(plan.parts[0].uncounted(&[0, 1], &done), [0, 3]);
    // All matches are invalid: the replacements stop at the limit.
    assert_eq!(play(&plan, |_, _, _, _| MatchScore::Invalid).1.len(), 40);
}

/// Returns the due blocks of a mahjong part with this many candidates. `part` holds the other fields of the part as
/// TOML.
fn blocks_of(candidates: usize, part: &str) -> Vec<Block> {
    let text =
        format!("name = \"t\"\nversion = 1\ntitle = \"T\"\n[[part]]\nid = \"p\"\ngame = \"mcr_mahjong\"\n{part}");
    let games = ludex_games::builtin();
    let agents: Vec<_> = (0..candidates).map(|k| (format!("c{k}"), "random".to_owned())).collect();
    let plan = Plan::new(Suite::parse(&text, &games).unwrap(), &agents, 1.0, &games).unwrap();
    let due = plan.next(&Results::new());
    assert_eq!(due.iter().map(|b| b.matches.len() as u64).sum::<u64>(), plan.matches_at_most());
    due
}

#[test]
fn part_with_seat_permutations_plays_every_order_of_entrants() {
    let due = blocks_of(5, "schedule = \"round_robin\"\nseats = \"permutations\"\nblocks = 2\n");
    // Five ways to choose four of five, on two seeds each.
    assert_eq!(due.len(), 10);
    for block in &due {
        let mut seatings: Vec<&Vec<usize>> = block.matches.iter().map(|m| &m.seats).collect();
        seatings.sort_unstable();
        seatings.dedup();
        assert_eq!((seatings.len(), block.matches.len(), block.pairing.len()), (24, 24, 4));
        for (seat, who) in (0..4).flat_map(|seat| block.pairing.iter().map(move |who| (seat, who))) {
            assert_eq!(block.matches.iter().filter(|m| m.seats[seat] == *who).count(), 6);
        }
    }
    assert_eq!(due[0].matches[0].seats, [0, 1, 2, 3]);
    assert_eq!(blocks_of(3, "schedule = \"round_robin\"\nseats = \"permutations\"\nblocks = 2\n"), []);
}

#[test]
fn each_letter_of_a_seating_table_stands_for_an_entrant() {
    let against =
        "schedule = \"against\"\nblocks = 1\nopponents = [\"random\", \"anchor level=1\", \"anchor level=2\"]\n";
    let due = blocks_of(1, &format!("{against}tables = [\"abcd\", \"dcba\"]\n"));
    let seats: Vec<&[usize]> = due.iter().flat_map(|b| &b.matches).map(|m| &m.seats[..]).collect();
    assert_eq!(seats, [[0, 1, 2, 3], [3, 2, 1, 0]]);
    // Two against two: each opponent has its own block.
    let due = blocks_of(1, &format!("{against}tables = [\"abab\", \"baba\"]\n"));
    let seats: Vec<&[usize]> = due.iter().flat_map(|b| &b.matches).map(|m| &m.seats[..]).collect();
    assert_eq!(seats[..2], [[0, 1, 0, 1], [1, 0, 1, 0]]);
    assert_eq!((due.len(), seats[4]), (3, &[0, 3, 0, 3][..]));
}

#[test]
fn plan_resumes_from_any_point() {
    let games = ludex_games::builtin();
    let suite = Suite::parse(Suite::builtin_text("reference").unwrap(), &games).unwrap();
    let two = ["x", "y"].map(|name| (name.to_owned(), "random".to_owned()));
    let plan = Plan::new(suite, &two, 1.0, &games).unwrap();
    let rule = |part: usize, level: Option<u32>, index: u64, turn: usize| {
        MatchScore::Points(((part as u64 + u64::from(level.unwrap_or(1)) * index + turn as u64) % 3) as f64 / 2.0)
    };
    let (done, order) = play(&plan, rule);
    for cut in 0..order.len() {
        let mut some: Results = order[..cut].iter().map(|key| (key.clone(), done[key])).collect();
        loop {
            let due = plan.next(&some);
            if due.is_empty() {
                break;
            }
            for block in due {
                for m in &block.matches {
                    let key = key(&plan.parts[block.part].part.id, &block.pairing, block.index, m.turn);
                    some.insert(key.clone(), *done.get(&key).unwrap_or_else(|| panic!("{key} was not played before")));
                }
            }
        }
        assert_eq!(some, done, "after {cut}");
    }
}

#[test]
fn seeds_depend_on_the_part_and_the_secret() {
    let all = |secret: Option<&[u8]>| ["a", "b"].map(|part| seeds("s", 1, part, secret).of(0));
    let [a, b] = all(None);
    assert!(a != b && [a, b] == all(None) && seeds("s", 2, "a", None).of(0) != a);
    let [c, d] = all(Some(b"x"));
    assert!(c != d && c != a && all(Some(b"y")) != [c, d]);
}

/// Parts of a suite, one of each kind: plain blocks, blocks of one match, ladders, and replacements of invalid matches.
const MIXED: &str = "\
[[part]]\nid = \"nim\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\", \"anchor level=1\"]\nblocks = 11\n\
[[part]]\nid = \"pig\"\ngame = \"pig\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 5\norder = \"halves\"\n\
[[part]]\nid = \"four\"\ngame = \"connect_four\"\nschedule = \"bisect\"\nblocks = 3\n\
[[part]]\nid = \"ttt\"\ngame = \"tic_tac_toe\"\nschedule = \"climb\"\nblocks = 2\n\
[[part]]\nid = \"kuhn\"\ngame = \"kuhn_poker\"\nschedule = \"against\"\nopponents = [\"random\", \"anchor level=1\"]\nblocks = 4\n\
[part.policy]\ninvalid = \"replay\"\n\
[[part]]\nid = \"leduc\"\ngame = \"leduc_poker\"\nschedule = \"climb\"\nblocks = 3\n\
[[part]]\nid = \"among\"\ngame = \"kuhn_poker\"\nschedule = \"round_robin\"\nblocks = 2\ncycles = 3\n\
[[part]]\nid = \"self\"\ngame = \"leduc_poker\"\nschedule = \"self_play\"\nblocks = 3\n\
[[part]]\nid = \"cup\"\ngame = \"tic_tac_toe\"\nschedule = \"round_robin\"\nblocks = 2\ncycles = 3\nseats = \"drawn\"\norder = \"shuffled\"\n\
[[part]]\nid = \"swept\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\", \"anchor level=1\"]\nsweep = { is_misere = [true, false] }\nblocks = 5\n";

fn mixed() -> Plan {
    let text = format!("name = \"t\"\nversion = 1\ntitle = \"T\"\n{MIXED}");
    let (games, three) = (ludex_games::builtin(), ["x", "y", "z"].map(|name| (name.to_owned(), "random".to_owned())));
    Plan::new(Suite::parse(&text, &games).unwrap(), &three, 1.0, &games).unwrap()
}

/// Returns scores that include lost matches and, in the part `kuhn`, invalid matches.
fn mixed_rule(part: usize, level: Option<u32>, index: u64, turn: usize) -> MatchScore {
    match (part, index % 3) {
        (4, 0) => MatchScore::Invalid,
        _ => MatchScore::Points(f64::from(u8::from(
            (index + turn as u64 + u64::from(level.unwrap_or(0))).is_multiple_of(2),
        ))),
    }
}

#[test]
fn shards_cover_the_plan_evenly_without_overlap() {
    let mut plan = mixed();
    let (whole, mut all) = play(&plan, mixed_rule);
    all.sort();
    for of in [1, 2, 3, 8, 50] {
        let mut found: Vec<String> = Vec::new();
        let mut blocks: HashMap<(usize, Vec<usize>), Vec<u64>> = HashMap::new();
        for number in 1..=of {
            plan.shard = Some(format!("{number}/{of}").parse().unwrap());
            let (done, order) = play(&plan, mixed_rule);
            assert!(order.iter().all(|key| done[key] == whole[key]));
            for key in &order {
                let MatchKey { pairing, part, .. } = MatchKey::parse(key).unwrap();
                let at = plan.parts.iter().position(|p| p.part.id == part).unwrap();
                blocks.entry((at, pairing)).or_insert_with(|| vec![0; of])[number - 1] += 1;
            }
            found.extend(order);
        }
        found.sort();
        assert_eq!(found, all, "{of} shards");
        for ((part, pairing), matches) in blocks {
            let seats = plan.parts[part].turns() as u64;
            let (least, most) = (*matches.iter().min().unwrap(), *matches.iter().max().unwrap());
            match part {
                // If results decide which matches of a pairing are due, all of them belong to one shard.
                2..=5 => assert_eq!(matches.iter().filter(|&&n| n > 0).count(), 1, "{part} {pairing:?}"),
                // A round robin has separate cells for each cycle.
                6 | 8 => assert!(most - least <= 3 * seats, "{part} {pairing:?} {matches:?}"),
                _ => assert!(most - least <= seats, "{part} {pairing:?} {matches:?}"),
            }
        }
    }
}

#[test]
fn separate_seeds_are_unique_in_a_plan() {
    let plan = mixed();
    let (_, order) = play(&plan, mixed_rule);
    for (at, part) in plan.parts.iter().enumerate() {
        let own = seeds("t", 0, &part.part.id, None);
        let [paired, once] = [Deals::Paired, Deals::Once].map(|deals| part.match_seeds(own.clone(), deals));
        assert!(paired.are_paired());
        assert_eq!(
            once.are_paired(),
            ["nim", "four", "ttt", "cup", "swept"].contains(&part.part.id.as_str()),
            "{}",
            part.part.id
        );
        let mut met: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let mut deals: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for key in &order {
            let Some((found, pairing, index, turn)) = plan.find(key).filter(|found| found.0 == at) else { continue };
            assert_eq!(paired.of(&pairing, index, turn), own.of(index), "{found}");
            for who in BTreeSet::from_iter(pairing.clone()).into_iter().filter(|who| part.candidates.contains(who)) {
                met.entry(who).or_default().push(once.of(&pairing, index, turn));
                deals.entry(who).or_default().push(own.of(index));
            }
        }
        for (who, seeds) in &met {
            let different = BTreeSet::from_iter(seeds).len();
            assert_eq!(different == seeds.len(), !once.are_paired(), "{} of {who}", part.part.id);
        }
        if once.are_paired() {
            assert_eq!(met, deals, "{}", part.part.id);
        }
        // Candidates that meet the same opponents play the same seeds, so that they can be compared.
        if matches!(part.part.schedule, Schedule::Against | Schedule::SelfPlay) {
            assert!(met.values().all(|seeds| seeds == &met[&0]), "{}", part.part.id);
        }
    }
}
