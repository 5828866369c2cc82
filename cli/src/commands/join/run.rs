//! `ludex join --run`.

use std::io::{self, Write as _};
use std::sync::Arc;

use indicatif::ProgressBar;
use ludex_client::{Client, Failure, Handler, MatchResult, Options, Player, TurnReply, TurnRequest};
use ludex_play::remote_agent::RemoteAgent;
use ludex_protocol::message::{Enrol, Enrolled, MatchEvent, MatchStart, Progress, Resync, RunEnd};
use ludex_referee::suite::Suite;
use serde_json::{Value, json};

use crate::commands::print;

/// Plays a run to its end. Returns `None` if `stop` resolves before the end.
pub(super) async fn play(
    url: &str,
    options: Options,
    enrol: Enrol,
    agent: RemoteAgent,
    stop: impl Future<Output = ()> + Send,
) -> anyhow::Result<Option<Box<RunEnd>>> {
    let (client, events) = Client::connect(url, options).await?;
    let agent = match in_suite(&client, &enrol, agent).await {
        Ok(agent) => agent,
        Err(why) => {
            client.close().await;
            return Err(why);
        }
    };
    let handler = ProgressAgent { agent, bar: print::progress(0, "playing") };
    let over = Player::for_run(client.clone(), events, enrol, handler).run_to_end(stop).await;
    client.close().await;
    Ok(over?)
}

/// Checks, before the enrolment, that the agent can play all parts of the suite that the run plays. Gives the agent the
/// settings of a suite that this program has too.
async fn in_suite(client: &Client, enrol: &Enrol, agent: RemoteAgent) -> anyhow::Result<RemoteAgent> {
    let suites = client.suites().await?;
    // Without a suite, the request continues a run whose parts are unknown here. The server refuses unknown suites.
    let suite = suites.iter().find(|suite| suite.suite == enrol.suite);
    let parts = suite.into_iter().flat_map(|suite| &suite.parts);
    let played = parts.filter(|part| part.candidates <= enrol.candidates).map(|part| (&part.part, &part.game));
    let played = played.filter(|(part, _)| enrol.only.is_empty() || enrol.only.contains(*part));
    let faults: Vec<String> =
        played.filter_map(|(part, game)| Some(format!("{part}: {}", agent.check(game).err()?))).collect();
    anyhow::ensure!(
        faults.is_empty(),
        "the agent cannot play all parts, so it did not enroll; select the parts that it can play with --part: {}",
        faults.join("; ")
    );
    let known = suite.and_then(|suite| Some((suite, Suite::builtin_text(&suite.suite).ok()?)));
    match known.filter(|(suite, text)| Suite::digest(text) == suite.digest) {
        Some((_, text)) => agent.in_suite(text),
        None => Ok(agent),
    }
}

/// Agent with a progress bar.
struct ProgressAgent {
    agent: RemoteAgent,
    bar: ProgressBar,
}

impl Handler for ProgressAgent {
    fn turn(&self, request: TurnRequest) -> impl Future<Output = Result<TurnReply, Failure>> + Send {
        self.agent.turn(request)
    }

    fn started(&self, start: &Arc<MatchStart>) {
        self.agent.started(start);
    }

    fn event(&self, event: &MatchEvent) {
        self.agent.event(event);
    }

    fn resync(&self, resync: &Resync) {
        self.agent.resync(resync);
    }

    fn ended(&self, played: &MatchResult) {
        self.agent.ended(played);
    }

    fn enrolled(&self, enrolled: &Enrolled) {
        for (part, why) in &enrolled.left_out {
            self.bar.suspend(|| eprintln!("ludex: the run leaves out {part}: {why}"));
        }
    }

    fn progress(&self, progress: &Progress) {
        self.bar.set_length(progress.done + progress.due);
        self.bar.set_position(progress.done);
    }
}

/// Prints the results of a run that has ended.
pub(super) fn show(url: &str, over: &RunEnd, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return Ok(print::json(&json!(over))?);
    }
    let mut out = io::stdout().lock();
    if over.verdict["entrants"].is_array() {
        show_standings(&mut out, &over.verdict)?;
        return Ok(());
    }
    let mut rows = vec![["part", "agent", "w-d-l", "score", "level", "rating"].map(str::to_owned).to_vec()];
    for row in over.verdict["parts"].as_array().into_iter().flatten() {
        let count = |key: &str| row[key].as_u64().unwrap_or(0);
        let text = |value: &Value| print::plain(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let number = |value: &Value, digits| value.as_f64().map_or_else(|| "-".into(), |x| print::number(x, digits));
        let level = &row["level"]["level"];
        rows.push(vec![
            text(&row["part"]),
            text(&row["agent"]),
            format!("{}-{}-{}", count("wins"), count("draws"), count("losses")),
            number(&row["score"]["value"], 3),
            if level.is_null() { "-".into() } else { print::plain(&level.to_string()) },
            number(&row["rating"]["value"], 0),
        ]);
    }
    print::table(&mut out, &rows, |column| column > 1)?;
    let page = url.replacen("ws", "http", 1);
    let reason: &str = over.reason.into();
    let line = format!("{} is over ({reason}): {}{}", over.run, page.trim_end_matches('/'), over.report);
    writeln!(out, "{}", print::plain(&line))?;
    Ok(())
}

/// Prints the standings of a tournament.
fn show_standings(out: &mut impl io::Write, verdict: &Value) -> anyhow::Result<()> {
    let mut rows = vec![["rank", "entrant", "points", "w-d-l", "out"].map(str::to_owned).to_vec()];
    for row in verdict["entrants"].as_array().into_iter().flatten() {
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => print::plain(text),
            other => print::plain(&other.to_string()),
        };
        let count = |key: &str| row[key].as_u64().unwrap_or(0);
        rows.push(vec![
            text(&row["rank"]),
            text(&row["name"]),
            row["points"].as_f64().map_or_else(String::new, |points| print::number(points, 1)),
            format!("{}-{}-{}", count("wins"), count("draws"), count("losses")),
            text(&row["out"]),
        ]);
    }
    Ok(print::table(out, &rows, |column| column == 0 || column == 2)?)
}
