//! Games that both Botzone and Ludex support.

use ludex_env::GameRef;
use ludex_protocol::Refusal;

use super::codec::Codec;
use super::{ataxx, chess, fight_the_landlord, go, grid, mcr_mahjong, texas_holdem};
use crate::refusal::does_not_play;
use crate::spec::AgentSpec;

const CODECS: &[Codec] = &[
    grid::TIC_TAC_TOE,
    grid::GOMOKU,
    grid::REVERSI,
    ataxx::CODEC,
    go::CODEC,
    chess::CODEC,
    texas_holdem::CODEC,
    fight_the_landlord::PLAIN,
    fight_the_landlord::BIDDING,
    mcr_mahjong::CODEC,
];

/// Returns the codec for a game.
///
/// # Errors
/// A game or parameters that Botzone does not support; the refusal names the alternatives.
pub(super) fn codec(spec: &AgentSpec, game: &GameRef) -> Result<&'static Codec, Refusal> {
    let (asked, id) = (&game.spec().string, &game.spec().game);
    let known: Vec<&Codec> = CODECS.iter().filter(|c| c.id() == id).collect();
    if known.is_empty() {
        let all: Vec<&str> = CODECS.iter().map(|c| c.game).collect();
        let fits = format!("it plays {}", all.join(", "));
        return Err(does_not_play(spec.name(), asked, "Botzone does not support this game", &fits));
    }
    let mut why = String::new();
    for codec in &known {
        match codec.parameter_mismatch(game) {
            None => return Ok(codec),
            Some(flaw) => why = flaw,
        }
    }
    let fits: Vec<&str> = known.iter().map(|c| c.game).collect();
    Err(does_not_play(spec.name(), asked, &why, &format!("it plays {}", fits.join(" and "))))
}
