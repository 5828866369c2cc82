//! Statistical tests of chance: seeded draws follow the weights of every game's chance nodes, and the draws of one
//! episode do not depend on other episodes. Seeds are fixed, so results are reproducible.

use std::collections::BTreeSet;

use ludex_env::{Action, Draw, DynState, GameRef, Outcomes, Stream, ToMove, check};
use ludex_protocol::spec::ChanceMode;

/// Returns every registered game that has chance nodes, with defaults and with each preset.
fn games_of_chance() -> Vec<GameRef> {
    let strings = ludex_games::games().iter().flat_map(|entry| {
        let presets = entry.info.presets.iter().map(|(preset, ..)| format!("{}(preset={preset})", entry.info.id));
        std::iter::once(entry.info.id.to_owned()).chain(presets)
    });
    let games = strings.map(|string| ludex_games::load(&string).unwrap());
    // Presets without changes give the same game.
    let mut known = BTreeSet::new();
    let explicit = |game: &GameRef| game.spec().chance == ChanceMode::Explicit;
    games.filter(explicit).filter(|game| known.insert(game.spec().string.clone())).collect()
}

fn outcomes(s: &dyn DynState) -> Outcomes {
    let mut out = Outcomes::new();
    s.chance(&mut out);
    out
}

/// Plays at most `limit` random moves, up to the next chance node. Returns true if a chance node was reached.
fn to_chance(s: &mut dyn DynState, rng: &mut Stream, limit: usize) -> bool {
    for _ in 0..limit {
        match s.turn() {
            ToMove::Over => return false,
            ToMove::Chance => return true,
            ToMove::Seat(seat) if s.legal_list(seat).is_empty() => return false,
            ToMove::Seat(seat) => s.play_unchecked(s.random_action(seat, rng)),
            ToMove::Simultaneous(set) => {
                let seats = 0..s.spec().players as usize;
                let joint: Vec<Action> =
                    seats.map(|seat| if set.has(seat) { s.random_action(seat, rng) } else { 0 }).collect();
                s.play_together_unchecked(&joint);
            }
        }
    }
    false
}

/// Returns the value that a chi-square variable with `free` degrees of freedom exceeds once in 30,000 times
/// (approximation by Wilson and Hilferty).
fn bound(free: usize) -> f64 {
    let spread = 2.0 / (9.0 * free as f64);
    free as f64 * (1.0 - spread + 4.0 * spread.sqrt()).powi(3)
}

/// Makes `times` draws and compares the frequency of each cell with its probability in `cells` (Pearson's chi-square
/// test).
fn follows(what: &str, cells: &[f64], times: u64, draw: impl Fn(u64) -> usize) {
    let mut count = vec![0u64; cells.len()];
    (0..times).for_each(|seed| count[draw(seed)] += 1);
    let square = |(&n, &p): (&u64, &f64)| (n as f64 - p * times as f64).powi(2) / (p * times as f64);
    let sum: f64 = count.iter().zip(cells).map(square).sum();
    let free = cells.len() - 1;
    assert!(free == 0 || sum < bound(free), "{what}: chi-square {sum} with {free} degrees of freedom: {count:?}");
}

/// Returns the number of draws after which even the rarest of `cells` is frequent enough for the chi-square test.
fn enough(cells: &[f64]) -> u64 {
    let least = cells.iter().copied().fold(1.0, f64::min);
    check::scaled(((20.0 / least) as u64).clamp(1_000, 50_000))
}

/// Returns the index of the outcome that draw `k` of the first episode picks.
fn picked(id: &'static str, seed: u64, k: usize, outcomes: &Outcomes) -> usize {
    let mut draw = Draw::new(id, seed, 0);
    (0..k).for_each(|_| draw.skip());
    let a = draw.pick(outcomes).unwrap();
    outcomes.items().iter().position(|o| o.0 == a).unwrap()
}

