use std::collections::BTreeMap;

use ludex_env::Stream;

use super::*;

fn settings(entrants: usize, format: TournamentFormat) -> TournamentSettings {
    TournamentSettings { entrants, seats: 2, format, blocks: 1, seed: 7, strikes: 0 }
}

fn tournament(entrants: usize, format: TournamentFormat) -> Tournament {
    Tournament::new(settings(entrants, format)).unwrap()
}

/// Returns the result of a block. `score(a, b)` returns the score of entrant `a` against entrant `b`.
fn finish(block: &TournamentBlock, score: impl Fn(usize, usize) -> f64) -> FinishedBlock {
    let played =
        |table: &Vec<usize>| PlayedGame { seats: table.clone(), ..PlayedGame::two(0, 1, score(table[0], table[1])) };
    let matches = block.tables.iter().map(played).collect();
    FinishedBlock { pairing: block.pairing.clone(), index: block.index, matches, failed: Vec::new() }
}

/// Returns a win for the entrant with the lower number.
fn by_number(a: usize, b: usize) -> f64 {
    f64::from(a < b)
}

/// Returns a scoring function with a fixed random result (win, draw or loss) for every pair, in either order.
fn random_scores(seed: u64) -> impl Fn(usize, usize) -> f64 {
    move |a, b| {
        let mut rng = Stream::from_text(&format!("ludex.v1:test:{seed}:{}:{}", a.min(b), a.max(b)));
        let of_lower = [0.0, 0.5, 1.0, 1.0][rng.below(4)];
        if a < b { of_lower } else { 1.0 - of_lower }
    }
}

/// Plays a tournament to its end and returns every block in the order of play. Each step plays the first due block, or
/// with `pick` a random due block.
fn play(
    t: &Tournament,
    score: impl Fn(usize, usize) -> f64,
    mut pick: Option<Stream>,
) -> (TournamentResults, Vec<TournamentBlock>) {
    let (mut results, mut blocks) = (TournamentResults::default(), Vec::new());
    loop {
        let mut due = t.next(&results);
        if due.is_empty() {
            return (results, blocks);
        }
        let at = pick.as_mut().map_or(0, |rng| rng.below(due.len()));
        let block = due.swap_remove(at);
        results.add(finish(&block, &score));
        blocks.push(block);
    }
}

const FORMATS: [TournamentFormat; 4] = [
    TournamentFormat::RoundRobin,
    TournamentFormat::DoubleRoundRobin,
    TournamentFormat::Swiss { rounds: 4 },
    TournamentFormat::Ladder,
];

#[test]
fn round_robin_balances_opponents_and_seats() {
    for (format, seats, blocks) in [
        (TournamentFormat::RoundRobin, 2, 1),
        (TournamentFormat::RoundRobin, 2, 3),
        (TournamentFormat::DoubleRoundRobin, 2, 2),
        (TournamentFormat::RoundRobin, 3, 2),
        (TournamentFormat::DoubleRoundRobin, 4, 1),
    ] {
        for entrants in seats..9 {
            let t = Tournament::new(TournamentSettings { seats, blocks, ..settings(entrants, format) }).unwrap();
            let all = t.next(&TournamentResults::default());
            assert_eq!(all.len() as u64, t.blocks_at_most());
            let (mut met, mut on_seat) = (BTreeMap::new(), vec![vec![0; seats]; entrants]);
            for block in &all {
                assert_eq!(block.tables.len() as u64, t.matches_of_block());
                let mut set = block.pairing.clone();
                set.sort_unstable();
                *met.entry(set).or_insert(0) += 1;
                for table in &block.tables {
                    table.iter().enumerate().for_each(|(seat, &e)| on_seat[e][seat] += 1);
                }
            }
            assert!(met.values().all(|&n| n == blocks) && met.len() as u64 * blocks == all.len() as u64);
            for held in &on_seat {
                let (least, most) = (held.iter().min().unwrap(), held.iter().max().unwrap());
                assert!(most - least <= u64::from(t.matches_of_block() == 1), "{format:?} {entrants}: {on_seat:?}");
            }
            let mut numbers: Vec<u64> = all.iter().map(|b| b.index).collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all.len());
        }
    }
}

