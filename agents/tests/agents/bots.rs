//! Bots for single games, and a person at the terminal.

use std::io::Cursor;

use crate::common::{after, far, game, near, play, seats, unfit};
use ludex_agents::human::HumanPlayer;
use ludex_agents::{Agent, build};
use ludex_env::{AgentKey, Draw, MoveRequest};
use ludex_protocol::Move;
use parking_lot::Mutex;

#[test]
fn tit_for_tat_repeats_opponent_move() {
    let g = game("iterated_prisoners_dilemma(num_repetitions=5)");
    let (bot, draw) = (build("tit_for_tat", &g).unwrap(), Draw::new(g.id(), 0, 0));
    let mut state = g.start();
    let other = [1, 0, 0, 1, 1];
    let mut expected = 0;
    for (turn, a) in other.into_iter().enumerate() {
        for seat in [0, 1] {
            let mine = near(&*bot, &*state, seat, turn as u32, &draw);
            assert_eq!(mine, far(&*bot, &g, &*state, seat, turn as u32, &draw));
            // Both seats have played `other` so far.
            assert_eq!(mine, expected, "seat {seat} in round {turn}");
        }
        state.play_together(&[Some(a), Some(a)]).unwrap();
        expected = a;
    }
}

#[test]
fn tit_for_tat_copies_opponent_in_either_seat() {
    let g = game("iterated_prisoners_dilemma(num_repetitions=3)");
    let (bot, draw) = (build("tit_for_tat", &g).unwrap(), Draw::new(g.id(), 0, 0));
    let mut state = g.start();
    state.play_together(&[Some(1), Some(0)]).unwrap();
    assert_eq!([0, 1].map(|seat| near(&*bot, &*state, seat, 1, &draw)), [0, 1]);
    let (moves, _) = play(&g, &seats(&g, &["tit_for_tat", "tit_for_tat"]), 0);
    assert_eq!(moves, [0; 6]);
}

#[test]
fn tit_for_tat_refuses_unsupported_games() {
    let e = build("tit_for_tat", &game("tic_tac_toe")).err().unwrap();
    assert!(unfit(&e));
    assert!(e.message.contains("iterated_prisoners_dilemma"), "{e}");
}

/// Writer whose output can be read by the test.
#[derive(Default)]
struct Paper(std::sync::Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the move of a person who types `lines` after the actions `history`, and the terminal output.
fn talk(name: &str, history: &[u32], lines: &str) -> (Option<Move>, String) {
    let g = game(name);
    let state = after(&g, history);
    let seat = state.turn().seats().iter().next().unwrap();
    let paper = Paper::default();
    let shown = paper.0.clone();
    let human = HumanPlayer::new(Cursor::new(lines.to_owned()), paper);
    assert!(!human.reproducible());
    let legal = state.legal_list(seat);
    let mv = human.act(&MoveRequest::on_state(&*state, seat, 0, &legal, AgentKey::Own(&[0; 32]))).unwrap().mv;
    let text = String::from_utf8(shown.lock().clone()).unwrap();
    (mv, text)
}

#[test]
fn terminal_prints_board_and_reads_move() {
    let (mv, shown) = talk("tic_tac_toe", &[4], "o(0,0)\n");
    assert_eq!(mv, Some(Move::Id(0)));
    assert!(shown.contains("0 . . .\n1 . x .\n2 . . .") && shown.contains("o to move: o(0,0), o(0,1)"), "{shown}");
    assert_eq!(talk("tic_tac_toe", &[4], "  A3 \n").0, Some(Move::Id(0)));
    assert_eq!(talk("connect_four", &[], "6\n").0, Some(Move::Id(6)));
}

#[test]
fn invalid_input_prompts_again_with_reason() {
    let (mv, shown) = talk("tic_tac_toe", &[4], "\nhello\n4\no(1,1)\n12\n-3\n1e9\n{\"a\":1}\n?\no(0,2)\n");
    assert_eq!(mv, Some(Move::Id(2)));
    assert_eq!(shown.matches("the square is taken").count(), 2, "by id and by name: {shown}");
    for reason in
        ["\"hello\": not legal here", "the square is taken", "from 0 to 8, got 12", "does not accept documents"]
    {
        assert!(shown.contains(reason), "{reason} in {shown}");
    }
    assert_eq!(shown.matches("o(2,2)").count(), 2, "listed at first and again on ?: {shown}");
    let (_, shown) = talk("connect_four", &[0, 0, 0, 0, 0, 0], "0\n1\n");
    assert!(shown.contains("column 0 is full"), "{shown}");
    // A name, a human notation, and a move that the pieces do not allow: each gets the game's reason.
    for (name, history, line, reason) in [
        ("gomoku", &[0][..], "0,0", "taken"),
        ("go(board_size=5)", &[12], "C3", "c3 is taken"),
        ("chess", &[], "e2-e5", "e2e5: "),
        ("chess", &[], "o-o", "a piece is on f1, between king and rook"),
        ("chess", &[], "Qh5", "\"Qh5\": not legal here"),
    ] {
        let (_, shown) = talk(name, history, &format!("{line}\nquit\n"));
        assert!(shown.contains(reason), "{name} {line}: {shown}");
        assert_eq!(shown.contains("not legal here"), line == "Qh5", "{name} {line}: {shown}");
    }
}

#[test]
fn quit_or_end_of_input_resigns() {
    assert_eq!(talk("tic_tac_toe", &[], "quit\n").0, None);
    assert_eq!(talk("tic_tac_toe", &[], "what\n").0, None);
}
