//! First bots of a new owner: a short program or command for each language.

use serde::Serialize;

/// Bots by language, with `{url}`, `{token}` and `{owner}` in place of the visitor's data.
const BOTS: [(&str, &str); 6] = [
    ("Python", include_str!("../first-bot/bot.py")),
    ("TypeScript", include_str!("../first-bot/bot.ts")),
    ("Rust", include_str!("../first-bot/bot.rs")),
    ("C++", include_str!("../first-bot/cpp.sh")),
    ("Go", include_str!("../first-bot/go.sh")),
    ("Java", include_str!("../first-bot/java.sh")),
];

/// Bot that a new owner can start at once.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FirstBot {
    language: &'static str,
    text: String,
}

/// Returns the bots of a new owner.
pub(crate) fn first_bots(url: &str, token: &str, owner: &str) -> Vec<FirstBot> {
    let filled = |text: &str| text.replace("{url}", url).replace("{token}", token).replace("{owner}", owner);
    BOTS.map(|(language, text)| FirstBot { language, text: filled(text).trim_end().to_owned() }).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bot_has_the_address_the_token_and_the_owner() {
        let bots = first_bots("wss://play.example", "lx_secret", "ann");
        assert_eq!(bots.len(), 6);
        for FirstBot { language, text } in bots {
            for part in ["wss://play.example", "lx_secret", "ann", "tic_tac_toe", "random"] {
                assert_eq!(text.matches(part).count(), 1, "{language}: {part}: {text}");
            }
            assert!(!text.contains("{url}") && !text.contains("{token}") && !text.contains("{owner}"), "{text}");
        }
    }
}
