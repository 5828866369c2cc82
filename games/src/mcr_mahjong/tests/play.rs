//! Tests of play: walls, turns, claims, ends of hands, and hidden information.

use super::*;

const PASSES: &str = "PASS/PASS/PASS";

#[test]
fn walls_of_fixed_seed_equal_reference_walls() {
    let game = rules("mcr_mahjong");
    let mut s = game.start();
    deal(&game, &mut s, &mut Draw::new("mcr_mahjong", 42, 0));
    let wall = |p: usize| tiles::names(s.wall[34 * p..34 * p + 34].iter().copied());
    assert_eq!([0, 1, 2, 3].map(wall), WALL_42);
}

/// Wall of each seat, in the order in which chance draws the tiles.
const WALL_42: [&str; SEATS] = [
    "W7 W9 T1 T3 W3 W2 B1 W7 F2 W4 B3 T1 T5 F3 T8 T6 F4 J2 B4 B6 B3 T7 B4 W7 T3 J3 B4 T4 J1 J2 W1 T8 T2 T4",
    "T8 T6 J1 W2 T7 W6 W9 W8 B2 W5 B6 B2 W5 B2 F1 B2 W6 T3 F1 W4 B8 W5 T4 B7 B8 W3 B1 B5 B5 T9 B7 F4 W1 B8",
    "W1 T6 B6 W8 B3 T9 W1 T7 F3 B1 F4 J3 J1 T5 W8 T6 F2 T5 B9 W7 F4 B9 T8 W8 W4 B6 W2 F1 T9 W5 B1 T1 B7 F1",
    "T2 W9 B4 T2 B5 F3 T1 W9 W6 T7 B8 F2 W6 B9 J2 W3 B7 B9 W2 T3 T9 T5 J3 T2 J3 W3 F2 J1 B3 W4 J2 F3 T4 B5",
];

#[test]
fn walls_depend_on_seed_only() {
    // The walls of a hand do not depend on the prevalent wind, the preset, or the moves of earlier hands.
    let wall = |text: &str, style: u64, hand: usize| {
        let game = rules(text);
        let (mut s, mut draw) = (game.start(), Draw::new("mcr_mahjong", 7, 0));
        let mut rng = Stream::from_text(&format!("walls {style}"));
        for _ in 0..hand {
            deal(&game, &mut s, &mut draw);
            let hand = s.hand_number;
            while s.hand_number == hand {
                random(&game, &mut s, &mut rng);
            }
        }
        deal(&game, &mut s, &mut draw);
        s.wall
    };
    let first = wall("mcr_mahjong", 0, 0);
    assert_eq!(first, wall("mcr_mahjong(prevalent=west)", 0, 0));
    assert_eq!(first, wall("mcr_mahjong(preset=ijcai2020)", 0, 0));
    let second = wall("mcr_mahjong(preset=ijcai2020)", 1, 1);
    assert_ne!(first, second);
    assert_eq!(second, wall("mcr_mahjong(preset=ijcai2020)", 2, 1));
}

/// Plays a random legal move for each seat to move.
fn random(game: &McrMahjong, s: &mut State, rng: &mut Stream) {
    match game.to_move(s) {
        ToMove::Seat(seat) => {
            let a = game.random_action(s, seat, rng);
            game.play_unchecked(s, a);
        }
        ToMove::Simultaneous(set) => {
            let joint = [0, 1, 2, 3].map(|p| if set.has(p) { game.random_action(s, p, rng) } else { 0 });
            game.play_together_unchecked(s, &joint);
        }
        _ => {}
    }
}

/// Counts all tiles: in hands, melds, unclaimed discards, flowers and walls.
fn all_tiles(game: &McrMahjong, s: &State) -> [u8; ALL_KINDS] {
    let mut all = [0; ALL_KINDS];
    let claimed = s.claimed();
    for p in 0..SEATS {
        tiles::list(&s.hands[p]).for_each(|t| all[usize::from(t)] += 1);
        for laid in s.melds(p) {
            laid.meld.tiles().into_iter().for_each(|t| all[usize::from(t)] += 1);
        }
        (0..8).filter(|k| s.flowers[p] >> k & 1 == 1).for_each(|k| all[KINDS + k] += 1);
    }
    s.discards().enumerate().filter(|(k, _)| claimed >> k & 1 == 0).for_each(|(_, d)| all[usize::from(d.1)] += 1);
    let walls: Vec<Tile> = if game.common() {
        let back = game.tiles() - usize::from(s.taken[1]);
        s.wall[usize::from(s.taken[0])..back].to_vec()
    } else {
        (0..SEATS).flat_map(|p| s.wall[34 * p..34 * p + game.tiles_left(s, p as u8)].to_vec()).collect()
    };
    walls.into_iter().for_each(|t| all[usize::from(t)] += 1);
    all
}

