//! Series of matches, played in parallel on all cores.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc;

use ludex_env::GameRef;
use ludex_env::recording::hex_text;
use ludex_referee::schedule::{Planned, Seeds};
use rayon::prelude::*;

use super::GATHERED_JOBS;
use super::compute_slots::Turns;
use super::participant::Participant;
use super::run_match::{HostOptions, PlayedMatch, block_key, play_match, setup};

/// Series of planned matches with their players.
pub struct Series {
    pub game: GameRef,
    /// Players; the plan refers to them by index.
    pub players: Vec<Participant>,
    /// Planned matches. The matches of one block form a pair.
    pub plan: Vec<Planned>,
    pub seeds: Seeds,
}

impl Series {
    /// Plays match `k` of the plan.
    ///
    /// # Panics
    /// Panics if the plan has no match `k`, or the match refers to a player that does not exist.
    pub fn play(&self, k: usize) -> PlayedMatch {
        self.play_asking(k, HostOptions::default())
    }

    /// Plays match `k` with the given host options.
    pub(super) fn play_asking(&self, k: usize, asking: HostOptions) -> PlayedMatch {
        let planned = &self.plan[k];
        let players: Vec<&Participant> = planned.seats.iter().map(|&p| &self.players[p]).collect();
        let seed = self.seeds.of(planned.pair);
        let block = block_key(&self.game, &players, seed);
        let pair = format!("p_{}", hex_text(&block[..8]));
        play_match(setup(&self.game, &players, seed, &block, planned.turn, Some(pair)), &players, asking)
    }

    /// Plays the whole plan on `jobs` threads. If `jobs` is 0, one thread per core is used, or up to [`GATHERED_JOBS`]
    /// threads with a batched player.
    ///
    /// `done` receives each match with its index, in plan order, once all earlier matches have finished. If `done`
    /// returns `Break`, the rest of the plan is skipped.
    ///
    /// # Errors
    /// Returns the first error of `done`, without starting further matches, or an error if no thread can be started.
    pub fn run(
        &self,
        jobs: usize,
        mut done: impl FnMut(usize, PlayedMatch) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        let gathers = self.players.iter().any(|player| player.agent.is_batched());
        let jobs = if jobs == 0 && gathers { GATHERED_JOBS.min(self.plan.len()) } else { jobs };
        let turns = gathers.then(Turns::of_cores);
        let play = |k| self.play_asking(k, HostOptions { turns: turns.as_ref(), ..HostOptions::default() });
        if jobs == 1 {
            // A single thread needs no channel.
            for k in 0..self.plan.len() {
                if done(k, play(k))?.is_break() {
                    break;
                }
            }
            return Ok(());
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
        let (tx, rx) = mpsc::channel();
        std::thread::scope(|scope| {
            // `par_bridge` starts matches in plan order, so that few results wait for those of earlier matches. Once
            // the receiver is closed, sending fails, which ends the iteration.
            let all =
                || (0..self.plan.len()).par_bridge().try_for_each_with(tx, |tx, k| tx.send((k, play(k))).map_err(drop));
            scope.spawn(|| pool.install(all));
            let mut early = BTreeMap::new();
            let mut next = 0;
            for (k, played) in rx {
                early.insert(k, played);
                while let Some(played) = early.remove(&next) {
                    // Dropping the receiver prevents further matches from starting.
                    if done(next, played)?.is_break() {
                        return Ok(());
                    }
                    next += 1;
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use ludex_games::load;
    use ludex_protocol::record::Record;
    use ludex_referee::schedule::blocks;

    use super::*;

    fn series(game: &str, seats: &[&str], pairs: u64) -> Series {
        let game = load(game).unwrap();
        let players: Vec<Participant> = seats.iter().map(|s| Participant::new(s, &game).unwrap()).collect();
        let table: Vec<usize> = (0..players.len()).collect();
        Series { game, players, plan: blocks(&table, pairs, 0), seeds: Seeds::Open(1) }
    }

    /// Returns the records without timestamps.
    fn records(series: &Series, jobs: usize) -> Vec<Record> {
        let mut all = Vec::new();
        series
            .run(jobs, |k, mut played| {
                assert_eq!((k, played.failure), (all.len(), None));
                played.record.header.started.clear();
                (played.record.footer.ended, played.record.footer.digest) = (None, None);
                all.push(played.record);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        all
    }

    #[test]
    fn series_records_do_not_depend_on_thread_count() {
        for (game, seats) in [
            ("tic_tac_toe", &["mcts sims=20", "random"][..]),
            ("kuhn_poker(players=3)", &["random", "mcts sims=20", "random"]),
            ("iterated_prisoners_dilemma", &["tit_for_tat", "random"]),
        ] {
            let series = series(game, seats, 4);
            let one = records(&series, 1);
            assert_eq!(one, records(&series, 3));
            assert_eq!(one.len(), 4 * seats.len());
            let first = &one[0].footer;
            assert!(one[1..seats.len()].iter().all(|r| r.footer.pair == first.pair && r.footer.seed == first.seed));
            assert!(one[seats.len()..].iter().all(|r| r.footer.pair != first.pair && r.footer.seed != first.seed));
        }
    }

    #[test]
    fn callback_error_ends_series() {
        let series = series("tic_tac_toe", &["random", "random"], 500);
        let mut seen = 0;
        let end = series.run(1, |k, _| {
            seen += 1;
            anyhow::ensure!(k < 3, "enough");
            Ok(ControlFlow::Continue(()))
        });
        assert_eq!((end.unwrap_err().to_string(), seen), ("enough".to_owned(), 4));
    }

    #[test]
    fn callback_break_ends_series() {
        let series = series("tic_tac_toe", &["random", "random"], 500);
        for jobs in [1, 3] {
            let mut seen = Vec::new();
            let listen = |k: usize, _: PlayedMatch| {
                seen.push(k);
                Ok(if k < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            };
            series.run(jobs, listen).unwrap();
            assert_eq!(seen, [0, 1, 2, 3]);
        }
    }
}
