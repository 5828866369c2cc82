//! Simulation of a standing ladder with agents of known strength: accuracy of the ratings, and waiting times.
//! `cargo test -p ludex-arena standing_ladders::simulation -- --nocapture` prints the numbers in `docs/ratings.md`.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use ludex_env::Stream;
use ludex_env::check::scaled;
use ludex_referee::rating::elo::expected;
use ludex_referee::rating::table::Z95;

use super::Seeker;
use super::pairing::{Encounters, Meeting, Pacing, Partner};
use super::table::{LadderSettings, SeatName, StandingTable};

/// Ladder of simulated agents, whose results follow from their true strengths.
struct Course {
    /// Strengths of the agents.
    strengths: Vec<f64>,
    anchors: Vec<(String, f64)>,
    /// Mean number of rounds online and offline; `None`: all agents are always online.
    presence: Option<[f64; 2]>,
    /// Interval of the pairing rounds.
    round_ms: u64,
    /// Minimum and maximum number of rounds that a pair of matches takes.
    pair: [u64; 2],
    /// Number of rounds between two fits of the ratings.
    fit: u64,
    seed: u64,
}

struct Agent {
    /// Round at which the agent next joins or leaves.
    turns: u64,
    here: bool,
    busy: bool,
    /// Round at which the agent started to wait; `None` if it does not wait.
    since: Option<u64>,
}

struct Played {
    waits_ms: Vec<u64>,
    /// Opponents of each agent: an agent's index, or -1 - an anchor's index.
    met: Vec<Vec<i64>>,
    /// Number of pairs whose agents met in succession, while a third agent waited.
    repeated: usize,
    rounds: u64,
    table: StandingTable,
}

/// Returns the name of an agent. Names sort like their numbers.
fn name(agent: usize) -> String {
    format!("agent-{agent:03}")
}

/// Draws the number of rounds until an event that occurs every `mean` rounds on average.
fn soon(rng: &mut Stream, mean: f64) -> u64 {
    (-(1.0 - rng.unit()).ln() * mean) as u64 + 1
}

/// Returns the ranks of values. Equal values have their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |x: f64| values.iter().filter(|y| **y < x).count() as f64;
    let equal = |x: f64| values.iter().filter(|y| **y == x).count() as f64;
    values.iter().map(|&x| below(x) + (equal(x) - 1.0) / 2.0).collect()
}

/// Returns Spearman's rank correlation: Pearson's correlation of the ranks.
fn spearman(pairs: &[(f64, f64)]) -> f64 {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b, middle) = (ranks(&a), ranks(&b), (pairs.len() as f64 - 1.0) / 2.0);
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - middle) * (y - middle)).sum::<f64>();
    sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt()
}

impl Course {
    /// Simulates the ladder while `goes_on` returns true for the table and the round. The agent that moves first in a
    /// match is 40 points stronger.
    fn play(&self, mut goes_on: impl FnMut(&StandingTable, u64) -> bool) -> Played {
        let mut rng = Stream::from_text(&format!("ludex-referee:standing:{}", self.seed));
        let mut table = StandingTable::new(LadderSettings::default(), self.anchors.iter().cloned().collect(), 0.0);
        let turns = |rng: &mut Stream, here: bool| {
            self.presence.map_or(u64::MAX, |[on, off]| soon(rng, if here { on } else { off }))
        };
        let new = |_| {
            let here = self.presence.is_none();
            Agent { turns: turns(&mut rng, here), here, busy: false, since: None }
        };
        let mut all: Vec<Agent> = (0..self.strengths.len()).map(new).collect();
        let anchor = |k: i64| &self.anchors[(-1 - k) as usize];
        let mut playing: BTreeMap<u64, Vec<(usize, i64)>> = BTreeMap::new();
        let (mut encounters, mut met) = (Encounters::default(), vec![Vec::new(); all.len()]);
        let (mut waits_ms, mut repeated, mut now) = (Vec::new(), 0, 0);
        while goes_on(&table, now) {
            now += 1;
            for (a, b) in playing.remove(&now).unwrap_or_default() {
                let (strength, other) = match b {
                    0.. => (self.strengths[b as usize], SeatName::Client(name(b as usize))),
                    _ => (anchor(b).1, SeatName::Server(anchor(b).0.clone())),
                };
                let chances = [40.0, -40.0].map(|first| expected(self.strengths[a] + first, strength));
                let scores = chances.map(|chance| f64::from(u8::from(rng.unit() < chance))).to_vec();
                table.meet(&SeatName::Client(name(a)), &other, scores, (now * self.round_ms) as i64);
                [a as i64, b].iter().filter(|k| **k >= 0).for_each(|&k| all[k as usize].busy = false);
            }
            if now.is_multiple_of(self.fit) {
                table.skills = table.fit();
            }
            for agent in &mut all {
                if agent.turns <= now {
                    agent.here = !agent.here;
                    agent.turns = now + turns(&mut rng, agent.here);
                }
                agent.since = (agent.here && !agent.busy).then(|| agent.since.unwrap_or(now));
            }
            let here: Vec<usize> = (0..all.len()).filter(|&k| all[k].since.is_some()).collect();
            let seeker = |&k: &usize| Seeker {
                agent: name(k),
                // On large ladders, every fifth agent has the owner of the previous one.
                owner: format!("owner-{}", if k % 5 == 1 && all.len() > 100 { k - 1 } else { k }),
                waits_ms: self.round_ms * (now - all[k].since.unwrap_or(now)),
            };
            let seekers: Vec<Seeker> = here.iter().map(seeker).collect();
            let meetings = encounters.pair(&seekers, &table, &self.anchors, &Pacing::default(), false);
            let is_anchored = |meeting: &&Meeting| matches!(meeting.partner, Partner::Anchor(_));
            let free = here.len() - meetings.iter().filter(is_anchored).count();
            for Meeting { waiter, partner } in meetings {
                let a = here[waiter];
                let b = match partner {
                    Partner::Waiter(b) => here[b] as i64,
                    Partner::Anchor(k) => -1 - k as i64,
                };
                repeated += usize::from(b >= 0 && free > 2 && met[a].last() == Some(&b));
                for (k, other) in [(a as i64, b), (b, a as i64)].into_iter().filter(|(k, _)| *k >= 0) {
                    met[k as usize].push(other);
                    let agent = &mut all[k as usize];
                    waits_ms.push(self.round_ms * (now - agent.since.take().unwrap_or(now)));
                    agent.busy = true;
                }
                let rounds = self.pair[0] + rng.below((self.pair[1] - self.pair[0] + 1) as usize) as u64;
                playing.entry(now + rounds).or_default().push((a, b));
            }
        }
        table.skills = table.fit();
        waits_ms.sort_unstable();
        Played { waits_ms, met, repeated, rounds: now, table }
    }
}

