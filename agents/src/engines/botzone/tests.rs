//! Checks of the codecs against Botzone's rules: positions rebuilt from messages alone, and responses for every legal
//! action.

use std::collections::HashMap;

use ludex_env::{Action, AgentKey, Draw, DynState, MoveRequest, Mover, ObservedMove, Outcomes, Seat, ToMove};
use ludex_games::load;
use serde_json::{Value, json};

use super::codec::{Codec, TurnLog};
use super::games::codec;
use crate::spec::AgentSpec;
use crate::typed_access::view;

fn codec_of(game: &str) -> Result<&'static Codec, String> {
    let spec = AgentSpec::parse("botzone cmd=x").unwrap();
    codec(&spec, &load(game).unwrap()).map_err(|e| e.message)
}

/// Plays `episodes` random episodes. Calls `test` for every move request, with the request, the codec and the messages
/// so far.
fn ask_all(game: &str, episodes: u64, mut test: impl FnMut(&MoveRequest<'_>, &Codec, &TurnLog)) {
    let (codec, game) = (codec_of(game).unwrap(), load(game).unwrap());
    for seed in 0..episodes {
        let (mut state, mut draw) = (game.start(), Draw::new(game.id(), seed, 0));
        let mut rng = ludex_env::Stream::from_text(&format!("moves {seed}"));
        let (mut past, mut turns, mut outcomes) = (Vec::new(), [0; 3], Outcomes::new());
        loop {
            match state.turn() {
                ToMove::Over => break,
                ToMove::Chance => {
                    state.chance(&mut outcomes);
                    state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
                    past.push(ObservedMove {
                        by: Mover::Chance,
                        action: None,
                        text: String::new(),
                        reveals: Vec::new(),
                    });
                }
                ToMove::Seat(seat) => {
                    let legal = state.legal_list(seat);
                    let ask = MoveRequest::on_state(&*state, seat, turns[seat], &legal, AgentKey::Own(&[0; 32]));
                    let ask = ask.with_history(&past);
                    let talk = (codec.talk)(&ask).unwrap();
                    // Botzone also requests moves from seats that Ludex skips.
                    assert!(talk.turns.len() >= turns[seat] as usize, "{talk:?}");
                    test(&ask, codec, &talk);
                    let a = some_move(&*state, seat, &legal, &mut rng);
                    turns[seat] += 1;
                    past.push(ObservedMove {
                        by: Mover::Seat(seat),
                        action: Some(a),
                        text: String::new(),
                        reveals: Vec::new(),
                    });
                    state.play(seat, a).unwrap();
                }
                ToMove::Simultaneous(_) => unreachable!(),
            }
        }
    }
}

/// Returns a random action. In hold'em, most bets are small, so that hands last longer.
fn some_move(state: &dyn DynState, seat: Seat, legal: &[Action], rng: &mut ludex_env::Stream) -> Action {
    if state.spec().game != "texas_holdem" {
        return state.random_action(seat, rng);
    }
    match rng.below(12) {
        0 => 0,
        1 => *legal.last().unwrap(),
        2..=4 => legal[rng.below(legal.len().min(8))],
        _ => *legal.iter().find(|&&a| a == 1).unwrap_or(&2),
    }
}

/// Returns all moves of a two-player game in order: the requests and responses of one seat.
fn moves_of(talk: &TurnLog) -> Vec<Value> {
    let all = talk.turns.iter().flat_map(|t| [t.request.clone(), t.response.clone()]).chain([talk.now.clone()]);
    let none = |v: &Value| v["x"] == -2 || v["x0"] == -1 || v["source"] == "-1";
    all.enumerate().filter(|(k, v)| *k > 0 || !none(v) && v["x"] != -1).map(|(_, v)| v).collect()
}

fn xy(v: &Value) -> (i64, i64) {
    (v["x"].as_i64().unwrap(), v["y"].as_i64().unwrap())
}

fn signs<T: AsRef<str>>(board: &[T]) -> Vec<Vec<char>> {
    board.iter().map(|row| row.as_ref().chars().collect()).collect()
}

/// Checks that each legal action's response is parsed as that action and that no other response is accepted.
fn reads_back(ask: &MoveRequest<'_>, codec: &Codec, answers: impl Fn(Action) -> Value) {
    for &a in ask.legal {
        let response = answers(a);
        assert_eq!((codec.read)(ask, &response), Some(a), "{response}");
    }
    for odd in [json!(null), json!("x"), json!({}), json!({"x": "1", "y": 1}), json!({"x": 99, "y": 0}), json!([{}])] {
        assert_eq!((codec.read)(ask, &odd), None, "{odd}");
    }
}

#[test]
fn grid_messages_reproduce_the_board() {
    for (game, size, episodes) in [("tic_tac_toe", 3, 200), ("gomoku", 15, 4)] {
        ask_all(game, episodes, |ask, codec, talk| {
            let mut board = vec![vec!['.'; size]; size];
            for (ply, v) in moves_of(talk).iter().enumerate() {
                let (x, y) = xy(v);
                board[y as usize][x as usize] = if ply % 2 == 0 { 'x' } else { 'o' };
            }
            let shown: Vec<String> = serde_json::from_value(ask.view().value()["board"].clone()).unwrap();
            let shown = shown.iter().map(|row| row.replace('b', "x").replace('w', "o")).collect::<Vec<_>>();
            assert_eq!(board, signs(&shown));
            let first = &talk.turns.first().map_or(&talk.now, |t| &t.request);
            assert_eq!(xy(first) == (-1, -1), ask.seat == 0);
            reads_back(ask, codec, |a| json!({ "x": a as usize % size, "y": a as usize / size }));
            assert_eq!((codec.read)(ask, &json!({"x": -1, "y": -1})), None);
        });
    }
}

#[test]
fn reversi_messages_reproduce_the_board() {
    for game in ["reversi", "reversi(auto_pass=true)"] {
        let mut passes = 0;
        ask_all(game, 40, |ask, codec, talk| {
            let mut board: HashMap<(i64, i64), char> =
                [((3, 4), 'x'), ((4, 3), 'x'), ((3, 3), 'o'), ((4, 4), 'o')].into();
            for (ply, v) in moves_of(talk).iter().enumerate() {
                let (me, (x, y)) = (['x', 'o'][ply % 2], xy(v));
                if x == -1 {
                    passes += 1;
                    continue;
                }
                for (dx, dy) in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy))).filter(|d| *d != (0, 0)) {
                    let at = |k: i64| (x + k * dx, y + k * dy);
                    let run = (1..).take_while(|&k| board.get(&at(k)).is_some_and(|&c| c != me)).count() as i64;
                    if board.get(&at(run + 1)) == Some(&me) {
                        board.extend((1..=run).map(|k| (at(k), me)));
                    }
                }
                board.insert((x, y), me);
            }
            let seen: ludex_games::reversi::View = view(ask).unwrap();
            for (y, row) in signs(&seen.board).iter().enumerate() {
                for (x, &c) in row.iter().enumerate() {
                    assert_eq!(*board.get(&(x as i64, y as i64)).unwrap_or(&'.'), c, "({x}, {y})");
                }
            }
            reads_back(
                ask,
                codec,
                |a| {
                    if a == 64 { json!({"x": -1, "y": -1}) } else { json!({ "x": a % 8, "y": a / 8 }) }
                },
            );
        });
        assert!(passes > 0, "{game}");
    }
}