#[test]
fn draws_follow_declared_weights() {
    for game in games_of_chance() {
        let name = &game.spec().string;
        let mut met: Vec<Outcomes> = Vec::new();
        for episode in 0..4u64 {
            let mut rng = Stream::from_text(&format!("ludex.v1:weights:{name}:{episode}"));
            let mut s = game.start();
            for k in 0..12 {
                if !to_chance(&mut *s, &mut rng, 300) {
                    break;
                }
                let out = outcomes(&*s);
                if met.len() < 20 && !met.contains(&out) {
                    let cells: Vec<f64> = out.probabilities().map(|o| o.1).collect();
                    follows(&format!("{name}, draw {k}"), &cells, enough(&cells), |seed| {
                        picked(game.id(), seed, k, &out)
                    });
                    met.push(out.clone());
                }
                s.play_unchecked(rng.pick(&out).unwrap());
            }
        }
        assert!(!met.is_empty(), "{name}: no chance node was reached");
    }
}

/// Control for the test itself: the test must detect a die whose first face is 10 % more frequent than declared.
#[test]
#[should_panic(expected = "chi-square")]
fn loaded_die_fails_chi_square() {
    let mut loaded = Outcomes::new();
    (0..6).for_each(|a| loaded.put(a, if a == 0 { 110 } else { 98 }));
    follows("a loaded die", &[1.0 / 6.0; 6], 20_000, |seed| picked("pig", seed, 0, &loaded));
}

/// The frequency of a pair of successive draws is the product of their probabilities.
#[test]
fn successive_draws_are_independent() {
    let mut compared = 0;
    for game in games_of_chance() {
        let start = game.start();
        let first = outcomes(&*start);
        let seconds: Vec<Outcomes> = first
            .items()
            .iter()
            .map(|&(a, _)| {
                let mut s = start.boxed();
                s.play_unchecked(a);
                outcomes(&*s)
            })
            .collect();
        let pairs = first
            .probabilities()
            .zip(&seconds)
            .flat_map(|((_, p), second)| second.probabilities().map(move |(_, q)| p * q));
        let cells: Vec<f64> = pairs.collect();
        if !(2..=2_000).contains(&cells.len()) {
            continue;
        }
        compared += 1;
        follows(&format!("{}, the first two draws", game.spec().string), &cells, enough(&cells), |seed| {
            let a = picked(game.id(), seed, 0, &first);
            let before: usize = seconds[..a].iter().map(|second| second.items().len()).sum();
            before + picked(game.id(), seed, 1, &seconds[a])
        });
    }
    assert!(compared > 0);
}

/// An episode in progress, with the outcomes drawn so far.
struct Playing {
    s: Box<dyn DynState>,
    rng: Stream,
    draw: Draw,
    drawn: Vec<Action>,
}

impl Playing {
    fn new(game: &GameRef, draw: Draw) -> Self {
        let rng = Stream::new(&draw.other("moves"));
        Playing { s: game.start(), rng, draw, drawn: Vec::new() }
    }

    /// Plays up to the next chance node and draws its outcome. Returns false if the episode has no further chance node.
    fn step(&mut self) -> bool {
        let more = self.drawn.len() < 40 && to_chance(&mut *self.s, &mut self.rng, 300);
        if more {
            let a = self.draw.pick(&outcomes(&*self.s)).unwrap();
            self.drawn.push(a);
            self.s.play_unchecked(a);
        }
        more
    }
}

#[test]
fn interleaving_episodes_does_not_change_their_draws() {
    for game in games_of_chance() {
        let fresh = |episode| Playing::new(&game, Draw::new(game.id(), 7, episode));
        let mut alone = Vec::new();
        let mut draw = Draw::new(game.id(), 7, 0);
        for _ in 0..6 {
            let mut one = Playing::new(&game, draw);
            while one.step() {}
            alone.push(one.drawn);
            draw = one.draw;
            draw.next_episode();
        }
        let mut together: Vec<Playing> = (0..6).map(fresh).collect();
        // Steps the episodes in reverse order, some of them several times in a row.
        while together
            .iter_mut()
            .rev()
            .enumerate()
            .fold(false, |more, (k, one)| (0..=k % 3).fold(more, |more, _| one.step() | more))
        {}
        let together: Vec<Vec<Action>> = together.into_iter().map(|one| one.drawn).collect();
        assert_eq!(alone, together, "{}", game.spec().string);
        assert!(alone.iter().any(|one| one != &alone[0]), "{}: all episodes have the same draws", game.spec().string);
    }
}
