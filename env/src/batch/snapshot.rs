//! Snapshots: a seed and moves. Restoring a snapshot plays its moves again, with checks.

use ludex_protocol::message::FinalRows;
use ludex_protocol::record::{ChanceRecord, MoveRecord, RecordEvent};
use serde_json::{Value, json};

use super::episode::{DOCUMENT_FLAG, Envs, NONE, RowContext, RowState, Status};
use super::{Episode, Snapshot};
use crate::draw::Draw;
use crate::game::{Action, CompleteGame, Outcomes, ParsedMove, Seat, SeatSet, ToMove};
use crate::typed::box_state;
use ludex_protocol::Move;

/// One entry of a row's history.
enum HistoryEntry<'a> {
    /// A joint move: the acting seats, and the move of each seat.
    Joint(SeatSet, &'a [Option<ParsedMove>]),
    /// A document or utterance of a seat.
    Document(Seat, &'a Value),
    /// An action of a seat, or a chance outcome.
    Action(Option<Seat>, Action),
}

impl<G: CompleteGame> Envs<G> {
    /// Plays the history of row `i` again and calls `each` with every entry, in order.
    fn for_each_entry(&self, i: usize, mut each: impl FnMut(HistoryEntry<'_>)) {
        let (c, history) = (&self.cold[i], &self.hot[i].history);
        let (mut s, mut k) = (self.of.game.start(), 0);
        while k < history.len() {
            let a = history[k];
            k += 1;
            match self.of.game.to_move(&s) {
                ToMove::Simultaneous(acting) => {
                    let heard = |&entry: &u32| match entry {
                        NONE => None,
                        a if a & DOCUMENT_FLAG != 0 => {
                            Some(ParsedMove::Document(c.documents.values[(a & !DOCUMENT_FLAG) as usize].clone()))
                        }
                        a => Some(ParsedMove::Action(a)),
                    };
                    let joint: Vec<_> = history[k - 1..k - 1 + self.players].iter().map(heard).collect();
                    each(HistoryEntry::Joint(acting, &joint));
                    self.of.game.play_joint_unchecked(&mut s, &joint);
                    k += self.players - 1;
                }
                ToMove::Seat(seat) if a & DOCUMENT_FLAG != 0 => {
                    let document = &c.documents.values[(a & !DOCUMENT_FLAG) as usize];
                    each(HistoryEntry::Document(seat, document));
                    self.of.game.play_document(&mut s, seat, document);
                }
                turn => {
                    each(HistoryEntry::Action(turn.seat(), a));
                    self.of.game.play_unchecked(&mut s, a);
                }
            }
        }
    }

    /// Returns the history of row `i` in snapshot format.
    fn lines(&self, i: usize) -> Vec<(i32, Value)> {
        let mut lines = Vec::new();
        self.for_each_entry(i, |entry| {
            lines.push(match entry {
                HistoryEntry::Joint(_, joint) => {
                    let shown = joint.iter().map(|heard| match heard {
                        None => (-1).into(),
                        Some(ParsedMove::Action(a)) => (*a).into(),
                        Some(ParsedMove::Document(document)) => json!({ "document": document }),
                    });
                    (-2, shown.collect::<Vec<Value>>().into())
                }
                HistoryEntry::Document(seat, document) => (seat as i32, json!({ "document": document })),
                HistoryEntry::Action(Some(seat), a) => (seat as i32, a.into()),
                HistoryEntry::Action(None, a) => (-1, a.into()),
            });
        });
        if self.cold[i].forfeit.is_some() {
            lines.push((self.hot[i].last.into(), json!({ "forfeit": true })));
        }
        lines
    }

    /// Returns the history of row `i` in record format. A forfeit appears only in the record's footer.
    fn events(&self, i: usize) -> Vec<RecordEvent> {
        let (mut events, mut turns) = (Vec::new(), vec![0; self.players]);
        let mut moved = |seat: Seat, action: Option<Action>, document: Option<Value>, more: bool| {
            let turn = turns[seat];
            turns[seat] += 1;
            RecordEvent::Move(MoveRecord { seat: seat as u32, turn, action, document, more, ..MoveRecord::default() })
        };
        self.for_each_entry(i, |entry| match entry {
            HistoryEntry::Joint(acting, joint) => {
                let last = acting.iter().last();
                events.extend(acting.iter().map(|seat| {
                    let (action, document) = match joint[seat].clone() {
                        Some(ParsedMove::Document(document)) => (None, Some(document)),
                        Some(ParsedMove::Action(a)) => (Some(a), None),
                        None => (None, None),
                    };
                    moved(seat, action, document, Some(seat) != last)
                }));
            }
            HistoryEntry::Document(seat, document) => events.push(moved(seat, None, Some(document.clone()), false)),
            HistoryEntry::Action(Some(seat), a) => events.push(moved(seat, Some(a), None, false)),
            HistoryEntry::Action(None, a) => events.push(RecordEvent::Chance(ChanceRecord { action: Some(a) })),
        });
        events
    }

    /// Returns the snapshot of row `i`.
    pub(super) fn snapshot_row(&self, i: usize, seats: &[String]) -> Snapshot {
        let (spec, c) = (&self.of.spec, &self.cold[i]);
        Snapshot {
            v: 1,
            hash: spec.hash.clone(),
            params: spec.params.clone(),
            seed: c.draw.seed(),
            episode: c.draw.episode(),
            seats: seats.to_vec(),
            shift: Some(c.shift as u32),
            h: self.lines(i),
        }
    }

    /// Stores the finished episode of row `i`, if episodes are recorded.
    #[inline]
    pub(super) fn archive_row(&mut self, i: usize) {
        if self.config.record {
            let whole = self.whole(i);
            self.episodes.push(whole);
        }
    }

    #[cold]
    fn whole(&self, i: usize) -> Episode {
        let mut returns = vec![0.0; self.players];
        self.returns(i, &mut returns);
        let c = &self.cold[i];
        Episode {
            env: i as u32,
            number: c.draw.episode(),
            seed: c.seeded.then(|| c.draw.seed()),
            shift: c.shift as u32,
            events: self.events(i),
            returns,
            teams: self.of.game.teams(&self.hot[i].state),
            truncated: self.hot[i].status == Status::Truncated,
            at_fault: c.forfeit.as_ref().and_then(|_| Seat::try_from(self.hot[i].last).ok()),
        }
    }

    /// Plays the moves of a snapshot with checks and returns the resulting row.
    pub(super) fn restore_row(&self, i: usize, item: &Snapshot) -> Result<(RowState<G::State>, RowContext), String> {
        let spec = &self.of.spec;
        if item.v != 1 || item.hash != spec.hash {
            let (wanted, got, v) = (&spec.hash, &item.hash, item.v);
            return Err(format!("expected format 1 and rules hash {wanted}, got format {v} and rules hash {got}"));
        }
        let mut fork = self.single(i, Draw::new(G::INFO.id, item.seed, item.episode));
        fork.fresh(0);
        if let Some(shift) = item.shift {
            if shift as usize >= self.players {
                return Err(format!("shift: expected a number below {}, got {shift}", self.players));
            }
            fork.cold[0].shift = shift as usize;
        }
        for (k, (who, what)) in item.h.iter().enumerate() {
            fork.replay_one(*who, what).map_err(|why| format!("move {k}: {why}"))?;
        }
        // The chance outcomes in a snapshot need not follow from its seed.
        fork.cold[0].seeded = false;
        // The next reward counts from here, since the client already received the rewards before the snapshot.
        let mut base = std::mem::take(&mut fork.cold[0].base);
        fork.returns(0, &mut base);
        fork.cold[0].base = base;
        if fork.hot[0].status == Status::Live {
            // Chance or a server agent may be to move, if the snapshot is from a batch with different settings.
            fork.advance(0);
        }
        let (Some(hot), Some(cold)) = (fork.hot.pop(), fork.cold.pop()) else {
            return Err("internal error: the snapshot produced no environment".into());
        };
        Ok((hot, cold))
    }

    pub(super) fn replay_one(&mut self, who: i32, what: &Value) -> Result<(), String> {
        if self.hot[0].status != Status::Live {
            return Err("the episode has already ended".into());
        }
        let state = box_state(&self.of, self.hot[0].state.clone());
        let id = |v: &Value| {
            let a = v.as_u64().and_then(|a| u32::try_from(a).ok());
            a.ok_or_else(|| format!("expected an action id, got {v}"))
        };
        match state.turn() {
            turn if what.get("forfeit").is_some() => {
                let seat = usize::try_from(who).ok().filter(|&seat| turn.seats().has(seat));
                self.lose(0, seat.ok_or_else(|| format!("expected a seat that is to move, got {who}"))?);
            }
            ToMove::Chance if who == -1 => {
                let a = id(what)?;
                state.boxed().play_chance(a).map_err(|e| e.message)?;
                self.move_chance(0, a);
                // Counts the draw, so that later draws continue the stream.
                self.cold[0].draw.skip();
            }
            ToMove::Simultaneous(set) if who == -2 => {
                let list = what
                    .as_array()
                    .filter(|l| l.len() == self.players)
                    .ok_or("expected a joint move with one id per seat")?;
                let heard = |(seat, what): (Seat, &Value)| {
                    let one = || match what.get("document").or_else(|| what.get("said")) {
                        Some(document) => {
                            state.parse_move(seat, &Move::Document(document.clone())).map_err(|e| e.message)
                        }
                        None => id(what).map(ParsedMove::Action),
                    };
                    set.has(seat).then(one).transpose()
                };
                let joint = list.iter().enumerate().map(heard).collect::<Result<Vec<_>, _>>()?;
                state.boxed().play_joint(&joint).map_err(|e| e.message)?;
                self.move_joint(0, joint);
            }
            ToMove::Seat(seat) if who == seat as i32 => match what.get("document").or_else(|| what.get("said")) {
                Some(document) => {
                    match state.parse_move(seat, &Move::Document(document.clone())).map_err(|e| e.message)? {
                        ParsedMove::Document(canonical) => self.apply_document(0, seat, canonical),
                        ParsedMove::Action(a) => self.move_seat(0, seat, a),
                    }
                }
                None => {
                    let a = id(what)?;
                    state.boxed().play(seat, a).map_err(|e| e.message)?;
                    self.move_seat(0, seat, a);
                }
            },
            turn => return Err(format!("mover: expected {}, got {who}", turn.code())),
        }
        Ok(())
    }

    /// Returns a copy of row `i` as a batch of one row, with `draw` as the source of chance.
    pub(super) fn single(&self, i: usize, draw: Draw) -> Envs<G> {
        let mut one = self.copy(&[i]);
        one.cold[0].draw = draw;
        one
    }

    pub(super) fn copy(&self, rows: &[usize]) -> Envs<G> {
        let mut config = self.config.clone();
        config.count = rows.len();
        let n = self.actions;
        let mut masks = Vec::new();
        if self.keep_masks {
            rows.iter().for_each(|&i| masks.extend_from_slice(&self.masks[i * n..(i + 1) * n]));
        }
        Envs {
            of: self.of.clone(),
            config,
            seats: self.seats.clone(),
            hot: rows.iter().map(|&i| self.hot[i].clone()).collect(),
            cold: rows.iter().map(|&i| self.cold[i].clone()).collect(),
            masks,
            outcomes: Outcomes::new(),
            scratch: Vec::new(),
            eyes: Vec::new(),
            due: Vec::new(),
            last: FinalRows::default(),
            episodes: Vec::new(),
            shape: self.shape.clone(),
            ..*self
        }
    }
}
