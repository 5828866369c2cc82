//! Requests of a client: validation and replies.

use ludex_env::{GameRef, Seat};
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::{
    Act, ClientMessage, GameEntry, GameList, Join, Joined, Matches, ServerMessage, ServerPong, SpecReply,
};
use ludex_protocol::{Id, Move};
use serde_json::json;

use super::super::script::Disturbance;
use super::super::table::ScriptMatch;
use super::super::wire::ScriptSocket;
use super::place::{Place, SECOND};
use super::{Go, Request, ScriptServer, kind, run, type_of};
use crate::CheckFault;

impl ScriptServer<'_> {
    /// Validates and stores a request. Returns true if the request is new, false if it is a repetition.
    pub(super) fn note(&mut self, id: Id, message: &ClientMessage) -> Result<bool, CheckFault> {
        if let ClientMessage::Hello(_) = message {
            return Err(CheckFault::new(2, "sent `hello` twice on one connection", "`hello` once"));
        }
        let Some(session) = &mut self.session else { return Ok(false) };
        let name = format!("request {id} (`{}`)", kind(message));
        if let Some(known) = session.requests.get_mut(&id) {
            if known.message != *message {
                let did = format!("sent a different message under the id of {name}");
                return Err(CheckFault::new(1, did, "a new id for a new request"));
            }
            if known.connection == self.connection {
                let did = format!("sent {name} twice on one connection");
                return Err(CheckFault::new(1, did, "each request once per connection, as it gets exactly one reply"));
            }
            known.connection = self.connection;
            return Ok(false);
        }
        if id <= session.last_id {
            let did = format!("sent {name} after request {}", session.last_id);
            return Err(CheckFault::new(1, did, "ids that increase over all connections of a session"));
        }
        let due = session.requests.iter().find(|(_, known)| !known.replied && known.connection < self.connection);
        if let Some((due, known)) = due {
            let did = format!("sent {name} but not request {due} (`{}`) again", kind(&known.message));
            let expected = "every unanswered request again, with its old id, after a resume";
            return Err(CheckFault::new(7, format!("{did}{}", self.since_break()), expected));
        }
        session.last_id = id;
        let request = Request { message: message.clone(), reply: None, replied: false, connection: self.connection };
        session.requests.insert(id, request);
        if let ClientMessage::Act(act) = message {
            self.note_act(id, act)?;
        }
        Ok(true)
    }

    /// Checks that each (seat, turn, try) has at most one move, and that the move is for a pending turn.
    fn note_act(&mut self, id: Id, act: &Act) -> Result<(), CheckFault> {
        let Some(table) = &self.table else { return Ok(()) };
        let (Some(given), true) = (act.as_move(), act.match_id == table.id) else {
            return Err(CheckFault::new(5, format!("acted in {:?}", act.match_id), format!("{:?}", table.id)));
        };
        let held = self.find_seat(table, act.seat, "acted")?;
        let (seat, key) = (held.seat, held.key(act));
        if let Some((first, before)) = held.acts.get(&key) {
            let same =
                *first == given || table.read(seat, first).is_ok_and(|read| table.read(seat, &given) == Ok(read));
            let kept = self.session.as_ref().is_some_and(|session| session.requests.contains_key(before));
            if !same {
                let did = format!("acted twice for {key}: first {}, then {}", move_text(first), move_text(&given));
                return Err(CheckFault::new(5, did, "the same move whenever a (seat, turn, try) is repeated"));
            }
            if kept && *before != id && !table.over {
                let did = format!("acted twice for {key}: in request {before} and in request {id}");
                return Err(CheckFault::new(5, did, "one act for each (seat, turn, try)"));
            }
            return Ok(());
        }
        if held.due() != Some(key) && !table.over {
            return Err(CheckFault::new(5, format!("acted for {key}"), self.waited_for()));
        }
        if let Some(held) = self.table.as_mut().and_then(|table| table.seat_mut(seat)) {
            held.acts.insert(key, (given, id));
        }
        Ok(())
    }

    pub(super) async fn request(&mut self, wire: &mut ScriptSocket, id: Id, message: ClientMessage) -> Go<()> {
        self.note(id, &message)?;
        let at = match &message {
            ClientMessage::Act(act) => {
                let seat =
                    self.table.as_ref().and_then(|table| table.seat_or_only(act.seat)).map_or(0, |held| held.seat);
                Place::GotAct(seat, act.turn)
            }
            other => Place::Other(format!("got {}", kind(other))),
        };
        let played = matches!(message, ClientMessage::Act(_) | ClientMessage::Join(_) | ClientMessage::Enrol(_));
        let kept = self.session.as_ref().and_then(|session| session.requests.get(&id)?.reply.clone());
        let from = self.table.as_ref().map_or(0, |table| table.log.len());
        if matches!(message, ClientMessage::Join(_)) && self.has(Disturbance::Moved) && !self.done {
            return self.move_away(wire, id).await;
        }
        // The act is lost before the server executes it. In other scripts, only the reply is lost.
        if matches!(self.script.trouble, Disturbance::LostAct | Disturbance::Drain) && kept.is_none() {
            self.place(wire, at.clone()).await?;
        }
        let reply = match kept {
            Some(reply) => reply,
            None => self.carry_out(message)?,
        };
        if let Some(request) = self.session.as_mut().and_then(|session| session.requests.get_mut(&id)) {
            request.reply = Some(reply.clone());
        }
        if played {
            self.place(wire, at).await?;
        }
        let name = kind_of_reply(&reply);
        self.slow(&name).await;
        self.send(wire, Some(id), reply).await?;
        if let Some(request) = self.session.as_mut().and_then(|session| session.requests.get_mut(&id)) {
            request.replied = true;
        }
        if played {
            // An `enrol` is repeated after every reconnect, so the connection is not cut after each of its replies.
            let to = if name == "enrolled" { String::new() } else { format!(" to {id}") };
            self.place(wire, Place::Other(format!("sent {name}{to}"))).await?;
        }
        self.frames_from(wire, from).await?;
        self.deal(wire).await
    }

    fn carry_out(&mut self, message: ClientMessage) -> Go<ServerMessage> {
        Ok(match message {
            ClientMessage::Join(join) => self.join(&join)?,
            ClientMessage::Enrol(enrol) if self.run.is_some() => self.enrol(&enrol)?,
            ClientMessage::Suites(_) if self.run.is_some() => run::suites(self.script.game),
            ClientMessage::Act(act) => self.act(&act)?,
            ClientMessage::Resign(_) if self.over() => over(),
            ClientMessage::Resign(_) => {
                return Err(CheckFault::new(self.script.section, "resigned", self.waited_for()).into());
            }
            ClientMessage::Ping(_) => ServerMessage::Pong(ServerPong { now_ms: 1 }),
            ClientMessage::Leave(_) => ServerMessage::Ok(Default::default()),
            ClientMessage::ListMatches(_) => ServerMessage::Matches(Matches::default()),
            ClientMessage::ListGames(_) => ServerMessage::Games(GameList { games: games(self.script.game) }),
            ClientMessage::Describe(describe) => match ludex_games::load_with(&describe.game, &describe.params) {
                Ok(game) => ServerMessage::Spec(Box::new(SpecReply { spec: game.spec().clone() })),
                Err(error) => ServerMessage::Error(Box::new(error.into())),
            },
            other => {
                let text = format!("this check supports only {}, not `{}`", self.script.game, kind(&other));
                Refusal::new(ErrorCode::Forbidden, text).into()
            }
        })
    }

    fn join(&mut self, join: &Join) -> Result<ServerMessage, CheckFault> {
        if self.run.is_some() {
            return Err(CheckFault::new(12, "joined a match", self.waited_for()));
        }
        if self.table.as_ref().is_some_and(|table| !table.over) {
            return Err(CheckFault::new(5, "joined while its match runs", self.waited_for()));
        }
        self.joins += 1;
        let id = format!("j_kit{}", self.joins);
        let joined = ServerMessage::Joined(Joined { join: id.clone() });
        if self.over() {
            // The client may wait for another match, but no match follows.
            return Ok(joined);
        }
        let name = |game: &str| game.split('(').next().unwrap_or_default().to_owned();
        let (wanted, did) = (self.script.game, format!("joined a match of {:?}", join.game));
        let other = CheckFault::new(5, did, format!("{wanted:?}, as LUDEX_GAME says"));
        if name(&join.game) != name(wanted) {
            return Err(other);
        }
        let first = join.seat.map_or(self.script.seats[0], |seat| seat as usize);
        let game = self.start(join, &id, first)?;
        if ludex_games::load(wanted).is_ok_and(|wanted| wanted.spec().string != game.spec().string) {
            return Err(other);
        }
        Ok(joined)
    }

    /// Starts a match and returns its game. The first seat of the client is `first`, and the others follow at the
    /// distances that the script has.
    pub(super) fn start(&mut self, join: &Join, join_id: &str, first: Seat) -> Result<GameRef, CheckFault> {
        let asked = format!("joined with {}", json!(join));
        let game = ludex_games::load_with(&join.game, &join.params);
        let game = game.map_err(|error| CheckFault::new(5, asked.clone(), error.message))?;
        let players = game.spec().players as usize;
        if join.seat.is_some_and(|seat| seat as usize >= players) {
            return Err(CheckFault::new(5, asked, format!("a seat from 0 to {}", players - 1)));
        }
        let mut seats: Vec<Seat> =
            self.script.seats.iter().map(|seat| (seat - self.script.seats[0] + first) % players).collect();
        seats.sort_unstable();
        self.matches += 1;
        let extras = self.has(Disturbance::Extras);
        self.table = Some(ScriptMatch::new(game.clone(), join, join_id, &seats, self.matches, extras));
        Ok(game)
    }

    fn act(&mut self, act: &Act) -> Go<ServerMessage> {
        let (refuses, legal) = match self.script.trouble {
            Disturbance::Refusals { times, legal } => (act.turn == SECOND && act.attempt < times, legal),
            _ => (false, true),
        };
        let flawed = self.has(Disturbance::Flaws) && act.turn == SECOND && act.attempt == 0;
        let Some(table) = &mut self.table else {
            return Err(CheckFault::new(5, "sent an `act` without a match", "a `join` first").into());
        };
        let Some(seat) = table.seat_or_only(act.seat).filter(|_| !table.over).map(|held| held.seat) else {
            return Ok(over());
        };
        match &act.document {
            None if self.script.documents() => {
                let did = format!("answered turn {} with {}", act.turn, act_text(act));
                return Err(CheckFault::new(5, did, "a document that fits the schema named in the turn").into());
            }
            Some(said) if flawed => return Ok(table.refuse_document(seat, said)),
            _ => {}
        }
        let given = act.as_move().ok_or_else(|| "expected exactly one move in an act".to_owned());
        match given.and_then(|given| table.read(seat, &given)) {
            Ok(given) if legal && table.was_refused(seat, &given) => {
                let did = format!("sent the refused move {} again for turn {}", act_text(act), act.turn);
                Err(CheckFault::new(5, format!("{did}, try {}", act.attempt), "a move of `legal` in the refusal")
                    .into())
            }
            Ok(given) if refuses => Ok(table.refuse_legal(seat, given, legal)),
            Ok(given) => Ok(table.accept(seat, given)),
            Err(why) => {
                let answer = table.refuse(seat, why.clone(), None, true);
                if table.over {
                    let did = format!("was refused at every try, the last time {}: {why}", act_text(act));
                    return Err(CheckFault::new(5, did, "a move of `legal`").into());
                }
                Ok(answer)
            }
        }
    }
}

fn over() -> ServerMessage {
    Refusal::new(ErrorCode::MatchOver, "the match is over").into()
}

fn games(game: &str) -> Vec<GameEntry> {
    let spec = ludex_games::load(game).map(|game| game.spec().clone());
    let entry = spec.map(|spec| GameEntry {
        game: spec.game,
        title: spec.title,
        players: spec.player_range,
        dynamics: spec.dynamics,
        chance: spec.chance,
        information: spec.information,
        presets: Vec::new(),
        rules: spec.rules,
    });
    entry.into_iter().collect()
}

fn kind_of_reply(message: &ServerMessage) -> String {
    type_of(&serde_json::to_value(message).unwrap_or_default())
}

fn move_text(given: &Move) -> String {
    ludex_protocol::error::truncate_text(&json!(given).to_string())
}

fn act_text(act: &Act) -> String {
    act.as_move().as_ref().map_or_else(|| "nothing".to_owned(), move_text)
}
