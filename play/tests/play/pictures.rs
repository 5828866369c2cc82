//! Tests of the pictures that a match sends to its watchers.

use ludex_play::header::header;
use ludex_play::machine::interface::{Input, MatchSetup, Output, SeatSetup};
use ludex_play::machine::{MatchMachine, Watcher};
use ludex_protocol::message::{Act, MatchFrame, MatchView, PictureView};
use ludex_protocol::record::RecordSeat;

/// Starts a match in which seat 0 requested pictures, and returns the match with the outputs of the start.
fn start(game: &str) -> (MatchMachine, Vec<Output>) {
    let game = ludex_games::load(game).unwrap();
    let spec = game.spec();
    let seats = spec.players as usize;
    let header = header(spec, "m_1".to_owned(), &[], vec![RecordSeat::default(); seats]);
    let seat = |views: &[MatchView]| SeatSetup { remote: true, views: views.to_vec(), ..SeatSetup::default() };
    let mut setup = MatchSetup { grace_ms: Some(1_000), ..MatchSetup::new(game, header, 1, [0; 16]) };
    setup.seats.fill(seat(&[MatchView::Texts]));
    setup.seats[0] = seat(&[MatchView::Picture]);
    let mut m = MatchMachine::new(setup, 0);
    m.add_watcher(Watcher::Public);
    let mut out = m.handle(0, Input::Start);
    (0..seats).for_each(|s| out.extend(m.handle(0, Input::Online(s))));
    m.start_client_clocks(0);
    (m, out)
}

fn act(m: &mut MatchMachine, seat: usize, turn: u32, action: i64) -> Vec<Output> {
    let act = Act { match_id: "m_1".into(), turn, action: Some(action), ..Act::default() };
    m.handle(1, Input::Act { seat, re: 1, act: Box::new(act) })
}

fn frames(out: &[Output], to: Watcher) -> Vec<&MatchFrame> {
    let of = |o| match o {
        &Output::Frame { to: of, ref frame } if of == to => Some(&**frame),
        _ => None,
    };
    out.iter().filter_map(of).collect()
}

fn picture(frame: &MatchFrame) -> Option<&PictureView> {
    match frame {
        MatchFrame::Event(event) => event.view.as_ref()?.picture.as_ref(),
        MatchFrame::Turn(turn) => turn.view.picture.as_ref(),
        _ => None,
    }
}

/// Returns the cells that a picture marks as touched by the last move.
fn last_cells(svg: &str) -> Vec<&str> {
    svg.split("class=\"cell last\" data-cell=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn seat_gets_a_picture_with_each_turn_and_event() {
    let (mut m, out) = start("connect_four");
    let turn = frames(&out, Watcher::Seat(0)).into_iter().find_map(picture).expect("a picture");
    assert!(turn.svg.starts_with("<svg") && turn.gestures.len() == 7, "{:?}", turn.gestures);
    let own = act(&mut m, 0, 0, 3);
    let after = frames(&own, Watcher::Seat(0)).into_iter().find_map(picture).expect("a picture");
    assert!(after.svg != turn.svg && after.gestures.is_empty(), "the other seat is to move");
    assert_eq!(last_cells(&after.svg), ["3"]);
    assert_eq!(last_cells(&m.spectator_view(Watcher::Public, &[MatchView::Picture]).picture.unwrap().svg), ["3"]);
    for to in [Watcher::Seat(1), Watcher::Public] {
        assert!(frames(&own, to).into_iter().all(|frame| picture(frame).is_none()), "{to:?} requested no picture");
    }
}

#[test]
fn only_the_last_rebuilt_event_frame_has_a_picture() {
    let (mut m, _) = start("connect_four");
    for n in 0..6 {
        act(&mut m, n % 2, n as u32 / 2, 3 - n as i64 % 2);
    }
    for (to, views) in [(Watcher::Public, &[MatchView::Picture][..]), (Watcher::Seat(0), &[])] {
        let told = m.replay_frames(to, views);
        let events: Vec<_> = told.iter().filter(|f| matches!(f, MatchFrame::Event(_))).collect();
        let (last, before) = events.split_last().unwrap();
        assert!(before.iter().all(|frame| picture(frame).is_none()), "{to:?}");
        assert_eq!(picture(last).unwrap().svg, m.picture_after(to, usize::MAX).unwrap().svg, "{to:?}");
    }
}

#[test]
fn picture_position_counts_only_visible_events() {
    let (mut m, _) = start("connect_four");
    let mut seen = vec![m.picture_after(Watcher::Public, usize::MAX).unwrap().svg];
    for n in 0..5 {
        act(&mut m, n % 2, n as u32 / 2, n as i64);
        seen.push(m.picture_after(Watcher::Public, usize::MAX).unwrap().svg);
    }
    for (at, svg) in seen.iter().enumerate() {
        assert_eq!(m.picture_after(Watcher::Public, at).unwrap().svg, *svg, "{at}");
    }
    seen.dedup();
    assert_eq!(seen.len(), 6);
}

/// Pictures for seat 0 and for the public do not depend on seat 1's card.
#[test]
fn pictures_hide_the_cards_of_other_seats() {
    let own = |m: &MatchMachine, seat: usize| m.spectator_view(Watcher::Seat(seat), &[MatchView::Struct]).structure;
    let deals: Vec<MatchMachine> = (0..30).map(dealt).collect();
    let mut pairs = 0;
    for (a, b) in deals.iter().enumerate().flat_map(|(n, a)| deals[n + 1..].iter().map(move |b| (a, b))) {
        if own(a, 0) != own(b, 0) || own(a, 1) == own(b, 1) {
            continue;
        }
        pairs += 1;
        for to in [Watcher::Seat(0), Watcher::Public] {
            let drawn = |m: &MatchMachine| m.picture_after(to, usize::MAX);
            assert_eq!(drawn(a), drawn(b), "{to:?}");
        }
        assert_ne!(a.picture_after(Watcher::Seat(1), 9), b.picture_after(Watcher::Seat(1), 9));
    }
    assert!(pairs > 5, "{pairs}");
}

/// Starts a match of leduc_poker and returns it after the deal.
fn dealt(seed: u64) -> MatchMachine {
    let (m, _) = start("leduc_poker");
    let setup = MatchSetup { seed, ..m.setup().clone() };
    let mut m = MatchMachine::new(setup, 0);
    m.handle(0, Input::Start);
    m
}
