//! Checks that the steps of a record lead to the recorded positions and stop at the first invalid event.

use ludex_env::recording::{RecordBuilder, Replay, digest, outcomes, position, steps, submitted_move};
use ludex_env::{Draw, DynState, GameRef, Outcomes, Stream, ToMove, Viewer};
use ludex_games::load;
use ludex_protocol::Move;
use ludex_protocol::error::ErrorCode;
use ludex_protocol::record::{
    ChanceRecord, EndReason, Footer, Header, MoveRecord, Outcome, Record, RecordEvent, RecordParts, RefusedMove,
};
use serde_json::json;

fn header(game: &GameRef) -> Header {
    let spec = game.spec();
    Header {
        ludex: 1,
        episode: "m_1".into(),
        game: spec.game.clone(),
        params: spec.params.clone(),
        rules: spec.rules,
        hash: spec.hash.clone(),
        ..Header::default()
    }
}

fn moved(seat: usize, turn: u32, action: Option<u32>) -> MoveRecord {
    MoveRecord { seat: seat as u32, turn, action, ms: 7, ..MoveRecord::default() }
}

/// Plays a random episode of at most `most` steps. Returns its record and all its positions, from the first to the
/// last.
fn episode(game: &GameRef, most: usize) -> (RecordBuilder, Vec<Box<dyn DynState>>) {
    let mut history = RecordBuilder::begin(header(game)).unwrap();
    let (mut s, mut draw, mut rng) = (game.start(), Draw::new(game.id(), 5, 0), Stream::from_text("history"));
    let mut positions = vec![s.boxed()];
    let mut turns = vec![0; game.spec().players as usize];
    let mut turn_of = |seat: usize| {
        turns[seat] += 1;
        turns[seat] - 1
    };
    for _ in 0..most {
        match s.turn() {
            ToMove::Over => break,
            ToMove::Chance => {
                let mut outcomes = Outcomes::new();
                s.chance(&mut outcomes);
                let a = draw.pick(&outcomes).unwrap();
                s.play_chance(a).unwrap();
                history.push_chance(a).unwrap();
            }
            ToMove::Seat(seat) => {
                let a = s.random_action(seat, &mut rng);
                s.play(seat, a).unwrap();
                history.push(RecordEvent::Move(moved(seat, turn_of(seat), Some(a)))).unwrap();
            }
            ToMove::Simultaneous(set) => {
                let mut joint = vec![None; game.spec().players as usize];
                set.iter().for_each(|seat| joint[seat] = Some(s.random_action(seat, &mut rng)));
                s.play_together(&joint).unwrap();
                for (k, seat) in set.iter().enumerate() {
                    let m = MoveRecord { more: k + 1 < set.len(), ..moved(seat, turn_of(seat), joint[seat]) };
                    history.push(RecordEvent::Move(m)).unwrap();
                }
            }
        }
        positions.push(s.boxed());
    }
    (history, positions)
}

fn same(a: &dyn DynState, b: &dyn DynState) -> bool {
    let view = |s: &dyn DynState| s.view(Viewer::Public).value();
    (a.turn(), a.returns(), view(a)) == (b.turn(), b.returns(), view(b))
}

#[test]
fn record_steps_visit_recorded_positions() {
    for text in ["tic_tac_toe", "kuhn_poker", "leduc_poker", "iterated_prisoners_dilemma", "chess", "hanabi", "pig"] {
        let game = load(text).unwrap();
        let (history, positions) = episode(&game, 60);
        let (returns, teams) = (positions.last().unwrap().returns(), positions.last().unwrap().teams());
        let footer = Footer { reason: Some(EndReason::Finished), seed: Some("5".into()), ..Footer::default() };
        let record = history.end(game.spec(), teams.as_deref(), &returns, footer).unwrap();
        let parts = RecordParts::parse(&record.to_line().unwrap()).unwrap();
        assert_eq!(record.footer.digest.as_ref(), Some(&digest(&parts).unwrap()), "{text}");
        assert_eq!(
            record.footer.outcome,
            outcomes(game.spec(), teams.as_deref(), &returns, EndReason::Finished, None),
            "{text}"
        );
        let (mut steps, mut at, mut k) = (steps(&*game, &record), 0, 0);
        while let Some(step) = steps.next() {
            let step = step.unwrap_or_else(|stop| panic!("{text}: {stop}"));
            assert!(step.played && step.at == at, "{text}, step {k}");
            assert!(same(step.before, &*positions[k]) && same(step.after, &*positions[k + 1]), "{text}, step {k}");
            (at, k) = (at + step.events.len(), k + 1);
        }
        assert_eq!((k + 1, steps.at()), (positions.len(), record.events.len()), "{text}");
        assert!(same(&*position(&*game, &record.events).unwrap(), positions.last().unwrap().as_ref()), "{text}");
    }
}

