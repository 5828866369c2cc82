//! Tests of prompts and answers in matches.

use ludex_agents::llm::Prompter;
use ludex_env::{AgentKey, MoveRequest};
use ludex_play::header::header;
use ludex_play::machine::interface::{Input, LogRow, MatchSetup, Output, SeatPrompts, SeatSetup};
use ludex_play::machine::{MatchMachine, Watcher};
use ludex_protocol::ServerMessage;
use ludex_protocol::error::ErrorCode;
use ludex_protocol::message::{Act, ActRefused, MatchView, TurnFrame, Verdict};
use ludex_protocol::record::{Header, IllegalMoveRules, IllegalPolicy, RecordEvent, RecordSeat};
use ludex_protocol::spec::Params;

const SETTINGS: &str = r#"{"history": 3}"#;

fn settings() -> Params {
    serde_json::from_str(SETTINGS).unwrap()
}

fn setup() -> MatchSetup {
    let game = ludex_games::load("tic_tac_toe").unwrap();
    let seats = (0..2).map(|k| RecordSeat { name: format!("a{k}"), ..RecordSeat::default() }).collect();
    let illegal = IllegalMoveRules { policy: IllegalPolicy::Forfeit, tries: 5, unparsed: None };
    let header = Header { illegal, ..header(game.spec(), "m_1".to_owned(), &[], seats) };
    let mut setup = MatchSetup { grace_ms: Some(5_000), ..MatchSetup::new(game, header, 42, [7; 16]) };
    let prompts = SeatPrompts::new(settings());
    setup.seats.fill(SeatSetup { remote: true, views: vec![MatchView::Prompt], prompts, ..SeatSetup::default() });
    setup
}

/// Match in which both clients are connected, with its rows.
struct Played {
    machine: MatchMachine,
    rows: Vec<LogRow>,
}

impl Played {
    fn new() -> Self {
        let mut machine = MatchMachine::new(setup(), 0);
        machine.handle(0, Input::Start);
        for seat in 0..2 {
            machine.handle(0, Input::Online(seat));
        }
        Played { machine, rows: Vec::new() }
    }

    /// Returns the match as restored from its rows.
    fn restored(&self) -> MatchMachine {
        MatchMachine::restore(setup(), self.rows.clone(), 0).unwrap().0
    }

    fn act(&mut self, seat: usize, act: Act) -> ServerMessage {
        let (rows, reply) = act_in(&mut self.machine, seat, act);
        self.rows.extend(rows);
        reply
    }

    fn turn(&self, seat: usize) -> TurnFrame {
        turn(&self.machine, seat)
    }
}

fn act_in(machine: &mut MatchMachine, seat: usize, act: Act) -> (Vec<LogRow>, ServerMessage) {
    let (mut rows, mut reply) = (Vec::new(), None);
    for output in machine.handle(1, Input::Act { seat, re: 9, act: Box::new(act) }) {
        match output {
            Output::Persist(row) => rows.push(*row),
            Output::Reply { message, .. } => reply = Some(*message),
            _ => {}
        }
    }
    (rows, reply.expect("a reply"))
}

fn turn(machine: &MatchMachine, seat: usize) -> TurnFrame {
    let ServerMessage::Resync(resync) = machine.resync(Watcher::Seat(seat)) else { panic!("expected a resync") };
    *resync.turn.expect("an open turn")
}

fn answer(turn: u32, attempt: u32, text: &str) -> Act {
    Act { match_id: "m_1".into(), turn, attempt, answer: Some(text.into()), ..Act::default() }
}

fn by_text(turn: u32, attempt: u32, text: &str) -> Act {
    Act { text: Some(text.into()), answer: None, ..answer(turn, attempt, "") }
}

