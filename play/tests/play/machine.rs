//! Tests of the match machine, with virtual time and scripted inputs, without sockets.

use ludex_play::header::header;
use ludex_play::machine::Watcher;
use ludex_play::machine::interface::{AgentOutcome, Input, LogRow, MatchSetup, Output, SeatSetup};
use ludex_play::machine::{MatchMachine, RESTART_STEP};
use ludex_protocol::error::ErrorCode;
use ludex_protocol::message::{Act, MatchView};
use ludex_protocol::message::{EventKind, MatchFrame};
use ludex_protocol::record::{
    Clock, EndReason, Header, IllegalMoveRules, IllegalPolicy, MoveRecord, Notes, Outcome, Record, RecordEvent,
    RecordSeat, Refusals,
};
use ludex_protocol::{Move, ServerMessage};
use ludex_referee::Verifier;
use ludex_referee::suite::starts::Excerpt;

fn setup(game: &str, change: impl FnOnce(&mut MatchSetup)) -> MatchSetup {
    let game = ludex_games::load(game).unwrap();
    let spec = game.spec();
    let seats = (0..spec.players).map(|k| RecordSeat { name: format!("a{k}"), ..RecordSeat::default() }).collect();
    let header = Header { rated: true, clock: Clock::per_move(1_000), ..header(spec, "m_1".to_owned(), &[], seats) };
    let seat = SeatSetup { remote: true, views: vec![MatchView::Struct, MatchView::Texts], ..SeatSetup::default() };
    let mut setup = MatchSetup { grace_ms: Some(5_000), ..MatchSetup::new(game, header, 42, [7; 16]) };
    setup.seats.fill(seat);
    change(&mut setup);
    setup
}

/// Starts a match with all clients connected at time 0.
fn start(game: &str, change: impl FnOnce(&mut MatchSetup)) -> MatchMachine {
    let mut m = MatchMachine::new(setup(game, change), 0);
    m.add_watcher(Watcher::Public);
    m.handle(0, Input::Start);
    for seat in 0..m.header().seats.len() {
        m.handle(0, Input::Online(seat));
    }
    m.start_client_clocks(0);
    m
}

fn act(turn: u32, attempt: u32) -> Act {
    Act { match_id: "m_1".into(), turn, attempt, ..Act::default() }
}

fn by_id(turn: u32, attempt: u32, action: i64) -> Act {
    Act { action: Some(action), ..act(turn, attempt) }
}

fn by_text(turn: u32, attempt: u32, text: &str) -> Act {
    Act { text: Some(text.into()), ..act(turn, attempt) }
}

fn send(m: &mut MatchMachine, now: u64, seat: usize, act: Act) -> Vec<Output> {
    let out = m.handle(now, Input::Act { seat, re: 9, act: Box::new(act) });
    m.start_client_clocks(now);
    out
}

/// Returns the only reply among the outputs.
fn reply(out: &[Output]) -> ServerMessage {
    let mut replies =
        out.iter().filter_map(|o| if let Output::Reply { message, .. } = o { Some(message) } else { None });
    let first = replies.next().expect("a reply");
    assert!(replies.next().is_none(), "exactly one reply");
    (**first).clone()
}

fn code(out: &[Output]) -> ErrorCode {
    match reply(out) {
        ServerMessage::Error(e) => e.code,
        other => panic!("expected an error, got {other:?}"),
    }
}

fn accepted(out: &[Output]) -> bool {
    matches!(reply(out), ServerMessage::Accepted(_))
}

fn frames(out: &[Output], watcher: Watcher) -> Vec<MatchFrame> {
    out.iter()
        .filter_map(|o| match o {
            Output::Frame { to, frame } if *to == watcher => Some((**frame).clone()),
            _ => None,
        })
        .collect()
}

fn verified(m: &MatchMachine) -> Record {
    let record = m.record().expect("the match is over").clone();
    let lines = ludex_referee::read::read_lines("test", record.to_line().unwrap().as_bytes());
    let (good, refused) = Verifier::new(ludex_games::builtin()).verify_all(&lines.found);
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(good.len(), 1);
    record
}

fn play_out(m: &mut MatchMachine, mut now: u64) {
    let mut rng = ludex_env::Stream::from_text("play out");
    while !m.is_over() {
        for seat in 0..m.header().seats.len() {
            if let Some(turn) = open_turn(m, seat) {
                let legal: Vec<u32> = turn.legal.iter().collect();
                let a = legal[rng.below(legal.len())];
                now += 3;
                send(m, now, seat, by_id(turn.turn, turn.attempt, i64::from(a)));
            }
        }
    }
}

fn open_turn(m: &MatchMachine, seat: usize) -> Option<ludex_protocol::message::TurnFrame> {
    let ServerMessage::Resync(resync) = m.resync(Watcher::Seat(seat)) else { panic!("expected a resync") };
    resync.turn.map(|t| *t)
}

