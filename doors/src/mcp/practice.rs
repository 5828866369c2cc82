//! Practice games: environments with seeds, whose episodes are recorded. The server writes the prompts and reads the
//! answers, as it does for its own language models.

use std::sync::atomic::{AtomicBool, Ordering};

use ludex_client::protocol::Batch;
use ludex_client::protocol::call::ChatMessage;
use ludex_client::protocol::message::{
    Autoreset, GymView, MaskForm, OnIllegal, Open, ReadAnswer, StepEnvs, Verdict, ViewEnv,
};
use ludex_client::protocol::spec::{Params, Spec};
use ludex_client::{Client, Env};
use serde_json::Value;
use tokio::sync::Mutex;

use super::arguments::{AgentNames, BeginArguments, PictureForm, SeatChoice};
use super::history::SeenHistory;
use super::reply::{ToolReply, ToolResult, failure};

/// Game of one seat against agents of the server.
pub(super) struct Practice {
    spec: Box<Spec>,
    seat: usize,
    /// Request that opened the environment.
    open: Open,
    is_over: AtomicBool,
    state: Mutex<PracticeState>,
}

struct PracticeState {
    /// Connection and environment; `None` once the game is over.
    live: Option<(Client, Env)>,
    /// Prompt of the position; `None` at the end.
    messages: Option<Vec<ChatMessage>>,
    /// Text view of the position.
    text: String,
    returns: Vec<f64>,
    history: SeenHistory,
}

