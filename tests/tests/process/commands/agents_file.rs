//! Named agents: `ludex agents add`, `remove` and the list, and errors for a faulty `agents.toml`.

use std::fs;
use std::path::Path;

use ludex_play::agents_file::{self, AgentSource, MeasuredCalls, NamedAgent};
use serde_json::{Value, json};

use super::llm_stub::Stub;
use super::{Ran, folder, ludex};

const LITTLE: &str = "llm model=small base_url=http://127.0.0.1:9/v1";

fn add(at: &Path, more: &[&str]) -> Ran {
    ludex(at, &[&["agents", "add"], more].concat())
}

/// Writes `agents.toml` and returns the error that the file causes.
fn fault(at: &Path, text: &str) -> String {
    let path = at.join("agents.toml");
    fs::write(&path, text).unwrap();
    let why = agents_file::read(&path).map(|agents| format!("{:?}", agents.entries)).unwrap_err();
    format!("{why:#}")
}

fn names(agents: &agents_file::Agents) -> Vec<&str> {
    agents.entries.iter().map(|entry| entry.name.as_str()).collect()
}

#[test]
fn agent_is_added_listed_and_removed() {
    let here = folder();
    let at = here.path();
    let said =
        add(at, &["little", "--spec", LITTLE, "--price-in", "0.5", "--price-out", "1.5", "--note", "a desk"]).well();
    assert!(said.starts_with("little is llm model=small") && said.contains("agents.toml"), "{said}");
    add(at, &["searcher", "--spec", "mcts  sims=50"]).well();

    let list = ludex(at, &["agents"]).well();
    let line = list.lines().find(|line| line.starts_with("little ")).unwrap_or_else(|| panic!("{list}"));
    for said in ["0.5", "1.5", "model=small", "a desk"] {
        assert!(line.contains(said), "{line}");
    }
    let named = ludex(at, &["agents", "--json"]).json()["named"].clone();
    assert_eq!(
        (&named[0]["name"], &named[0]["price_in"], &named[0]["price_out"]),
        (&json!("little"), &json!(0.5), &json!(1.5))
    );
    assert_eq!((&named[1]["spec"], &named[1]["price_in"]), (&json!("mcts sims=50"), &Value::Null));

    // An existing agent is replaced only with the option for it.
    let refused = add(at, &["searcher", "--spec", "random"]);
    assert!(refused.code == 2 && refused.err.contains("--replace"), "{}", refused.err);
    add(at, &["searcher", "--spec", "random", "--replace"]).well();
    let named = ludex(at, &["agents", "--json"]).json()["named"].clone();
    assert_eq!((&named[1]["spec"], named.as_array().unwrap().len()), (&json!("random"), 2));

    ludex(at, &["agents", "remove", "little"]).well();
    let again = ludex(at, &["agents", "remove", "little"]);
    assert!(again.code == 2 && again.err.contains("agents: searcher"), "{}", again.err);
    let names: Vec<String> =
        fs::read_dir(at.join("ludex-data")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["agents.toml"], "no temporary file remains");
}

#[test]
fn agents_check_command_accepts_agent_names() {
    let here = folder();
    add(here.path(), &["searcher", "--spec", "mcts sims=20"]).well();
    let text = ludex(here.path(), &["agents", "check", "searcher", "--game", "tic_tac_toe"]).well();
    assert_eq!(text, "passed  searcher\n");
    let without = ludex(here.path(), &["agents", "check", "searcher"]);
    assert!(without.code == 2 && without.err.contains("expected --game"), "{}", without.err);
    let misspelled = ludex(here.path(), &["agents", "check", "searchr"]);
    assert!(misspelled.code == 2 && misspelled.err.contains("did you mean searcher?"), "{}", misspelled.err);
    let misspelled = ludex(here.path(), &["agents", "check", "searchr", "--game", "tic_tac_toe"]);
    assert!(misspelled.code == 1 && misspelled.out.contains("did you mean searcher?"), "{}", misspelled.out);
}

