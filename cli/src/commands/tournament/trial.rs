//! Before a tournament: everybody is made ready and tried, and what that took says how long the tournament will.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use ludex_agents::Kind;
use ludex_env::GameRef;
use ludex_referee::tournament::{Settings, Tournament};
use rayon::prelude::*;
use serde_json::json;

use super::{Args, print};
use ludex_play::local::{Seated, Unfit, check};
use ludex_play::named::{Agents, Entry};
use ludex_play::runs::event::{Event, Terms};

/// An entrant that was tried.
pub(super) struct Trial {
    pub name: String,
    /// The player, or why it is left out.
    pub player: Result<Seated, String>,
    /// Seconds that a seat of it takes in a match; 0 where it was not tried.
    seconds: f64,
}

impl Trial {
    /// One that was tried when the tournament began.
    pub fn untried(entry: &Entry, player: Seated) -> Self {
        Trial { name: entry.name.clone(), player: Ok(player), seconds: 0.0 }
    }
}

/// An entrant made ready to play.
pub(super) fn make(entry: &Entry, game: &GameRef, bots: &Path) -> Result<Seated, String> {
    let spec = entry.spec(bots).map_err(|e| format!("{e:#}"))?;
    if spec.kind() == Kind::Person {
        return Err("a person does not play in tournaments".into());
    }
    let agent = spec.build(game).map_err(|e| e.to_string())?;
    Ok(Seated { name: entry.name.clone(), spec, agent })
}

/// Makes everybody ready and lets each play against itself and against random, `jobs` at a time.
pub(super) fn try_all(
    agents: &Agents,
    game: &GameRef,
    bots: &Path,
    jobs: usize,
    limit: Duration,
) -> anyhow::Result<Vec<Trial>> {
    let seats = game.spec().players;
    let bar = print::progress(agents.entries.len() as u64, "trying");
    let of = |entry: &Entry| {
        let player = make(entry, game, bots);
        let begun = Instant::now();
        let player = match player.map(|player| (check(player.clone(), game, Some(limit)), player)) {
            Ok((Ok(()), player)) => Ok(player),
            Ok((Err(Unfit { why, own: true }), _)) | Err(why) => Err(why),
            // An endpoint that is down says nothing about the one who needs it.
            Ok((Err(unfit), _)) => anyhow::bail!("nothing was played: {}: {unfit}", entry.name),
        };
        bar.inc(1);
        // It took all seats of one match, and each seat of one.
        let seconds = begun.elapsed().as_secs_f64() / f64::from(2 * seats);
        Ok(Trial { name: entry.name.clone(), player, seconds })
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
    // One after the other, not in halves, so that little waits for its turn.
    let trials: anyhow::Result<Vec<(usize, Trial)>> =
        pool.install(|| agents.entries.iter().enumerate().par_bridge().map(|(k, entry)| Ok((k, of(entry)?))).collect());
    bar.finish_and_clear();
    let mut trials = trials?;
    trials.sort_by_key(|(k, _)| *k);
    Ok(trials.into_iter().map(|(_, trial)| trial).collect())
}

/// How long a tournament will take, by what the trials took.
pub(super) struct Estimate {
    entrants: usize,
    matches: u64,
    /// Seconds of a match.
    each: f64,
    jobs: usize,
}

impl Estimate {
    /// Of a tournament among those who passed.
    ///
    /// # Errors
    /// When they are too few for one.
    pub fn of(terms: &Terms, event: &Event, players: &[Trial], seats: usize, jobs: usize) -> anyhow::Result<Self> {
        let settings = Settings { entrants: players.len(), ..event.tournament.settings().clone() };
        let left_out = terms.left_out.len();
        let tournament = Tournament::new(settings)
            .map_err(|e| anyhow::anyhow!("{left_out} of the entrants were left out, which leaves too few: {e}"))?;
        let matches = tournament.blocks_at_most().saturating_mul(tournament.matches_of_block());
        let all: f64 = players.iter().map(|trial| trial.seconds).sum();
        Ok(Estimate { entrants: players.len(), matches, each: all / players.len() as f64 * seats as f64, jobs })
    }

    fn seconds(&self) -> f64 {
        self.each * self.matches as f64 / self.jobs as f64
    }

    /// Prints it, with those who failed.
    pub fn tell(&self, args: &Args, failed: &[Trial]) -> anyhow::Result<()> {
        if args.json {
            let out = failed.iter().map(|t| json!({ "name": t.name, "why": t.player.as_ref().err() }));
            return Ok(print::json(&json!({
                "entrants": self.entrants, "matches_at_most": self.matches, "seconds_per_match": self.each,
                "jobs": self.jobs, "seconds": self.seconds(), "left_out": out.collect::<Vec<_>>(),
            }))?);
        }
        println!("{self}");
        Ok(())
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Estimate { entrants, matches, each, jobs } = self;
        let each = print::number(*each, 3);
        write!(f, "{entrants} entrants, at most {matches} matches of about {each} s, {jobs} at a time: about ")?;
        let seconds = self.seconds().round() as u64;
        match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, 0, s) => write!(f, "{s} s"),
            (0, m, s) => write!(f, "{m} min {s} s"),
            (h, m, _) => write!(f, "{h} h {m} min"),
        }
    }
}