impl Practice {
    /// Begins a game.
    ///
    /// # Errors
    /// Those of `open` and `reset`, a wrong seat, or a wrong number of opponents.
    pub async fn begin(client: Client, arguments: BeginArguments) -> Result<Self, ToolReply> {
        let spec = client.describe(&arguments.game, Params::new(), false).await?;
        let seat = seat_of(&spec, arguments.seat.as_ref().unwrap_or(&SeatChoice::Number(0)))?;
        let mut seats = agents(&spec, arguments.opponent.as_ref())?;
        seats.insert(seat, "agent".to_owned());
        let mut prompt = arguments.prompt;
        prompt.entry("prompting").or_insert_with(|| Value::from(CHAT));
        let mut views = vec![GymView::Prompt, GymView::Returns];
        views.extend(spec.views.text.then_some(GymView::Text));
        let open = Open {
            seats: Some(seats),
            views: Some(views),
            prompt,
            autoreset: Autoreset::Disabled,
            mask: Some(MaskForm::None),
            record: true,
            ..Open::new(arguments.game)
        };
        let env = client.open(open.clone()).await?;
        let batch = env.reset(arguments.seed).await?;
        let mut state = PracticeState {
            live: Some((client, env)),
            messages: None,
            text: String::new(),
            returns: Vec::new(),
            history: SeenHistory::default(),
        };
        let is_over = state.show(&batch);
        Ok(Practice { spec: Box::new(spec), seat, open, is_over: AtomicBool::new(is_over), state: Mutex::new(state) })
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Returns the game string.
    pub fn game_string(&self) -> &str {
        &self.spec.string
    }

    /// Returns the position, and with `full` the rules and the form of the answer too.
    pub async fn position(&self, id: &str, full: bool, picture: Option<PictureForm>) -> ToolResult {
        let state = self.state.lock().await;
        let reply = self.reply(id, &state, full);
        let (Some(form), Some((_, env))) = (picture, &state.live) else { return Ok(reply) };
        let view = ViewEnv { seat: Some(self.seat as u32), views: vec![GymView::Picture], ..ViewEnv::default() };
        let viewed = env.view(view).await?;
        Ok(match viewed.picture {
            Some(picture) => reply.picture(id, form, &picture),
            None => reply,
        })
    }

    /// Plays an answer.
    ///
    /// # Errors
    /// A refused answer, with the words that help to mend it. The position is unchanged.
    pub async fn answer(&self, id: &str, answer: String) -> ToolResult {
        let mut state = self.state.lock().await;
        let before = state.text.clone();
        let Some((_, env)) = &state.live else { return Err(game_over()) };
        let batch = env.step_with(StepEnvs { answers: Some(vec![Some(answer)]), ..StepEnvs::default() }).await?;
        let read = batch.answers.iter().flatten().flatten().next().cloned().unwrap_or_default();
        let played = read.verdict == Verdict::Ok;
        if played {
            let turn = state.history.count() + 1;
            let text = read.text.as_deref().unwrap_or_default();
            state.history.push(format!("Your turn {turn}:\n{before}\nYou played: {text}"));
        }
        self.show(&mut state, &batch);
        let reply = self.reply(id, &state, false).with("verdict", read.verdict);
        match played {
            true => Ok(reply.with("move", &read.text)),
            false => Err(refusal_reply(reply, &read)),
        }
    }

    /// Resigns the game. Environments know no resignation, so the seat forfeits by an illegal move on a copy of the
    /// position, whose episode is recorded in place of the original one.
    pub async fn resign(&self, id: &str) -> ToolResult {
        let mut state = self.state.lock().await;
        let Some((client, env)) = &state.live else { return Err(game_over()) };
        let items = env.snapshot().await?.items;
        let copy = client.open(Open { on_illegal: OnIllegal::Lose, ..self.open.clone() }).await?;
        copy.restore(items).await?;
        let beyond = i32::try_from(self.spec.actions).unwrap_or(i32::MAX);
        let batch = copy.step(&[beyond]).await?;
        self.show(&mut state, &batch);
        state.history.push("You resigned.".to_owned());
        Ok(self.reply(id, &state, false))
    }

    /// Returns the turns of the seat, and the final position.
    pub async fn history(&self, id: &str) -> ToolReply {
        let state = self.state.lock().await;
        let mut entries = state.history.since(0);
        let label = if state.live.is_some() { "The position now" } else { "The final position" };
        entries.push(format!("{label}:\n{}", state.text));
        let reply = ToolReply::default().with("id", id).with("history", &entries);
        reply.text(entries.join("\n\n"))
    }

    /// Shows a batch, and frees the environment at the end of the game.
    fn show(&self, state: &mut PracticeState, batch: &Batch) {
        if state.show(batch) {
            self.is_over.store(true, Ordering::Relaxed);
            state.live = None;
        }
    }

    fn reply(&self, id: &str, state: &PracticeState, full: bool) -> ToolReply {
        let name = self.spec.seats.get(self.seat).map_or("", String::as_str);
        let mut reply = ToolReply::default()
            .with("id", id)
            .with("game", &self.spec.string)
            .with("seat", self.seat)
            .with("seat_name", name)
            .with("over", state.live.is_none())
            .with("position", &state.text);
        if state.live.is_none() {
            let own = state.returns.get(self.seat).copied().unwrap_or_default();
            let text = format!("Game {id} is over. Your return as {name}: {own}.\n\n{}", state.text);
            return reply.with("return", own).with("returns", &state.returns).text(text);
        }
        let all = state.messages.as_deref().unwrap_or_default();
        let shown = if full || !self.is_conversation() { all } else { all.last_chunk::<1>().map_or(all, |last| last) };
        reply = reply.with("messages", shown).text(format!("Game {id} of {}: you are {name}.", self.spec.string));
        shown.iter().fold(reply, |reply, message| reply.text(message.content.clone()))
    }

    /// Returns true if the prompts of the game are one conversation, in which only the first has the rules.
    fn is_conversation(&self) -> bool {
        self.open.prompt.get("prompting").is_some_and(|prompting| prompting == CHAT)
    }
}

/// Form of prompts as one conversation.
pub(super) const CHAT: &str = "chat";

impl PracticeState {
    /// Reads the only row of a batch. Returns true if the game is over.
    fn show(&mut self, batch: &Batch) -> bool {
        self.messages = batch.prompt.iter().flatten().next().cloned().flatten();
        self.text = batch.text.iter().flatten().next().cloned().unwrap_or_default();
        self.returns = batch.returns.as_ref().map(|returns| returns.to_vec()).unwrap_or_default();
        [&batch.terminated, &batch.truncated].iter().any(|flags| flags.get(0) == Some(1))
    }
}

fn game_over() -> ToolReply {
    failure("game_over", "expected a game that is not over; begin another one")
}

/// Makes the reply to a refused answer.
fn refusal_reply(reply: ToolReply, read: &ReadAnswer) -> ToolReply {
    let message = read.message.as_deref().unwrap_or("expected a legal move");
    reply.with("message", message).with("issues", &read.issues).into_error()
}

/// Returns the number of a seat.
///
/// # Errors
/// The game has no such seat.
pub(super) fn seat_of(spec: &Spec, seat: &SeatChoice) -> Result<usize, ToolReply> {
    let (found, got) = match seat {
        SeatChoice::Number(number) => {
            (Some(*number as usize).filter(|&seat| seat < spec.seats.len()), number.to_string())
        }
        SeatChoice::Name(name) => (spec.seats.iter().position(|known| known == name), format!("{name:?}")),
    };
    let (game, last, names) = (&spec.game, spec.seats.len().saturating_sub(1), spec.seats.join(", "));
    found.ok_or_else(|| {
        failure("bad_seat", format!("expected a seat of {game}, got {got}; allowed: 0..={last}, {names}"))
    })
}

/// Returns the agents of the other seats, in seat order.
///
/// # Errors
/// The number of agents is wrong.
fn agents(spec: &Spec, opponent: Option<&AgentNames>) -> Result<Vec<String>, ToolReply> {
    let others = spec.seats.len().saturating_sub(1);
    match opponent {
        None => Ok(vec!["random".to_owned(); others]),
        Some(AgentNames::One(agent)) => Ok(vec![agent.clone(); others]),
        Some(AgentNames::Many(agents)) if agents.len() == others => Ok(agents.clone()),
        Some(AgentNames::Many(agents)) => Err(failure(
            "bad_shape",
            format!(
                "opponent: expected an agent for each of the {others} other seats of {}, got {}",
                spec.game,
                agents.len()
            ),
        )),
    }
}
