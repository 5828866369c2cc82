//! Plays random pairs of plans in the three plan games and prints results, battle lengths and speed.
//!
//!     cargo run --release -p ludex-games --example plans [PAIRS]
//!
//! Each line shows the number of battles, the share won by side 0 with its 95 % interval (Wilson), the mean and greatest
//! length in the game's own steps, the share that reached the step limit, and simulations per second on one core: without a
//! log, with a full event log, and with the log converted to JSON. Plans are sampled before the clock starts.

use std::hint::black_box;
use std::time::Instant;

use ludex_env::Stream;
use ludex_games::plan_game::{FullLog, PlanEngine, Side};
use ludex_games::{battle_cards, elemental_duel, tower_defense};

fn measure<C: PlanEngine>(
    what: &str,
    params: &C::Params,
    pairs: usize,
    draw: impl Fn(Side, u32, &mut Stream) -> C::Plan,
) {
    let craft = match C::new(params) {
        Ok(craft) => craft,
        Err(why) => return eprintln!("{what}: {why}"),
    };
    let mut rng = Stream::from_text(C::INFO.id);
    let drawn: Vec<[C::Plan; 2]> =
        (0..pairs).map(|_| [0, 1].map(|side| draw(side, C::BUDGETS[side], &mut rng))).collect();
    let (mut won, mut length, mut longest, mut capped) = (0, 0, 0, 0);
    let begun = Instant::now();
    for [a, b] in &drawn {
        let ended = craft.simulate([a, b], C::BUDGETS, &mut ());
        won += usize::from(ended.winner == 0);
        length += u64::from(ended.length);
        longest = longest.max(ended.length);
        capped += usize::from(ended.reason == "cap");
    }
    let quiet = pairs as f64 / begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    for [a, b] in &drawn {
        let mut log = FullLog::default();
        craft.simulate([a, b], C::BUDGETS, &mut log);
        black_box(&log);
    }
    let logged = pairs as f64 / begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    for [a, b] in &drawn {
        let mut log = FullLog::default();
        craft.simulate([a, b], C::BUDGETS, &mut log);
        black_box(log.events());
    }
    let written = pairs as f64 / begun.elapsed().as_secs_f64();
    let n = pairs as f64;
    let [share, cap] = [won, capped].map(|k| 100.0 * k as f64 / n);
    let [low, high] = wilson(won as f64 / n, n).map(|end| 100.0 * end);
    println!(
        "{what}: {pairs} battles, {} won {share:.2} % ({low:.2} to {high:.2}), mean length {:.2}, longest {longest}, {cap:.2} % at the \
         cap; {quiet:.0} battles a second, {logged:.0} with events, {written:.0} with events as JSON",
        C::SIDES[0],
        length as f64 / n,
    );
}

/// Returns the 95 % Wilson interval for a success rate of `p` in `n` trials.
fn wilson(p: f64, n: f64) -> [f64; 2] {
    let z = 1.96;
    let middle = p + z * z / (2.0 * n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    [middle - half, middle + half].map(|end| end / (1.0 + z * z / n))
}

fn main() {
    let pairs = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let rules = tower_defense::Rules::Paper;
    measure::<tower_defense::TowerDefenseEngine>("tower_defense", &Default::default(), pairs, |side, budget, rng| {
        tower_defense::random(side, budget, rules, rng)
    });
    measure::<battle_cards::BattleCardsEngine>("battle_cards", &Default::default(), pairs, battle_cards::random);
    for (hp_invader, hp_defender) in [(100, 160), (100, 100)] {
        let params = elemental_duel::Params { hp_invader, hp_defender, ..Default::default() };
        let what = format!("elemental_duel {hp_invader}/{hp_defender}");
        measure::<elemental_duel::ElementalDuelEngine>(&what, &params, pairs, elemental_duel::random);
    }
}
