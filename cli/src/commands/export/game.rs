//! Games in the notations that other programs read: PGN and SGF.

use ludex_env::notation::Notation;
use ludex_env::recording::in_notation;
use ludex_games::games;
use ludex_referee::read::RecordLines;

use super::{print, records};

/// The verified games that a notation can express. The others are counted on standard error.
pub(super) fn texts(
    lines: RecordLines,
    which: Option<&records::Which>,
    notation: Notation,
    name: &str,
) -> anyhow::Result<Vec<String>> {
    let (good, refused) = records::verified(lines, which);
    records::warn(&refused);
    let (fit, others): (Vec<_>, Vec<_>) = good.iter().partition(|v| v.game().info().notation == Some(notation));
    if fit.is_empty() {
        let all = games().iter().filter(|entry| entry.info.notation == Some(notation));
        let ids: Vec<&str> = all.map(|entry| entry.info.id).collect();
        anyhow::bail!("{name} has no verified game of {}, and {} is for these only", ids.join(", "), notation.name);
    }
    if !others.is_empty() {
        eprintln!("ludex: left out: {} of other games", print::count(others.len(), "episode", "episodes"));
    }
    fit.into_iter().map(|v| in_notation(&**v.game(), v.record()).map_err(anyhow::Error::msg)).collect()
}
