//! Calls of the tools.

use std::sync::Arc;

use ludex_client::Error;
use ludex_client::protocol::is_agent_name;
use ludex_client::protocol::message::{AgentId, GameEntry};
use ludex_client::protocol::record::AgentKind;
use ludex_client::protocol::spec::{Params, Spec};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::arguments::{
    BeginArguments, HistoryArguments, JoinArguments, ListGamesArguments, OwnGamesArguments, PictureForm, PlayArguments,
    PositionArguments, ResignArguments, RulesArguments,
};
use super::handles::Ends;
use super::practice::Practice;
use super::reply::{ToolReply, ToolResult, failure};
use super::seat::RemoteSeat;
use super::server::{Caller, McpServer};

/// Agent name of a caller that sets none.
const NAME: &str = "mcp";

/// Game of a caller: in practice, or a seat in matches.
pub(super) enum OwnGame {
    Practice(Box<Practice>),
    Seat(RemoteSeat),
}

impl Ends for OwnGame {
    fn is_over(&self) -> bool {
        match self {
            OwnGame::Practice(game) => game.is_over(),
            OwnGame::Seat(seat) => seat.is_over(),
        }
    }
}

impl McpServer {
    pub async fn describe(&self, caller: &Caller, game: &str) -> Result<Spec, Error> {
        let (client, _) = self.connect(caller, None, false).await?;
        client.describe(game, Params::new(), true).await
    }

    /// Calls a tool; `None` for an unknown tool.
    pub async fn call(&self, caller: &Caller, name: &str, arguments: Map<String, Value>) -> Option<ToolResult> {
        Some(match name {
            "list_games" => self.list_games(caller, arguments).await,
            "rules" => self.rules(caller, arguments).await,
            "begin" => self.begin(caller, arguments).await,
            "join" => self.join(caller, arguments).await,
            "position" => self.position(caller, arguments).await,
            "play" => self.play(caller, arguments).await,
            "resign" => self.resign(caller, arguments).await,
            "history" => self.history(caller, arguments).await,
            "own_games" => read(arguments).map(|OwnGamesArguments {}| self.own_games(caller)),
            _ => return None,
        })
    }

    async fn list_games(&self, caller: &Caller, arguments: Map<String, Value>) -> ToolResult {
        let ListGamesArguments { text, players, information, chance, dynamics } = read(arguments)?;
        let filter = json!({
            "text": text, "players": players, "information": information, "chance": chance, "dynamics": dynamics,
        });
        let filter = serde_json::from_value(filter).map_err(|error| failure("bad_field", error.to_string()))?;
        let (client, _) = self.connect(caller, None, false).await?;
        let games = client.list_games(Some(filter)).await?;
        let line = |game: &GameEntry| {
            let [least, most] = game.players;
            format!("{}: {}, {least} to {most} players", game.game, game.title)
        };
        let lines: Vec<String> = games.iter().map(line).collect();
        let text = if lines.is_empty() { "No game fits.".to_owned() } else { lines.join("\n") };
        Ok(ToolReply::default().with("games", &games).text(text))
    }

    async fn rules(&self, caller: &Caller, arguments: Map<String, Value>) -> ToolResult {
        let RulesArguments { game } = read(arguments)?;
        let spec = self.describe(caller, &game).await?;
        let text = spec.text.as_deref().unwrap_or_default();
        let anchors: Vec<String> = spec.anchors.iter().map(|anchor| format!("anchor level={}", anchor.level)).collect();
        let agents = if anchors.is_empty() { "random".to_owned() } else { anchors.join(", ") };
        let seats = format!("Seats: {}. Agents of the server, weakest first: {agents}.", spec.seats.join(", "));
        let reply =
            ToolReply::default().with("game", &spec.string).with("title", &spec.title).with("seats", &spec.seats);
        Ok(reply.with("rules", text).with("anchors", &anchors).text(text).text(seats))
    }

    async fn begin(&self, caller: &Caller, arguments: Map<String, Value>) -> ToolResult {
        let arguments: BeginArguments = read(arguments)?;
        self.admit(caller)?;
        let (client, _) = self.connect(caller, self.options.agent.clone(), false).await?;
        let game = Practice::begin(client, arguments).await?;
        let (id, game) = self.insert(caller, OwnGame::Practice(Box::new(game)))?;
        position(&game, &id, true, None).await
    }

