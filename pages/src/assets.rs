//! Script and style sheets of the pages. `web/build` builds them.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

/// Script of the pages.
pub const SCRIPT: &[u8] = include_bytes!("../dist/app.js");

/// Style sheet of the pages.
pub const STYLE: &[u8] = include_bytes!("../dist/app.css");

/// Style sheet of charts. Charts are drawn as in reports, but in the colors of the pages.
pub static CURVES: LazyLock<String> = LazyLock::new(|| {
    let colours = ":root { --soft: var(--faint); --line: var(--edge); --row: var(--panel); }\n";
    [colours, ludex_report::figure::STYLE].concat()
});

/// Returns the address of an asset. The address contains a hash of the bytes, so that browsers may cache the asset.
fn address(file: &str, bytes: &[u8]) -> String {
    format!("/static/{file}?{}", hex::encode(&Sha256::digest(bytes)[..6]))
}

/// Returns the address of the pages' script.
pub(super) fn script() -> &'static str {
    static AT: LazyLock<String> = LazyLock::new(|| address("app.js", SCRIPT));
    &AT
}

/// Returns the address of the pages' style sheet.
pub(super) fn style() -> &'static str {
    static AT: LazyLock<String> = LazyLock::new(|| address("app.css", STYLE));
    &AT
}

/// Returns the address of the style sheet of charts.
pub(super) fn curves() -> &'static str {
    static AT: LazyLock<String> = LazyLock::new(|| address("curves.css", CURVES.as_bytes()));
    &AT
}