#[test]
fn added_model_is_probed_and_stored() {
    let here = folder();
    let at = here.path();
    let stub = Stub::start(&[]);
    let spec = format!("llm model=stub base_url=http://{}/v1 stub=true", stub.address);
    add(at, &["little", "--spec", &spec, "--price-in", "1", "--price-out", "2"]).well();
    let told = ludex(at, &["agents", "check", "little", "--json"]).json();
    assert_eq!(
        (&told["passed"], &told["schema"], &told["moves"]),
        (&json!(true), &json!(true), &json!(true)),
        "{told}"
    );
    assert_eq!(told["calls"].as_array().unwrap().len(), 5);
    let agents = agents_file::of_data(&at.join("ludex-data")).unwrap();
    let measured = agents.find("little").unwrap().measured.clone().unwrap();
    assert!(measured.schema && measured.tokens_out > 0.0, "{measured:?}");
    assert_eq!(told["tokens_in"], measured.tokens_in);
    let usd = (measured.tokens_in.round() + 2.0 * measured.tokens_out.round()) / 1e6;
    assert!((told["usd"].as_f64().unwrap() - usd).abs() < 1e-9, "{told}");
    let shown = ludex(at, &["agents", "check", "little"]).well();
    assert!(
        shown.starts_with("passed  little: stub at http://") && shown.contains("measurements written to"),
        "{shown}"
    );
    let wrong = ludex(at, &["agents", "check", &spec.replace("model=stub", "model=missing")]);
    assert!(wrong.code == 1 && wrong.out.starts_with("FAILED") && wrong.out.contains("missing"), "{}", wrong.out);
    // The endpoint replies with nothing; the failed checks are on a separate line.
    let mute = Stub::start(&["--empty", "1"]);
    let failed = ludex(at, &["agents", "check", &format!("llm model=stub base_url=http://{}/v1", mute.address)]);
    assert!(failed.code == 1 && failed.out.contains("\nfailed: endpoint, context, move\n"), "{}", failed.out);
}

#[test]
fn failed_add_reports_reason_and_changes_nothing() {
    let here = folder();
    let at = here.path();
    add(at, &["searcher", "--spec", "mcts"]).well();
    let before = fs::read_to_string(at.join("ludex-data/agents.toml")).unwrap();
    for (args, said) in [
        (&["random", "--spec", "mcts"][..], "choose another name"),
        (&["a b", "--spec", "mcts"], "A-Za-z0-9._-"),
        (&["other", "--spec", "mtcs"], "did you mean mcts?"),
        (&["other", "--spec", "mcts sims=many"], "sims=many"),
        (&["other", "--spec", "mcts", "--price-in", "1"], "prices: expected a language model"),
        (&["other", "--spec", LITTLE, "--price-in=-1"], "--price-in"),
        (&["other", "--spec", LITTLE, "--price-out", "inf"], "--price-out"),
        (&["other", "--spec", &format!("{LITTLE} price_in=1"), "--price-in", "2"], "expected one value, got two"),
    ] {
        let ran = add(at, args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
    }
    assert_eq!(fs::read_to_string(at.join("ludex-data/agents.toml")).unwrap(), before);
}

#[test]
fn edits_preserve_comments() {
    let here = folder();
    let path = here.path().join("agents.toml");
    let written =
        "# Ours.\n\n[agents.one]   # the first\nspec = \"random\"\n\n[agents.two]\nspec = 'mcts sims=5'  # quick\n";
    fs::write(&path, written).unwrap();
    let entry = |name: &str, spec: &str| {
        let source = AgentSource::Spec(ludex_agents::AgentSpec::parse(spec).unwrap());
        NamedAgent { name: name.into(), source, price_in: None, price_out: None, note: None, measured: None }
    };
    agents_file::add(&path, &entry("three.1", LITTLE), false).unwrap();
    let measured = MeasuredCalls {
        tokens_in: 240.0,
        tokens_out: 40.5,
        seconds: 0.75,
        schema: true,
        at: "2026-01-01T00:00:00Z".into(),
    };
    agents_file::keep_measured(&path, "three.1", &measured).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(written) && text.contains("\n[agents.\"three.1\"]\n"), "{text}");
    let agents = agents_file::read(&path).unwrap();
    assert_eq!(names(&agents), ["one", "two", "three.1"]);
    assert_eq!(agents.entries[2].measured.as_ref(), Some(&measured));

    // An unchanged agent keeps its measurements; a changed agent loses them.
    agents_file::add(&path, &NamedAgent { price_in: Some(1.0), ..entry("three.1", LITTLE) }, true).unwrap();
    assert_eq!(agents_file::read(&path).unwrap().entries[2].measured.as_ref(), Some(&measured));
    agents_file::add(&path, &entry("three.1", "random"), true).unwrap();
    assert_eq!(agents_file::read(&path).unwrap().entries[2].measured, None);
    agents_file::remove(&path, "three.1").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
    assert!(
        agents_file::keep_measured(&path, "three.1", &measured).unwrap_err().to_string().contains("agents: one, two")
    );
}