#[test]
fn forfeit_sets_returns_and_outcome() {
    let game = load("tic_tac_toe").unwrap();
    let history = RecordBuilder::begin(header(&game)).unwrap();
    let footer = Footer { reason: Some(EndReason::Timeout), at_fault: Some(0), ..Footer::default() };
    let footer = history.end(game.spec(), None, &[-0.0, -0.0], footer).unwrap().footer;
    assert_eq!((footer.returns, footer.outcome), (vec![-1.0, 1.0], vec![Outcome::Loss, Outcome::Win]));
    let history = RecordBuilder::begin(header(&game)).unwrap();
    let record = history.end(game.spec(), None, &[-0.0, -0.0], Footer::default()).unwrap();
    assert!(record.footer.returns.iter().all(|r| r.is_sign_positive()) && record.footer.outcome.is_empty());
    let history = RecordBuilder::begin(header(&game)).unwrap();
    assert!(history.end(game.spec(), None, &[f64::NAN, 0.0], Footer::default()).is_err());
}

#[test]
fn interrupted_turn_is_last_step() {
    let game = load("tic_tac_toe").unwrap();
    let attempt = RefusedMove {
        action: Some(9),
        text: None,
        document: None,
        code: ErrorCode::IllegalAction,
        issues: Vec::new(),
        ms: 1,
        notes: None,
    };
    assert_eq!(submitted_move(&attempt), Some(Move::Id(9)));
    let unanswered = MoveRecord { tries: vec![attempt], ..moved(1, 0, None) };
    let events = [RecordEvent::Move(moved(0, 0, Some(4))), RecordEvent::Move(unanswered)];
    let mut steps = Replay::new(&*game, &events);
    assert!(steps.next().unwrap().unwrap().played);
    let last = steps.next().unwrap().unwrap();
    assert!(!last.played && same(last.before, last.after) && last.moves().next().is_some_and(|(at, _)| at == 1));
    assert!(steps.next().is_none());
    let more = [events[1].clone(), events[0].clone()];
    assert_eq!(position(&*game, &more).err().map(|stop| stop.at), Some(0));

    // The record contains only one of the two actions of a joint move.
    let game = load("iterated_prisoners_dilemma").unwrap();
    let part = [RecordEvent::Move(MoveRecord { more: true, ..moved(1, 0, Some(0)) })];
    let mut steps = Replay::new(&*game, &part);
    assert!(!steps.next().unwrap().unwrap().played);
    let twice = [part[0].clone(), part[0].clone()];
    let stop = position(&*game, &twice).err().unwrap();
    assert!(stop.message.contains("expected a move of seat 0, got none"), "{stop}");
}

#[test]
fn record_steps_stop_at_invalid_event() {
    let game = load("kuhn_poker").unwrap();
    let chance = |a| RecordEvent::Chance(ChanceRecord { action: a });
    let play = |seat, a| RecordEvent::Move(moved(seat, 0, a));
    let joint = load("iterated_prisoners_dilemma").unwrap();
    let both = |more: [bool; 2]| {
        let part = |seat: usize| RecordEvent::Move(MoveRecord { more: more[seat], ..moved(seat, 0, Some(1)) });
        vec![part(0), part(1)]
    };
    let said = RecordEvent::Move(MoveRecord { document: Some(json!("hello")), ..moved(0, 0, Some(0)) });
    let deal = [chance(Some(1)), chance(Some(0))];
    for (game, events, at, chance, message) in [
        (&game, vec![play(0, Some(0))], 0, false, "expected a chance outcome"),
        (&game, vec![chance(None)], 0, true, "expected the id of the chance outcome"),
        (&game, vec![deal[0].clone(), deal[0].clone()], 1, true, "expected an outcome of the chance node"),
        (&game, [&deal[..], &[deal[0].clone()]].concat(), 2, true, "expected a move of a seat"),
        (&game, [&deal[..], &[play(1, Some(0))]].concat(), 2, false, "got a move of seat 1"),
        (&game, [&deal[..], &[play(0, Some(5))]].concat(), 2, false, "seat 0: "),
        (&game, [&deal[..], std::slice::from_ref(&said)].concat(), 2, false, "got both"),
        (
            &game,
            [&deal[..], &[play(0, Some(0)), play(1, Some(0)), play(0, Some(0))]].concat(),
            4,
            false,
            "already ended",
        ),
        (&joint, both([false, false]), 0, false, "`more`"),
        (&joint, both([true, true]), 1, false, "`more`"),
        (&joint, vec![said], 0, false, "got both"),
    ] {
        let record = Record { header: header(game), events, footer: Footer::default() };
        let mut steps = steps(&**game, &record);
        let stop = loop {
            match steps.next().unwrap_or_else(|| panic!("the steps did not stop; expected: {message}")) {
                Ok(_) => {}
                Err(stop) => break stop,
            }
        };
        assert_eq!((stop.at, stop.chance, stop.message.contains(message)), (at, chance, true), "{message}: {stop}");
        assert!(steps.next().is_none(), "{message}");
    }
    assert!(position(&*joint, &both([false, false])).is_ok(), "lists of events need no `more`");
}