#[test]
fn ataxx_messages_reproduce_the_board() {
    for game in ["ataxx", "ataxx(preset=botzone)"] {
        let mut clones = 0;
        ask_all(game, 12, |ask, codec, talk| {
            let mut board = HashMap::from([((0, 0), 'x'), ((6, 6), 'x'), ((6, 0), 'o'), ((0, 6), 'o')]);
            for (ply, v) in moves_of(talk).iter().enumerate() {
                let (me, n) = (['x', 'o'][ply % 2], |f: &str| v[f].as_i64().unwrap());
                let (from, to) = ((n("x0"), n("y0")), (n("x1"), n("y1")));
                let distance = |a: (i64, i64), b: (i64, i64)| (a.0 - b.0).abs().max((a.1 - b.1).abs());
                assert_eq!(board.get(&from), Some(&me), "{v} at {ply}");
                match distance(from, to) {
                    1 => clones += 1,
                    2 => drop(board.remove(&from)),
                    d => panic!("{d}"),
                }
                board.iter_mut().filter(|(c, _)| distance(**c, to) == 1).for_each(|(_, c)| *c = me);
                assert_eq!(board.insert(to, me), None);
            }
            let seen: ludex_games::ataxx::View = view(ask).unwrap();
            for (y, row) in signs(&seen.board).iter().enumerate() {
                for (x, &c) in row.iter().enumerate() {
                    assert_eq!(*board.get(&(x as i64, y as i64)).unwrap_or(&'.'), c, "({x}, {y})");
                }
            }
            // Tries moves between all pairs of cells. Exactly the legal moves are parsed.
            let mut found = Vec::new();
            let all = || (0..7i64).flat_map(|x| (0..7i64).map(move |y| (x, y)));
            let me = ['x', 'o'][ask.seat];
            for (from, to) in all().flat_map(|from| all().map(move |to| (from, to))) {
                let answer = json!({"x0": from.0, "y0": from.1, "x1": to.0, "y1": to.1});
                let far = (from.0 - to.0).abs().max((from.1 - to.1).abs());
                let fits = board.get(&from) == Some(&me) && !board.contains_key(&to) && (1..=2).contains(&far);
                let read = (codec.read)(ask, &answer);
                assert_eq!(read.is_some(), fits, "{answer}");
                found.extend(read);
            }
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, ask.legal);
        });
        assert!(clones > 0);
    }
}