#[test]
fn agent_names_resolve_in_all_commands() {
    let here = folder();
    let at = here.path();
    let mut text = format!("[agents.little]\nspec = \"{LITTLE}\"\nprice_in = 3\nprice_out = 15.5\n");
    fs::write(at.join("agents.toml"), &text).unwrap();
    let agents = agents_file::of_data(at).unwrap();
    let (name, spec) = agents.resolve("little", at).unwrap();
    assert_eq!(name, "little");
    let spec = spec.to_string();
    assert!(spec.contains("price_in=3") && spec.contains("price_out=15.5"), "{spec}");
    let (name, spec) = agents.resolve(" mcts  sims=50 ", at).unwrap();
    assert_eq!((name.as_str(), spec.to_string().as_str()), ("mcts sims=50", "mcts sims=50"));
    for (text, said) in [("litle", "did you mean little?"), ("radom", "did you mean random?"), ("mcts sim=5", "sims")] {
        let why = agents.resolve(text, at).unwrap_err().to_string();
        assert!(why.contains(said), "{text}: {why}");
    }
    // Without a file, agents are given as specs.
    let none = agents_file::of_data(&at.join("elsewhere")).unwrap();
    assert!(none.entries.is_empty() && none.resolve("random", at).is_ok());
    assert!(none.resolve("litle", at).is_err());
    text.push_str("price_in = 4\n");
    assert!(fault(at, &text).contains("line 5"), "{}", fault(at, &text));
}

#[test]
fn programs_are_added_by_file_and_folder() {
    let here = folder();
    let at = here.path();
    fs::create_dir(at.join("bots")).unwrap();
    for name in ["bots/a.py", "bots/b.py", "notes.txt"] {
        fs::write(at.join(name), "").unwrap();
    }
    fs::write(at.join("agents.toml"), "folder = \"bots\"\n[agents.first]\nfile = \"bots/a.py\"\nnote = \"x\"\n")
        .unwrap();
    let agents = agents_file::read(&at.join("agents.toml")).unwrap();
    assert_eq!(names(&agents), ["first", "b.py"], "a program is listed once");
    let into = at.join("made");
    let (name, spec) = agents.resolve("first", &into).unwrap();
    assert_eq!((name.as_str(), spec.name()), ("first", "botzone"));
    assert!(spec.to_string().contains("a.py"), "{spec}");
    assert_eq!(names(&agents_file::read(&at.join("bots")).unwrap()), ["a.py", "b.py"]);
    let entered = agents_file::remove(&at.join("agents.toml"), "b.py").unwrap_err().to_string();
    assert!(entered.contains("delete the program's file"), "{entered}");

    for (text, said) in [
        ("[agents.x]\nfile = \"nowhere.py\"", "nowhere.py cannot be read"),
        ("[agents.x]\nfile = \"notes.txt\"", "notes.txt: .py"),
        ("[agents.x]\nfile = \"bots/a.py\"\nprice_in = 1", "line 3: agents.x: prices: expected a language model"),
        ("folder = \"nowhere\"", "line 1: folder: "),
        ("folder = 7", "line 1: folder: expected the name of a folder"),
    ] {
        let why = fault(at, text);
        assert!(why.contains(said), "{text}: {why}");
    }
    fs::write(at.join("bots/c d.py"), "").unwrap();
    let why = fault(at, "folder = \"bots\"");
    assert!(why.contains("c d.py") && why.contains("rename the file"), "{why}");
    fs::create_dir(at.join("empty")).unwrap();
    assert!(agents_file::read(&at.join("empty")).unwrap_err().to_string().contains("expected at least one bot"));
    assert!(
        format!("{:#}", agents_file::read(&at.join("none.toml")).unwrap_err()).contains("none.toml cannot be read")
    );
}

