//! Plies and end conditions of play under a rule document.

use ludex_env::game::Action;

use super::board::{ALL, CELLS};
use super::document::{MOST_KINDS, MOST_PLIES, On, Onto, Reveal, StuckThen, When, kind};
use super::effects::Snapshot;
use super::ids::{Ply, ply};
use super::position::{BoardState, GameEnd, NONE, NOTHING, Why, Winner};
use super::rules::{EndCondition, Rules};
use super::{legal, score};

/// Outcome of one action within a ply.
struct PlyEffect {
    /// The cell of the placed or moved piece, if the action succeeded.
    cell: Option<usize>,
    on: On,
    bump: bool,
}

const NO_EFFECT: PlyEffect = PlyEffect { cell: None, on: On::Place, bump: false };

impl BoardState {
    /// Returns the initial position. `first` is the seat that moves first.
    pub(super) fn start(rules: &Rules, first: usize) -> BoardState {
        let mut s = BoardState {
            pieces: [0; 2],
            kind: [0; CELLS],
            value: [NONE; CELLS],
            shown: 0,
            bumped: [0; 2],
            placed: [[0; MOST_KINDS]; 2],
            sums: [[0; MOST_KINDS]; 2],
            used: [[0; MOST_KINDS]; 2],
            captured: [0; 2],
            had: [false; 2],
            ply: 0,
            first: first as u8,
            mover: first as u8,
            acts: 0,
            free: 0,
            contact: [None; 2],
            over: None,
            past: [[NOTHING; 2]; MOST_PLIES as usize],
        };
        for piece in &rules.document.setup {
            let Some(of) = kind(&rules.document, &piece.kind) else { continue };
            let (cell, owner) = (usize::from(piece.at.0), usize::from(piece.owner & 1));
            s.put(cell, owner, of, piece.value.unwrap_or(NONE));
            // Pieces of the setup are public, as the document lists them.
            s.shown |= 1 << cell;
        }
        s.begin(rules);
        s
    }

    fn put(&mut self, cell: usize, seat: usize, kind: usize, value: u8) {
        self.pieces[seat] |= 1 << cell;
        (self.kind[cell], self.value[cell]) = (kind as u8, value);
        self.shown &= !(1 << cell);
        self.had[seat] = true;
        if value != NONE {
            self.sums[seat][kind] += u16::from(value);
            self.used[seat][kind] |= 1 << (value & 31);
        }
    }

    /// Updates which seats can act. If no seat has a legal action, ends the game.
    fn begin(&mut self, rules: &Rules) {
        let seats = if rules.together() { 0b11 } else { 1 << self.mover };
        let free = (0..2).filter(|&seat| seats >> seat & 1 == 1 && legal::free(rules, self, seat));
        self.free = free.fold(0, |set, seat| set | 1 << seat);
        self.acts = if rules.pass == When::Never { self.free } else { seats };
        let stuck = seats & !self.free;
        match rules.stuck {
            Some(then) if stuck != 0 => {
                let (winner, scored) = match then {
                    StuckThen::Score => (score::winner(rules, self), true),
                    StuckThen::Draw => (Winner::Draw, false),
                    StuckThen::Lose if stuck == 0b11 => (score::tie(rules, self), false),
                    StuckThen::Lose => (Winner::Seat(stuck & 1), false),
                };
                self.finish(GameEnd { winner, why: Why::Stuck, scored });
            }
            _ if self.acts == 0 => {
                self.finish(GameEnd { winner: score::winner(rules, self), why: Why::NoAction, scored: true })
            }
            _ => {}
        }
    }

    fn finish(&mut self, over: GameEnd) {
        (self.over, self.acts, self.free) = (Some(over), 0, 0);
    }

    /// Plays an action of the seat to move.
    pub(super) fn step(&mut self, rules: &Rules, a: Action) {
        if self.over.is_some() {
            return;
        }
        let seat = usize::from(self.mover & 1);
        self.remember([(seat, a)]);
        let done = self.act(rules, seat, a);
        if let Some(cell) = done.cell {
            Snapshot::of(self).effects(self, rules, seat, cell, done.on);
        }
        if let Some(over) = self.ended(rules, seat) {
            return self.finish(over);
        }
        if !done.bump {
            self.mover = 1 - self.mover;
        }
        self.next(rules);
    }

