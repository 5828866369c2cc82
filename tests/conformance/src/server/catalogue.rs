//! Laws of the catalogue.

use std::collections::BTreeSet;

use futures_util::FutureExt as _;
use ludex_protocol::message::{ClientMessage, Describe, GameEntry, GameFilter, ListGames};
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, Params, Spec};
use ludex_protocol::{ErrorCode, Refusal};
use serde_json::{Value, json};

use super::bench::LawContext;
use super::link::Link;
use super::strict::alike;
use super::{Law, LawFailure, LawResult, law, law_holds, same, wrong};

pub(super) const LAWS: &[Law] = &[
    law(3, "describes every game that it lists", None, |b| listed(b).boxed_local()),
    law(3, "describes games with all fields", None, |b| complete(b).boxed_local()),
    law(3, "filters its games", None, |b| filters(b).boxed_local()),
    law(3, "accepts its own canonical game strings and parameters", None, |b| {
        b.each(async |link, spec| strings(link, spec).await).boxed_local()
    }),
    law(3, "sends the rules page when asked", None, |b| {
        b.each(async |link, spec| pages(link, spec).await).boxed_local()
    }),
    law(6, "suggests known games for an unknown one", None, |b| unknown_games(b).boxed_local()),
    law(6, "lists the allowed values of a wrong parameter", None, |b| wrong_params(b).boxed_local()),
];

/// Required fields of a spec and of its views (those without `?` in the protocol page).
const FIELDS: [&str; 20] = [
    "game",
    "params",
    "string",
    "rules",
    "hash",
    "players",
    "seats",
    "dynamics",
    "chance",
    "information",
    "utility",
    "rewards",
    "min_return",
    "max_return",
    "max_length",
    "actions",
    "max_chance",
    "legal",
    "views",
    "params_schema",
];
const VIEW_FIELDS: [&str; 3] = ["struct", "text", "layouts"];

async fn listed(b: &LawContext) -> LawResult {
    let games = b.games().await?;
    let ids: BTreeSet<&str> = games.iter().map(|(entry, _)| entry.game.as_str()).collect();
    law_holds(ids.len() == games.len(), || "listed a game twice".into(), "each game once")?;
    for (entry, spec) in games {
        let of = |stop: LawFailure| stop.of(&entry.game);
        same(&spec.game, &entry.game, || "spec.game".into()).map_err(of)?;
        same(&spec.rules, &entry.rules, || "spec.rules, compared with the list".into()).map_err(of)?;
        let kinds = (spec.dynamics, spec.chance, spec.information);
        same(&kinds, &(entry.dynamics, entry.chance, entry.information), || {
            "dynamics, chance and information of the spec, compared with the list".into()
        })
        .map_err(of)?;
        let [low, high] = entry.players;
        let within = (low..=high).contains(&spec.players) && low > 0;
        law_holds(
            within,
            || format!("the spec has {} players, but the list has {low} to {high}", spec.players),
            "a number within the listed range",
        )
        .map_err(of)?;
        let (told, described): (BTreeSet<_>, BTreeSet<_>) =
            (entry.presets.iter().collect(), spec.presets.keys().collect());
        same(&described, &told, || "presets of the spec, compared with the list".into()).map_err(of)?;
    }
    Ok(())
}