#[test]
fn agents_file_errors_contain_the_line_number() {
    let here = folder();
    let one = "[agents.one]\nspec = \"random\"\n";
    for (more, said) in [
        ("[agents.one]\nspec = \"random\"", "line 3: "),
        ("[agents.two\n", "line 3: "),
        ("[agent.two]\nspec = \"random\"", "line 3: there is no field \"agent\"; did you mean agents?"),
        ("[agents.two]\nspce = \"random\"", "line 4: agents.two: there is no field \"spce\"; did you mean spec?"),
        ("[agents.two]\nprize_in = 3", "line 4: agents.two: there is no field \"prize_in\"; did you mean price_in?"),
        ("[agents.two]\nnote = \"x\"", "line 3: agents.two: expected spec = "),
        (
            "[agents.two]\nspec = \"randon\"",
            "line 4: agents.two: spec: there is no agent \"randon\"; did you mean random?",
        ),
        ("[agents.two]\nspec = \"mcts sim=3\"", "line 4: agents.two: spec: there is no argument of mcts \"sim\""),
        ("[agents.two]\nspec = 7", "line 4: agents.two: spec: expected text in quotes"),
        ("[agents.two]\nspec = \"random\"\nfile = \"x.py\"", "line 5: agents.two: expected either spec or file"),
        ("[agents.two]\nspec = \"random\"\nprice_in = 1", "line 5: agents.two: prices: expected a language model"),
        ("[agents.two]\nspec = \"random\"\nprice_in = \"1\"", "line 5: agents.two: price_in: expected a number"),
        ("[agents.two]\nspec = \"random\"\nprice_out = -1", "line 5: agents.two: price_out: expected a number"),
        ("[agents.random]\nspec = \"mcts\"", "line 3: agents.random: random is a built-in agent"),
        ("[agents.\"a b\"]\nspec = \"mcts\"", "line 3: agents.a b: expected a name of 1 to 40 characters"),
        ("[agents.gpt.4]\nspec = \"mcts\"", "a name with a dot needs quotes: [agents.\"gpt.4\"]"),
        ("[two]\nspec = \"random\"", "line 3: there is no field \"two\"; did you mean [agents.two]?"),
        (
            "[agents.two]\nspec = \"random\"\n[agents.two.measured]\nseconds = 1",
            "line 5: agents.two: invalid measurements",
        ),
        ("[agents.two]\nspec = \"random\"\nmeasured = 1", "line 5: agents.two: invalid measurements"),
    ] {
        let why = fault(here.path(), &format!("{one}{more}"));
        assert!(why.contains("agents.toml") && why.contains(said), "{more}\n{why}\n{said}");
    }
    assert!(fault(here.path(), "agents = 7").contains("line 1: agents: expected tables [agents.NAME]"));
    assert!(fault(here.path(), "[agents]\ntwo = \"random\"").contains("line 2: agents.two: expected a table"));
    // The error for a duplicate name contains the remedy.
    let twice = fault(here.path(), &format!("{one}{one}"));
    assert!(twice.contains("rename or remove one"), "{twice}");
    // Commands do not edit a faulty file.
    fs::create_dir(here.path().join("ludex-data")).unwrap();
    fs::write(here.path().join("ludex-data/agents.toml"), "[agents.two\n").unwrap();
    let ran = add(here.path(), &["x", "--spec", "random"]);
    assert!(ran.code == 2 && ran.err.contains("line 1"), "{}", ran.err);
    assert_eq!(fs::read_to_string(here.path().join("ludex-data/agents.toml")).unwrap(), "[agents.two\n");
}