    /// Plays the actions of both seats simultaneously; `None` for a seat that does not act.
    pub(super) fn step_together(&mut self, rules: &Rules, joint: [Option<Action>; 2]) {
        if self.over.is_some() {
            return;
        }
        self.remember(joint.iter().enumerate().filter_map(|(seat, a)| Some((seat, (*a)?))));
        let done = self.act_together(rules, joint.map(|a| a.map_or(Ply::Pass, ply)));
        let before = Snapshot::of(self);
        for (seat, done) in done.iter().enumerate() {
            if let Some(cell) = done.cell {
                before.effects(self, rules, seat, cell, done.on);
            }
        }
        if let Some(over) = self.ended_together(rules) {
            return self.finish(over);
        }
        self.next(rules);
    }

    fn remember(&mut self, actions: impl IntoIterator<Item = (usize, Action)>) {
        self.contact = [None; 2];
        if let Some(place) = self.past.get_mut(usize::from(self.ply)) {
            actions.into_iter().for_each(|(seat, a)| place[seat] = a as u16);
        }
        self.ply += 1;
    }

    fn next(&mut self, rules: &Rules) {
        if self.ply >= rules.document.ply_cap.min(MOST_PLIES) {
            return self.finish(GameEnd { winner: score::winner(rules, self), why: Why::PlyCap, scored: true });
        }
        self.begin(rules);
    }

    fn act(&mut self, rules: &Rules, seat: usize, a: Action) -> PlyEffect {
        match ply(a) {
            Ply::Place { kind, cell, value } => {
                if self.occupied() >> cell & 1 == 1 {
                    self.bumped[seat] |= 1 << cell;
                    return PlyEffect { bump: true, ..NO_EFFECT };
                }
                self.place(rules, seat, kind, cell, value);
                PlyEffect { cell: Some(cell), on: On::Place, bump: false }
            }
            Ply::Move { from, to } => {
                let Some(onto) = legal::fits(rules, self, seat, from, to) else { return NO_EFFECT };
                if self.pieces[1 - seat] >> to & 1 == 1 {
                    if !self.meet(rules, seat, from, to, onto) {
                        return NO_EFFECT;
                    }
                    self.capture(seat, to);
                }
                self.carry(&[(seat, from, to)]);
                PlyEffect { cell: Some(to), on: On::Move, bump: false }
            }
            Ply::Pass => NO_EFFECT,
        }
    }

    fn place(&mut self, rules: &Rules, seat: usize, kind: usize, cell: usize, value: u8) {
        let has = rules.document.kinds.get(kind).is_some_and(|k| k.values.is_some());
        self.put(cell, seat, kind, if has { value } else { NONE });
        self.placed[seat][kind] = self.placed[seat][kind].saturating_add(1);
    }

    fn capture(&mut self, seat: usize, cell: usize) {
        self.lift(cell);
        self.captured[seat] += 1;
    }

    /// Compares the pieces on `from` and `to`, and reveals their numbers if the rules reveal numbers on contact.
    /// Returns true if the capture succeeds.
    fn meet(&mut self, rules: &Rules, seat: usize, from: usize, to: usize, onto: Onto) -> bool {
        let hidden = &rules.document.hidden;
        if hidden.values && hidden.reveal == Reveal::Contact {
            self.contact[seat] = self.number(from).zip(self.number(to));
            self.shown |= 1 << from | 1 << to;
        }
        legal::wins(self, from, to, onto)
    }

    /// Moves pieces, given as (seat, source, target). All pieces leave their cells before any piece arrives.
    fn carry(&mut self, moves: &[(usize, usize, usize)]) {
        let lifted: arrayvec::ArrayVec<_, 2> = moves
            .iter()
            .take(2)
            .map(|&(seat, from, to)| {
                let piece = (self.kind[from], self.value[from], self.shown >> from & 1);
                self.lift(from);
                (seat, to, piece)
            })
            .collect();
        for (seat, to, (kind, value, shown)) in lifted {
            self.pieces[seat] |= 1 << to;
            (self.kind[to], self.value[to]) = (kind, value);
            self.shown = self.shown & !(1 << to) | shown << to;
        }
    }

