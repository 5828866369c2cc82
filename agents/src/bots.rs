//! Bots that play a single game or a few related games.

use crate::spec::AgentEntry;

pub mod bargaining;
pub mod fight_the_landlord;
pub mod first_sealed_auction;
pub mod free_style;
pub mod hanabi;
pub mod iterated_prisoners_dilemma;
pub mod kuhn_poker;
pub mod leduc_poker;
pub mod liars_dice;
pub mod mcr_mahjong;
pub mod negotiation;
pub mod pig;
mod plans;
mod shared_pool;
mod sharing;
pub mod texas_holdem;
pub mod undercover;

/// Entries of all bots, grouped by game.
pub(crate) const BOTS: &[&[AgentEntry]] = &[
    fight_the_landlord::BOTS,
    first_sealed_auction::BOTS,
    free_style::BOTS,
    hanabi::BOTS,
    iterated_prisoners_dilemma::BOTS,
    kuhn_poker::BOTS,
    leduc_poker::BOTS,
    liars_dice::BOTS,
    mcr_mahjong::BOTS,
    pig::BOTS,
    plans::BOTS,
    sharing::BOTS,
    texas_holdem::BOTS,
    undercover::BOTS,
];
