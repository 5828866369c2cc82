//! Checks that each game of a published evaluation has a preset named after the evaluation, even if the preset changes
//! no parameter.

use ludex_games::load;

/// Game strings by preset. Each string has the parameters that the preset must set.
const PRESETS: &[(&str, &[&str])] = &[
    (
        "gtbench",
        &[
            "tic_tac_toe",
            "connect_four",
            "breakthrough(columns=3)",
            "nim",
            "first_sealed_auction",
            "kuhn_poker",
            "liars_dice",
            "negotiation",
            "pig(winscore=20)",
            "iterated_prisoners_dilemma",
        ],
    ),
    (
        "botzonebench",
        &[
            "tic_tac_toe",
            "gomoku",
            "ataxx",
            "reversi",
            "chess(draw_after=50,repetition=0,insufficient_material=false)",
            "texas_holdem(preset=botzone,hands=20)",
            "fight_the_landlord",
            "mcr_mahjong",
            "go(board_size=8,komi=1.5,superko=loses,max_game_length=1000)",
        ],
    ),
    (
        "llmarena",
        &[
            "tic_tac_toe",
            "connect_four",
            "texas_holdem(bettingAbstraction=rlcard,blind=1 2,firstPlayer=1 1 1 1,stack=100 100,randomSeats=true)",
            "undercover(undercover=last,swap=false,memory=round)",
            "bargaining(max_turns=20,reward=difference,items=hat_ball_apple,talk=true)",
            "first_sealed_auction(cents=true,up_to_value=true)",
            "hanabi(colors=2,hand_size=2,max_information_tokens=3,max_life_tokens=1)",
        ],
    ),
    (
        "qitown",
        &["tic_tac_toe", "gomoku(overline=nothing)", "reversi(auto_pass=true)", "chess(max_plies=300)", "free_style"],
    ),
    (
        "advgamebench",
        &[
            "tower_defense(format=match,rounds=10,revise=alternate)",
            "battle_cards(format=match,rounds=10,revise=alternate)",
            "elemental_duel(format=match,rounds=10,revise=alternate)",
        ],
    ),
];

#[test]
fn evaluation_games_have_named_presets() {
    for (preset, games) in PRESETS {
        for game in *games {
            let wanted = load(game).unwrap();
            let name = format!("{}(preset={preset})", wanted.id());
            let found = load(&name).unwrap_or_else(|e| panic!("{name}: {e}"));
            let [found, wanted] = [&found, &wanted].map(|g| (g.spec().string.clone(), g.spec().hash.clone()));
            assert_eq!(found, wanted, "{name}");
        }
    }
}