#[test]
fn tiles_and_scores_are_conserved() {
    let mut outcomes = [0u32; 5];
    for preset in ["botzone", "flowers", "ijcai2020"] {
        let game = rules(&format!("mcr_mahjong(preset={preset},minimum=1)"));
        let mut rng = Stream::from_text(&format!("mahjong invariants {preset}"));
        for seed in 0..ludex_env::check::scaled(60) {
            let (mut s, mut draw) = (game.start(), Draw::new("mcr_mahjong", seed, 0));
            let mut moves = 0;
            loop {
                deal(&game, &mut s, &mut draw);
                if game.to_move(&s) == ToMove::Over {
                    break;
                }
                let all = all_tiles(&game, &s);
                assert!(all[..KINDS].iter().all(|&n| n == COPIES), "{preset} {seed} {moves}: {all:?}");
                assert!(!game.params.flowers || all[KINDS..].iter().all(|&n| n == 1), "{preset} {seed}: {all:?}");
                for p in 0..SEATS {
                    let held = usize::from(s.hands[p].iter().sum::<u8>()) + 3 * usize::from(s.laid[p]);
                    let more = matches!(s.phase, Phase::Turn | Phase::Discard) && usize::from(s.seat) == p;
                    assert_eq!(held, 13 + usize::from(more), "{preset} {seed} {moves}");
                }
                random(&game, &mut s, &mut rng);
                moves += 1;
            }
            assert!(moves <= 260 * game.params.hands, "{moves}");
            assert_eq!(s.scores.iter().sum::<i16>(), 0);
            s.done.iter().for_each(|d| outcomes[d.outcome as usize] += 1);
        }
    }
    assert!(outcomes[..4].iter().filter(|n| **n > 0).count() >= 2, "{outcomes:?}");
}

/// Walls in which east can discard a B5. South may then declare CHI, west PENG, and north HU.
const CLAIMS: [&str; SEATS] = [
    "W1 W1 W1 W1 W2 W2 W2 W3 W3 W3 W9 W9 B5 T9",
    "B4 B6 T1 T2 T4 T5 T7 T8 F1 F2 F3 F4 J1",
    "B5 B5 T1 T2 T4 T5 T7 T8 F1 F2 F3 F4 J1 B5",
    "B1 B1 B2 B3 B4 B7 B8 B9 W4 W5 W6 B6 B7",
];

/// Returns a game with a minimum of one point, and its position after these moves.
fn after(moves: &[&str]) -> (McrMahjong, State) {
    let game = rules("mcr_mahjong(minimum=1)");
    let mut s = walls(&game, CLAIMS);
    play(&game, &mut s, moves);
    (game, s)
}

#[test]
fn hu_precedes_peng_and_peng_precedes_chi() {
    let (game, s) = after(&["PLAY B5"]);
    assert_eq!(game.to_move(&s), ToMove::Simultaneous(SeatSet(0b1110)));
    assert_eq!(legal(&game, &s, 1), ["PASS", "CHI B5"]);
    assert_eq!(legal(&game, &s, 2), ["PASS", "PENG"]);
    assert_eq!(legal(&game, &s, 3), ["PASS", "HU"]);

    let (game, s) = after(&["PLAY B5", "CHI B5/PENG/HU"]);
    let done = &s.done[0];
    assert_eq!((done.outcome, done.winner, done.from), (Outcome::Discard, 3, 0));
    let p = done.points as i16;
    assert_eq!(s.scores, [-(8 + p), -8, -8, 24 + p]);
    let own = |seat: Seat| game.view(&s, Viewer::Seat(seat)).results[0].overridden.clone();
    let claim = |claim| Some(Overridden { number: 1, claim });
    assert_eq!([own(0), own(1), own(2), own(3)], [None, claim(106), claim(104), None]);

    let (game, s) = after(&["PLAY B5", "CHI B5/PENG/PASS"]);
    assert_eq!((s.phase, s.seat), (Phase::Discard, 2));
    assert_eq!(news(&game, &s, Viewer::Public), ["offer 1: west PENG B5"]);
    let view = game.view(&s, Viewer::Seat(1));
    assert_eq!(view.overridden, [Overridden { number: 1, claim: 106 }]);
    assert_eq!(view.discards[0].claimed_by, Some(2));

    let (game, s) = after(&["PLAY B5", "CHI B5/PASS/PASS"]);
    assert_eq!((s.phase, s.seat), (Phase::Discard, 1));
    assert_eq!(news(&game, &s, Viewer::Public), ["offer 1: south CHI B5"]);
    assert_eq!(game.default_action(&s, 1), ids::PLAY + 31);

    let (game, s) = after(&["PLAY B5", PASSES]);
    assert_eq!((s.phase, s.seat), (Phase::Turn, 1));
    assert_eq!(news(&game, &s, Viewer::Public), ["draw 2: south"]);
    let own = news(&game, &s, Viewer::Seat(1));
    assert!(own[0].starts_with("draw 2: south ") && own.len() == 1, "{own:?}");
}