    async fn join(&self, caller: &Caller, arguments: Map<String, Value>) -> ToolResult {
        let arguments: JoinArguments = read(arguments)?;
        let known = self.options.agent.as_ref().map(|agent| agent.name.clone());
        let name = arguments.name.clone().or(known).unwrap_or_else(|| NAME.to_owned());
        if !is_agent_name(&name) {
            return Err(failure(
                "bad_field",
                format!("name: expected 1 to 40 characters of A-Za-z0-9._-, got {name:?}"),
            ));
        }
        self.admit(caller)?;
        let agent = AgentId { name, kind: Some(AgentKind::Llm), model: arguments.model.clone(), ..AgentId::default() };
        let (client, events) = self.connect(caller, Some(agent), arguments.resume).await?;
        let seat = RemoteSeat::take(client, events, arguments).await?;
        let (id, game) = self.insert(caller, OwnGame::Seat(seat))?;
        position(&game, &id, true, None).await
    }

    async fn position(&self, caller: &Caller, arguments: Map<String, Value>) -> ToolResult {
        let PositionArguments { id, picture, full } = read(arguments)?;
        let game = self.game(caller, &id)?;
        position(&game, &id, full, picture).await
    }

    async fn play(&self, caller: &Caller, arguments: Map<String, Value>) -> ToolResult {
        let PlayArguments { id, answer } = read(arguments)?;
        match &*self.game(caller, &id)? {
            OwnGame::Practice(game) => game.answer(&id, answer.into_text()).await,
            OwnGame::Seat(seat) => seat.answer(&id, &answer.into_text()).await,
        }
    }

    async fn resign(&self, caller: &Caller, arguments: Map<String, Value>) -> ToolResult {
        let ResignArguments { id } = read(arguments)?;
        match &*self.game(caller, &id)? {
            OwnGame::Practice(game) => game.resign(&id).await,
            OwnGame::Seat(seat) => seat.resign(&id).await,
        }
    }

    async fn history(&self, caller: &Caller, arguments: Map<String, Value>) -> ToolResult {
        let HistoryArguments { id } = read(arguments)?;
        Ok(match &*self.game(caller, &id)? {
            OwnGame::Practice(game) => game.history(&id).await,
            OwnGame::Seat(seat) => seat.history(&id),
        })
    }

    /// Lists the games of the caller. Callers without a token cannot be told apart over HTTP, so they get none.
    fn own_games(&self, caller: &Caller) -> ToolReply {
        let is_shared = caller.token.is_none() && self.options.local.is_some();
        let own = if is_shared { Vec::new() } else { self.games.0.all(caller.token.as_deref()) };
        let entry = |(id, game): (String, Arc<OwnGame>)| {
            let name = match &*game {
                OwnGame::Practice(game) => game.game_string().to_owned(),
                OwnGame::Seat(seat) => seat.game(),
            };
            json!({ "id": id, "game": name, "over": game.is_over() })
        };
        let games: Vec<Value> = own.into_iter().map(entry).collect();
        let lines: Vec<String> = games.iter().map(Value::to_string).collect();
        let text = match is_shared {
            true => "Games are listed only for requests with a token; use the ids that you know.".to_owned(),
            false if lines.is_empty() => "No games.".to_owned(),
            false => lines.join("\n"),
        };
        ToolReply::default().with("games", &games).text(text)
    }

    fn admit(&self, caller: &Caller) -> Result<(), ToolReply> {
        self.games.0.admit(caller.token.as_deref()).map_err(|why| failure("limit", why))
    }

    fn insert(&self, caller: &Caller, game: OwnGame) -> Result<(String, Arc<OwnGame>), ToolReply> {
        let game = Arc::new(game);
        let inserted = self.games.0.insert(caller.token.as_deref(), game.clone());
        inserted.map(|id| (id, game)).map_err(|why| failure("limit", why))
    }

    fn game(&self, caller: &Caller, id: &str) -> Result<Arc<OwnGame>, ToolReply> {
        let known = self.games.0.get(caller.token.as_deref(), id);
        known.ok_or_else(|| {
            failure(
                "unknown_game_id",
                format!("no game of this token has the id {id:?}; a game ends after an hour without a call"),
            )
        })
    }
}

async fn position(game: &OwnGame, id: &str, full: bool, picture: Option<PictureForm>) -> ToolResult {
    match game {
        OwnGame::Practice(game) => game.position(id, full, picture).await,
        OwnGame::Seat(seat) => seat.position(id, full, picture).await,
    }
}

/// Reads the arguments of a tool.
fn read<A: DeserializeOwned>(arguments: Map<String, Value>) -> Result<A, ToolReply> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| failure("bad_field", error.to_string()))
}