#[test]
fn go_coordinates_start_at_top_left() {
    for (game, size) in [("go(preset=botzone)", 8), ("go(board_size=9)", 9)] {
        ask_all(game, 2, |ask, codec, talk| {
            let name = |v: &Value| match xy(v) {
                (-1, -1) => "pass".to_owned(),
                (x, y) => format!("{}{}", "abcdefghj".as_bytes()[x as usize - 1] as char, size + 1 - y),
            };
            let seen: ludex_games::go::View = view(ask).unwrap();
            let moves: Vec<String> = go_moves_of(talk).iter().map(name).collect();
            assert_eq!(moves, seen.moves);
            if ask.turn == 0 {
                assert_eq!(xy(&talk.now) == (-2, -2), ask.seat == 0);
            }
            reads_back(ask, codec, |a| {
                let (row, column) = (i64::from(a) / size, i64::from(a) % size);
                if row == size { json!({"x": -1, "y": -1}) } else { json!({ "x": column + 1, "y": size - row }) }
            });
            assert_eq!((codec.read)(ask, &json!({"x": 0, "y": 1})), None);
        });
    }
}

/// Variant of [`moves_of`] for Go, in which the first request may be a pass.
fn go_moves_of(talk: &TurnLog) -> Vec<Value> {
    let all = talk.turns.iter().flat_map(|t| [t.request.clone(), t.response.clone()]).chain([talk.now.clone()]);
    all.filter(|v| v["x"] != -2).collect()
}

