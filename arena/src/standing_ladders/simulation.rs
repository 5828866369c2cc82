//! Simulation of a standing ladder with agents of known strength: accuracy of the ratings, and waiting times.
//! `cargo test -p ludex-server --release standing_ladders::simulation -- --nocapture` prints the numbers in
//! `docs/ratings.md`.

use std::collections::BTreeMap;
use std::fs;

use ludex_env::Stream;
use ludex_env::check::scaled;
use ludex_referee::rating::elo::expected;

use super::pairing::{Pacing, Partner, WaitingAgent, meetings};
use super::table::{LadderSettings, SeatName, StandingTable};

struct Agent {
    name: String,
    strength: f64,
    /// Second at which the agent next joins or leaves.
    turns: u64,
    here: bool,
    /// Second at which the agent started to wait; `None` if it does not wait.
    since: Option<u64>,
}

/// Ladder statistics after a number of matches.
struct Look {
    matches: u64,
    all: f64,
    ranked: f64,
    places: usize,
}

struct Played {
    looks: Vec<Look>,
    waits: Vec<u64>,
    anchored: usize,
    seconds: u64,
    table: StandingTable,
}

/// Draws the number of seconds until an event that occurs every `mean` seconds on average.
fn soon(rng: &mut Stream, mean: f64) -> u64 {
    (-(1.0 - rng.unit()).ln() * mean) as u64 + 1
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    order.iter().enumerate().for_each(|(rank, &k)| ranks[k] = rank as f64);
    ranks
}

/// Returns Spearman's rank correlation of `n` pairs without ties: `1 - 6 sum d^2 / (n (n^2 - 1))`, where `d` is the
/// difference between the two ranks of a pair.
fn spearman(pairs: &[(f64, f64)]) -> f64 {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let n = pairs.len() as f64;
    let d: f64 = ranks(&a).iter().zip(ranks(&b)).map(|(a, b)| (a - b).powi(2)).sum();
    1.0 - 6.0 * d / (n * (n * n - 1.0))
}

/// Simulates a ladder until `matches` matches are played. On average, agents are online for half an hour and offline
/// for an hour. A pair of matches takes 30 to 90 seconds.
fn play(agents: usize, matches: u64, seed: u64) -> Played {
    let mut rng = Stream::from_text(&format!("ludex-referee:standing:{seed}"));
    let rungs = [("random", 0.0), ("low", 400.0), ("middle", 800.0), ("high", 1200.0)];
    let anchors: Vec<(String, f64)> = rungs.map(|(name, rating)| (name.to_owned(), rating)).to_vec();
    let mut table = StandingTable::new(LadderSettings::default(), anchors.iter().cloned().collect());
    let mut all: Vec<Agent> = (0..agents)
        .map(|k| {
            // Logistic distribution with a standard deviation of about 270 points.
            let u = rng.unit().clamp(0.001, 0.999);
            let strength = 600.0 + 150.0 * (u / (1.0 - u)).ln();
            Agent { name: format!("agent-{k}"), strength, turns: soon(&mut rng, 3_600.0), here: false, since: None }
        })
        .collect();
    let mut playing: BTreeMap<u64, Vec<(usize, Partner)>> = BTreeMap::new();
    let mut busy = vec![false; agents];
    let (mut looks, mut waits, mut anchored, mut now) = (Vec::new(), Vec::new(), 0, 0);
    let marks = [400, 1_000, 2_000, 4_000, 8_000, 12_000, 16_000, 20_000].map(|mark| mark * matches / 20_000);
    let mut marks = marks.into_iter().peekable();
    while table.matches < matches {
        now += 1;
        let at_ms = now as i64 * 1_000;
        for (a, partner) in playing.remove(&now).unwrap_or_default() {
            let (who, other, rating) = match partner {
                Partner::Waiter(b) => (a, SeatName::Client(all[b].name.clone()), all[b].strength),
                Partner::Anchor(k) => (a, SeatName::Server(anchors[k].0.clone()), anchors[k].1),
            };
            let chance = expected(all[who].strength, rating);
            let scores = [(); 2].map(|()| f64::from(u8::from(rng.unit() < chance)));
            table.meet(&SeatName::Client(all[who].name.clone()), &other, &scores, at_ms);
            busy[a] = false;
            if let Partner::Waiter(b) = partner {
                busy[b] = false;
            }
        }
        for (k, agent) in all.iter_mut().enumerate() {
            if agent.turns <= now {
                agent.here = !agent.here;
                agent.turns = now + soon(&mut rng, if agent.here { 1_800.0 } else { 3_600.0 });
            }
            agent.since = (agent.here && !busy[k]).then(|| agent.since.unwrap_or(now));
        }
        let here: Vec<usize> = (0..agents).filter(|&k| all[k].since.is_some()).collect();
        let waiter = |&k: &usize| WaitingAgent {
            agent: all[k].name.clone(),
            // Every fifth agent has the owner of the previous one.
            owner: format!("owner-{}", if k % 5 == 1 { k - 1 } else { k }),
            rating: table.skill(&all[k].name, at_ms).rating,
            met: table.agents.get(&all[k].name).map(|entry| entry.met.clone()).unwrap_or_default(),
            waits_ms: 1_000 * (now - all[k].since.unwrap_or(now)),
        };
        let waiters: Vec<WaitingAgent> = here.iter().map(waiter).collect();
        for meeting in meetings(&waiters, &anchors, &Pacing::default()) {
            let mut begins = |place: usize| {
                waits.push(waiters[place].waits_ms / 1_000);
                all[here[place]].since = None;
                busy[here[place]] = true;
                here[place]
            };
            let a = begins(meeting.waiter);
            let partner = match meeting.partner {
                Partner::Waiter(b) => Partner::Waiter(begins(b)),
                Partner::Anchor(k) => {
                    anchored += 1;
                    Partner::Anchor(k)
                }
            };
            playing.entry(now + 30 + rng.below(61) as u64).or_default().push((a, partner));
        }
        if marks.next_if(|mark| table.matches >= *mark).is_some() {
            let truth = |test: &dyn Fn(f64) -> bool| -> Vec<(f64, f64)> {
                let known = |agent: &Agent| table.agents.contains_key(&agent.name);
                let skill = |agent: &Agent| (table.skill(&agent.name, at_ms), agent.strength);
                let of = all.iter().filter(|agent| known(agent)).map(skill);
                of.filter(|(skill, _)| test(skill.deviation))
                    .map(|(skill, strength)| (skill.rating, strength))
                    .collect()
            };
            let (known, ranked) = (truth(&|_| true), truth(&|deviation| deviation <= table.rating.provisional));
            looks.push(Look {
                matches: table.matches,
                all: spearman(&known),
                ranked: if ranked.len() > 2 { spearman(&ranked) } else { f64::NAN },
                places: ranked.len(),
            });
        }
    }
    waits.sort_unstable();
    Played { looks, waits, anchored, seconds: now, table }
}