/// Seats other than the claimant cannot distinguish an overridden claim from a pass.
#[test]
fn overridden_claims_are_secret() {
    let cases = [
        ("a CHI under a PENG", 1, "CHI B5/PENG/PASS", "PASS/PENG/PASS"),
        ("a CHI under a HU", 1, "CHI B5/PASS/HU", "PASS/PASS/HU"),
        ("a PENG under a HU", 2, "PASS/PENG/HU", "PASS/PASS/HU"),
    ];
    for (what, claimant, claimed, passed) in cases {
        let (game, before) = after(&["PLAY B5"]);
        let [(_, a), (_, b)] = [claimed, passed].map(|answers| after(&["PLAY B5", answers]));
        for who in (0..SEATS).map(Viewer::Seat).chain([Viewer::Public]) {
            let own = who == Viewer::Seat(claimant);
            assert_eq!(game.view(&a, who) == game.view(&b, who), !own, "{what}: {who:?}");
            assert_eq!(game.reveals(&a, who), game.reveals(&b, who), "{what}: {who:?}");
            if own {
                continue;
            }
            assert_eq!(game.text(&game.view(&a, who)), game.text(&game.view(&b, who)), "{what}");
            let claims = [ids::PASS, ids::CHI + 1, ids::PENG, ids::HU];
            let told = claims.map(|id| game.observe_action(&before, who, Mover::Seat(claimant), id));
            assert!(told.iter().all(|t| *t == EventView::default()), "{what}: {told:?}");
            let array = |s: &State| {
                let mut out = vec![0; array::spec().len()];
                game.tensor(s, who, &mut out);
                out
            };
            assert_eq!(array(&a), array(&b), "{what}");
        }
    }
    // Two seats declare a false HU. The HU of the later seat in turn order is overridden.
    let game = rules("mcr_mahjong(errors=botzone)");
    let end = |answers: &str| {
        let mut s = walls(&game, CLAIMS);
        play(&game, &mut s, &["PLAY B5", answers]);
        s
    };
    let (a, b) = (end("HU/PASS/HU"), end("HU/PASS/PASS"));
    assert_eq!((a.done[0].outcome, a.scores), (Outcome::False, [10, -30, 10, 10]));
    for who in [0, 1, 2].map(Viewer::Seat).into_iter().chain([Viewer::Public]) {
        assert_eq!((game.view(&a, who), game.reveals(&a, who)), (game.view(&b, who), game.reveals(&b, who)));
    }
    assert_ne!(game.view(&a, Viewer::Seat(3)), game.view(&b, Viewer::Seat(3)));
}

#[test]
fn promoted_tile_can_be_robbed() {
    let moves = ["PLAY B5", "PASS/PENG/PASS", "PLAY F4", PASSES, "DRAWN", PASSES, "DRAWN", PASSES, "DRAWN", PASSES];
    let (game, mut s) = after(&moves);
    play(&game, &mut s, &["BUGANG B5"]);
    assert_eq!((s.phase, legal(&game, &s, 3)), (Phase::Kong, vec!["PASS".to_owned(), "HU".to_owned()]));
    let mut kept = s.clone();
    play(&game, &mut s, &["HU/PASS/PASS"]);
    assert_eq!((s.done[0].outcome, s.done[0].winner, s.done[0].from), (Outcome::Robbed, 3, 2));
    assert!(s.done[0].fans.contains(&(fans::ROBBING_THE_KONG, 1)), "{:?}", s.done[0].fans);
    // No seat robs the tile: its owner draws for the kong.
    play(&game, &mut kept, &[PASSES]);
    assert_eq!((kept.phase, kept.seat, kept.replacement), (Phase::Turn, 2, true));
}

#[test]
fn concealed_kong_is_hidden() {
    let (game, mut s) = after(&[]);
    let gang = ids::GANG;
    let told = |who| game.observe_action(&s, who, Mover::Seat(0), gang);
    assert_eq!(told(Viewer::Seat(1)), EventView { action: None, text: Some("GANG".to_owned()) });
    assert_eq!(told(Viewer::Seat(0)), EventView { action: Some(gang), text: Some("GANG W1".to_owned()) });
    play(&game, &mut s, &["GANG"]);
    let melds = |seat: Seat| game.view(&s, Viewer::Seat(seat)).melds[0][0].tiles.len();
    assert_eq!([melds(0), melds(1), melds(2), melds(3)], [4, 0, 0, 0]);
    assert_eq!((s.phase, s.seat, s.replacement), (Phase::Turn, 0, true));
    // A sampled hidden kong never contains a kind of which the seat sees a tile.
    let (view, mut rng) = (game.view(&s, Viewer::Seat(3)), Stream::from_text("hidden kong"));
    for _ in 0..200 {
        let world = game.sample_world(&view, &mut rng);
        let kong = world.melds(0).next().unwrap().meld.tile;
        assert_eq!(s.hands[3][usize::from(kong)], 0);
    }
}