    /// Applies the actions of both seats simultaneously. All pieces leave their cells before any piece arrives.
    fn act_together(&mut self, rules: &Rules, plies: [Ply; 2]) -> [PlyEffect; 2] {
        let goal = |p: &Ply| match *p {
            Ply::Place { cell, .. } => Some(cell),
            Ply::Move { to, .. } => Some(to),
            Ply::Pass => None,
        };
        let mut done = [NO_EFFECT; 2];
        if goal(&plies[0]).is_some() && goal(&plies[0]) == goal(&plies[1]) {
            return done;
        }
        let moves: [Option<(usize, usize, Onto)>; 2] = std::array::from_fn(|seat| match plies[seat] {
            Ply::Move { from, to } => legal::fits(rules, self, seat, from, to).map(|onto| (from, to, onto)),
            _ => None,
        });
        let swap = matches!(moves, [Some((a, x, _)), Some((b, y, _))] if x == b && y == a);
        // If a seat captures a piece that also moves, the other move is resolved first: the piece may leave its cell.
        let waits =
            |seat: usize| matches!((moves[seat], moves[1 - seat]), (Some((_, to, _)), Some((from, ..))) if to == from);
        let order = if waits(0) { [1, 0] } else { [0, 1] };
        let mut leaves = [swap; 2];
        let mut targets = [None; 2];
        for seat in order.into_iter().filter(|_| !swap) {
            let Some((from, to, onto)) = moves[seat] else { continue };
            let gone = leaves[1 - seat] && moves[1 - seat].is_some_and(|other| other.0 == to);
            let target = self.pieces[1 - seat] >> to & 1 == 1 && !gone;
            leaves[seat] = !target || self.meet(rules, seat, from, to, onto);
            targets[seat] = (target && leaves[seat]).then_some(to);
        }
        for (seat, target) in targets.into_iter().enumerate() {
            if let Some(cell) = target {
                self.capture(seat, cell);
            }
        }
        // A captured piece does not move: its own move has failed already.
        let carried: arrayvec::ArrayVec<_, 2> =
            (0..2).filter(|&seat| leaves[seat]).filter_map(|seat| moves[seat].map(|m| (seat, m.0, m.1))).collect();
        self.carry(&carried);
        for (seat, _, to) in carried {
            done[seat] = PlyEffect { cell: Some(to), on: On::Move, bump: false };
        }
        for seat in 0..2 {
            if let Ply::Place { kind, cell, value } = plies[seat]
                && self.occupied() >> cell & 1 == 0
            {
                self.place(rules, seat, kind, cell, value);
                done[seat].cell = Some(cell);
            }
        }
        done
    }

    /// Returns the end of the game if `end`, a condition about a single seat, is met for `seat`.
    fn holds(&self, rules: &Rules, end: &EndCondition, seat: usize) -> Option<GameEnd> {
        let own = self.pieces[seat];
        let (holds, winner, why) = match end {
            EndCondition::Line { rows, exact, win } => {
                let row = rows.iter().any(|r| r.set & own == r.set && (!exact || r.ends & own == 0));
                (row, if *win { seat } else { 1 - seat }, Why::Line)
            }
            EndCondition::Reach(zone) => (own & zone[seat] != 0, seat, Why::Reach),
            EndCondition::Eliminated => {
                let other = 1 - seat;
                let gone = self.pieces[other] == 0 && self.had[other] && !legal::supplied(rules, self, other);
                (gone, seat, Why::Eliminated)
            }
            EndCondition::PiecesGe(n) => (own.count_ones() >= *n, seat, Why::PiecesGe),
            EndCondition::Full | EndCondition::SupplyOut => return None,
        };
        holds.then_some(GameEnd { winner: Winner::Seat(winner as u8), why, scored: false })
    }

    /// Returns the end of the game if `end`, a condition about the whole board, is met.
    fn holds_for_all(&self, rules: &Rules, end: &EndCondition) -> Option<GameEnd> {
        let (holds, why) = match end {
            EndCondition::Full => (self.occupied() == ALL, Why::Full),
            EndCondition::SupplyOut => {
                let out = (0..2).all(|seat| !legal::supplied(rules, self, seat));
                (rules.placed != 0 && rules.unlimited == 0 && out, Why::SupplyOut)
            }
            _ => return None,
        };
        holds.then(|| GameEnd { winner: score::winner(rules, self), why, scored: true })
    }

    /// Returns the first end condition that is met. Checks the mover's conditions and those about the whole board in
    /// list order, then the opponent's conditions.
    fn ended(&self, rules: &Rules, mover: usize) -> Option<GameEnd> {
        let first =
            rules.ends.iter().find_map(|e| self.holds(rules, e, mover).or_else(|| self.holds_for_all(rules, e)));
        first.or_else(|| rules.ends.iter().find_map(|e| self.holds(rules, e, 1 - mover)))
    }

    /// Returns the end condition that is met, if any. Checks the conditions of both seats, then those about the whole
    /// board. If the conditions of the two seats name different winners, the tie-break decides.
    fn ended_together(&self, rules: &Rules) -> Option<GameEnd> {
        let of = |seat| rules.ends.iter().find_map(|e| self.holds(rules, e, seat));
        match (of(0), of(1)) {
            (Some(a), Some(b)) if a.winner != b.winner => Some(GameEnd { winner: score::tie(rules, self), ..a }),
            (Some(over), _) | (_, Some(over)) => Some(over),
            _ => rules.ends.iter().find_map(|e| self.holds_for_all(rules, e)),
        }
    }
}