#[test]
fn chess_codec_accepts_exactly_the_legal_moves() {
    let (mut castled, mut promoted) = (0, 0);
    for game in ["chess", "chess(preset=botzone)"] {
        ask_all(game, 4, |ask, codec, talk| {
            let uci = |v: &Value| {
                let part = |f: &str| v[f].as_str().unwrap().to_owned();
                part("source") + &part("target") + part("promotion").trim_end_matches('*')
            };
            let seen: ludex_games::chess::View = view(ask).unwrap();
            let moves: Vec<String> = moves_of(talk).iter().map(uci).collect();
            assert_eq!(moves, seen.moves);
            promoted += usize::from(moves.last().is_some_and(|m| m.len() == 5));
            castled += usize::from(moves.last().is_some_and(|m| m == "e1g1" || m == "e8g8"));
            // Of all pairs of squares, with and without a promotion, exactly the legal moves are parsed.
            let square = |k: usize| format!("{}{}", char::from(b'a' + (k % 8) as u8), k / 8 + 1);
            if ask.turn != 20 {
                return;
            }
            let mut found = Vec::new();
            for (from, to) in (0..64).flat_map(|from| (0..64).map(move |to| (square(from), square(to)))) {
                let ends = to.ends_with(['1', '8']);
                for piece in ["*", "q", "n"].into_iter().take(if ends { 3 } else { 1 }) {
                    let answer = json!({"source": from, "target": to, "promotion": piece});
                    found.extend((codec.read)(ask, &answer));
                }
            }
            found.sort_unstable();
            found.dedup();
            let under = |a: &Action| *a < 4672 && (a % 73 < 6); // promotions not tried: rook, bishop
            assert_eq!(found, ask.legal.iter().copied().filter(|a| !under(a)).collect::<Vec<_>>());
        });
    }
    assert!(promoted + castled > 0);
    let white = codec_of("chess").unwrap();
    let (game, mut past) = (load("chess").unwrap(), Vec::new());
    let mut state = game.start();
    for uci in ["e2e4", "e7e5", "g1f3", "g8f6", "f1c4", "f8c5", "e1g1"] {
        let ToMove::Seat(seat) = state.turn() else { panic!() };
        let legal = state.legal_list(seat);
        let ask = MoveRequest::on_state(&*state, seat, 0, &legal, AgentKey::Own(&[0; 32])).with_history(&past);
        let talk = (white.talk)(&ask).unwrap();
        if past.is_empty() {
            assert_eq!(talk.now, json!({"source": "-1", "target": "-1", "promotion": "*"}));
            assert_eq!(seat, 1);
        }
        let answer = json!({"source": uci[..2], "target": uci[2..], "promotion": "*"});
        let a = (white.read)(&ask, &answer).unwrap();
        past.push(ObservedMove { by: Mover::Seat(seat), action: Some(a), text: String::new(), reveals: Vec::new() });
        state.play(seat, a).unwrap();
    }
    let legal = state.legal_list(0);
    let ask = MoveRequest::on_state(&*state, 0, 3, &legal, AgentKey::Own(&[0; 32])).with_history(&past);
    let talk = (white.talk)(&ask).unwrap();
    assert_eq!(talk.now, json!({"source": "e1", "target": "g1", "promotion": "*"}));
    assert_eq!(talk.turns[0].request, json!({"source": "e2", "target": "e4", "promotion": "*"}));
    // A promotion letter without a promotion is illegal, and so is a move of the other side.
    for (source, target, promotion) in [("d7", "d6", "q"), ("d2", "d4", "*"), ("d7", "d6", "k"), ("d7", "", "*")] {
        let answer = json!({"source": source, "target": target, "promotion": promotion});
        assert_eq!((white.read)(&ask, &answer), None);
    }
}

/// Returns the price of a call and the range of raises, as a program computes them from a request. The range is `None`
/// if the opponent is all-in.
fn books(r: &Value) -> (i64, Option<(i64, i64)>) {
    let n = |v: &Value| v.as_i64().unwrap();
    let (dealer, me) = (n(&r["dealer_id"]) as usize, n(&r["my_id"]) as usize);
    let (mut bets, mut spent, mut most, mut round) = ([100; 2], [100; 2], 100, 0);
    bets[1 - dealer] = 50;
    spent[1 - dealer] = 50;
    for h in r["history"].as_array().unwrap() {
        if n(&h["round"]) != round {
            (bets, most, round) = ([0; 2], 50, n(&h["round"]));
        }
        let (p, k) = (n(&h["player_id"]) as usize, n(&h["action"]));
        let owed = bets[1 - p] - bets[p];
        let put = match h["action_type"].as_str().unwrap() {
            "fold" => unreachable!("a fold ends the hand"),
            "allin" => return (20_000 - spent[p], None),
            kind @ ("call" | "check") => {
                assert_eq!((k, kind == "check"), (0, owed == 0));
                owed
            }
            "raise" => k,
            kind => panic!("{kind}"),
        };
        bets[p] += put;
        spent[p] += put;
        most = most.max(put);
    }
    let board = r["public_cards"].as_array().unwrap().len();
    if [0, 3, 4, 5][round as usize] != board {
        (bets, most) = ([0; 2], 50);
    }
    assert_eq!(n(&r["my_chips"]), 20_000 - spent[me]);
    let owed = bets[1 - me] - bets[me];
    (owed, Some(((2 * most - bets[me]).max(owed + 1).max(1), n(&r["my_chips"]) - 1)))
}

