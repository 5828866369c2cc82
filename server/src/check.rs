//! Check of settings before a server uses them.

use ludex_arena::standing_ladders;
use ludex_gym::catalogue::Catalogue;

use crate::config::Config;
use crate::{limits, tls};

/// Checks the settings of a server without opening the store.
///
/// # Errors
///
/// Contradictory limits, invalid certificates, several cells in an SQLite file, seasons of a suite that is not offered, or
/// a ladder of a game that cannot have one.
pub fn check(config: &Config) -> anyhow::Result<()> {
    limits::sane(&config.limits).map_err(anyhow::Error::msg)?;
    config.tls.as_ref().map(tls::acceptor).transpose()?;
    let is_file = config.store.path().is_some();
    anyhow::ensure!(!is_file || config.cells.is_none_or(|cells| cells == 1), "cells: expected a PostgreSQL store");
    if let Some(url) = &config.advertise {
        let is_url = url.starts_with("ws://") || url.starts_with("wss://");
        anyhow::ensure!(is_url, "advertise: expected a URL that begins with ws:// or wss://, got {url}");
    }
    for (k, of) in config.seasons.iter().enumerate() {
        let suite = &of.suite;
        anyhow::ensure!(
            config.suites.get(suite).is_some(),
            "seasons: expected the name of an offered suite, got {suite}"
        );
        let twice = config.seasons[..k].iter().any(|other| other.suite == *suite);
        anyhow::ensure!(!twice, "seasons: expected at most one file per suite, got two for {suite}");
    }
    standing_ladders::check(&config.ladders, &Catalogue::new(config.games.clone()))
}