#[test]
fn repeated_act_gets_the_first_reply() {
    let mut m = start("tic_tac_toe", |_| ());
    assert_eq!(code(&send(&mut m, 1, 1, by_id(0, 0, 0))), ErrorCode::NotYourTurn);
    assert_eq!(code(&send(&mut m, 1, 0, by_id(1, 0, 0))), ErrorCode::NotYourTurn);
    assert_eq!(code(&send(&mut m, 1, 0, by_id(0, 1, 0))), ErrorCode::NotYourTurn);
    let first = send(&mut m, 2, 0, by_id(0, 0, 4));
    assert!(accepted(&first));
    // Three notations of the same move get the first reply and have no effect.
    for again in [by_id(0, 0, 4), by_text(0, 0, "x(1,1)"), by_text(0, 0, "b2")] {
        let out = send(&mut m, 3, 0, again);
        assert_eq!(reply(&out), reply(&first));
        assert_eq!(out.len(), 1);
    }
    assert_eq!(code(&send(&mut m, 4, 0, by_id(0, 0, 5))), ErrorCode::Conflict);
    assert!(accepted(&send(&mut m, 5, 1, by_id(0, 0, 0))));
    assert!(accepted(&send(&mut m, 6, 0, by_id(1, 0, 1))));
    assert!(accepted(&send(&mut m, 7, 1, by_id(1, 0, 2))));
    // Acts of earlier turns are still recognized; a different move for an earlier turn is stale.
    assert_eq!(reply(&send(&mut m, 8, 0, by_text(0, 0, "x(1,1)"))), reply(&first));
    assert_eq!(code(&send(&mut m, 8, 0, by_id(0, 0, 8))), ErrorCode::StaleTurn);
    assert!(accepted(&send(&mut m, 9, 0, by_id(2, 0, 7))));
    assert!(m.is_over());
    assert_eq!(verified(&m).footer.outcome, [Outcome::Win, Outcome::Loss]);
    // After the end of the match, a repeated act still gets its first reply.
    assert_eq!(reply(&send(&mut m, 10, 0, by_id(0, 0, 4))), reply(&first));
    assert_eq!(code(&send(&mut m, 10, 1, by_id(2, 0, 3))), ErrorCode::MatchOver);
}

#[test]
fn act_with_no_move_or_two_moves_is_refused() {
    let mut m = start("tic_tac_toe", |_| ());
    assert_eq!(code(&send(&mut m, 1, 0, act(0, 0))), ErrorCode::BadField);
    let both = Act { text: Some("x(0,0)".into()), ..by_id(0, 0, 0) };
    assert_eq!(code(&send(&mut m, 1, 0, both)), ErrorCode::BadField);
    assert!(accepted(&send(&mut m, 1, 0, by_id(0, 0, 0))));
}

#[test]
fn illegal_move_policy_applies_after_the_last_try() {
    for policy in [IllegalPolicy::Forfeit, IllegalPolicy::Random, IllegalPolicy::Default] {
        let mut m = start("tic_tac_toe", |s| s.header.illegal = IllegalMoveRules { policy, tries: 2, unparsed: None });
        assert!(accepted(&send(&mut m, 1, 0, by_id(0, 0, 4))));
        let out = send(&mut m, 2, 1, by_id(0, 0, 4));
        let ServerMessage::Refused(r) = reply(&out) else { panic!("expected a refusal") };
        assert_eq!((r.attempt, r.tries_left, r.applied_policy), (1, 1, None));
        assert!(r.message.contains("taken"), "{}", r.message);
        assert_eq!(r.legal.unwrap().iter().collect::<Vec<_>>(), [0, 1, 2, 3, 5, 6, 7, 8]);
        // A repeated refused act gets the same reply and uses no try.
        assert_eq!(reply(&send(&mut m, 3, 1, by_id(0, 0, 4))), reply(&out));
        let out = send(&mut m, 4, 1, by_text(0, 1, "nonsense"));
        let ServerMessage::Refused(r) = reply(&out) else { panic!("expected a refusal") };
        assert_eq!((r.attempt, r.tries_left, r.applied_policy), (2, 0, Some(policy)));
        let forced = frames(&out, Watcher::Public).iter().any(
            |f| matches!(f, MatchFrame::Event(e) if matches!(e.kind, EventKind::Move { seat: 1, forced: true, .. })),
        );
        assert_eq!(forced, policy != IllegalPolicy::Forfeit);
        if policy == IllegalPolicy::Forfeit {
            assert!(m.is_over());
        } else {
            play_out(&mut m, 10);
        }
        let record = verified(&m);
        let tries: usize =
            record.events.iter().map(|e| if let RecordEvent::Move(m) = e { m.tries.len() } else { 0 }).sum();
        assert_eq!(tries, 2, "both attempts are in the record");
        if policy == IllegalPolicy::Forfeit {
            assert_eq!(record.footer.reason, Some(EndReason::Illegal));
            assert_eq!((record.footer.at_fault, record.footer.returns), (Some(1), vec![1.0, -1.0]));
        }
    }
}