fn refusal_in(reply: ServerMessage) -> Box<ActRefused> {
    match reply {
        ServerMessage::Refused(refused) => refused,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn accepted(reply: &ServerMessage) -> &str {
    match reply {
        ServerMessage::Accepted(accepted) => &accepted.text,
        other => panic!("expected an accepted act, got {other:?}"),
    }
}

fn code(reply: &ServerMessage) -> ErrorCode {
    match reply {
        ServerMessage::Error(error) => error.code,
        other => panic!("expected an error, got {other:?}"),
    }
}

fn question(turn: &TurnFrame) -> &str {
    &turn.view.prompt.as_ref().expect("a prompt").last().expect("a message").content
}

#[test]
fn turn_has_the_prompt_of_its_position() {
    let played = Played::new();
    let game = ludex_games::load("tic_tac_toe").unwrap();
    let (state, prompter) = (game.start(), Prompter::from_settings(&settings(), &game).unwrap());
    let legal = state.legal_list(0);
    let request = MoveRequest::on_state(&*state, 0, 0, &legal, AgentKey::Own(&[0; 32])).with_history(&[]);
    assert_eq!(played.turn(0).view.prompt, Some(prompter.messages(&request).unwrap()));

    // A seat that did not request the view has no prompt.
    let mut plain = setup();
    plain.seats.iter_mut().for_each(|seat| seat.views = vec![MatchView::Text]);
    let mut machine = MatchMachine::new(plain, 0);
    machine.handle(0, Input::Start);
    assert_eq!(turn(&machine, 0).view.prompt, None);
    // It may still send an answer.
    assert_eq!(accepted(&act_in(&mut machine, 0, answer(0, 0, "Answer: x(1,1)")).1), "x(1,1)");
}

#[test]
fn refused_answers_have_words_that_the_next_prompt_repeats() {
    let mut played = Played::new();
    assert_eq!(accepted(&played.act(0, answer(0, 0, "The centre.\nAnswer: x(1,1)"))), "x(1,1)");
    let before = question(&played.turn(1)).to_owned();
    assert!(before.contains("x(1,1)"), "the prompt lists the last move: {before}");
    for (attempt, (text, verdict)) in
        [("Answer: o(1,1)", Verdict::Illegal), ("Let me think.", Verdict::Unparsed), ("  ", Verdict::Empty)]
            .into_iter()
            .enumerate()
    {
        let read = refusal_in(played.act(1, answer(0, attempt as u32, text))).answer.expect("an answer as read");
        let words = read.message.expect("words for the model");
        let without = question(&played.turn(1)).replace(&format!("{words}\n\n"), "");
        assert_eq!((read.verdict, without), (verdict, before.clone()));
    }
    assert_eq!(accepted(&played.act(1, answer(0, 3, "\\boxed{o(0,0)}"))), "o(0,0)");
    assert_eq!(question(&played.turn(0)).matches("o(1,1)").count(), 0, "refused answers end with their turn");

    // A refused move of another kind has no words for a model.
    assert_eq!(refusal_in(played.act(0, by_text(1, 0, "x(1,1)"))).answer, None);

    // The rows of the match give the same prompts after a restart.
    let restored = played.restored();
    assert_eq!(turn(&restored, 0).view, played.turn(0).view);
}

#[test]
fn repeated_answers_get_the_first_reply() {
    let mut played = Played::new();
    let first = answer(0, 0, "I take a corner: x(0,0)");
    let (illegal, legal) = (answer(0, 0, "Answer: o(0,0)"), answer(0, 1, "Answer: o(1,1)"));
    let replies = [played.act(0, first.clone()), played.act(1, illegal.clone()), played.act(1, legal.clone())];
    let mut restored = played.restored();
    for machine in [&mut played.machine, &mut restored] {
        for (seat, act, reply) in [(0, &first, &replies[0]), (1, &illegal, &replies[1]), (1, &legal, &replies[2])] {
            let (rows, again) = act_in(machine, seat, act.clone());
            assert_eq!((&again, rows.len()), (reply, 0), "{act:?}");
        }
        // The same move in other words is another answer, but the same move.
        assert_eq!(code(&act_in(machine, 0, answer(0, 0, "Answer: x(0,0)")).1), ErrorCode::StaleTurn);
        assert_eq!(accepted(&act_in(machine, 0, by_text(0, 0, "x(0,0)")).1), "x(0,0)");
    }
}

#[test]
fn record_has_the_answers() {
    let mut played = Played::new();
    played.act(0, answer(0, 0, "Answer: x(0,0)"));
    played.act(1, answer(0, 0, "Answer: o(0,0)"));
    played.act(1, answer(0, 1, "Answer: o(0,1)"));
    played.machine.handle(2, Input::Resign { seat: 0, re: 1 });
    let record = played.machine.record().expect("the match is over");
    let said = |notes: &Option<ludex_protocol::record::Notes>| notes.as_ref().unwrap().more["answer"].clone();
    let moves: Vec<_> =
        record.events.iter().filter_map(|e| if let RecordEvent::Move(m) = e { Some(m) } else { None }).collect();
    assert_eq!(said(&moves[0].notes), "Answer: x(0,0)");
    assert_eq!(
        (said(&moves[1].tries[0].notes), said(&moves[1].notes)),
        ("Answer: o(0,0)".into(), "Answer: o(0,1)".into())
    );
}
