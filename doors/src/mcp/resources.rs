//! Resources: the rules pages of the games.

use ludex_client::protocol::message::GameEntry;
use rmcp::model::{ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

/// Template of the addresses.
pub(super) const TEMPLATE: &str = "ludex://games/{game}/rules";

/// Media type of the pages.
const MARKDOWN: &str = "text/markdown";

/// Returns the resource with the rules of a game.
pub(super) fn rules_of(game: &GameEntry) -> Resource {
    let uri = TEMPLATE.replace("{game}", &game.game);
    Resource::new(uri, game.game.clone()).with_title(format!("Rules of {}", game.title)).with_mime_type(MARKDOWN)
}

/// Returns the template of all rules.
pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(TEMPLATE, "rules").with_title("Rules of a game").with_mime_type(MARKDOWN)
}

/// Returns the game in an address.
pub(super) fn game_of(uri: &str) -> Option<&str> {
    uri.strip_prefix("ludex://games/")?.strip_suffix("/rules").filter(|game| !game.contains('/'))
}

/// Returns the contents of a resource.
pub(super) fn rules(uri: &str, text: String) -> ReadResourceResponse {
    let contents = ResourceContents::text(text, uri).with_mime_type(MARKDOWN);
    ReadResourceResult::new(vec![contents]).into()
}