/// Returns the resident memory of this process in bytes, if the system reports it.
fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    text.split(' ').nth(1)?.parse::<u64>().ok().map(|pages| pages * 4_096)
}

#[test]
fn ratings_approach_true_strengths_while_waits_stay_short() {
    let matches = scaled(20_000).max(4_000) as u64;
    let played = play(200, matches, 1);
    println!("matches  Spearman of all  of the ranked  ranked");
    for Look { matches, all, ranked, places } in &played.looks {
        println!("{matches:>7}  {all:>15.3}  {ranked:>13.3}  {places:>6}");
    }
    let waits = &played.waits;
    let (mean, p95) = (waits.iter().sum::<u64>() as f64 / waits.len() as f64, waits[waits.len() * 95 / 100]);
    let (anchored, hours) = (2.0 * played.anchored as f64 / matches as f64, played.seconds as f64 / 3_600.0);
    println!("mean wait {mean:.1} s, 95 % within {p95} s, {:.1} % against anchors, {hours:.1} hours", 100.0 * anchored);
    let last = played.looks.last().expect("a look");
    assert!(last.all > 0.93 && last.ranked > 0.93, "{} {}", last.all, last.ranked);
    assert!(mean < 6.0 && p95 <= 12 && anchored < 0.2, "{mean} {p95} {anchored}");
    // Agents that are online a third of the time have played some of the matches.
    assert!(played.table.agents.len() > 150);
}

#[test]
fn ladder_table_needs_little_memory_per_agent() {
    let agents = scaled(100_000).max(20_000);
    let before = resident();
    let mut table = StandingTable::new(LadderSettings::default(), BTreeMap::new());
    for k in 0..agents {
        let name = |k: u64| SeatName::Client(format!("agent-with-a-name-{k}"));
        table.meet(&name(k), &name((k + 1) % agents as u64), &[1.0, 0.0], 1_000);
    }
    let text = serde_json::to_string(&table.agents).unwrap().len() / agents as usize;
    let grown = before.zip(resident()).map(|(before, after)| after.saturating_sub(before) / agents as u64);
    println!("{} agents: {text} bytes of JSON and {grown:?} bytes of memory for each", table.agents.len());
    assert!(text < 400 && grown.is_none_or(|bytes| bytes < 2_000));
}