#[test]
fn due_blocks_do_not_depend_on_order_of_play() {
    for (seed, format) in (0..5).flat_map(|seed| FORMATS.map(|f| (seed, f))) {
        for entrants in [2, 5, 12, 13] {
            let t = Tournament::new(TournamentSettings { seed, blocks: 2, ..settings(entrants, format) }).unwrap();
            let (results, blocks) = play(&t, random_scores(seed), None);
            assert!(blocks.len() as u64 <= t.blocks_at_most());
            // Any order of play has the same blocks and the same standings.
            let (shuffled, others) =
                play(&t, random_scores(seed), Some(Stream::from_text(&format!("ludex.v1:order:{seed}"))));
            let sorted = |mut blocks: Vec<TournamentBlock>| {
                blocks.sort_by_key(|b| b.index);
                blocks
            };
            assert_eq!(sorted(blocks.clone()), sorted(others));
            assert_eq!((t.standings(&results), &results), (t.standings(&shuffled), &shuffled));
            // An interruption may leave any prefix of the results.
            let mut prefix = TournamentResults::default();
            for block in &blocks {
                assert_eq!(t.next(&prefix)[0], *block);
                prefix.add(finish(block, random_scores(seed)));
            }
            assert!(t.next(&prefix).is_empty());
        }
    }
}

#[test]
fn first_blocks_depend_on_the_seed() {
    for format in FORMATS {
        let first = |seed| {
            Tournament::new(TournamentSettings { seed, ..settings(12, format) })
                .unwrap()
                .next(&TournamentResults::default())
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2), "{format:?}");
    }
}

/// Groups the blocks of a swiss tournament by round. A round is a list of pairs.
fn rounds(entrants: usize, blocks: &[TournamentBlock]) -> Vec<Vec<[usize; 2]>> {
    let mut rounds = BTreeMap::new();
    for block in blocks {
        let mut pair = [block.pairing[0], block.pairing[1]];
        pair.sort_unstable();
        rounds.entry(block.index / (entrants as u64 / 2)).or_insert_with(Vec::new).push(pair);
    }
    rounds.into_values().collect()
}

#[test]
fn swiss_has_no_rematch_and_no_second_bye() {
    for (seed, entrants) in (0..5).flat_map(|seed| (2..34).map(move |n| (seed, n))) {
        // Number of rounds that is guaranteed to need no rematch.
        let rounds_played = (entrants as u64 / 2).max(1);
        let format = TournamentFormat::Swiss { rounds: rounds_played };
        let t = Tournament::new(TournamentSettings { seed, ..settings(entrants, format) }).unwrap();
        let (results, blocks) = play(&t, random_scores(seed), None);
        let rounds = rounds(entrants, &blocks);
        assert_eq!(rounds.len() as u64, rounds_played);
        let mut met: Vec<[usize; 2]> = rounds.iter().flatten().copied().collect();
        met.sort_unstable();
        let all = met.len();
        met.dedup();
        assert_eq!(met.len(), all, "{entrants} entrants, seed {seed}");
        for pairs in &rounds {
            let mut seated: Vec<usize> = pairs.iter().flatten().copied().collect();
            seated.sort_unstable();
            seated.dedup();
            assert_eq!(seated.len(), entrants / 2 * 2);
        }
        let standings = t.standings(&results);
        let byes: Vec<u64> = standings.iter().map(|s| s.byes).collect();
        assert!(byes.iter().all(|&n| n <= 1));
        assert_eq!(byes.iter().sum::<u64>(), entrants as u64 % 2 * rounds_played);
        // Every round gives two points to each meeting and to a bye.
        let points: f64 = standings.iter().map(|s| s.points).sum();
        assert_eq!(points, (entrants.div_ceil(2) as u64 * 2 * rounds_played) as f64);
    }
}

#[test]
fn small_swiss_pairings_minimize_rematches() {
    // Six entrants may need a rematch in the fourth round: the pairs that have not met may then form two triangles, in
    // which only one pair of each triangle can play.
    for seed in 0..12 {
        for (entrants, most) in [(4, 3), (6, 3), (8, 4), (10, 5)] {
            let format = TournamentFormat::Swiss { rounds: most };
            let t = Tournament::new(TournamentSettings { seed, ..settings(entrants, format) }).unwrap();
            let mut met: Vec<_> = rounds(entrants, &play(&t, random_scores(seed), None).1).concat();
            met.sort_unstable();
            let all = met.len();
            met.dedup();
            assert_eq!(met.len(), all, "{entrants} entrants, seed {seed}");
        }
    }
}

#[test]
fn swiss_pairs_entrants_with_equal_points() {
    let t = tournament(16, TournamentFormat::Swiss { rounds: 4 });
    let (results, blocks) = play(&t, by_number, None);
    // The better entrant always wins, so after four rounds only the best of the 16 entrants has won all matches.
    let table = t.standings(&results);
    assert_eq!((table[0].entrant, table[0].points, table[0].rank), (0, 8.0, Some(1)));
    assert_eq!(table.iter().filter(|s| s.points == 8.0).count(), 1);
    let mut points = [0; 16];
    for pairs in rounds(16, &blocks) {
        for [a, b] in pairs {
            assert!(i32::abs(points[a] - points[b]) <= 1, "{a} with {} meets {b} with {}", points[a], points[b]);
            points[a] += 1;
        }
    }
    // Buchholz: the points of all opponents of the best entrant.
    let met = blocks.iter().filter(|b| b.pairing.contains(&0)).flat_map(|b| &b.pairing).filter(|&&e| e != 0);
    let theirs: f64 = met.map(|&e| table.iter().find(|s| s.entrant == e).unwrap().points).sum();
    assert_eq!(table[0].tie_break, Some(theirs));
}

