//! Small run on disk, in the format of `ludex evaluate`: real matches, with made-up calls to a model that does not
//! exist.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ludex_agents::{Agent, MoveReply, wrap};
use ludex_env::recording::Replay;
use ludex_env::{GameRef, MoveRequest};
use ludex_play::local::{HostOptions, Participant, block_key, play_match, setup};
use ludex_protocol::Move;
use ludex_protocol::record::{AgentKind, Record};
use ludex_referee::suite::Suite;
use ludex_referee::suite::plan::seeds;
use ludex_report::display::move_text;
use serde_json::{Value, json};

/// Settings of a run to write.
pub struct Run<'a> {
    /// Name of the run, used for its folder and pages.
    pub name: &'a str,
    /// Names of models, each with the built-in agent that plays in place of the model. The first model is the one that
    /// is evaluated.
    pub models: &'a [(&'a str, &'a str)],
    /// Parts of the suite: id, game and opponent.
    pub parts: &'a [(&'a str, &'a str, &'a str)],
    /// Number of seeds per part.
    pub seeds: u64,
}

/// Seed of all runs that [`Run::write`] writes.
pub const SEED: u64 = 11;

/// Text of every system prompt. Pages must display the markup as text.
pub const SYSTEM: &str = "You play <b>games</b> & answer with one move.";

impl Run<'_> {
    /// Writes the run to the subfolder `runs` of `data` and returns the folder of the run.
    ///
    /// # Panics
    /// Panics if a game or an agent is unknown, or the folder cannot be written.
    pub fn write(&self, data: &Path) -> PathBuf {
        let folder = data.join("runs").join(self.name);
        fs::create_dir_all(&folder).expect("a folder");
        let agent =
            |name: &str, spec: String, candidate: bool| json!({"name": name, "spec": spec, "candidate": candidate});
        let mut agents: Vec<Value> = self.models.iter().map(|(name, _)| agent(name, spec_of(name), true)).collect();
        let mut suite = format!("name = \"small\"\nversion = 1\ntitle = \"Small\"\nseed = {SEED}\n");
        let _ = writeln!(suite, "[policy]\ntries = 3\nskip_forced = false");
        let (mut episodes, mut calls, mut games) = (String::new(), String::new(), serde_json::Map::new());
        for (part, game, opponent) in self.parts {
            let known = agents.iter().position(|a| a["name"] == *opponent);
            let other = known.unwrap_or(agents.len());
            if known.is_none() {
                agents.push(agent(opponent, (*opponent).to_owned(), false));
            }
            let _ = writeln!(
                suite,
                "[[part]]\nid = \"{part}\"\ngame = \"{game}\"\nschedule = \"against\"\nopponents = [\"{opponent}\"]\nblocks = {}",
                self.seeds
            );
            let game = ludex_games::load(game).expect("a game");
            games.insert(game.spec().string.clone(), game.spec().hash.clone().into());
            let all = (0..self.models.len()).flat_map(|m| (0..self.seeds).flat_map(move |i| [(m, i, 0), (m, i, 1)]));
            for (model, index, turn) in all {
                let episode = format!("{}.{part}.{model}-{other}.{index}.{turn}", self.name);
                let record = self.play(&game, self.models[model], opponent, &episode, (part, index), turn);
                calls += &calls_of(&game, self.models[model].0, &record, turn);
                let _ = writeln!(episodes, "{}", record.to_line().expect("a record"));
            }
        }
        let about = json!({
            "ludex": "ludex/0.1.0", "run": self.name, "kind": "evaluate", "agents": agents, "seeds": {"open": SEED},
            "suite": {"name": "small", "version": 1, "digest": Suite::digest(&suite)}, "scale": 1, "games": games,
            "begun": "2026-11-22T08:00:00Z",
        });
        let log = "{\"at\":\"2026-11-22T08:00:00Z\",\"what\":\"begun\"}\n{\"at\":\"2026-11-22T08:01:00Z\",\"what\":\"done\"}\n";
        let put = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
        put("run.json", &format!("{about:#}\n"));
        put("suite.toml", &suite);
        put("episodes.jsonl", &episodes);
        put("calls.jsonl", &calls);
        put("log.jsonl", log);
        folder
    }

    fn play(
        &self,
        game: &GameRef,
        (name, plays): (&str, &str),
        opponent: &str,
        episode: &str,
        (part, index): (&str, u64),
        turn: usize,
    ) -> Record {
        let mut model = Participant::new(plays, game).expect("an agent");
        model.agent = clumsy(model.agent);
        let opponent = Participant::new(opponent, game).expect("an agent");
        let table = [&model, &opponent];
        let seats = [table[turn], table[1 - turn]];
        let seed = seeds("small", SEED, part, None).of(index);
        let mut setup = setup(game, &seats, seed, &block_key(game, &seats, seed), turn, None);
        episode.clone_into(&mut setup.header.episode);
        setup.header.rated = true;
        setup.header.illegal.tries = 3;
        let seat = &mut setup.header.seats[turn];
        (seat.name, seat.kind) = (name.to_owned(), AgentKind::Llm);
        // The variable with the API key affects how calls are made but not what is played, so the stored spec omits it.
        seat.spec = Some(format!("llm model={name}"));
        setup.run = Some(self.name.to_owned());
        setup.pair = episode.rsplit_once('.').map(|(pair, _)| pair.to_owned());
        play_match(setup, &seats, HostOptions::default()).record
    }
}

/// Returns the agent spec of a model.
fn spec_of(model: &str) -> String {
    format!("llm model={model} key_env=TEST_LUDEX_KEY")
}

/// Returns the calls of a match: one per attempt of the model.
fn calls_of(game: &GameRef, model: &str, record: &Record, seat: usize) -> String {
    let mut out = String::new();
    let mut steps = Replay::new(&**game, &record.events);
    while let Some(step) = steps.next() {
        let step = step.expect("a record that can be played");
        let Some((_, m)) = step.moves().find(|(_, m)| m.seat as usize == seat && step.played) else { continue };
        let played = move_text(step.before, m).expect("a move");
        for attempt in 0..=m.tries.len() {
            let last = attempt == m.tries.len();
            let (said, verdict) = if last { (played.as_str(), "ok") } else { ("nowhere", "illegal") };
            let call = json!({
                "purpose": "move", "model": model,
                "messages": [{"role": "system", "content": SYSTEM},
                             {"role": "user", "content": format!("Turn {}.\nLegal moves: many", m.turn)}],
                "answer": format!("I think <i>hard</i>.\nAnswer: {said}"), "finish": "stop",
                "tokens": {"in": 100 + u64::from(m.turn), "out": 7}, "ms": 1200, "retries": 0, "usd": 0.0005,
                "verdict": verdict, "read": said, "reasoning": format!("thought {attempt}"),
            });
            let key = format!("{}.{attempt}.0", m.turn);
            let line = json!({"episode": record.header.episode, "seat": seat, "key": key, "call": call});
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// Wraps an agent so that its first reply in a match is not a move.
fn clumsy(agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
    Arc::new(wrap(agent, |agent: &dyn Agent, ask: &MoveRequest<'_>| {
        if ask.turn == 0 && ask.attempts().is_empty() {
            return Ok(MoveReply::new(Move::Text("nowhere".to_owned())));
        }
        agent.act(ask)
    }))
}

/// Returns the lines of a file of a run, parsed as JSON.
///
/// # Panics
/// Panics if the file cannot be read.
pub fn lines(folder: &Path, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(file)).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}
