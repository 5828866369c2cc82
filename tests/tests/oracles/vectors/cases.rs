//! Comparison settings for each file of recorded games.

use super::texts::*;
use super::{Case, Text};

const HISTORY: (&str, &str) = ("information_state_strings", "the list of ids that the harness itself plays");

pub const CASES: &[Case] = &[
    Case {
        name: "tic_tac_toe",
        observation: Some(text),
        information: None,
        state: Some(text),
        not_compared: &[HISTORY],
    },
    Case {
        name: "connect_four",
        observation: Some(text),
        information: None,
        state: Some(text),
        not_compared: &[HISTORY],
    },
    Case { name: "othello", observation: Some(text), information: None, state: Some(text), not_compared: &[HISTORY] },
    Case { name: "gomoku_15", observation: Some(text), information: None, state: Some(text), not_compared: &[HISTORY] },
    Case {
        name: "mnk_15_15_5",
        observation: Some(mnk_board),
        information: None,
        state: Some(mnk_board),
        not_compared: &[
            HISTORY,
            ("action_string", "x(7,11) there; ours is 7,11, as in gomoku"),
            ("observation_tensors", "empty, o, x there; ours is gomoku's array"),
        ],
    },
    Case { name: "breakthrough_3x8", observation: Some(text), information: None, state: Some(text), not_compared: &[] },
    Case { name: "breakthrough_8x8", observation: Some(text), information: None, state: Some(text), not_compared: &[] },
    Case {
        name: "nim_1357_misere",
        observation: Some(text),
        information: None,
        state: Some(text),
        not_compared: &[HISTORY],
    },
    Case {
        name: "nim_1357_normal",
        observation: Some(text),
        information: None,
        state: Some(text),
        not_compared: &[HISTORY],
    },
    Case { name: "chess", observation: Some(fen), information: None, state: Some(fen), not_compared: &[HISTORY] },
    Case {
        name: "kuhn_poker",
        observation: Some(kuhn_observation),
        information: Some(kuhn_information),
        state: Some(kuhn_state),
        not_compared: &[],
    },
    Case {
        name: "kuhn_poker_3p",
        observation: Some(kuhn_observation),
        information: Some(kuhn_information),
        state: Some(kuhn_state),
        not_compared: &[],
    },
    Case { name: "ipd_python", observation: None, information: None, state: Some(ipd_state), not_compared: &[] },
    Case {
        name: "ipd_repeated_10",
        observation: Some(ipd_observation),
        information: None,
        state: None,
        not_compared: &[IPD_TRANSCRIPT],
    },
    Case {
        name: "ipd_repeated_10_fullrecall",
        observation: Some(ipd_observation),
        information: None,
        state: None,
        not_compared: &[IPD_TRANSCRIPT],
    },
    pig("pig"),
    pig("pig_w20"),
    pig("pig_piglet_3p"),
    leduc("leduc_poker"),
    leduc("leduc_poker_3p"),
    leduc("leduc_poker_mapped"),
    liars("liars_dice_1d6"),
    liars("liars_dice_2d6"),
    liars("liars_dice_5d6"),
    liars("liars_dice_quantity"),
    auction("first_sealed_auction"),
    auction("first_sealed_auction_4p"),
    holdem("universal_poker_default"),
    holdem("universal_poker_hunl_fcpa"),
    holdem("universal_poker_hunl_fchpa"),
    holdem("universal_poker_hunl_fullgame"),
    holdem("universal_poker_limit_holdem"),
    holdem("universal_poker_3p_sidepots_fcpa"),
    holdem("universal_poker_6p_fullgame"),
    Case {
        name: "dou_dizhu",
        observation: Some(dou_dizhu_observation),
        information: None,
        state: None,
        not_compared: &[
            (
                "state_string",
                "hands and moves, which are compared one by one; at the end the hands are in wrong columns",
            ),
            ("min_utility", "-24576 there; a landlord can lose twice that"),
        ],
    },
    holdem("universal_poker_10p_fcpa"),
    go("go_3x3_superko"),
    go("go_5x5"),
    go("go_5x5_komi3_draws"),
    go("go_9x9"),
    go("go_19x19"),
    go("go_19x19_handicap3"),
    hanabi("hanabi_2p"),
    hanabi("hanabi_4p"),
    hanabi("hanabi_small"),
    hanabi("hanabi_3p_minimal"),
    Case {
        not_compared: &[("information", "imperfect there; nothing is hidden from a seer")],
        ..hanabi("hanabi_seer")
    },
    negotiation("negotiation"),
    negotiation("negotiation_noutter"),
    negotiation("negotiation_2_items"),
    bargaining("bargaining"),
    bargaining("bargaining_probend"),
    bargaining("bargaining_5_turns"),
];

const fn pig(name: &'static str) -> Case {
    Case { name, observation: Some(pig_state), information: None, state: Some(pig_state), not_compared: &[] }
}

const fn leduc(name: &'static str) -> Case {
    let (observation, information) = (Some(leduc_observation as Text), Some(leduc_information as Text));
    Case { name, observation, information, state: Some(leduc_state), not_compared: &[] }
}

const fn liars(name: &'static str) -> Case {
    Case { name, observation: None, information: Some(liars_information), state: Some(liars_state), not_compared: &[] }
}

const fn auction(name: &'static str) -> Case {
    let (observation, information) = (Some(auction_observation as Text), Some(auction_information as Text));
    Case { name, observation, information, state: Some(auction_state), not_compared: &[] }
}
const fn hanabi(name: &'static str) -> Case {
    let (observation, state): (Text, Text) = (hanabi_observation, hanabi_state);
    Case { name, observation: Some(observation), information: None, state: Some(state), not_compared: &[] }
}

const fn negotiation(name: &'static str) -> Case {
    Case {
        name,
        observation: Some(negotiation_observation),
        information: None,
        state: Some(negotiation_state),
        not_compared: &[
            ("chance_mode", "the draw cannot be listed there; ours is explicit"),
            ("max_chance_outcomes", "one there, which stands for the whole draw"),
            ("min_utility", "below 0 there; no share is worth less than nothing"),
            ("chance_outcomes", INSTANCE),
            ("state_string_after", INSTANCE),
        ],
    }
}

const fn bargaining(name: &'static str) -> Case {
    Case {
        name,
        observation: Some(bargaining_observation),
        information: Some(bargaining_information),
        state: Some(bargaining_state),
        not_compared: &[("num_chance_outcomes", INSTANCE), ("chance_uniform", INSTANCE)],
    }
}

const INSTANCE: &str = "the draw of the instance, which is a parameter in the replay";

const fn go(name: &'static str) -> Case {
    Case { name, observation: Some(go_state), information: None, state: Some(go_state), not_compared: &[HISTORY] }
}

const fn holdem(name: &'static str) -> Case {
    Case {
        name,
        observation: Some(holdem_observation),
        information: Some(holdem_information),
        state: None,
        not_compared: &[("state_string", "the dealer's notes of all that the other fields show")],
    }
}

const IPD_TRANSCRIPT: (&str, &str) =
    ("state_string", "a transcript of moves and payoffs; moves, rewards and returns are compared one by one");