/// Texts that name no move have their own number of tries and their own policy if the match sets `unparsed`.
#[test]
fn unparsed_texts_have_their_own_tries_and_policy() {
    let refusals = |policy, tries| Refusals { policy, tries };
    let unparsed = Some(refusals(IllegalPolicy::Random, 2));
    let rule = IllegalMoveRules { policy: IllegalPolicy::Default, tries: 3, unparsed };
    let (unread, taken) = ("nonsense", "o(1,1)");
    for (said, then) in [
        (&[unread, unread][..], IllegalPolicy::Random),
        (&[taken, unread, taken, unread], IllegalPolicy::Random),
        (&[taken, taken, unread, taken], IllegalPolicy::Default),
    ] {
        let mut m = start("tic_tac_toe", |s| s.header.illegal = rule);
        assert!(accepted(&send(&mut m, 1, 0, by_id(0, 0, 4))));
        let mut left = [rule.tries, 2];
        for (attempt, text) in (0..).zip(said) {
            let out = send(&mut m, 2, 1, by_text(0, attempt, text));
            let ServerMessage::Refused(r) = reply(&out) else { panic!("expected a refusal") };
            let unread = usize::from(*text == unread);
            left[unread] -= 1;
            let code = [ErrorCode::IllegalAction, ErrorCode::Unparsed][unread];
            let last = attempt as usize + 1 == said.len();
            assert_eq!((r.attempt, r.code, r.tries_left), (attempt + 1, code, left[unread]), "{said:?}");
            assert_eq!(r.applied_policy, last.then_some(then), "{said:?}");
            // A repeated act gets the same reply, even after the turn.
            assert_eq!(reply(&send(&mut m, 3, 1, by_text(0, attempt, text))), reply(&out));
        }
        play_out(&mut m, 10);
        let record = verified(&m);
        let RecordEvent::Move(forced) = &record.events[1] else { panic!("expected a move") };
        assert!(forced.forced && forced.tries.len() == said.len(), "{forced:?}");
        assert_eq!(record.header.illegal, rule);
    }
}

#[test]
fn clock_expires_exactly_at_its_deadline() {
    let mut m = start("tic_tac_toe", |_| ());
    assert_eq!(m.next_deadline(), Some(1_000));
    assert!(m.handle(999, Input::Tick).is_empty());
    assert!(accepted(&send(&mut m, 999, 0, by_id(0, 0, 0))));
    assert_eq!(m.next_deadline(), Some(1_999));
    m.handle(1_999, Input::Tick);
    let record = verified(&m);
    assert_eq!((record.footer.reason, record.footer.at_fault), (Some(EndReason::Timeout), Some(1)));
    assert_eq!(record.footer.outcome, [Outcome::Win, Outcome::Loss]);
    assert_eq!(record.absent_seat(), Some(1), "it never acted");
}

#[test]
fn client_that_was_never_connected_is_a_no_show() {
    let mut m = MatchMachine::new(setup("tic_tac_toe", |_| ()), 0);
    m.handle(0, Input::Start);
    m.handle(0, Input::Online(0));
    m.start_client_clocks(0);
    assert!(accepted(&send(&mut m, 10, 0, by_id(0, 0, 4))));
    m.handle(1_010, Input::Tick);
    let record = verified(&m);
    assert_eq!((record.footer.reason, record.footer.at_fault), (Some(EndReason::NoShow), Some(1)));
    assert_eq!(record.footer.outcome, [Outcome::None, Outcome::None]);
    assert_eq!(record.absent_seat(), Some(1));
}

#[test]
fn absences_of_a_seat_share_one_grace_time() {
    let mut m = start("tic_tac_toe", |_| ());
    assert_eq!(m.next_deadline(), Some(1_000));
    // The clock of seat 0 stands still while its client is away.
    m.handle(400, Input::Offline(0));
    assert_eq!(m.next_deadline(), Some(5_400));
    m.handle(4_400, Input::Online(0));
    assert_eq!(m.next_deadline(), Some(5_000));
    assert!(accepted(&send(&mut m, 4_900, 0, by_id(0, 0, 0))));
    assert!(accepted(&send(&mut m, 5_000, 1, by_id(0, 0, 1))));
    // Of 5 s, 1 s is left.
    m.handle(5_100, Input::Offline(0));
    assert_eq!(m.next_deadline(), Some(6_100));
    m.handle(6_100, Input::Tick);
    let record = verified(&m);
    assert_eq!((record.footer.reason, record.footer.at_fault), (Some(EndReason::Disconnect), Some(0)));
    assert_eq!((record.footer.away_ms.clone(), record.absent_seat()), (vec![5_000, 0], None));
    let RecordEvent::Move(first) = &record.events[0] else { panic!("expected a move") };
    assert_eq!(first.ms, 900, "without the absence");
}

#[test]
fn forfeited_match_ends_before_its_first_move() {
    for game in ["tic_tac_toe", "kuhn_poker", "iterated_prisoners_dilemma"] {
        let mut m = MatchMachine::new(setup(game, |s| s.forfeit = Some(1)), 0);
        let out = m.handle(0, Input::Start);
        assert!(!frames(&out, Watcher::Seat(0)).iter().any(|f| matches!(f, MatchFrame::Turn(_))), "{game}");
        let record = verified(&m);
        assert_eq!((record.footer.reason, record.footer.at_fault), (Some(EndReason::Resign), Some(1)), "{game}");
        assert_eq!(
            (record.events.len(), &record.footer.outcome[..]),
            (0, &[Outcome::Win, Outcome::Loss][..]),
            "{game}"
        );
    }
}

