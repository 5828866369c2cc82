use ludex_env::{DynState, Stream, ToMove};

use super::*;

/// Plays `ply` random plies from the empty board; `None` if the game ends or the side to move could win immediately.
fn random(ply: u32, rng: &mut Stream) -> Option<(BitBoard, Box<dyn DynState>)> {
    let mut state = ludex_games::load(GAME).unwrap().start();
    let mut p = BitBoard::default();
    for _ in 0..ply {
        let ToMove::Seat(seat) = state.turn() else {
            return None;
        };
        let legal = state.legal_list(seat);
        let a = legal[rng.below(legal.len())];
        state.play_unchecked(a);
        p = p.after(p.cell(a));
    }
    (state.turn() != ToMove::Over && p.wins() == 0).then_some((p, state))
}

/// Returns the score of a position by plain alpha-beta search with the game's own rules.
fn plain(state: &dyn DynState, ply: u32, mut alpha: i32, beta: i32) -> i32 {
    let ToMove::Seat(seat) = state.turn() else {
        // Only the last mover can have won: the score counts its remaining stones and the winning stone.
        let lost = state.returns().iter().any(|&r| r != 0.0);
        return if lost { -((board::CELLS + 2 - ply) as i32 / 2) } else { 0 };
    };
    for a in state.legal_list(seat) {
        let mut next = state.boxed();
        next.play_unchecked(a);
        alpha = alpha.max(-plain(&*next, ply + 1, -beta, -alpha));
        if alpha >= beta {
            break;
        }
    }
    alpha
}

#[test]
fn score_equals_score_of_plain_alpha_beta() {
    let mut rng = Stream::from_text("scores");
    let mut seen = [0; 3];
    while seen.iter().sum::<usize>() < 300 {
        let ply = 28 + rng.below(13) as u32;
        let Some((p, state)) = random(ply, &mut rng) else {
            continue;
        };
        let score = plain(&*state, ply, -99, 99);
        let mut search = Search::new(u64::MAX);
        assert_eq!(search.score(p), Some(score), "{}", state.view(ludex_env::Viewer::Public).text());
        assert_eq!(Search::new(u64::MAX).score(p.mirrored()), Some(score), "the mirrored position");
        let cells = best(p, &mut search).unwrap();
        let bests = (0..board::COLUMNS).filter(|&a| p.cell(a) & cells != 0);
        for a in bests {
            let mut next = state.boxed();
            next.play_unchecked(a);
            assert_eq!(-plain(&*next, ply + 1, -99, 99), score);
        }
        seen[(score.signum() + 1) as usize] += 1;
    }
    assert!(seen.iter().all(|&n| n > 10), "lost, drawn and won positions: {seen:?}");
}

#[test]
fn position_parsed_from_rows_equals_position_after_moves() {
    let mut rng = Stream::from_text("drawings");
    for ply in (0..30).cycle().take(300) {
        let Some((p, state)) = random(ply, &mut rng) else {
            continue;
        };
        let view = state.view(ludex_env::Viewer::Public);
        let view: &View = view.as_any().downcast_ref().unwrap();
        assert_eq!(BitBoard::from_rows(&view.board), p);
        assert_eq!(p.mirrored().mirrored(), p);
        for seat in [0, 1] {
            for a in state.legal_list(seat) {
                assert_eq!(p.cell(a).count_ones(), 1);
            }
        }
    }
}

#[test]
fn search_plays_winning_moves_and_blocks_threats() {
    let played = |columns: &[u32]| columns.iter().fold(BitBoard::default(), |p, &c| p.after(p.cell(c)));
    let columns = |cells: u64, p: BitBoard| (0..7).filter(|&c| p.cell(c) & cells != 0).collect::<Vec<_>>();
    // Wins in a row, from both sides and in the middle; in a column; on a diagonal.
    for (moves, wanted) in [
        (&[0, 0, 1, 1, 2, 2][..], &[3][..]),
        (&[2, 2, 3, 3, 4, 4], &[1, 5]),
        (&[0, 0, 1, 1, 3, 3], &[2]),
        (&[6, 5, 6, 5, 6, 5], &[6]),
        (&[0, 1, 1, 2, 2, 3, 2, 3, 3, 6], &[3]),
    ] {
        let p = played(moves);
        assert_eq!(columns(p.wins(), p), wanted, "{moves:?}");
        assert_eq!(best(p, &mut Search::new(1)), Some(p.wins()));
    }
    let p = played(&[2, 2, 3, 3, 4]);
    assert_eq!((p.safe(), columns(best(p, &mut Search::new(1)).unwrap(), p)), (0, vec![1, 5]), "either blocks");
}

#[test]
fn search_stops_at_node_limit() {
    assert_eq!(best(BitBoard::default(), &mut Search::new(1_000)), None);
}

#[test]
fn opening_book_covers_every_reply_to_book_moves() {
    assert_eq!(book::find(BitBoard::default()).map(board::column), Some(3));
    let mut rng = Stream::from_text("book");
    let mut checked = 0;
    for game in 0..200 {
        let (mut p, mut last) = (BitBoard::default(), None);
        loop {
            let cell = if p.ply % 2 == game % 2 {
                match book::find(p) {
                    Some(cell) => cell,
                    None => break,
                }
            } else {
                let open: Vec<u64> = (0..7).map(|c| p.cell(c)).filter(|&cell| cell != 0).collect();
                open[rng.below(open.len())]
            };
            if cell & p.wins() != 0 {
                break;
            }
            assert_eq!((cell.count_ones(), cell & !p.open()), (1, 0));
            let mirrored = book::find(p.mirrored()).map(board::column);
            assert!(
                book::find(p)
                    .is_none_or(|cell| mirrored.is_some_and(|c| c == 6 - board::column(cell) || p == p.mirrored()))
            );
            if p.ply % 2 == game % 2 {
                last = Some((p, cell));
            }
            p = p.after(cell);
        }
        // Up to its last ply, the book lacks only positions with an immediate win or an unavoidable loss.
        assert!(p.ply > book::LAST || p.wins() != 0 || p.safe() == 0, "out of book at ply {}", p.ply);
        // Where the search is fast, it must agree with the last book move.
        let Some((p, cell)) = last.filter(|(p, _)| p.ply + 2 > book::LAST && checked < 12) else {
            continue;
        };
        let mut search = Search::new(200_000);
        if let Some(Some(found)) = first(p, &mut search) {
            // The moves may differ, since the book may have stored the mirror image.
            let value = |cell, search: &mut Search| [1, 0].map(|score| search.holds(p.after(cell), score));
            assert_eq!(value(found, &mut Search::new(u64::MAX)), value(cell, &mut Search::new(u64::MAX)));
            checked += 1;
        }
    }
    assert!(checked > 5, "{checked}");
}
