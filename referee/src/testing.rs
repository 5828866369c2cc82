//! Records for tests: random play through the type-erased games, in the format of a server.

use ludex_env::{Draw, DynState, GameRef, Outcomes, Stream, ToMove};
use ludex_protocol::error::ErrorCode;
use ludex_protocol::record::{
    AgentKind, ChanceRecord, Clock, EndReason, Footer, Header, IllegalMoveRules, MoveRecord, Record, RecordEvent,
    RecordParts, RecordSeat, RefusedMove,
};
use ludex_protocol::spec::Spec;
use serde_json::Value;

use crate::digest::{digest, seed_commit};
use crate::outcome::outcomes;
use crate::read::Source;
use crate::verify::{VerifiedRecord, Verifier};

/// Seals a record and verifies it.
pub fn verify(record: Record) -> VerifiedRecord {
    Verifier::new(ludex_games::builtin()).verify(&parts(&seal(record)), Source::default()).unwrap()
}

/// Returns an attempt with this action id that was refused as an illegal action.
pub fn refused_move(action: i64) -> RefusedMove {
    RefusedMove {
        action: Some(action),
        text: None,
        document: None,
        code: ErrorCode::IllegalAction,
        issues: Vec::new(),
        ms: 1,
        notes: None,
    }
}

/// Plays `game` randomly to its end and returns a complete valid record.
pub fn play(game: &str, names: &[&str], seed: u64) -> Record {
    let game = ludex_games::load(game).unwrap();
    let mut record = Record { header: header(&game, names, seed), ..Record::default() };
    let mut draw = Draw::new(game.id(), seed, 0);
    let mut rng = Stream::from_text(&format!("testing:{seed}"));
    let mut state = game.start();
    let mut turns = vec![0; names.len()];
    loop {
        let mut entry = |seat: usize, action: u32, more: bool| {
            let turn = turns[seat];
            turns[seat] += 1;
            let ms = u64::from(action) + 1;
            let m = MoveRecord { seat: seat as u32, turn, action: Some(action), ms, more, ..MoveRecord::default() };
            record.events.push(RecordEvent::Move(m));
        };
        match state.turn() {
            ToMove::Over => break,
            ToMove::Chance => {
                let mut all = Outcomes::new();
                state.chance(&mut all);
                let action = draw.pick(&all).unwrap();
                state.play_chance(action).unwrap();
                record.events.push(RecordEvent::Chance(ChanceRecord { action: Some(action) }));
            }
            ToMove::Seat(seat) => {
                let action = state.random_action(seat, &mut rng);
                entry(seat, action, false);
                state.play(seat, action).unwrap();
            }
            ToMove::Simultaneous(acting) => {
                let mut joint = vec![None; names.len()];
                let last = acting.iter().last().unwrap();
                for seat in acting.iter() {
                    let action = state.random_action(seat, &mut rng);
                    entry(seat, action, seat != last);
                    joint[seat] = Some(action);
                }
                state.play_together(&joint).unwrap();
            }
        }
    }
    close(&mut record, game.spec(), &*state, EndReason::Finished, None);
    record.footer.seed = Some(seed.to_string());
    record.footer.salt = Some(hex::encode(SALT));
    seal(record)
}

const SALT: [u8; 16] = [7; 16];

fn header(game: &GameRef, names: &[&str], seed: u64) -> Header {
    let spec = game.spec();
    let seat = |name: &&str| RecordSeat {
        name: (*name).into(),
        version: None,
        kind: AgentKind::Bot,
        spec: (*name == "random").then(|| "random".into()),
        ..RecordSeat::default()
    };
    Header {
        ludex: ludex_protocol::record::VERSION,
        episode: format!("m_{seed}_{}", names.join("_")),
        game: spec.game.clone(),
        params: spec.params.clone(),
        rules: spec.rules,
        hash: spec.hash.clone(),
        server: "ludex/test".into(),
        seats: names.iter().map(seat).collect(),
        rated: true,
        clock: Clock::of_join(),
        illegal: IllegalMoveRules::default(),
        seed_commit: Some(seed_commit(&SALT, seed)),
        started: format!("2026-11-20T20:00:{:02}.000Z", seed % 60),
        ..Header::default()
    }
}

/// Sets the returns, outcome, end reason and seat at fault of a record that ends in `state`.
fn close(record: &mut Record, spec: &Spec, state: &dyn DynState, reason: EndReason, at_fault: Option<usize>) {
    let mut returns = state.returns();
    if let Some(offender) = at_fault {
        ludex_env::batch::forfeit(spec, offender, &mut returns);
    }
    record.footer = Footer {
        outcome: outcomes(spec, state.teams().as_deref(), &returns, reason, at_fault),
        returns,
        reason: Some(reason),
        ended: Some("2026-11-20T20:01:00.000Z".into()),
        ..std::mem::take(&mut record.footer)
    };
}

/// Truncates a record to its first `keep` events, as if the match had been interrupted. The return of each seat becomes
/// the sum of its rewards in the remaining events.
pub fn break_off(record: &mut Record, keep: usize, reason: EndReason, at_fault: Option<usize>) {
    let game = ludex_games::load_with(&record.header.game, &record.header.params).unwrap();
    record.events.truncate(keep);
    let mut state = game.start();
    let mut joint = vec![None; record.header.seats.len()];
    for event in &record.events {
        match event {
            RecordEvent::Chance(c) => state.play_chance(c.action.unwrap()).unwrap(),
            RecordEvent::Move(m) => match state.turn() {
                ToMove::Simultaneous(_) => {
                    joint[m.seat as usize] = m.action;
                    if !m.more {
                        state.play_together(&joint).unwrap();
                        joint.fill(None);
                    }
                }
                _ => state.play(m.seat as usize, m.action.unwrap()).unwrap(),
            },
        }
    }
    close(record, game.spec(), &*state, reason, at_fault);
}

/// Returns the record with a recomputed digest.
pub fn seal(mut record: Record) -> Record {
    record.footer.digest = Some(digest(&parts(&record)).unwrap());
    record
}

/// Converts a record to plain JSON.
pub fn parts(record: &Record) -> RecordParts {
    RecordParts::parse(&record.to_line().unwrap()).unwrap()
}

/// Converts a record to plain JSON, applies `change`, and recomputes the digest.
pub fn altered(record: &Record, change: impl FnOnce(&mut Value)) -> RecordParts {
    let mut value: Value = serde_json::from_str(&record.to_line().unwrap()).unwrap();
    change(&mut value);
    let mut parts = RecordParts::from_map(value.as_object().unwrap().clone()).unwrap();
    let sealed = digest(&parts).unwrap();
    parts.footer.insert("digest".into(), sealed.into());
    parts
}