#[test]
fn suspended_match_keeps_its_time_away() {
    let setup = setup("tic_tac_toe", |s| s.grace_ms = None);
    let mut m = MatchMachine::new(setup.clone(), 0);
    m.handle(0, Input::Start);
    (0..2).for_each(|seat| drop(m.handle(0, Input::Online(seat))));
    m.handle(100, Input::Offline(0));
    m.handle(300, Input::Online(0));
    m.handle(1_000, Input::Offline(0));
    m.handle(1_000, Input::Offline(1));
    let LogRow::Suspended { away_ms, at_ms } = m.suspension(3_000) else { panic!("expected a suspension") };
    assert_eq!(away_ms, [2_200, 2_000]);
    let hour = LogRow::Suspended { away_ms, at_ms: at_ms - 3_600_000 };
    let (mut m, _) = MatchMachine::restore(setup, vec![hour], 0).unwrap();
    // The wait after the return of one client is not an absence of the other.
    (0..2).for_each(|seat| drop(m.handle(500, Input::Online(seat))));
    m.handle(600, Input::Abort(EndReason::Aborted));
    let away = verified(&m).footer.away_ms;
    assert!((3_602_200..3_660_000).contains(&away[0]) && away[0] == away[1] + 200, "{away:?}");
}

#[test]
fn act_after_timeout_is_refused() {
    let mut m = start("tic_tac_toe", |_| ());
    assert!(accepted(&send(&mut m, 1, 0, by_id(0, 0, 0))));
    assert!(accepted(&send(&mut m, 2, 1, by_id(0, 0, 1))));
    let out = send(&mut m, 1_002, 0, by_id(1, 0, 2));
    assert_eq!(code(&out), ErrorCode::MatchOver);
    let record = verified(&m);
    assert_eq!((record.footer.reason, record.footer.at_fault), (Some(EndReason::Timeout), Some(0)));
    assert_eq!(record.footer.returns, [-1.0, 1.0]);
}

#[test]
fn host_stall_is_credited_and_recorded() {
    let mut m = start("tic_tac_toe", |_| ());
    assert!(accepted(&send(&mut m, 1, 0, by_id(0, 0, 0))));
    m.start_client_clocks(1);
    assert!(accepted(&send(&mut m, 2, 1, by_id(0, 0, 1))));
    m.start_client_clocks(2);
    m.handle(3, Input::Offline(1));
    // The stall is longer than the clock of seat 0 and than the grace period of seat 1.
    m.credit_stall(&[9_000, 9_000]);
    assert_eq!(m.next_deadline(), Some(10_002));
    // An act counts from the time it was read, even if an input with a later time was handled before it.
    m.handle(9_600, Input::Online(1));
    let out = send(&mut m, 9_500, 0, by_id(1, 0, 2));
    assert!(accepted(&out), "{out:?}");
    m.handle(9_601, Input::Abort(EndReason::Aborted));
    let record = verified(&m);
    let moves: Vec<_> = record.events.iter().map(|e| if let RecordEvent::Move(m) = e { m.ms } else { 0 }).collect();
    assert_eq!((moves, record.footer.stall_ms), (vec![1, 1, 498], Some(9_000)));
    m.credit_stall(&[1, 1]);
    assert_eq!(m.record().unwrap().footer.stall_ms, Some(9_000), "a stall after the end is not recorded");
}

#[test]
fn record_without_stall_has_no_stall_time() {
    let mut m = start("tic_tac_toe", |s| s.mirror = vec![1.0, -1.0]);
    m.handle(5, Input::Abort(EndReason::Aborted));
    let footer = verified(&m).footer;
    assert_eq!((footer.stall_ms, footer.mirror), (None, vec![1.0, -1.0]));
}

#[test]
fn time_over_the_move_limit_is_charged_to_the_bank() {
    let clock = Clock { move_ms: Some(100), bank_ms: 500, inc_ms: 10, first_ms: None, episode_ms: None };
    let mut m = start("tic_tac_toe", |s| s.header.clock = clock);
    let ServerMessage::Accepted(a) = reply(&send(&mut m, 250, 0, by_id(0, 0, 0))) else { panic!("expected accepted") };
    assert_eq!(a.bank_ms, 500 - 150 + 10);
    let turn = open_turn(&m, 1).unwrap();
    assert_eq!((turn.budget_ms, turn.bank_ms), (Some(600), vec![360, 500]));
}

