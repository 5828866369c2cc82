//! Ladder format: newcomers challenge their way up.
//!
//! Challenges run in parallel where possible. The places below an entrant that is still climbing are final, so the next
//! newcomer can start there. The final order is the same as if only one newcomer climbed at a time.

use super::{FinishedBlock, Tournament, TournamentBlock, TournamentResults};

/// State of a ladder.
pub(super) struct LadderState {
    /// Entrants that have joined, highest place first.
    pub table: Vec<usize>,
    pub finished: Vec<FinishedBlock>,
    /// Challenges that can be played now.
    pub due: Vec<TournamentBlock>,
}

pub(super) fn course(tournament: &Tournament, results: &TournamentResults) -> LadderState {
    let settings = tournament.settings();
    let out = tournament.out(results);
    let mut order: Vec<usize> = (0..settings.entrants).filter(|e| !out.contains_key(e)).collect();
    order.sort_by_key(|&e| tournament.drawn[e]);
    let mut course = LadderState { table: Vec::new(), finished: Vec::new(), due: Vec::new() };
    // Places from this index down are final.
    let mut settled = 0;
    for newcomer in order {
        let mut place = course.table.len();
        if settled == place && place > 0 {
            // The previous newcomer has not passed any entrant yet.
            break;
        }
        course.table.push(newcomer);
        let mut stays = false;
        while place > settled {
            let holder = course.table[place - 1];
            let blocks = challenge(settings.blocks, holder, newcomer);
            let (done, due): (Vec<TournamentBlock>, Vec<TournamentBlock>) =
                blocks.partition(|block| results.of(block).is_some());
            let done: Vec<FinishedBlock> = done.iter().filter_map(|block| results.of(block)).cloned().collect();
            if !due.is_empty() {
                course.due.extend(due);
                break;
            }
            let of = |entrant| done.iter().map(|f| f.points(entrant)).sum::<f64>();
            let passes = of(newcomer) > of(holder);
            course.finished.extend(done);
            if !passes {
                stays = true;
                break;
            }
            course.table.swap(place - 1, place);
            place -= 1;
        }
        if !stays && place > 0 {
            // The newcomer is still climbing, or waits until the place above is final.
            settled = place + 1;
        }
    }
    course
}

/// Returns the blocks of a challenge. Two entrants play at most one challenge against each other.
fn challenge(blocks: u64, holder: usize, newcomer: usize) -> impl Iterator<Item = TournamentBlock> {
    let [low, high] = [holder.min(newcomer) as u64, holder.max(newcomer) as u64];
    let first = (high * (high - 1) / 2 + low) * blocks;
    (first..first + blocks).map(move |index| TournamentBlock::whole(vec![newcomer, holder], index))
}