#[test]
fn default_number_of_swiss_rounds_is_logarithmic() {
    let usual = [(2, 1), (3, 3), (4, 3), (5, 5), (8, 5), (16, 6), (17, 7), (60, 8), (64, 8)];
    for (entrants, rounds) in usual {
        assert_eq!(TournamentFormat::swiss(entrants), TournamentFormat::Swiss { rounds }, "{entrants}");
    }
}

#[test]
fn ladder_ranks_entrants_by_strength() {
    for entrants in [2, 3, 9, 20] {
        let t = tournament(entrants, TournamentFormat::Ladder);
        let (results, blocks) = play(&t, by_number, None);
        let table: Vec<usize> = t.standings(&results).iter().map(|s| s.entrant).collect();
        assert_eq!(table, (0..entrants).collect::<Vec<_>>());
        assert!((entrants - 1..=entrants * (entrants - 1) / 2).contains(&blocks.len()));
    }
    // A drawn challenge swaps no places: every newcomer stays at the bottom, after a single challenge.
    let t = tournament(6, TournamentFormat::Ladder);
    let (results, blocks) = play(&t, |_, _| 0.5, None);
    assert_eq!(blocks.len(), 5);
    let ranks: Vec<Option<usize>> = t.standings(&results).iter().map(|s| s.rank).collect();
    assert_eq!(ranks, (1..=6).map(Some).collect::<Vec<_>>());
}

#[test]
fn ladder_runs_challenges_in_parallel() {
    let t = tournament(20, TournamentFormat::Ladder);
    let mut results = TournamentResults::default();
    let mut most = 0;
    loop {
        let due = t.next(&results);
        if due.is_empty() {
            break;
        }
        most = most.max(due.len());
        due.iter().for_each(|block| results.add(finish(block, by_number)));
    }
    assert!(most > 1, "{most}");
}

#[test]
fn matches_of_an_eliminated_entrant_do_not_count() {
    for format in [TournamentFormat::RoundRobin, TournamentFormat::DoubleRoundRobin, TournamentFormat::Ladder] {
        let t = Tournament::new(TournamentSettings { strikes: 2, ..settings(6, format) }).unwrap();
        let without = Tournament::new(settings(6, format)).unwrap();
        let score = |a: usize, b: usize| {
            if a == 3 {
                0.0
            } else if b == 3 {
                1.0
            } else {
                by_number(a, b)
            }
        };
        let mut results = TournamentResults::default();
        while let Some(block) = t.next(&results).first() {
            let failed = block.tables.iter().flatten().filter(|&&e| e == 3).copied().collect();
            results.add(FinishedBlock { failed, ..finish(block, score) });
        }
        let mut left_out = TournamentResults::default();
        left_out.leave_out(3, "it did not start");
        while let Some(block) = without.next(&left_out).first() {
            left_out.add(finish(block, score));
        }
        let (table, other) = (t.standings(&results), without.standings(&left_out));
        assert!(table[5].out.as_ref().unwrap().contains("disqualified"), "{table:?}");
        assert_eq!((table[5].entrant, table[5].rank), (3, None));
        assert!(table[5].failures >= 2 && table[5].tally.losses >= 2);
        assert_eq!(other[5].out.as_deref(), Some("it did not start"));
        // The remaining standings are equal, whether entrant 3 was eliminated late or excluded at the start.
        assert_eq!(table[..5], other[..5]);
        if format == TournamentFormat::DoubleRoundRobin {
            assert_eq!((table[0].walkovers, table[5].walkovers), (2, 10));
            assert_eq!(table[0].tally.wins, 8);
        }
    }
}

