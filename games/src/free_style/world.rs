//! Determinizations: complete positions that are consistent with a view, with sampled hidden numbers and pieces.

use ludex_env::draw::Stream;
use ludex_env::game::{Action, Game};

use super::board::{CELLS, cells};
use super::document::{MOST_KINDS, Setup, Values, kind};
use super::ids::{self, Ply, ply};
use super::position::BoardState;
use super::rules::Rules;
use super::speech::Message;
use super::view::{self, PlyView, View};
use super::{FreeStyle, State, legal, validate};

/// Maximum number of draws. If no draw is consistent with the view, the last draw is used.
const DRAWS: usize = 2_000;

impl FreeStyle {
    pub(super) fn world_of(&self, view: &View, rng: &mut Stream) -> State {
        let mut s = self.start();
        for m in view.messages.iter().take(self.params.messages as usize) {
            if self.rules(&s).is_some() {
                break;
            }
            let proposed = m.rules.as_ref().and_then(validate::rules);
            let message = Message { seat: usize::from(m.seat & 1), act: m.act, rules: proposed, say: m.say.clone() };
            self.say(&mut s, message);
        }
        // If the messages do not determine the rules, chance has drawn them.
        if s.rules.is_none() && self.fixed.is_none() {
            let Some(drawn) = self.rules_of(view).filter(|_| view.rules.is_some()) else { return s };
            self.begin(&mut s, drawn);
        }
        let Some(rules) = self.rules(&s).cloned() else { return s };
        if let Some(first) = view.first {
            s.play = Some(draw(&rules, view, usize::from(first & 1), rng));
        }
        s
    }
}

/// Draws a position that is consistent with the view.
fn draw(rules: &Rules, view: &View, first: usize, rng: &mut Stream) -> BoardState {
    let start = BoardState::start(rules, first);
    let mut known: Vec<Option<u8>> = vec![None; view.plies.len()];
    let mut last = start;
    for _ in 0..DRAWS {
        match Attempt::new(rules, view, &known, rng).play(start) {
            Ok(s) => {
                last = s;
                let seats = |set: u8| (0..2).filter(|seat| set >> seat & 1 == 1).collect::<Vec<u8>>();
                let acts = if rules.together() { seats(s.acts) } else { seats(s.acts & 1 << s.mover) };
                let same = view::plies(rules, &s, view.seat.map(usize::from)) == view.plies
                    && acts == view.to_move
                    && s.over.is_some() == view.result.is_some();
                if same || view.plies.iter().all(|t| t.action.is_some()) {
                    return s;
                }
            }
            // Two pieces met, which revealed their numbers: further draws use these numbers.
            Err(Some(met)) => {
                for (at, number) in met {
                    if known.get(at).is_some_and(|k| *k != Some(number)) {
                        known[at] = Some(number);
                    }
                }
            }
            Err(None) => {}
        }
    }
    last
}

/// Two revealed numbers, each with the index of the ply that placed the piece.
type RevealedNumbers = [(usize, u8); 2];

/// One draw of all hidden information, which may turn out to be inconsistent.
struct Attempt<'a> {
    rules: &'a Rules,
    plies: &'a [PlyView],
    /// Drawn number of each hidden placement, by index of the ply.
    numbers: Vec<u8>,
    /// Cell of each hidden placement that the other seat has bumped into, by index of the ply.
    wanted: Vec<Option<usize>>,
    /// Cells on which each seat has visibly placed a piece, by seat.
    own: [u32; 2],
    rng: &'a mut Stream,
}

impl<'a> Attempt<'a> {
    fn new(rules: &'a Rules, view: &'a View, known: &[Option<u8>], rng: &'a mut Stream) -> Self {
        let plies = &view.plies[..];
        let mut numbers = vec![0; plies.len()];
        for seat in 0..2 {
            for k in 0..rules.document.kinds.len().min(MOST_KINDS) {
                if let Some(values) = &rules.document.kinds[k].values {
                    share(rules, plies, seat, k, values, known, &mut numbers, rng);
                }
            }
        }
        let mut wanted = vec![None; plies.len()];
        let mut own = [0; 2];
        for (at, t) in plies.iter().enumerate() {
            let Some(Ply::Place { cell, .. }) = t.action.map(ply) else { continue };
            if cell >= CELLS || rules.together() {
                continue;
            }
            let seat = usize::from(t.seat & 1);
            if !t.bump {
                own[seat] |= 1 << cell;
                continue;
            }
            // The ply bumped into a piece that the other seat had placed on this cell earlier.
            let zone = |kind: Option<u8>| {
                let of = rules.places.iter().filter(|p| Some(p.kind) == kind.map(usize::from));
                of.fold(0, |set, p| set | p.zone[1 - seat])
            };
            let before: Vec<usize> = (0..at)
                .filter(|&k| plies[k].seat != t.seat && plies[k].action.is_none() && !plies[k].bump)
                .filter(|&k| wanted[k].is_none() && zone(plies[k].kind) >> cell & 1 == 1)
                .collect();
            if !before.is_empty() {
                wanted[before[rng.below(before.len())]] = Some(cell);
            }
        }
        Attempt { rules, plies, numbers, wanted, own, rng }
    }

