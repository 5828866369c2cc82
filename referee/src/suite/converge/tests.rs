use std::collections::BTreeSet;

use ludex_env::Stream;

use super::super::Suite;
use super::super::plan::{Block, MatchScore, Plan, Results, key};
use super::*;
use crate::rating::trueskill::trueskill;

const STOP: &str = "metric = \"trueskill\", games = 20, sigma = 1.5, change = 0.5, over = 5, most = 200";

fn plan(candidates: usize, stop: &str, scale: f64) -> Plan {
    let text = format!(
        "name = \"s\"\nversion = 1\ntitle = \"S\"\nseed = 4\n[[part]]\nid = \"p\"\ngame = \"tic_tac_toe\"\nschedule = \"converge\"\nstop = {{ {stop} }}\n"
    );
    let suite = Suite::parse(&text, &ludex_games::builtin()).unwrap();
    let all: Vec<(String, String)> = (0..candidates).map(|k| (format!("c{k}"), "random".to_owned())).collect();
    Plan::new(suite, &all, scale, &ludex_games::builtin()).unwrap()
}

/// Returns a result that depends only on the match. A candidate with a lower number is stronger.
fn result(block: &Block) -> MatchScore {
    let luck = Stream::from_text(&format!("result:{}", block.index)).unit();
    let gap = block.pairing[1] as f64 - block.pairing[0] as f64;
    MatchScore::Points(match luck {
        x if x < 0.45 + 0.1 * gap => 1.0,
        x if x < 0.55 + 0.1 * gap => 0.5,
        _ => 0.0,
    })
}

fn name(block: &Block) -> String {
    key("p", &block.pairing, block.index, block.matches[0].turn)
}

/// Plays a plan to its end. In each step, `keep` selects the matches to play from all due matches. Returns all blocks
/// in the order of their numbers, and the largest number of due matches in a step.
fn played(
    plan: &Plan,
    result: impl Fn(&Block) -> MatchScore,
    keep: impl Fn(&[Block]) -> Vec<Block>,
) -> (Vec<Block>, usize) {
    let (mut done, mut all, mut widest) = (Results::new(), Vec::new(), 0);
    loop {
        let due = plan.next(&done);
        if due.is_empty() {
            all.sort_by_key(|block: &Block| block.index);
            return (all, widest);
        }
        widest = widest.max(due.len());
        for block in keep(&due) {
            assert_eq!(block.matches.len(), 1);
            assert!(done.insert(name(&block), result(&block)).is_none());
            all.push(block);
        }
    }
}

/// Returns true if the ratings after these matches meet the convergence criterion, computed as the suite reference
/// describes.
fn settled(candidates: usize, blocks: &[Block]) -> bool {
    let points = |block: &Block| if let MatchScore::Points(points) = result(block) { points } else { 0.0 };
    let games: Vec<PlayedGame> =
        blocks.iter().map(|block| PlayedGame::two(block.pairing[0], block.pairing[1], points(block))).collect();
    let skills = trueskill(candidates, &games);
    (0..candidates).all(|who| {
        let own: Vec<usize> = (0..games.len()).filter(|&n| blocks[n].pairing.contains(&who)).collect();
        let mu = |n: usize| trueskill(candidates, &games[..n])[who].mu;
        let calm = own.iter().rev().take(5).all(|&n| (mu(n + 1) - mu(n)).abs() < 0.5);
        own.len() >= 20 && skills[who].sigma < 1.5 && calm
    })
}

#[test]
fn random_pairs_meet_until_ratings_converge() {
    let plan = plan(4, STOP, 1.0);
    let (all, widest) = played(&plan, result, <[Block]>::to_vec);
    // The plan ends with the first match after which all conditions hold.
    assert!(settled(4, &all) && (40..all.len()).all(|n| !settled(4, &all[..n])), "{} matches", all.len());
    assert!(all.len() < 400 && widest >= 40, "{} matches, {widest} at once", all.len());
    // Match numbers have no gaps; all pairs and both seatings occur.
    assert!(all.iter().enumerate().all(|(n, block)| block.index == n as u64));
    let pairs: BTreeSet<_> = all.iter().map(|block| (block.pairing.clone(), block.matches[0].turn)).collect();
    assert_eq!(pairs.len(), 12);
    // The matches are the same if played one at a time or out of order.
    assert_eq!(played(&plan, result, |due| due[..1].to_vec()).0, all);
    assert_eq!(played(&plan, result, |due| due.iter().rev().step_by(3).cloned().collect()).0, all);
    // Four candidates with 200 matches each make 400, but at the end a candidate may be without an opponent.
    assert!((390..=400).contains(&plan.matches_at_most()));
}

#[test]
fn no_candidate_exceeds_the_maximum_of_matches() {
    // With this bound on the rating, the ratings never converge.
    let plan = plan(3, &STOP.replace("1.5", "0.01"), 1.0);
    let (all, _) = played(&plan, result, <[Block]>::to_vec);
    let of = |who: usize| all.iter().filter(|block| block.pairing.contains(&who)).count();
    assert!((0..3).all(|who| of(who) <= 200) && (0..3).filter(|&who| of(who) == 200).count() >= 2);
    assert_eq!(all.len() as u64, plan.matches_at_most());
    // Matches that do not count are not played again, and do not count toward the minimum.
    let lost = |block: &Block| if block.index.is_multiple_of(2) { MatchScore::Discarded } else { result(block) };
    let (all, _) = played(&self::plan(3, STOP, 1.0), lost, <[Block]>::to_vec);
    let counted = |who: usize| all.iter().filter(|b| b.index % 2 == 1 && b.pairing.contains(&who)).count();
    assert!((0..3).all(|who| counted(who) >= 20), "{}", all.len());
}

#[test]
fn scale_factor_changes_minimum_and_maximum_number_of_matches() {
    let (all, _) = played(&plan(2, STOP, 0.1), result, <[Block]>::to_vec);
    assert!((2..=20).contains(&all.len()), "{}", all.len());
    assert_eq!(plan(1, STOP, 1.0).next(&Results::new()), []);
}

#[test]
fn part_with_random_pairs_belongs_to_one_shard() {
    let mut plan = plan(3, STOP, 1.0);
    let shares = [1, 2].map(|number| {
        plan.shard = Some(format!("{number}/2").parse().unwrap());
        plan.next(&Results::new()).len()
    });
    assert!(shares.contains(&0) && shares != [0, 0], "{shares:?}");
}
