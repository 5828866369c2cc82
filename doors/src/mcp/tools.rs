//! List of the tools.

use std::any::Any;

use rmcp::handler::server::common::schema_for_type;
use rmcp::model::{Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;

use super::arguments as a;

/// Returns the tools in the order in which a model needs them.
pub(super) fn tools() -> Vec<Tool> {
    vec![
        reading::<a::ListGamesArguments>(
            "list_games",
            "List games",
            "List the games of the server, or those that meet conditions.",
        ),
        reading::<a::RulesArguments>(
            "rules",
            "Read rules",
            "Read the rules of a game, its notation of moves, its seats and agents.",
        ),
        acting::<a::BeginArguments>(
            "begin",
            "Begin a game",
            "Begin a practice game against agents of the server. The reply has an id for the other tools, the rules, the \
             position and the legal moves. A refused answer can be mended. The server records the game.",
        ),
        acting::<a::JoinArguments>(
            "join",
            "Take a seat",
            "Take a seat in a match: against agents of the server (`against`), other clients (`queue`), or in a run that \
             evaluates you with a suite (`run`, `suite`). Matches have clocks, and refused moves are limited.",
        ),
        reading::<a::PositionArguments>(
            "position",
            "See the position",
            "See the position and the legal moves of a game; waits up to 20 seconds for your turn.",
        ),
        acting::<a::PlayArguments>(
            "play",
            "Play a move",
            "Play a move in a game. The reply has the next position after the moves of the others, or the result.",
        ),
        acting::<a::ResignArguments>("resign", "Resign", "Resign a game, or leave a queue."),
        reading::<a::HistoryArguments>(
            "history",
            "Read the history",
            "Read what has happened in a game, as you saw it.",
        ),
        reading::<a::OwnGamesArguments>(
            "own_games",
            "List your games",
            "List the ids of your games, for example after a lost connection.",
        ),
    ]
}

/// Returns a tool that changes nothing.
fn reading<A: JsonSchema + Any>(name: &'static str, title: &str, description: &'static str) -> Tool {
    tool::<A>(name, title, description, ToolAnnotations::new().read_only(true))
}

/// Returns a tool that plays.
fn acting<A: JsonSchema + Any>(name: &'static str, title: &str, description: &'static str) -> Tool {
    tool::<A>(name, title, description, ToolAnnotations::new().read_only(false).destructive(false))
}

fn tool<A: JsonSchema + Any>(
    name: &'static str,
    title: &str,
    description: &'static str,
    hints: ToolAnnotations,
) -> Tool {
    let hints = hints.open_world(false);
    Tool::new(name, description, schema_for_type::<A>()).with_title(title).with_annotations(hints)
}