    /// Plays all plies and returns the final position.
    ///
    /// # Errors
    /// Fails if the draw is inconsistent with the view. If a number revealed on contact differs from the drawn number,
    /// returns the revealed numbers.
    fn play(mut self, mut s: BoardState) -> Result<BoardState, Option<RevealedNumbers>> {
        let mut origin = [usize::MAX; CELLS];
        let mut at = 0;
        while at < self.plies.len() {
            let ply_now = self.plies[at].ply;
            let mut joint: [Option<Action>; 2] = [None; 2];
            let from = at;
            while at < self.plies.len() && self.plies[at].ply == ply_now && (at == from || self.rules.together()) {
                let seat = usize::from(self.plies[at].seat & 1);
                let a = self.action(&s, at, seat).ok_or(None)?;
                if !legal::is_legal(self.rules, &s, seat, a) {
                    return Err(None);
                }
                joint[seat] = Some(a);
                at += 1;
            }
            let before = s;
            view::advance(self.rules, &mut s, joint);
            for t in &self.plies[from..at] {
                let seat = usize::from(t.seat & 1);
                if let (Some(seen), Some(found)) = (t.met, s.contact[seat])
                    && seen != found
                    && let Some(Ply::Move { from, to }) = joint[seat].map(ply)
                {
                    return Err(Some([(origin[from], seen.0), (origin[to], seen.1)]));
                }
            }
            trace(&before, &s, joint, from, self.plies, &mut origin);
        }
        Ok(s)
    }

    /// Returns the action of ply `at`, with hidden parts replaced by drawn values.
    fn action(&mut self, s: &BoardState, at: usize, seat: usize) -> Option<Action> {
        let seen = &self.plies[at];
        if let Some(a) = seen.action {
            return Some(a.min(ids::ACTIONS - 1));
        }
        let mut all: Vec<Action> = Vec::new();
        if seen.bump {
            legal::actions(self.rules, s, seat, &mut all);
            all.retain(|&a| matches!(ply(a), Ply::Place { cell, .. } if s.occupied() >> cell & 1 == 1));
            return all.get(self.rng.below(all.len())).copied();
        }
        let kind = usize::from(seen.kind?);
        if let Some(cell) = seen.cell {
            return Some(ids::place(
                kind.min(MOST_KINDS - 1),
                usize::from(cell).min(CELLS - 1),
                self.numbers[at].min(25),
            ));
        }
        if let Some(cell) = self.wanted[at] {
            return Some(ids::place(kind.min(MOST_KINDS - 1), cell, self.numbers[at].min(25)));
        }
        let later = self.wanted.iter().flatten().fold(0, |set, &cell| set | 1 << cell);
        let barred = later | self.own[1 - seat] | s.occupied();
        let free = legal::goals(self.rules, s, seat, kind) & !barred;
        let choice: Vec<usize> = cells(free).collect();
        let cell = *choice.get(self.rng.below(choice.len()))?;
        Some(ids::place(kind.min(MOST_KINDS - 1), cell, self.numbers[at].min(25)))
    }
}

/// Updates `origin`, which holds for each cell the index of the ply that placed the piece on it.
fn trace(
    before: &BoardState,
    after: &BoardState,
    joint: [Option<Action>; 2],
    from: usize,
    plies: &[PlyView],
    origin: &mut [usize; CELLS],
) {
    let old = *origin;
    for (seat, a) in joint.iter().enumerate() {
        match a.map(ply) {
            Some(Ply::Place { cell, .. }) if before.occupied() >> cell & 1 == 0 => {
                let own = (from..plies.len()).find(|&k| usize::from(plies[k].seat & 1) == seat);
                origin[cell] = own.unwrap_or(usize::MAX);
            }
            Some(Ply::Move { from, to }) if after.pieces[seat] >> to & 1 == 1 && before.pieces[seat] >> to & 1 == 0 => {
                origin[to] = old[from];
            }
            _ => {}
        }
    }
}