#[test]
fn hold_em_requests_agree_with_the_view() {
    let (mut hands, mut asked) = (0, 0);
    ask_all("texas_holdem(preset=botzone)", 12, |ask, codec, talk| {
        let seen: ludex_games::texas_holdem::View = view(ask).unwrap();
        let r = &talk.now;
        asked += 1;
        hands = hands.max(seen.hand);
        assert_eq!((&r["hand"], &r["max_hand"]), (&json!(seen.hand - 1), &json!(20)));
        assert_eq!(r["my_id"], json!(ask.seat));
        assert_eq!(r["dealer_id"], json!(seen.now.positions[1]));
        assert_eq!(r["total_win_chips"].as_array().unwrap().len(), 2);
        for (p, chips) in seen.total.iter().enumerate() {
            assert_eq!(r["total_win_chips"][p].as_f64(), Some(*chips));
        }
        for (names, key) in [(&seen.now.hole, "my_cards"), (&seen.now.board, "public_cards")] {
            let text = |c: &Value| {
                let c = c.as_u64().unwrap() as usize;
                format!("{}{}", "23456789TJQKA".as_bytes()[c / 4] as char, "hdsc".as_bytes()[c % 4] as char)
            };
            assert_eq!(&r[key].as_array().unwrap().iter().map(text).collect::<Vec<_>>(), names);
        }
        // The legal actions that follow from the request alone equal those of the game.
        let (owed, raises) = books(r);
        let chips = r["my_chips"].as_i64().unwrap();
        let mut legal = vec![0];
        legal.extend((raises.is_some() && owed < chips).then_some(1));
        legal.push(2);
        legal.extend(raises.into_iter().flat_map(|(low, high)| (low + 2..=high + 2).map(|a| a as Action)));
        assert_eq!(ask.legal, legal, "{r}");
        for a in legal.iter().copied().take(6).chain(legal.last().copied()) {
            let number = [-1, 0, -2].get(a as usize).copied().unwrap_or(i64::from(a) - 2);
            assert_eq!((codec.read)(ask, &json!(number)), Some(a));
            assert_eq!((codec.read)(ask, &json!(number.to_string())), Some(a), "as the judge reads it");
        }
        for odd in [json!(-3), json!(chips), json!(null), json!({"x": 1}), json!(i64::MAX)] {
            assert_eq!((codec.read)(ask, &odd), None, "{odd}");
        }
        // The requests of earlier turns are consistent too.
        for turn in &talk.turns {
            books(&turn.request);
        }
    });
    assert!(hands == 20 && asked > 200);
    let first = |talk: &TurnLog| (talk.now["history"] == json!([])).then(|| talk.now["my_chips"].clone());
    let mut seen = Vec::new();
    ask_all("texas_holdem(preset=botzone,hands=1)", 3, |_, _, talk| seen.extend(first(talk)));
    assert_eq!(seen, vec![json!(19950); 3], "the small blind acts first");
}

fn ids(v: &Value) -> Vec<u8> {
    serde_json::from_value(v.clone()).unwrap()
}

