//! Snapshots: a seed and moves, replayed with checks when they come back.

use serde_json::{Value, json};

use super::Snapshot;
use super::episode::{Batch, Cold, Hot, NONE, SAID, Status};
use crate::columns::{Columns, Episode};
use crate::draw::Draw;
use crate::erased::{Given, held};
use crate::game::{Game, Heard, Outcomes, Seat, Turn};

impl<G: Game> Batch<G> {
    /// The history of row `i` with who acted, found by replaying it.
    pub(super) fn told(&self, i: usize) -> Vec<(i32, Value)> {
        let (c, history) = (&self.cold[i], &self.hot[i].history);
        let mut s = self.of.game.start();
        let (mut h, mut k) = (Vec::new(), 0);
        while k < history.len() {
            let a = history[k];
            match self.of.game.turn(&s) {
                Turn::Together(_) => {
                    let joint: Vec<u32> = history[k..k + self.players].to_vec();
                    let shown: Vec<i64> = joint.iter().map(|&a| if a == NONE { -1 } else { i64::from(a) }).collect();
                    h.push((-2, shown.into()));
                    let ids: Vec<u32> = joint.iter().map(|&a| if a == NONE { 0 } else { a }).collect();
                    self.of.game.play_together_unchecked(&mut s, &ids);
                    k += self.players;
                    continue;
                }
                Turn::Seat(seat) if a & SAID != 0 => {
                    let said = &c.said[(a & !SAID) as usize];
                    h.push((seat as i32, json!({ "said": said })));
                    self.of.game.play_said(&mut s, seat, said);
                }
                turn => {
                    h.push((i32::from(turn.code()), a.into()));
                    self.of.game.play_unchecked(&mut s, a);
                }
            }
            k += 1;
        }
        if c.forfeit.is_some() {
            h.push((self.hot[i].last.into(), json!({ "forfeit": true })));
        }
        h
    }

    /// The snapshot of row `i`.
    pub(super) fn snapped(&self, i: usize, seats: &[String]) -> Snapshot {
        let (spec, c) = (&self.of.spec, &self.cold[i]);
        Snapshot {
            v: 1,
            hash: spec.hash.clone(),
            params: spec.params.clone(),
            seed: c.draw.seed(),
            episode: c.draw.episode(),
            seats: seats.to_vec(),
            shift: Some(c.shift as u32),
            h: self.told(i),
        }
    }

    /// Tells the episode of row `i`, which is over, where that is wanted.
    #[inline]
    pub(super) fn keep(&self, i: usize, out: &mut Columns) {
        if self.config.record {
            out.ended.push(self.whole(i));
        }
    }

    #[cold]
    fn whole(&self, i: usize) -> Episode {
        let mut returns = vec![0.0; self.players];
        self.returns(i, &mut returns);
        let c = &self.cold[i];
        Episode {
            env: i as u32,
            snapshot: self.snapped(i, &[]),
            returns,
            truncated: self.hot[i].status == Status::Truncated,
            at_fault: c.forfeit.as_ref().and_then(|_| Seat::try_from(self.hot[i].last).ok()),
            seeded: c.seeded,
        }
    }

    /// A row replayed from a snapshot with checked moves.
    pub(super) fn replayed(&self, i: usize, item: &Snapshot) -> Result<(Hot<G::State>, Cold), String> {
        let spec = &self.of.spec;
        if item.v != 1 || item.hash != spec.hash {
            return Err(format!("it is of rules {}, not {}", item.hash, spec.hash));
        }
        let mut fork = self.single(i, Draw::new(G::ID, item.seed, item.episode));
        fork.fresh(0);
        if let Some(shift) = item.shift {
            if shift as usize >= self.players {
                return Err(format!("shift {shift} is no seat"));
            }
            fork.cold[0].shift = shift as usize;
        }
        for (k, (who, what)) in item.h.iter().enumerate() {
            fork.replay_one(*who, what).map_err(|why| format!("move {k}: {why}"))?;
        }
        // Whoever made the snapshot may have chosen what chance did.
        fork.cold[0].seeded = false;
        // What was earned so far was told before the snapshot was taken.
        let mut base = std::mem::take(&mut fork.cold[0].base);
        fork.returns(0, &mut base);
        fork.cold[0].base = base;
        if fork.hot[0].status == Status::Live {
            // In a batch with other settings, chance or the server's agents may be to move.
            fork.advance(0);
        }
        let (Some(hot), Some(cold)) = (fork.hot.pop(), fork.cold.pop()) else {
            return Err("it is empty".into());
        };
        Ok((hot, cold))
    }

    pub(super) fn replay_one(&mut self, who: i32, what: &Value) -> Result<(), String> {
        if self.hot[0].status != Status::Live {
            return Err("it comes after the end".into());
        }
        let state = held(&self.of, self.hot[0].state.clone());
        let id = |v: &Value| v.as_u64().and_then(|a| u32::try_from(a).ok()).ok_or_else(|| format!("{v} is no action"));
        match state.turn() {
            turn if what.get("forfeit").is_some() => {
                let seat = usize::try_from(who).ok().filter(|&seat| turn.seats().has(seat));
                self.lose(0, seat.ok_or_else(|| format!("{who} does not act here"))?);
            }
            Turn::Chance if who == -1 => {
                let a = id(what)?;
                state.boxed().play_chance(a).map_err(|e| e.to_string())?;
                self.move_chance(0, a);
                // The stream goes on after the draws that were made.
                self.cold[0].draw.skip();
            }
            Turn::Together(set) if who == -2 => {
                let list = what.as_array().filter(|l| l.len() == self.players).ok_or("no joint move")?;
                let mut joint = [NONE; 16];
                for seat in set.iter() {
                    joint[seat] = id(&list[seat])?;
                }
                let checked: Vec<_> = joint[..self.players].iter().map(|&a| (a != NONE).then_some(a)).collect();
                state.boxed().play_together(&checked).map_err(|e| e.to_string())?;
                self.move_together(0, &joint);
            }
            Turn::Seat(seat) if who == seat as i32 => match what.get("said") {
                Some(said) => match state.read(seat, &Given::Proposal(said.clone())).map_err(|e| e.to_string())? {
                    Heard::Said(canonical) => self.move_said(0, seat, canonical),
                    Heard::Action(a) => self.move_seat(0, seat, a),
                },
                None => {
                    let a = id(what)?;
                    state.boxed().play(seat, a).map_err(|e| e.to_string())?;
                    self.move_seat(0, seat, a);
                }
            },
            turn => return Err(format!("{who} moves, but it is the turn of {}", turn.code())),
        }
        Ok(())
    }

    /// A batch of one with this draw, for replays.
    pub(super) fn single(&self, i: usize, draw: Draw) -> Batch<G> {
        let mut one = self.copy(&[i]);
        one.cold[0].draw = draw;
        one
    }

    pub(super) fn copy(&self, rows: &[usize]) -> Batch<G> {
        let mut config = self.config.clone();
        config.count = rows.len();
        let n = self.actions;
        let mut masks = Vec::new();
        if self.keep_masks {
            rows.iter().for_each(|&i| masks.extend_from_slice(&self.masks[i * n..(i + 1) * n]));
        }
        Batch {
            of: self.of.clone(),
            config,
            seats: self.seats.clone(),
            hot: rows.iter().map(|&i| self.hot[i].clone()).collect(),
            cold: rows.iter().map(|&i| self.cold[i].clone()).collect(),
            masks,
            outcomes: Outcomes::new(),
            scratch: Vec::new(),
            eyes: Vec::new(),
            ended: Vec::new(),
            last_eyes: Vec::new(),
            ..*self
        }
    }
}