/// Returns the resident memory of this process in bytes, if the system reports it.
fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    text.split(' ').nth(1)?.parse::<u64>().ok().map(|pages| pages * 4_096)
}

fn anchors(ratings: &[f64]) -> Vec<(String, f64)> {
    ratings.iter().enumerate().map(|(level, rating)| (format!("anchor level={level}"), *rating)).collect()
}

/// Simulates a season of twenty agents on the ladder of connect_four. Eleven agents play at random, like the anchor of
/// level 0; the next two are level 1 and level 2. Returns the quotients of error and deviation of the eleven.
fn season(seed: u64) -> Vec<f64> {
    let others = [235.0, 625.0, 120.0, 310.0, 400.0, 480.0, 560.0, 700.0, 860.0];
    let (strengths, anchors) = ([[0.0; 11].as_slice(), &others].concat(), anchors(&[0.0, 235.0, 625.0, 867.0, 1113.0]));
    let course = Course { strengths, anchors, presence: None, round_ms: 200, pair: [1, 3], fit: 5, seed };
    let rounds = scaled(3_000).max(600) as u64;
    let played = course.play(|_, now| now < rounds);
    let skill = |k: usize| played.table.skill(&name(k));
    let z: Vec<f64> = (0..20).map(|k| (skill(k).rating - course.strengths[k]) / skill(k).deviation).collect();
    let inside = z[..11].iter().filter(|z| z.abs() <= Z95).count();
    let mean = (0..11).map(|k| skill(k).rating).sum::<f64>() / 11.0;
    let rho = spearman(
        &(0..20).map(|k| (if k < 11 { mean } else { skill(k).rating }, course.strengths[k])).collect::<Vec<_>>(),
    );
    // Shares of an agent's pairs: against anchors, and against its three most frequent opponents.
    let shares = |met: &Vec<i64>| {
        let mut counts: HashMap<i64, usize> = HashMap::new();
        met.iter().filter(|k| **k >= 0).for_each(|k| *counts.entry(*k).or_default() += 1);
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let agents = counts.iter().sum::<usize>();
        let three = counts.iter().take(3).sum::<usize>() as f64 / agents as f64;
        [1.0 - agents as f64 / met.len() as f64, three]
    };
    let shares: Vec<[f64; 2]> = played.met.iter().map(shares).collect();
    let ends = |of: &[[f64; 2]], n: usize| of.iter().fold([1.0f64, 0.0f64], |e, s| [e[0].min(s[n]), e[1].max(s[n])]);
    let (anchored, equals, all) = (ends(&shares, 0), ends(&shares[..11], 1)[1], ends(&shares, 1)[1]);
    let longest = played.waits_ms[played.waits_ms.len() - 1];
    let mean_ms = played.waits_ms.iter().sum::<u64>() / played.waits_ms.len() as u64;
    println!(
        "season {seed}: {} matches, 0 in {inside} of 11 intervals, rank correlation {rho:.3}, deviations {:.0} to {:.0}, anchors \
         in {anchored:.2?} of an agent's pairs, three opponents in at most {equals:.2} (all: {all:.2}), mean wait \
         {mean_ms} ms, longest {longest} ms; z {z:.1?}",
        played.table.matches,
        (0..20).map(|k| skill(k).deviation).fold(f64::MAX, f64::min),
        (0..20).map(|k| skill(k).deviation).fold(0.0, f64::max),
    );
    assert!(inside >= 9 && z[12].abs() <= Z95 && rho > 0.95, "{inside} {} {rho}", z[12]);
    assert!(anchored[0] > 0.18 && anchored[1] < 0.3 && equals < 0.5 && played.repeated == 0, "{anchored:?} {equals}");
    z[..11].to_vec()
}

