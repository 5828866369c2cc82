//! Networks that are part of the program. Their cards are in `agents/networks/`.

use std::path::Path;

/// Prefix of the names of these networks, in place of a path.
const PREFIX: &str = "ludex:";

const NETWORKS: &[(&str, &[u8])] = &[
    ("connect_four_alphazero", include_bytes!("../../networks/connect_four_alphazero.onnx")),
    ("connect_four_ppo", include_bytes!("../../networks/connect_four_ppo.onnx")),
    ("leduc_poker_mmd", include_bytes!("../../networks/leduc_poker_mmd.onnx")),
];

/// Returns the file that `ludex:NAME` denotes; `None` for other paths.
///
/// # Errors
/// Returns the names that exist.
pub(super) fn find(file: &Path) -> Option<Result<&'static [u8], String>> {
    let name = file.to_str()?.strip_prefix(PREFIX)?;
    let found = NETWORKS.iter().find(|(known, _)| *known == name);
    Some(found.map(|(_, bytes)| *bytes).ok_or_else(|| {
        let names: Vec<String> = NETWORKS.iter().map(|(name, _)| format!("{PREFIX}{name}")).collect();
        format!("expected a network of the program; allowed: {}", names.join(", "))
    }))
}