#[test]
fn swiss_continues_without_an_eliminated_entrant() {
    let t = Tournament::new(TournamentSettings { strikes: 2, ..settings(9, TournamentFormat::Swiss { rounds: 4 }) })
        .unwrap();
    let mut results = TournamentResults::default();
    let (mut met, mut blocks) = (Vec::new(), 0);
    while let Some(block) = t.next(&results).first() {
        let failed: Vec<usize> = block.tables.iter().flatten().filter(|&&e| e == 3).copied().collect();
        met.extend(block.pairing.iter().filter(|_| !failed.is_empty()).filter(|&&e| e != 3).copied());
        let score = |a: usize, b: usize| {
            if a == 3 {
                0.0
            } else if b == 3 {
                1.0
            } else {
                by_number(a, b)
            }
        };
        results.add(FinishedBlock { failed, ..finish(block, score) });
        blocks += 1;
    }
    assert_eq!(met.len(), 1, "out after the round in which it failed twice");
    let table = t.standings(&results);
    assert_eq!((table[8].entrant, table[8].rank, table[8].failures), (3, None, 2));
    // Completed matches count, two for each meeting; from the next round on, eight entrants remain, and no entrant has
    // a bye.
    assert_eq!(table.iter().map(|s| s.tally.games()).sum::<u64>(), 2 * 2 * blocks);
    assert!(table.iter().find(|s| s.entrant == met[0]).unwrap().tally.wins >= 2);
    assert_eq!(blocks, 16);
    assert!((1..=2).contains(&table.iter().map(|s| s.byes).sum::<u64>()));
}

#[test]
fn discarded_match_gives_no_points() {
    let t = tournament(2, TournamentFormat::DoubleRoundRobin);
    let block = t.next(&TournamentResults::default()).remove(0);
    let mut finished = finish(&block, |_, _| 1.0);
    finished.matches.pop();
    let mut results = TournamentResults::default();
    results.add(finished);
    assert!(t.next(&results).is_empty());
    let table = t.standings(&results);
    assert_eq!((table[0].points, table[1].points, table[0].tally.games()), (1.0, 0.0, 1));
}

#[test]
fn results_of_unknown_blocks_are_ignored() {
    let t = tournament(4, TournamentFormat::DoubleRoundRobin);
    let due = t.next(&TournamentResults::default());
    let mut results = TournamentResults::default();
    results.add(FinishedBlock { pairing: due[1].pairing.clone(), ..finish(&due[0], by_number) });
    assert_eq!(t.next(&results), due);
}

#[test]
fn sonneborn_berger_scores_equal_hand_computed_values() {
    // 0 beats 1, 1 beats 2, 2 beats 0; 0 and 1 beat 3, and 2 draws with 3.
    let score = |a: usize, b: usize| match [a.min(b), a.max(b)] {
        [0, 1] | [1, 2] | [0, 3] | [1, 3] => by_number(a, b),
        [2, 3] => 0.5,
        _ => by_number(b, a),
    };
    let t = tournament(4, TournamentFormat::RoundRobin);
    let (results, _) = play(&t, score, None);
    let table = t.standings(&results);
    let line: Vec<_> = table.iter().map(|s| (s.entrant, s.points, s.tie_break.unwrap(), s.rank.unwrap())).collect();
    // 0: beat 1 (2 points) and 3 (1/2); 1: beat 2 (3/2) and 3; 2: beat 0 (2), half of 3; 3: half of 2.
    assert_eq!(line, [(0, 2.0, 2.5, 1), (1, 2.0, 2.0, 2), (2, 1.5, 2.25, 3), (3, 0.5, 0.75, 4)]);
}

#[test]
fn tied_entrants_share_a_rank() {
    let t = tournament(3, TournamentFormat::DoubleRoundRobin);
    let (results, _) = play(&t, |_, _| 0.5, None);
    let ranks: Vec<Option<usize>> = t.standings(&results).iter().map(|s| s.rank).collect();
    assert_eq!(ranks, [Some(1); 3]);
}

#[test]
fn invalid_settings_state_the_valid_range() {
    let error = |settings: TournamentSettings| Tournament::new(settings).unwrap_err().to_string();
    let base = settings(4, TournamentFormat::RoundRobin);
    assert!(error(TournamentSettings { seats: 1, ..base.clone() }).contains("at least 2 seats"));
    assert!(error(TournamentSettings { entrants: 1, ..base.clone() }).contains("at least 2 entrants"));
    assert!(error(TournamentSettings { blocks: 0, ..base.clone() }).contains("blocks: expected at least 1"));
    assert!(
        error(TournamentSettings { format: TournamentFormat::Swiss { rounds: 0 }, ..base.clone() })
            .contains("rounds: expected at least 1")
    );
    for format in [TournamentFormat::Ladder, TournamentFormat::Swiss { rounds: 3 }] {
        assert!(error(TournamentSettings { seats: 3, format, ..base.clone() }).contains("expected a game of 2 seats"));
    }
}

#[test]
fn block_count_of_many_entrants_does_not_overflow() {
    let most = |entrants, seats| {
        Tournament {
            settings: TournamentSettings { seats, ..settings(entrants, TournamentFormat::RoundRobin) },
            drawn: Vec::new(),
        }
        .blocks_at_most()
    };
    assert_eq!((most(60, 2), most(10, 7), most(1 << 40, 8)), (1770, 120, u64::MAX));
}
