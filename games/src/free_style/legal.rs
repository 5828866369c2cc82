//! Legal actions in play.

use ludex_env::draw::Stream;
use ludex_env::game::{Action, ActionSink};

use super::board::{cells, grow4, grow8};
use super::document::{Near, Onto, When};
use super::ids::{self, PASS};
use super::position::BoardState;
use super::rules::{Moves, Rules};

/// Returns the cells on which a seat may place a piece of a kind.
pub(super) fn goals(rules: &Rules, s: &BoardState, seat: usize, kind: usize) -> u32 {
    let (own, empty) = (s.pieces[seat], s.empty(rules, seat));
    // The validator refuses rules that refer to hidden opposing pieces, so the result reveals none of them.
    let other = s.pieces[1 - seat];
    let near = |near: Near| match near {
        Near::Any => empty,
        Near::Own4 if own != 0 => grow4(own),
        Near::Own8 if own != 0 => grow8(own),
        Near::Opp4 if other != 0 => grow4(other),
        Near::Opp8 if other != 0 => grow8(other),
        Near::Away4 if own != 0 => !grow4(own),
        _ => empty,
    };
    let fitting = rules.places.iter().filter(|p| p.kind == kind);
    fitting.fold(0, |set, p| set | p.zone[seat] & near(p.near)) & empty
}

/// Returns the set of numbers that a seat may give to the next piece of a kind; {0} for a kind without numbers.
fn numbers(rules: &Rules, s: &BoardState, seat: usize, kind: usize) -> u32 {
    let Some(k) = rules.document.kinds.get(kind) else { return 0 };
    if rules.placed >> kind & 1 == 0 || k.supply.is_some_and(|n| s.placed[seat][kind] >= n) {
        return 0;
    }
    let Some(values) = &k.values else { return 1 };
    let left = values.sum_max.map_or(u16::from(values.max), |most| most.saturating_sub(s.sums[seat][kind]));
    // If the pieces of the setup already exceed the maximum sum, no number is legal, not even 0.
    if values.sum_max.is_some_and(|most| s.sums[seat][kind] > most) {
        return 0;
    }
    let most = left.min(values.max.into());
    if most < u16::from(values.min) {
        return 0;
    }
    let all = ((2u64 << most) - (1u64 << values.min)) as u32;
    if values.unique { all & !s.used[seat][kind] } else { all }
}

/// Returns true if a seat has pieces left to place.
pub(super) fn supplied(rules: &Rules, s: &BoardState, seat: usize) -> bool {
    let left = |k: usize| rules.document.kinds[k].supply.is_none_or(|n| s.placed[seat][k] < n);
    (0..rules.document.kinds.len()).any(|k| rules.placed >> k & 1 == 1 && left(k))
}

/// Returns true if a piece on `from` may try to capture the opposing piece on `to`. Uses only information that the seat
/// has.
fn takes(rules: &Rules, s: &BoardState, seat: usize, action: &Moves, from: usize, to: usize) -> bool {
    if !action.onto.compares() {
        return action.onto != Onto::Empty;
    }
    let numbers = s.number(from).is_some() && s.number(to).is_some();
    numbers && (!s.is_known_to(rules, Some(seat), to) || wins(s, from, to, action.onto))
}

/// Returns the cells to which a piece on `from` may move by the given move action.
fn reach(rules: &Rules, s: &BoardState, seat: usize, action: &Moves, from: usize) -> u32 {
    let mut out = 0;
    for ray in &action.rays[seat][from] {
        for &to in ray {
            let to = usize::from(to);
            if s.occupied() >> to & 1 == 0 {
                out |= u32::from(action.onto.empty()) << to;
                continue;
            }
            let other = s.pieces[1 - seat] >> to & 1 == 1;
            out |= u32::from(other && takes(rules, s, seat, action, from, to)) << to;
            break;
        }
    }
    out
}

/// Returns the cells to which a piece on `from` may move by any move action.
fn destinations(rules: &Rules, s: &BoardState, seat: usize, from: usize) -> u32 {
    let kind = usize::from(s.kind[from]);
    rules.moves.iter().filter(|m| m.kind == kind).fold(0, |set, m| set | reach(rules, s, seat, m, from))
}

/// Returns the target condition of the first move action that allows the move; `None` if no action allows it.
pub(super) fn fits(rules: &Rules, s: &BoardState, seat: usize, from: usize, to: usize) -> Option<Onto> {
    if s.pieces[seat] >> from & 1 == 0 {
        return None;
    }
    let kind = usize::from(s.kind[from]);
    let mut moves = rules.moves.iter().filter(|m| m.kind == kind);
    moves.find(|m| reach(rules, s, seat, m, from) >> to & 1 == 1).map(|m| m.onto)
}