#[test]
fn empty_wall_ends_hand() {
    let (game, mut s) = after(&[]);
    while s.phase != Phase::Over {
        if s.phase == Phase::Claim && !game.claimable(&s) {
            let claims = (0..SEATS).flat_map(|p| legal(&game, &s, p));
            assert!(claims.into_iter().all(|text| text == "PASS" || text == "HU"));
        }
        let word = if s.phase == Phase::Claim { PASSES } else { "DRAWN" };
        play(&game, &mut s, &[word]);
    }
    assert_eq!((s.draws, s.done[0].outcome, s.scores), (84, Outcome::Drawn, [0; SEATS]));
}

#[test]
fn illegal_moves_are_refused_with_reason() {
    let game = rules("mcr_mahjong");
    let mut s = walls(&game, CLAIMS);
    let why = |s: &State, seat: Seat, text: &str| game.why_not_text(s, seat, text);
    assert_eq!(why(&s, 0, "PLAY J3"), "PLAY J3 is not legal: J3 is not in the hand");
    assert_eq!(why(&s, 0, "PASS"), "PASS is not legal: no tile is on offer");
    assert_eq!(why(&s, 0, "HU"), "HU is not legal: the hand is not complete");
    assert_eq!(why(&s, 0, "BUGANG W1"), "BUGANG W1 is not legal: the seat has no claimed pung of W1");
    assert_eq!(why(&s, 0, "GANG W9"), "GANG W9 is not legal: the hand has 2 W9, expected 4");
    assert!(why(&s, 0, "discard W9").contains("is not a move; allowed: PASS, PLAY t"));
    assert!(why(&s, 0, "PLAY X9").contains("is not a tile"));
    play(&game, &mut s, &["PLAY B5"]);
    assert_eq!(why(&s, 2, "PENG W3"), "PENG takes no tile: the discard follows as a separate move");
    assert!(why(&s, 1, "CHI B5 W3").starts_with("CHI takes only the middle tile"));
    assert_eq!(why(&s, 1, "CHI T5"), "no chow with middle tile T5 contains the offered tile");
    assert_eq!(why(&s, 1, "CHI B4"), "CHI B4 is not legal: the other two tiles are not in the hand");
    assert_eq!(why(&s, 2, "CHI B5"), "CHI B5 is not legal: only the next seat may claim a chow: south");
    assert_eq!(why(&s, 1, "PENG"), "PENG is not legal: the hand has 0 B5, expected 2");
    assert_eq!(why(&s, 2, "GANG B5"), "GANG B5 is not legal: the hand has 2 B5, expected 3");
    assert_eq!(why(&s, 2, "GANG B4"), "GANG B4 is not legal: B4 is not on offer");
    assert_eq!(why(&s, 1, "PLAY T1"), "PLAY T1 is not legal: a tile is on offer: claim it or pass");
    let few = why(&s, 3, "HU");
    assert!(few.contains("points without flowers, expected at least 8: ") && few.contains("Concealed Hand 2"), "{few}");
    assert!(load("mcr_mahjong(hands=0)").is_err() && load("mcr_mahjong(flowers=true)").is_err());
    assert!(load("mcr_mahjong(minimum=89)").is_err());
}

/// A player that reads only the text finds all facts needed to choose a move.
#[test]
fn text_suffices_to_play() {
    let (game, s) = after(&["PLAY B5"]);
    let text = game.text(&game.view(&s, Viewer::Seat(3)));
    for part in [
        "Prevalent wind: east.",
        "You are north",
        "Your hand: W4 W5 W6 | B1 B1 B2 B3 B4 B6 B7 B7 B8 B9",
        "Discards: 1 east B5",
        "Tiles left in the walls: east 20, south 21, west 21, north 21",
        "east discards B5.",
        "- four sets and a pair 0: B5 (3) B8 (3)",
        "HU is worth ",
        "Legal moves: PASS, HU",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    // Hosts list the moves separately.
    let drawn = game.drawing(&game.view(&s, Viewer::Seat(3)), Viewer::Seat(3));
    assert!(drawn.contains("HU is worth ") && !drawn.contains("Legal moves"), "{drawn}");
}