/// Draws the numbers of a seat's hidden placements of one kind. All consistent lists are equally likely.
#[allow(clippy::too_many_arguments)]
fn share(
    rules: &Rules,
    plies: &[PlyView],
    seat: usize,
    k: usize,
    values: &Values,
    known: &[Option<u8>],
    numbers: &mut [u8],
    rng: &mut Stream,
) {
    let mut used: Vec<u8> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let of = |s: &&Setup| usize::from(s.owner) == seat && kind(&rules.document, &s.kind) == Some(k);
    used.extend(rules.document.setup.iter().filter(of).filter_map(|s| s.value));
    for (at, t) in plies.iter().enumerate().filter(|(_, t)| usize::from(t.seat & 1) == seat && !t.bump) {
        match t.action.map(ply) {
            Some(Ply::Place { kind, value, .. }) if kind == k => used.push(value),
            None if t.kind == Some(k as u8) => match known.get(at).copied().flatten() {
                Some(number) => {
                    numbers[at] = number;
                    used.push(number);
                }
                None => open.push(at),
            },
            _ => {}
        }
    }
    let spent: usize = used.iter().map(|&n| usize::from(n)).sum();
    let most = 25 * 25;
    let sum = values.sum_max.map_or(most, |m| usize::from(m).saturating_sub(spent)).min(most);
    let list: Vec<u8> = (values.min..=values.max).filter(|n| !values.unique || !used.contains(n)).collect();
    let mut drawn =
        if values.unique { subset(&list, open.len(), sum, rng) } else { sequence(&list, open.len(), sum, rng) };
    rng.shuffle(&mut drawn);
    open.into_iter().zip(drawn).for_each(|(at, number)| numbers[at] = number);
}

/// Draws a list of `m` numbers from `list` with a sum of at most `sum`. All such lists are equally likely. If there is
/// none, the result is shorter.
fn sequence(list: &[u8], m: usize, mut sum: usize, rng: &mut Stream) -> Vec<u8> {
    // `ways[k][s]`: number of lists of k numbers with a sum of at most s.
    let mut ways = vec![vec![1.0; sum + 1]];
    for k in 0..m {
        let next = (0..=sum).map(|s| {
            let fits = list.iter().filter(|&&v| usize::from(v) <= s);
            fits.map(|&v| ways[k][s - usize::from(v)]).sum::<f64>()
        });
        let next = next.collect();
        ways.push(next);
    }
    let mut out = Vec::new();
    for k in (0..m).rev() {
        let mut left = rng.unit() * ways[k + 1][sum];
        let fits = || list.iter().copied().filter(|&v| usize::from(v) <= sum);
        let found = fits().find(|&v| {
            left -= ways[k][sum - usize::from(v)];
            left < 0.0
        });
        let Some(v) = found.or_else(|| fits().next()) else { break };
        out.push(v);
        sum -= usize::from(v);
    }
    out
}

/// Draws a set of `m` numbers from `list` with a sum of at most `sum`. All such sets are equally likely. If there is
/// none, the result is smaller.
fn subset(list: &[u8], m: usize, mut sum: usize, rng: &mut Stream) -> Vec<u8> {
    // `ways[i][k][s]`: number of sets of k numbers, from index i on, with a sum of at most s.
    let n = list.len();
    let mut ways = vec![vec![vec![0.0; sum + 1]; m + 1]; n + 1];
    for row in &mut ways {
        row[0].fill(1.0);
    }
    for i in (0..n).rev() {
        for k in 1..=m {
            for s in 0..=sum {
                let with = s.checked_sub(list[i].into()).map_or(0.0, |rest| ways[i + 1][k - 1][rest]);
                ways[i][k][s] = ways[i + 1][k][s] + with;
            }
        }
    }
    let mut out = Vec::new();
    for (i, &v) in list.iter().enumerate() {
        let k = m - out.len();
        if k == 0 {
            break;
        }
        let with = sum.checked_sub(v.into()).map_or(0.0, |rest| ways[i + 1][k - 1][rest]);
        if with > 0.0 && rng.unit() * ways[i][k][sum] < with {
            out.push(v);
            sum -= usize::from(v);
        }
    }
    out
}