#[test]
fn intervals_contain_true_strengths_in_seeded_seasons() {
    let squares: Vec<f64> = (1..=3).flat_map(season).map(|z| z * z).collect();
    let rms = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    println!("root mean square of z {rms:.2}");
    assert!((0.6..1.5).contains(&rms), "{rms}");
}

#[test]
fn ratings_approach_true_strengths_while_waits_stay_short() {
    let matches = scaled(20_000).max(4_000) as u64;
    let mut rng = Stream::from_text("ludex-referee:strengths");
    // Logistic distribution with a standard deviation of about 270 points.
    let logistic = |u: f64| 600.0 + 150.0 * (u / (1.0 - u)).ln();
    let strengths: Vec<f64> = (0..200).map(|_| logistic(rng.unit().clamp(0.001, 0.999))).collect();
    let anchors = anchors(&[0.0, 400.0, 800.0, 1200.0]);
    let presence = Some([1_800.0, 3_600.0]);
    let course = Course { strengths, anchors, presence, round_ms: 1_000, pair: [30, 90], fit: 300, seed: 1 };
    println!("matches  Spearman of all  of the ranked  ranked");
    let look = |table: &StandingTable| {
        let known = (0..200).filter(|&k| table.agents.contains_key(&name(k)));
        let all: Vec<_> = known.map(|k| (table.skill(&name(k)), course.strengths[k])).collect();
        let ranked = all.iter().filter(|(skill, _)| skill.deviation <= table.rating.provisional);
        let pair = |(skill, strength): &(super::table::StandingSkill, f64)| (skill.rating, *strength);
        let (all, ranked): (Vec<_>, Vec<_>) = (all.iter().map(pair).collect(), ranked.map(pair).collect());
        let (of_all, of_ranked) = (spearman(&all), spearman(&ranked));
        println!("{:>7}  {of_all:>15.3}  {of_ranked:>13.3}  {:>6}", table.matches, ranked.len());
        [of_all, of_ranked]
    };
    let mut marks = [400, 1_000, 2_000, 4_000, 8_000, 12_000, 16_000].into_iter().peekable();
    let played = course.play(|table, _| {
        if marks.next_if(|mark| table.matches >= *mark).is_some() {
            let rated = StandingTable { skills: table.fit(), ..table.clone() };
            look(&rated);
        }
        table.matches < matches
    });
    let last = look(&played.table);
    let waits = &played.waits_ms;
    let (mean, p95) =
        (waits.iter().sum::<u64>() as f64 / 1e3 / waits.len() as f64, waits[waits.len() * 95 / 100] / 1_000);
    let anchored = played.met.iter().flatten().filter(|k| **k < 0).count() as f64 * 2.0 / matches as f64;
    let hours = played.rounds as f64 / 3_600.0;
    println!("mean wait {mean:.1} s, 95 % within {p95} s, {:.1} % against anchors, {hours:.1} hours", 100.0 * anchored);
    assert!(last.iter().all(|rho| *rho > 0.93), "{last:?}");
    assert!(mean < 6.0 && p95 <= 12 && anchored < 0.6, "{mean} {p95} {anchored}");
    // Agents that are online a third of the time have played some of the matches.
    assert!(played.table.agents.len() > 120);
}

#[test]
fn ladder_table_needs_little_memory_per_agent() {
    let agents = scaled(100_000).max(20_000);
    let before = resident();
    let mut table = StandingTable::new(LadderSettings::default(), BTreeMap::new(), 0.0);
    for k in 0..agents {
        let name = |k: u64| SeatName::Client(format!("agent-with-a-name-{k}"));
        table.meet(&name(k), &name((k + 1) % agents as u64), vec![1.0, 0.0], 1_000);
    }
    let text = serde_json::to_string(&table.agents).unwrap().len() / agents as usize;
    let grown = before.zip(resident()).map(|(before, after)| after.saturating_sub(before) / agents as u64);
    println!("{} agents: {text} bytes of JSON and {grown:?} bytes of memory for each", table.agents.len());
    assert!(text < 400 && grown.is_none_or(|bytes| bytes < 2_000));
}