#[test]
fn landlord_messages_contain_dealt_and_played_cards() {
    for (game, bidding) in [("fight_the_landlord", false), ("fight_the_landlord(preset=botzone2)", true)] {
        let mut bids = 0;
        ask_all(game, 30, |ask, codec, talk| {
            let seen: ludex_games::fight_the_landlord::View = view(ask).unwrap();
            let me = ask.seat as u8;
            let requests: Vec<&Value> = talk.turns.iter().map(|t| &t.request).chain([&talk.now]).collect();
            let first = requests[0];
            if seen.bids.is_empty() && seen.phase == ludex_games::fight_the_landlord::Phase::Bid {
                assert_eq!(*first, json!({"own": seen.hand, "bid": []}));
            }
            if seen.phase == ludex_games::fight_the_landlord::Phase::Bid {
                bids += 1;
                assert_eq!(talk.now["bid"], json!(seen.bids));
                reads_back(ask, codec, |a| json!(a));
                return;
            }
            // The hand, computed from the dealt cards and the responses.
            let opened = requests.iter().find(|r| r.get("publiccard").is_some()).unwrap();
            assert_eq!(opened["own"], first["own"]);
            let mut hand = ids(&first["own"]);
            if bidding {
                assert_eq!((hand.len(), &opened["pos"]), (17, &json!(me)));
                assert_eq!(opened["finalbid"], json!(seen.bids.iter().copied().max().unwrap().max(1)));
                assert_eq!(opened["landlord"], json!(seen.landlord));
            }
            if bidding && seen.landlord == Some(me) {
                hand.extend(ids(&opened["publiccard"]));
            }
            for turn in talk.turns.iter().filter(|t| t.response.is_array()) {
                let played = ids(&turn.response);
                assert!(played.iter().all(|c| hand.contains(c)));
                hand.retain(|c| !played.contains(c));
            }
            hand.sort_unstable();
            assert_eq!(hand, seen.hand);
            // The two plays before this turn.
            let last: Vec<Vec<u8>> = serde_json::from_value(talk.now["history"].clone()).unwrap();
            let mut plays: Vec<Vec<u8>> = vec![vec![], vec![]];
            plays.extend(seen.plays.iter().map(|p| p.cards.clone()));
            assert_eq!(last, plays[plays.len() - 2..]);
            assert_eq!(talk.now.get("own").is_some(), seen.plays.len() < 3);
            // Any cards of the right ranks are accepted as the play. A list with a duplicate card is not.
            for &a in ask.legal.iter().take(40) {
                let mut rest = hand.clone();
                let name = ask.view().action_text(ask.seat, a);
                let mut cards: Vec<u8> = Vec::new();
                for sign in if a == 0 { "" } else { &name }.chars() {
                    let rank = "3456789TJQKA2BR".find(sign).unwrap() as u8;
                    let of = |c: &u8| if *c < 52 { c / 4 } else { c - 39 };
                    let at = rest.iter().rposition(|c| of(c) == rank).unwrap();
                    cards.push(rest.remove(at));
                }
                assert_eq!((codec.read)(ask, &json!(cards)), Some(a), "{name}");
                if let Some(&c) = cards.first() {
                    assert_eq!((codec.read)(ask, &json!([c, c])), None);
                }
            }
            for odd in [json!(0), json!([99]), json!(["3"]), json!(null), json!("pass")] {
                assert_eq!((codec.read)(ask, &odd), None, "{odd}");
            }
        });
        assert_eq!(bids > 0, bidding);
    }
}

#[test]
fn unsupported_games_are_refused() {
    for game in [
        "gomoku",
        "go(board_size=13,komi=7.5)",
        "chess(draw_after=60)",
        "texas_holdem(preset=botzone,hands=70,score=chips)",
        "fight_the_landlord",
    ] {
        assert!(codec_of(game).is_ok(), "{game}");
    }
    for (game, why) in [
        ("connect_four", "it plays tic_tac_toe, gomoku(preset=botzone), "),
        ("gomoku(preset=qitown)", "overline"),
        ("gomoku(size=19)", "size=19; it plays gomoku(preset=botzone)"),
        ("go(board_size=19,handicap=2)", "handicap=2"),
        ("chess(fen=\"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\")", "fen="),
        ("texas_holdem", "it plays texas_holdem(preset=botzone)"),
        ("fight_the_landlord(preset=dou_dizhu)", "(preset=botzone) and fight_the_landlord(preset=botzone2)"),
    ] {
        let error = codec_of(game).err().unwrap();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn board_codec_requires_history() {
    let game = load("gomoku").unwrap();
    let state = game.start();
    let legal = state.legal_list(0);
    let ask = MoveRequest::on_state(&*state, 0, 0, &legal, AgentKey::Own(&[0; 32]));
    let error = (codec_of("gomoku").unwrap().talk)(&ask).unwrap_err();
    assert!(error.message.contains("instead of batches"), "{error}");
    let past = [ObservedMove { by: Mover::Seat(0), action: Some(1), text: String::new(), reveals: Vec::new() }];
    assert!((codec_of("gomoku").unwrap().talk)(&ask.with_history(&past)).is_err());
}
