//! Tests of agent specs: accepted forms, their meaning, and refusals.

use std::sync::Arc;

use ludex_agents::random::Random;
use ludex_agents::{
    Agent, AgentClass, AgentEntry, AgentSpec, ArgDef, ArgKind, MoveReply, Roster, SearchBudget, ask, build, wrap,
};
use ludex_env::GameRef;
use ludex_games::load;
use ludex_protocol::{ErrorCode, Refusal};

fn game(text: &str) -> GameRef {
    load(text).unwrap()
}

fn canonical(text: &str) -> String {
    AgentSpec::parse(text).unwrap().to_string()
}

fn refusal(text: &str) -> Refusal {
    AgentSpec::parse(text).unwrap_err()
}

#[test]
fn spec_has_canonical_form() {
    assert_eq!(canonical("  random "), "random");
    assert_eq!(canonical("random seed=007"), "random seed=7");
    assert_eq!(canonical("anchor bot=2  level=1"), "anchor level=1 bot=2");
    assert_eq!(canonical("anchor bot=1 level=1"), "anchor level=1");
    assert_eq!(canonical("gtp cmd=\"gnugo --mode gtp\" seed=3"), "gtp cmd=\"gnugo --mode gtp\" seed=3");
    assert_eq!(canonical(r#"uci skill=3 cmd="stockfish""#), "uci cmd=stockfish skill=3");
    assert_eq!(canonical(r#"botzone cmd="a\"b \\ c\d""#), r#"botzone cmd="a\"b \\ c\\d""#);
    assert_eq!(canonical(r#"llm model="" base_url=http://h/v1?a=b"#), r#"llm model="" base_url=http://h/v1?a=b"#);
    for text in [r#"botzone cmd="a\"b \\ c\d""#, "anchor level=3", r#"llm model="""#, r"botzone cmd=C:\bot"] {
        assert_eq!(canonical(&canonical(text)), canonical(text));
    }
}

#[test]
fn expanded_spec_contains_defaults() {
    assert_eq!(AgentSpec::parse("anchor level=1").unwrap().to_expanded_string(), "anchor level=1 bot=1");
    assert_eq!(
        AgentSpec::parse("uci cmd=c x=1").unwrap().to_expanded_string(),
        "uci cmd=c nodes=10000 hash=16 sandbox=true x=1"
    );
    assert_eq!(AgentSpec::parse("uci cmd=c ms=9").unwrap().to_expanded_string(), "uci cmd=c ms=9 hash=16 sandbox=true");
}

#[test]
fn refused_spec_lists_allowed_values() {
    let e = refusal("randon");
    assert_eq!((e.code, e.path.as_deref(), e.nearest.as_deref()), (ErrorCode::UnknownAgent, None, Some("random")));
    assert!(e.message.contains("did you mean random?") && e.message.contains("anchor"), "{e}");
    let e = refusal("random sed=1");
    assert_eq!((e.path.as_deref(), e.nearest.as_deref()), (Some("sed"), Some("seed")));
    let e = refusal("random seed=-1");
    assert_eq!((e.path.as_deref(), e.got), (Some("seed"), Some(Box::new("-1".into()))));
    assert_eq!(e.allowed, Some(Box::new(vec![format!("a whole number from 0 to {}", u64::MAX)].into())));
    let e = refusal("random seed=1 seed=1");
    assert!(e.path.as_deref() == Some("seed") && e.message.contains("expected one value, got two"), "{e}");
    let e = refusal("anchor");
    assert!(e.path.as_deref() == Some("level") && e.message.contains("needs level"), "{e}");
    for text in ["", "  ", "random x", "random =1", "gtp cmd=\"open", "gtp cmd=\"a\"b"] {
        assert!(refusal(text).message.contains("not an agent spec"), "{text:?}");
    }
}

#[test]
fn specs_report_class_of_external_agents() {
    let spec = AgentSpec::parse("llm model=m prompting=cot").unwrap();
    assert_eq!(spec.class(), AgentClass::Model);
    assert_eq!(AgentSpec::parse("uci cmd=x").unwrap().class(), AgentClass::External);
    assert!(!spec.reproducible());
    assert_eq!(refusal("llm model=m temprature=1").nearest.as_deref(), Some("temperature"));
}

#[test]
fn anchor_resolves_to_ladder_level() {
    let g = game("tic_tac_toe");
    let resolve = |text: &str| AgentSpec::parse(text).unwrap().resolve(&g);
    assert_eq!(resolve("anchor level=0").unwrap().to_string(), "random");
    assert_eq!(resolve("anchor level=0 seed=5").unwrap().to_string(), "random seed=5");
    let e = resolve("anchor level=9").unwrap_err();
    assert_eq!(e.path.as_deref(), Some("level"));
    assert!(e.message.contains("level=0 bot=1"), "{e}");
    assert!(build("anchor level=0", &g).is_ok());
}

#[test]
fn random_agent_has_no_search_budget() {
    let spec = AgentSpec::parse("random").unwrap();
    assert_eq!((spec.budget(), spec.peeks(), spec.reproducible()), (SearchBudget::default(), false, true));
}

#[test]
fn roster_entries_are_valid() {
    let mut names = std::collections::BTreeSet::new();
    for entry in Roster::builtin().iter() {
        assert!(names.insert(entry.name), "{} is listed twice", entry.name);
        assert!(!entry.doc.is_empty());
        let given: Vec<String> = entry.args.iter().filter(|d| d.required).map(|d| format!("{}=1", d.name)).collect();
        let spec = AgentSpec::parse(&format!("{} {}", entry.name, given.join(" "))).unwrap();
        for def in entry.args {
            assert_ne!(def.name, "seed", "`seed` is implicit");
            assert_eq!(
                def.default.is_some() || def.required,
                spec.get(def.name).is_some(),
                "{} {}",
                entry.name,
                def.name
            );
        }
    }
}

#[test]
fn every_anchor_supports_its_game() {
    for entry in ludex_games::games() {
        let g = game(entry.info.id);
        let ladder = &g.spec().anchors;
        assert_eq!(ladder[0].agent, "random", "{}", entry.info.id);
        for rung in ladder {
            let text = format!("anchor level={} bot={}", rung.level, rung.bot);
            let spec = AgentSpec::parse(&text).unwrap().resolve(&g).unwrap();
            assert_eq!(spec.to_string(), AgentSpec::parse(&rung.agent).unwrap().to_string());
            assert!(spec.budget().ms.is_none() && !spec.peeks(), "{} {text}", entry.info.id);
            // Engine anchors are common references above the built-in levels; no other anchor may require a program.
            assert!(spec.reproducible() || spec.name() == "uci", "{} {text}", entry.info.id);
            assert!(build(&text, &g).is_ok(), "{} {text}", entry.info.id);
        }
    }
}

#[test]
fn wrapper_forwards_methods_it_does_not_override() {
    let g = game("chess");
    let uci = build("uci cmd=x skill=1", &g).unwrap();
    let facts = |a: &dyn Agent| [a.is_io_bound(), a.reproducible(), a.needs_history(), a.needs_full_state()];
    let wrapped = wrap(uci.clone(), |_, ask| Ok(MoveReply::id(ask.legal[0])));
    assert_eq!((facts(&wrapped), facts(&*uci)), ([true, false, false, false], [true, false, false, false]));
    assert_eq!(facts(&wrapped.with_history()), [true, false, true, false]);
    // The wrapper also forwards the argument that every agent accepts.
    let keyed = build("mcts sims=5 reuse=true peek=true seed=3", &g).unwrap();
    assert_eq!(facts(&*keyed), [false, false, false, true]);
    let agents = ["human", "gtp cmd=x", "botzone cmd=x", "llm model=m base_url=http://127.0.0.1:1/v1 history=3"];
    for (spec, game_of) in agents.iter().zip(["chess", "go", "gomoku", "chess"]) {
        assert!(build(spec, &game(game_of)).unwrap().is_io_bound(), "{spec}");
    }
    assert!(build(agents[2], &game("gomoku")).unwrap().needs_history());
    assert!(build(agents[3], &g).unwrap().needs_history());
    assert!(!build("random", &g).unwrap().is_io_bound());
}

#[test]
fn host_program_can_add_agents_to_roster() {
    const MINE: AgentEntry = AgentEntry::new("mine", "somebody else's", |spec, _| {
        let plies = spec.int("plies").unwrap_or(0);
        Ok(Arc::new(wrap(Arc::new(Random), move |agent, ask| Ok(agent.act(ask)?.note("plies", plies)))))
    })
    .args(&[ArgDef::new("plies", ArgKind::Int { min: 1, max: 9 }, "how far").default("3")]);
    let (g, roster) = (game("tic_tac_toe"), Roster::builtin().with(MINE));
    assert_eq!(roster.iter().count(), Roster::builtin().iter().count() + 1);
    assert_eq!(roster.parse("mine plies=3 seed=1").unwrap().to_string(), "mine seed=1");
    let answer = ask(&*roster.build("mine plies=4", &g).unwrap(), &*g.start(), 0, 7).unwrap();
    assert_eq!(answer.notes.more["plies"], 4);
    assert_eq!(roster.parse("mind").unwrap_err().nearest.as_deref(), Some("mine"));
    assert!(refusal("mine").nearest.is_none());
    // A later agent replaces an earlier agent of the same name.
    let other = roster.with(AgentEntry::new("mine", "another", |_, _| Ok(Arc::new(Random))));
    assert!(other.parse("mine plies=4").is_err() && other.parse("anchor level=0").is_ok());
}