#[test]
fn disconnected_client_forfeits_after_the_grace_period() {
    let mut m = start("tic_tac_toe", |s| s.header.clock = Clock::default());
    assert!(accepted(&send(&mut m, 1, 0, by_id(0, 0, 0))));
    assert!(accepted(&send(&mut m, 2, 1, by_id(0, 0, 1))));
    let out = m.handle(10, Input::Offline(0));
    assert_eq!(frames(&out, Watcher::Seat(1)).len(), 1);
    assert!(frames(&out, Watcher::Seat(0)).is_empty(), "absence is not reported to the absent seat");
    assert_eq!(m.next_deadline(), Some(5_010));
    m.handle(5_009, Input::Online(0));
    assert_eq!(m.next_deadline(), None);
    m.handle(6_000, Input::Offline(1));
    m.handle(11_000, Input::Tick);
    let record = verified(&m);
    assert_eq!((record.footer.reason, record.footer.at_fault), (Some(EndReason::Disconnect), Some(1)));
}

#[test]
fn joint_move_is_hidden_until_complete() {
    let mut m = start("iterated_prisoners_dilemma(num_repetitions=3)", |_| ());
    let out = send(&mut m, 1, 1, by_id(0, 0, 1));
    assert!(accepted(&out));
    assert!(!out.iter().any(|o| matches!(o, Output::Frame { .. })));
    assert_eq!(code(&send(&mut m, 2, 1, by_id(0, 0, 0))), ErrorCode::Conflict);
    let out = send(&mut m, 3, 0, by_id(0, 0, 0));
    let moves: Vec<u32> = frames(&out, Watcher::Public)
        .iter()
        .filter_map(|f| match f {
            MatchFrame::Event(e) => match e.kind {
                EventKind::Move { seat, .. } => Some(seat),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(moves, [0, 1], "events follow in seat order");
    play_out(&mut m, 10);
    let record = verified(&m);
    assert_eq!(record.footer.returns.len(), 2);
    assert_eq!(record.footer.returns[1] - record.footer.returns[0], 10.0 + later_difference(&record));
}

/// Returns the points by which seat 1 leads in the rounds after the first.
fn later_difference(record: &Record) -> f64 {
    let moves: Vec<u32> =
        record.events.iter().filter_map(|e| if let RecordEvent::Move(m) = e { m.action } else { None }).collect();
    moves[2..].chunks(2).map(|c| (f64::from(c[1]) - f64::from(c[0])) * 10.0).sum()
}

#[test]
fn unfinished_joint_turn_is_recorded() {
    // Seat 1 has moved when seat 0 runs out of tries. Watchers do not see the move, but the record has both turns.
    let mut m = start("iterated_prisoners_dilemma(num_repetitions=3)", |_| ());
    assert!(accepted(&send(&mut m, 1, 1, by_id(0, 0, 1))));
    let outs: Vec<Output> = (0..3).flat_map(|n| send(&mut m, 2, 0, by_id(0, n, 7))).collect();
    assert!(!frames(&outs, Watcher::Public).iter().any(|f| matches!(f, MatchFrame::Event(_))));
    let record = verified(&m);
    assert_eq!((record.footer.reason, record.footer.at_fault), (Some(EndReason::Illegal), Some(0)));
    let [RecordEvent::Move(offender), RecordEvent::Move(other)] = &record.events[..] else {
        panic!("expected two parts, got {:?}", record.events)
    };
    assert_eq!((offender.seat, offender.action, offender.tries.len(), offender.more), (0, None, 3, true));
    assert_eq!((other.seat, other.action, other.more), (1, Some(1), true));

    // The time limit of the episode ends a turn; no seat is at fault.
    let mut m = start("iterated_prisoners_dilemma(num_repetitions=3)", |s| {
        s.header.clock = Clock { episode_ms: Some(100), ..Clock::default() };
    });
    assert!(accepted(&send(&mut m, 1, 1, by_id(0, 0, 1))));
    m.handle(100, Input::Tick);
    let record = verified(&m);
    assert_eq!((record.footer.reason, record.footer.at_fault), (Some(EndReason::Truncated), None));
    assert_eq!(record.events.len(), 1);
}

#[test]
fn resignation_ends_the_match() {
    let mut m = start("tic_tac_toe", |_| ());
    let out = m.handle(5, Input::Resign { seat: 1, re: 3 });
    assert!(matches!(reply(&out), ServerMessage::Ok(_)));
    let record = verified(&m);
    assert_eq!((record.footer.reason, record.footer.returns), (Some(EndReason::Resign), vec![1.0, -1.0]));
    assert_eq!(code(&m.handle(6, Input::Resign { seat: 0, re: 4 })), ErrorCode::MatchOver);
}

#[test]
fn frames_of_each_watcher_are_numbered_without_gaps() {
    for game in ["kuhn_poker", "iterated_prisoners_dilemma", "connect_four", "chess(max_plies=20)"] {
        let mut m = MatchMachine::new(setup(game, |_| ()), 0);
        m.add_watcher(Watcher::Full);
        m.add_watcher(Watcher::Public);
        let mut seen: Vec<Output> = m.handle(0, Input::Start);
        m.start_client_clocks(0);
        let mut rng = ludex_env::Stream::from_text(game);
        let mut now = 0;
        while !m.is_over() {
            for seat in 0..2 {
                if let Some(t) = open_turn(&m, seat) {
                    let legal: Vec<u32> = t.legal.iter().collect();
                    now += 1;
                    seen.extend(send(&mut m, now, seat, by_id(t.turn, 0, i64::from(legal[rng.below(legal.len())]))));
                }
            }
        }
        verified(&m);
        for watcher in [Watcher::Seat(0), Watcher::Seat(1), Watcher::Public, Watcher::Full] {
            let frames = frames(&seen, watcher);
            let seqs: Vec<u64> = frames.iter().map(MatchFrame::seq).collect();
            assert_eq!(seqs, (0..seqs.len() as u64).collect::<Vec<_>>(), "{game} {watcher:?}");
            // A watcher that has seen frames up to number n gets exactly the later frames.
            for n in 0..frames.len() {
                let rest = m.catch_up(watcher, Some(n as u64));
                let want: Vec<ServerMessage> = frames[n + 1..].iter().cloned().map(ServerMessage::from).collect();
                assert_eq!(rest, want, "{game} {watcher:?} after {n}");
            }
            assert!(matches!(&m.catch_up(watcher, None)[..], [ServerMessage::Resync(_)]));
            assert!(matches!(&m.catch_up(watcher, Some(9_999))[..], [ServerMessage::Resync(_)]));
        }
    }
}

#[test]
fn open_turn_is_resent_with_its_original_number() {
    let m = start("tic_tac_toe", |_| ());
    let again = m.catch_up(Watcher::Seat(0), Some(1));
    assert!(matches!(&again[..], [ServerMessage::Turn(t)] if t.seq == 1 && t.turn == 0));
    assert!(m.catch_up(Watcher::Seat(1), Some(0)).is_empty());
}

#[test]
fn match_is_restored_from_any_prefix_of_its_rows() {
    for game in ["kuhn_poker(players=3)", "iterated_prisoners_dilemma", "connect_four"] {
        let seats = ludex_games::load(game).unwrap().spec().players as usize;
        let mut m = start(game, |_| ());
        let (mut rows, mut rng, mut now) = (Vec::new(), ludex_env::Stream::from_text(game), 0);
        while !m.is_over() {
            for seat in 0..seats {
                let Some(t) = open_turn(&m, seat) else { continue };
                let legal: Vec<u32> = t.legal.iter().collect();
                now += 7;
                let refused = rng.below(4) == 0 && t.attempt == 0;
                let a = if refused { 99 } else { i64::from(legal[rng.below(legal.len())]) };
                let out = send(&mut m, now, seat, by_id(t.turn, t.attempt, a));
                rows.extend(
                    out.into_iter().filter_map(|o| if let Output::Persist(row) = o { Some(*row) } else { None }),
                );
                if m.is_over() {
                    break;
                }
                let back = setup(game, |s| s.restarts = 2);
                let (mut back, first) = MatchMachine::restore(back, rows.clone(), 1_000_000).unwrap();
                assert!(first.is_empty());
                for s in 0..seats {
                    // The restored turn is the same request under a new frame number; earlier frame numbers are stale.
                    let (was, is) = (open_turn(&m, s), open_turn(&back, s));
                    assert_eq!(was.is_some(), is.is_some(), "{game} seat {s}");
                    if let (Some(was), Some(is)) = (was, is) {
                        assert_eq!(
                            (was.turn, was.attempt, was.legal, was.view),
                            (is.turn, is.attempt, is.legal, is.view)
                        );
                        assert!(is.seq >= 2 * RESTART_STEP);
                    }
                    let back_in = back.catch_up(Watcher::Seat(s), Some(3));
                    assert!(matches!(&back_in[..], [ServerMessage::Resync(r)] if r.seq >= 2 * RESTART_STEP));
                    // Downtime is not charged, because the seat's clock starts only when the client reconnects.
                    assert!(back.next_deadline().is_none_or(|at| at >= 1_005_000));
                }
                // An act that was accepted before the crash is accepted again.
                if !refused {
                    let again = send(&mut back, 1_000_001, seat, by_id(t.turn, t.attempt, a));
                    assert!(accepted(&again), "{game}: {again:?}");
                }
                play_out(&mut back, 1_000_010);
                verified(&back);
            }
        }
        assert!(matches!(rows.last(), Some(LogRow::End(_))));
        verified(&m);
    }
}

/// The excerpt starts after two moves and ends after two decisions of seat 0.
#[test]
fn excerpt_sets_start_and_end_of_the_match() {
    let moved = |seat, action| MoveRecord { seat, action: Some(action), forced: true, ..MoveRecord::default() };
    let given = [moved(0, 4), moved(1, 0)].map(RecordEvent::Move);
    let excerpt = || Excerpt { start: given.to_vec(), moves: Some(2), of: vec![0] };
    let mut m = start("tic_tac_toe", |setup| {
        setup.excerpt = excerpt();
        setup.header.start = 2;
    });
    // Both seats receive the prescribed moves without requests.
    for seat in 0..2 {
        let told = m.replay_frames(Watcher::Seat(seat), &[]);
        let moves =
            told.iter().filter(|f| matches!(f, MatchFrame::Event(e) if matches!(e.kind, EventKind::Move { .. })));
        assert_eq!(moves.count(), 2);
        assert_eq!(told.iter().filter(|f| matches!(f, MatchFrame::Turn(_))).count(), 1 - seat, "{told:?}");
    }
    let turn = open_turn(&m, 0).unwrap();
    assert_eq!((turn.turn, turn.legal.iter().count()), (1, 7));
    let mut rows = Vec::new();
    for (seat, turn, action) in [(0, 1, 1), (1, 1, 2), (0, 2, 3)] {
        assert!(!m.is_over());
        let out = send(&mut m, 10, seat, by_id(turn, 0, action));
        assert!(accepted(&out), "{out:?}");
        rows.extend(out.into_iter().filter_map(|o| if let Output::Persist(row) = o { Some(*row) } else { None }));
    }
    let record = verified(&m);
    assert_eq!((record.footer.reason, record.header.start, record.events.len()), (Some(EndReason::Truncated), 2, 5));
    // A match restored from its rows continues at the same position.
    rows.retain(|row| !matches!(row, LogRow::End(_)));
    let last = rows.pop().unwrap();
    let setup = setup("tic_tac_toe", |setup| {
        setup.excerpt = excerpt();
        setup.header.start = 2;
        setup.restarts = 1;
    });
    let (back, _) = MatchMachine::restore(setup.clone(), rows.clone(), 0).unwrap();
    assert!(!back.is_over() && open_turn(&back, 0).is_some_and(|turn| turn.turn == 2));
    rows.push(last);
    assert!(MatchMachine::restore(setup, rows, 0).unwrap().0.is_over());
    // A record with a wrong number of start moves is rejected.
    for start in [0, 1, 3, 9] {
        let mut forged = record.clone();
        forged.header.start = start;
        let parts = ludex_protocol::record::RecordParts::parse(&forged.to_line().unwrap()).unwrap();
        let sealed = ludex_referee::digest::digest(&parts).unwrap();
        forged.footer.digest = Some(sealed);
        let line = forged.to_line().unwrap();
        let fault =
            Verifier::new(ludex_games::builtin()).verify_line(&line, Default::default()).err().expect("an error");
        assert!(fault.to_string().contains("start") || fault.to_string().contains("forced"), "{start}: {fault}");
    }
}

#[test]
fn move_rows_round_trip_through_json() {
    for text in [
        r#"{"row":"act","seat":1,"turn":2,"try":1,"action":4,"ms":70,"forced":true,"bank_ms":80}"#,
        r#"{"row":"act","seat":0,"turn":0,"try":0,"document":{"offer":1.5},"ms":7,"notes":{"say":"hi"},"bank_ms":0}"#,
    ] {
        let row: LogRow = serde_json::from_str(text).unwrap();
        let fields: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&row).unwrap(), fields);
    }
}

#[test]
fn restore_error_states_number_of_invalid_row() {
    let mut m = start("tic_tac_toe", |_| ());
    let out = send(&mut m, 1, 0, by_id(0, 0, 4));
    let row = out.into_iter().find_map(|o| if let Output::Persist(row) = o { Some(*row) } else { None }).unwrap();
    let error = MatchMachine::restore(setup("tic_tac_toe", |_| ()), vec![row.clone(), row], 0).err().unwrap();
    assert!(error.contains("row 1"), "{error}");
}

#[test]
fn agent_failure_ends_the_match() {
    let with_agent = |s: &mut MatchSetup| s.seats[0] = SeatSetup::default();
    let mut m = MatchMachine::new(setup("tic_tac_toe", with_agent), 0);
    let out = m.handle(0, Input::Start);
    assert!(out.iter().any(|o| matches!(o, Output::Ask(0))));
    let agent = ludex_agents::build("random", &m.setup().game).unwrap();
    let q = m.agent_request(0, 0, &*agent, 60_000).unwrap();
    assert_eq!((q.turn, q.legal.len()), (0, 9));
    let did = |a| AgentOutcome::Move { chosen: Move::Id(a), notes: None };
    // The outcome of a turn that is not open is ignored.
    assert!(m.handle(1, Input::Agent { seat: 0, turn: 5, did: did(0) }).is_empty());
    m.handle(2, Input::Agent { seat: 0, turn: 0, did: did(0) });
    assert!(open_turn(&m, 1).is_some());
    let mut failing = MatchMachine::new(setup("tic_tac_toe", with_agent), 0);
    failing.handle(0, Input::Start);
    let did = AgentOutcome::Failed { reason: EndReason::AgentError, message: "on purpose".into() };
    failing.handle(1, Input::Agent { seat: 0, turn: 0, did });
    let record = verified(&failing);
    assert_eq!((record.footer.reason, record.footer.at_fault), (Some(EndReason::AgentError), Some(0)));
}

#[test]
fn seed_shared_with_an_unfinished_match_is_not_released() {
    let mut m = start("kuhn_poker", |s| {
        s.release = false;
        s.pair = Some("p_1".into());
    });
    play_out(&mut m, 1);
    let ServerMessage::Resync(r) = m.resync(Watcher::Seat(0)) else { panic!("expected a resync") };
    let end = r.end.unwrap();
    assert_eq!((end.seed, end.salt, end.digest), (None, None, None));
    let record = verified(&m);
    assert_eq!(record.footer.pair.as_deref(), Some("p_1"));
}

#[test]
fn forced_moves_are_skipped_with_perfect_information_only() {
    // On a board of one column every move is forced.
    let mut m = MatchMachine::new(setup("connect_four(rows=3,columns=1,x_in_row=4)", |s| s.skip_forced = true), 0);
    m.handle(0, Input::Start);
    assert!(m.is_over());
    assert_eq!(verified(&m).events.len(), 3);
}

#[test]
fn in_process_agent_has_a_clock_but_never_disconnects() {
    let seated = |s: &mut MatchSetup| {
        s.seats[0] = SeatSetup::default();
        s.header.clock = Clock { move_ms: Some(50), bank_ms: 100, ..Clock::default() };
    };
    let did = || AgentOutcome::Move { chosen: Move::Id(0), notes: None };
    let agent = ludex_agents::build("random", &setup("tic_tac_toe", seated).game).unwrap();
    let mut m = MatchMachine::new(setup("tic_tac_toe", seated), 0);
    m.handle(0, Input::Start);
    m.handle(0, Input::Online(1));
    assert_eq!(m.agent_request(7, 0, &*agent, 60_000).unwrap().left_ms, 150);
    assert_eq!(m.next_deadline(), Some(157));
    m.handle(157, Input::Tick);
    assert_eq!((verified(&m).footer.reason, m.record().unwrap().footer.at_fault), (Some(EndReason::Timeout), Some(0)));
    assert!(m.handle(158, Input::Agent { seat: 0, turn: 0, did: did() }).is_empty(), "the match is over");
    // The row has the time that the agent used.
    let mut m = MatchMachine::new(setup("tic_tac_toe", seated), 0);
    m.handle(0, Input::Start);
    m.agent_request(0, 0, &*agent, 60_000).unwrap();
    let out = m.handle(70, Input::Agent { seat: 0, turn: 0, did: did() });
    let Some(Output::Persist(row)) = out.first() else { panic!("expected a row, got {out:?}") };
    assert!(matches!(&**row, LogRow::Act(act) if (act.record.ms, act.bank_ms) == (70, 80)), "{row:?}");
    // If the clock rule sets no limit, the host's limit applies.
    let unlimited = |s: &mut MatchSetup| {
        seated(s);
        s.header.clock = Clock::default();
    };
    let mut m = MatchMachine::new(setup("tic_tac_toe", unlimited), 0);
    m.handle(0, Input::Start);
    assert_eq!(m.agent_request(5, 0, &*agent, 60_000).unwrap().left_ms, 60_000);
    assert_eq!(m.next_deadline(), Some(60_005));
    // After a restart, clients must reconnect, but in-process agents are present.
    let (mut back, asks) = MatchMachine::restore(setup("tic_tac_toe", unlimited), Vec::new(), 0).unwrap();
    assert!(matches!(asks[..], [Output::Ask(0)]));
    back.handle(1, Input::Online(1));
    assert_eq!(back.next_deadline(), None);
}

#[test]
fn ended_match_rebuilt_from_its_record_sends_the_same_frames_and_replies() {
    for game in ["kuhn_poker(players=3)", "iterated_prisoners_dilemma", "chess(max_plies=60)"] {
        let clock = |s: &mut MatchSetup| s.header.clock = Clock { bank_ms: 1_000_000, inc_ms: 3, ..Clock::default() };
        let mut m = start(game, clock);
        m.handle(1, Input::Offline(0));
        m.handle(2, Input::Online(0));
        let mut said = by_id(0, 0, 99_999);
        said.notes = Some(Notes { say: Some("hello".into()), analysis: Some("long".into()), ..Notes::default() });
        let first = open_turn(&m, 0).map_or(1, |_| 0);
        let refused = reply(&send(&mut m, 2, first, said.clone()));
        if game.starts_with("iterated") {
            // The end interrupts a joint turn.
            assert!(accepted(&send(&mut m, 3, 0, by_id(0, 1, 1))));
            m.handle(4, Input::Resign { seat: 1, re: 5 });
        } else {
            play_out(&mut m, 3);
        }
        let watchers = [Watcher::Seat(0), Watcher::Seat(1), Watcher::Public, Watcher::Full];
        let told = |m: &MatchMachine| {
            watchers.map(|to| (m.resync(to), m.catch_up(to, Some(4)), m.replay_frames(to, &[MatchView::Struct])))
        };
        let before = told(&m);
        let record = m.record().unwrap().clone();
        let mut m = MatchMachine::from_ended(setup(game, clock), record, m.into_ended(), 900);
        assert_eq!(told(&m), before, "{game}");
        assert!(m.is_over() && m.next_deadline().is_none());
        assert_eq!(reply(&send(&mut m, 1_000, first, said)), refused, "{game}");
    }
}
