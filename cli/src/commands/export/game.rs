//! Games as PGN and SGF.

use ludex_env::notation::Notation;
use ludex_env::recording::in_notation;
use ludex_games::games;
use ludex_referee::read::RecordLines;

use super::{print, records};

/// Returns the texts of verified games in a notation. The number of games without this notation is printed to standard
/// error.
pub(super) fn texts(
    lines: RecordLines,
    filter: Option<&records::RecordFilter>,
    notation: Notation,
    name: &str,
) -> anyhow::Result<Vec<String>> {
    let (good, refused) = records::verify_records(lines, filter);
    records::warn(&refused);
    let (fit, others): (Vec<_>, Vec<_>) = good.iter().partition(|v| v.game().info().notation == Some(notation));
    if fit.is_empty() {
        let all = games().iter().filter(|entry| entry.info.notation == Some(notation));
        let ids: Vec<&str> = all.map(|entry| entry.info.id).collect();
        anyhow::bail!("{}: expected a verified game of {}, got none in {name}", notation.name, ids.join(", "));
    }
    if !others.is_empty() {
        eprintln!("ludex: skipped: {} of other games", print::count(others.len(), "episode", "episodes"));
    }
    fit.into_iter().map(|v| in_notation(&**v.game(), v.record()).map_err(anyhow::Error::msg)).collect()
}