/// Returns true if a legal capture succeeds. A seat may try to capture a piece whose number it does not know; the
/// capture fails if the comparison of the numbers fails.
pub(super) fn wins(s: &BoardState, from: usize, to: usize, onto: Onto) -> bool {
    let numbers = s.number(from).zip(s.number(to));
    !onto.compares() || numbers.is_some_and(|(own, other)| other < own || onto.equal() && other == own)
}

/// Returns true if a seat has an action other than pass.
pub(super) fn free(rules: &Rules, s: &BoardState, seat: usize) -> bool {
    let kinds = rules.document.kinds.len();
    (0..kinds).any(|k| numbers(rules, s, seat, k) != 0 && goals(rules, s, seat, k) != 0)
        || !rules.moves.is_empty() && cells(s.pieces[seat]).any(|from| destinations(rules, s, seat, from) != 0)
}

/// Returns true if a seat to move may pass.
fn passes(rules: &Rules, s: &BoardState, seat: usize) -> bool {
    match rules.pass {
        When::Always => true,
        When::Stuck => s.free >> seat & 1 == 0,
        When::Never => false,
    }
}

/// Lists the legal actions of a seat in ascending order.
pub(super) fn actions(rules: &Rules, s: &BoardState, seat: usize, out: &mut impl ActionSink) {
    if s.acts >> seat & 1 == 0 {
        return;
    }
    if passes(rules, s, seat) {
        out.put(PASS);
    }
    for kind in 0..rules.document.kinds.len() {
        let numbers = numbers(rules, s, seat, kind);
        if numbers == 0 {
            continue;
        }
        for cell in cells(goals(rules, s, seat, kind)) {
            (0..26).filter(|v| numbers >> v & 1 == 1).for_each(|v| out.put(ids::place(kind, cell, v)));
        }
    }
    if !rules.moves.is_empty() {
        for from in cells(s.pieces[seat]) {
            cells(destinations(rules, s, seat, from)).for_each(|to| out.put(ids::shift(from, to)));
        }
    }
}

/// Returns true if `a` is legal for a seat.
pub(super) fn is_legal(rules: &Rules, s: &BoardState, seat: usize, a: Action) -> bool {
    s.acts >> seat & 1 == 1
        && match ids::ply(a) {
            ids::Ply::Pass => a == PASS && passes(rules, s, seat),
            ids::Ply::Place { kind, cell, value } => {
                numbers(rules, s, seat, kind) >> value & 1 == 1 && goals(rules, s, seat, kind) >> cell & 1 == 1
            }
            ids::Ply::Move { from, to } => fits(rules, s, seat, from, to).is_some(),
        }
}

/// Returns the `k`th lowest member of a set, counted from 0.
fn nth(mut set: u32, k: usize) -> usize {
    (0..k).for_each(|_| set &= set.wrapping_sub(1));
    set.trailing_zeros() as usize
}

/// Returns a uniformly random legal action of a seat to move.
pub(super) fn random(rules: &Rules, s: &BoardState, seat: usize, rng: &mut Stream) -> Action {
    let (mut ways, mut count): ([(u32, u32); 4], usize) = ([(0, 0); 4], 0);
    for (kind, way) in ways.iter_mut().enumerate().take(rules.document.kinds.len()) {
        let numbers = numbers(rules, s, seat, kind);
        if numbers != 0 {
            *way = (goals(rules, s, seat, kind), numbers);
            count += (way.0.count_ones() * way.1.count_ones()) as usize;
        }
    }
    let pass = usize::from(passes(rules, s, seat));
    let mut moves = arrayvec::ArrayVec::<(usize, u32), 25>::new();
    if !rules.moves.is_empty() {
        moves.extend(cells(s.pieces[seat]).map(|from| (from, destinations(rules, s, seat, from))));
    }
    let all = pass + count + moves.iter().map(|m| m.1.count_ones() as usize).sum::<usize>();
    let mut k = rng.below(all);
    if k < pass {
        return PASS;
    }
    k -= pass;
    for (kind, (goals, numbers)) in ways.into_iter().enumerate() {
        let (m, n) = (goals.count_ones() as usize, numbers.count_ones() as usize);
        if k < m * n {
            return ids::place(kind, nth(goals, k / n), nth(numbers, k % n) as u8);
        }
        k -= m * n;
    }
    for (from, goals) in moves {
        let n = goals.count_ones() as usize;
        if k < n {
            return ids::shift(from, nth(goals, k));
        }
        k -= n;
    }
    PASS
}