async fn complete(b: &LawContext) -> LawResult {
    let mut link = b.link().await?;
    for (entry, spec) in b.games().await? {
        let raw = link.demand(json!({"type": "describe", "game": entry.game})).await?.raw;
        let missing = |of: &Value, fields: &[&'static str]| fields.iter().copied().find(|field| of[*field].is_null());
        let missing = missing(&raw["spec"], &FIELDS).or_else(|| missing(&raw["spec"]["views"], &VIEW_FIELDS));
        let found = match missing {
            Some(field) => Err(wrong(format!("the spec has no `{field}`"), "every required field")),
            None => sane(spec),
        };
        found.map_err(|stop| stop.of(&entry.game))?;
    }
    Ok(())
}

/// Checks the properties that every spec must have.
fn sane(spec: &Spec) -> LawResult {
    same(&spec.seats.len(), &(spec.players as usize), || "names of seats".into())?;
    law_holds(
        spec.min_return < spec.max_return,
        || format!("the spec's returns are {}..{}", spec.min_return, spec.max_return),
        "a range with minimum <= maximum",
    )?;
    law_holds(
        spec.actions > 0 || spec.document_schemas.is_some(),
        || "the spec has none".into(),
        "actions or document schemas",
    )?;
    law_holds(spec.max_length > 0, || "spec.max_length is 0".into(), "a maximum number of moves")?;
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    law_holds(hex(&spec.hash), || format!("spec.hash is {:?}", spec.hash), "lower-case hex")?;
    let chance = spec.chance != ChanceMode::Deterministic;
    law_holds(
        chance || spec.max_chance == 0,
        || format!("spec.max_chance is {}", spec.max_chance),
        "0 without chance",
    )?;
    let arrays = [&spec.views.tensor, &spec.views.info].into_iter().flatten().flatten();
    for (name, array) in arrays {
        law_holds(array.low <= array.high, || format!("{name}: {}..{}", array.low, array.high), "low <= high")?;
        let mut at = 0;
        for part in &array.parts {
            same(&part.at, &at, || format!("start of part {} of the view {name}", part.name))?;
            at += part.len;
        }
        let first = array.s.first().copied().unwrap_or_default();
        law_holds(
            array.parts.is_empty() || at == first,
            || format!("the parts of the view {name} end at {at}"),
            "the length of the first axis",
        )?;
    }
    Ok(())
}

async fn list(link: &mut Link, filter: GameFilter) -> LawResult<Vec<GameEntry>> {
    link.call(ClientMessage::ListGames(ListGames { filter: Some(filter) })).await?.games()
}

async fn filters(b: &LawContext) -> LawResult {
    type Fits = Box<dyn Fn(&GameEntry) -> bool>;
    let mut filters: Vec<(GameFilter, Fits)> = Vec::new();
    let none = GameFilter::default;
    for wanted in [Information::Perfect, Information::Imperfect] {
        let filter = GameFilter { information: Some(wanted), ..none() };
        filters.push((filter, Box::new(move |entry| entry.information == wanted)));
    }
    for wanted in [ChanceMode::Deterministic, ChanceMode::Explicit, ChanceMode::Sampled] {
        filters.push((GameFilter { chance: Some(wanted), ..none() }, Box::new(move |entry| entry.chance == wanted)));
    }
    for wanted in [Dynamics::Sequential, Dynamics::Simultaneous, Dynamics::Mixed] {
        filters
            .push((GameFilter { dynamics: Some(wanted), ..none() }, Box::new(move |entry| entry.dynamics == wanted)));
    }
    for n in [1, 2, 3] {
        let fits = move |entry: &GameEntry| (entry.players[0]..=entry.players[1]).contains(&n);
        filters.push((GameFilter { players: Some(n), ..none() }, Box::new(fits)));
    }
    let two = GameFilter { information: Some(Information::Perfect), players: Some(2), ..none() };
    let fits = |e: &GameEntry| e.information == Information::Perfect && (e.players[0]..=e.players[1]).contains(&2);
    filters.push((two, Box::new(fits)));
    let (games, mut link) = (b.games().await?, b.link().await?);
    for (filter, fits) in filters {
        let wanted: Vec<&str> = games.iter().map(|g| &g.0).filter(|e| fits(e)).map(|e| e.game.as_str()).collect();
        let got = list(&mut link, filter.clone()).await?;
        let got: Vec<&str> = got.iter().map(|entry| entry.game.as_str()).collect();
        same(&got, &wanted, || format!("reply to `list_games` with the filter {}", json!(filter)))?;
    }
    let name = &b.a_game().await?.game;
    let found = list(&mut link, GameFilter { text: Some(name.clone()), ..none() }).await?;
    law_holds(found.iter().any(|e| e.game == *name), || format!("listed no game for the name {name}"), "that game")
}

async fn describe(link: &mut Link, game: &str, params: &Params) -> LawResult<Spec> {
    let describe = Describe { game: game.to_owned(), params: params.clone(), rules_text: false };
    link.call(ClientMessage::Describe(describe)).await?.spec()
}

async fn strings(link: &mut Link, spec: &Spec) -> LawResult {
    same(&describe(link, &spec.string, &Params::new()).await?, spec, || format!("describe {}", spec.string))?;
    same(&describe(link, &spec.game, &spec.params).await?, spec, || format!("describe with {}", json!(spec.params)))?;
    for (name, preset) in &spec.presets {
        let of = |what: &str| format!("{what} of preset {name}");
        let with = describe(link, &spec.game, &preset.params).await?;
        for (param, value) in &preset.params {
            let got = with.params.get(param).unwrap_or(&Value::Null);
            law_holds(alike(got, value), || format!("{}: {got}", of(&format!("`{param}`"))), &value.to_string())?;
        }
        same(&with.params.keys().count(), &spec.params.len(), || of("number of parameters"))?;
        let again = describe(link, &with.string, &Params::new()).await?;
        same(&again, &with, || of("the canonical string"))?;
        let equal = (with.params == spec.params, with.string == spec.string, with.hash == spec.hash);
        law_holds(
            equal.0 == equal.1,
            || format!("{} for {}", with.string, json!(with.params)),
            "the same string for equal parameters",
        )?;
        law_holds(!equal.0 || equal.2, || of("a different hash"), "equal hashes for equal parameters")?;
    }
    Ok(())
}

async fn pages(link: &mut Link, spec: &Spec) -> LawResult {
    let describe = Describe { game: spec.game.clone(), rules_text: true, ..Describe::default() };
    let text = link.call(ClientMessage::Describe(describe)).await?.spec()?.text;
    law_holds(text.is_some_and(|text| !text.trim().is_empty()), || "sent no rules page".into(), "`text`")?;
    law_holds(spec.text.is_none(), || "sent a rules page that was not requested".into(), "no `text`")
}

/// Checks that an error about an unknown name contains the name, the known names, and the most similar name.
fn instead(error: &Refusal, got: &str, nearest: &str) -> LawResult {
    same(&error.got.as_deref(), &Some(&json!(got)), || format!("`got` of error {}", error.code))?;
    let allowed = error.allowed.as_deref().and_then(Value::as_array).is_some_and(|all| all.contains(&json!(nearest)));
    law_holds(allowed, || format!("`allowed` is {}", json!(error.allowed)), &format!("a list with {nearest:?}"))?;
    // Several names may be equally similar.
    let edits = |word: &str| strsim::osa_distance(got, word);
    let near = error.nearest.as_deref().is_some_and(|word| edits(word) <= edits(nearest));
    law_holds(near, || format!("`nearest` to {got:?} is {:?}", error.nearest), &format!("{nearest:?}"))
}

async fn unknown_games(b: &LawContext) -> LawResult {
    let mut link = b.link().await?;
    for (entry, _) in b.games().await? {
        let mut name = entry.game.clone();
        name.insert(name.len() / 2, 'q');
        let refused = link.demand(json!({"type": "describe", "game": name})).await?;
        instead(&*refused.error_at(ErrorCode::UnknownGame, "game")?, &name, &entry.game)?;
    }
    Ok(())
}

async fn wrong_params(b: &LawContext) -> LawResult {
    let (mut link, mut tried) = (b.link().await?, 0);
    for (_, spec) in b.games().await? {
        let Some((name, value)) = spec.params.iter().next() else { continue };
        tried += 1;
        let of = |stop: LawFailure| stop.of(&spec.game);
        let odd = format!("{name}q");
        let refused =
            link.demand(json!({"type": "describe", "game": spec.game, "params": {odd.clone(): value}})).await?;
        let error = refused.error_at(ErrorCode::BadParams, &format!("params.{odd}")).map_err(of)?;
        instead(&error, &odd, name).map_err(of)?;
        let list = json!({"type": "describe", "game": spec.game, "params": {name.clone(): ["?", {}]}});
        link.demand(list).await?.error_at(ErrorCode::BadParams, &format!("params.{name}")).map_err(of)?;
        for (name, schema) in spec.params_schema["properties"].as_object().into_iter().flatten() {
            let Some(most) = schema["maximum"].as_i64() else { continue };
            let beyond = json!({"type": "describe", "game": spec.game, "params": {name.clone(): most + 1}});
            let error = link.demand(beyond).await?.error_at(ErrorCode::BadParams, &format!("params.{name}"));
            let error = error.map_err(of)?;
            same(&error.got.as_deref(), &Some(&json!(most + 1)), || format!("`got` of {name}")).map_err(of)?;
            law_holds(
                error.allowed.is_some(),
                || format!("the error about {name} has no `allowed`"),
                "`allowed` with the valid values",
            )
            .map_err(of)?;
        }
    }
    if tried > 0 { Ok(()) } else { Err(LawFailure::Skip("no game has parameters".into())) }
}
