//! Tests of roles, variants, drawn seats and orders, sweeps and candidates that meet themselves.

use super::*;
use crate::suite::roles::RoleAssignment;

const HEAD: &str = "name = \"t\"\nversion = 1\ntitle = \"T\"\n";

fn suite(text: &str) -> Suite {
    Suite::parse(&format!("{HEAD}{text}"), &ludex_games::builtin()).unwrap()
}

/// Returns the plan of a suite for these candidates, where each name is also the agent's spec.
fn plan_of(suite: &Suite, candidates: &[&str]) -> Result<Plan, SuiteError> {
    let candidates: Vec<_> = candidates.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect();
    Plan::new(suite.clone(), &candidates, 1.0, &ludex_games::builtin())
}

fn assign(role: &str, agents: &[&str]) -> RoleAssignment {
    let agent = |spec: &&str| RoleAgent { name: format!("my {spec}"), spec: (*spec).to_owned() };
    RoleAssignment::from([(role.to_owned(), agents.iter().map(agent).collect())])
}

fn part(more: &str) -> String {
    format!("[[part]]\nid = \"p\"\ngame = \"tic_tac_toe\"\nblocks = 2\n{more}")
}

/// Returns the keys of all matches, in order, each with the agents on the seats.
fn matches(plan: &Plan) -> Vec<(String, Vec<usize>)> {
    let mut out = Vec::new();
    for block in plan.next(&Results::new()) {
        let id = &plan.parts[block.part].part.id;
        out.extend(block.matches.into_iter().map(|m| (key(id, &block.pairing, block.index, m.turn), m.seats)));
    }
    out
}

#[test]
fn agents_of_a_run_replace_default_agents_of_a_role() {
    let against = part("schedule = \"against\"\nopponents = [\"random\", \"@reference\"]\n");
    let mut open = suite(&format!("[[role]]\nname = \"reference\"\ncount = 2\n{against}"));
    let why = plan_of(&open, &["me"]).err().unwrap().to_string();
    assert!(
        why.contains("role \"reference\" has no agents: expected 2 agents; set them with --role reference=AGENT"),
        "{why}"
    );
    for (wrong, why) in [
        (assign("refrence", &["x", "y"]), "t has no role \"refrence\"; its roles: reference"),
        (assign("reference", &["x"]), "role \"reference\": expected 2 agents, got 1"),
        (assign("reference", &["x", "y", "z"]), "role \"reference\": expected 2 agents, got 3"),
    ] {
        assert_eq!(open.fill(&wrong).unwrap_err().to_string(), why);
    }
    open.fill(&assign("reference", &["x", "y"])).unwrap();
    let plan = plan_of(&open, &["me"]).unwrap();
    let agents: Vec<(&str, &str)> = plan.agents.iter().map(|e| (e.name.as_str(), e.spec.as_str())).collect();
    assert_eq!(agents, [("me", "me"), ("random", "random"), ("my x", "x"), ("my y", "y")]);
    assert_eq!(matches(&plan).len(), 3 * 4);
    assert_eq!(plan.suite.assigned_roles(), assign("reference", &["x", "y"]));

    // A role that no part of the run needs may remain empty.
    let mut one = suite(&format!(
        "[[role]]\nname = \"reference\"\n{against}[[part]]\nid = \"q\"\ngame = \"nim\"\nschedule = \"self_play\"\nblocks = 1\n"
    ));
    one.keep_only(&["q".to_owned()]).unwrap();
    assert!(plan_of(&one, &["me"]).is_ok());

    // The role has the suite's agents, unless the run assigns different agents.
    let mut own = suite(&format!("[[role]]\nname = \"reference\"\nagents = [\"anchor level=1\"]\n{against}"));
    assert_eq!(plan_of(&own, &["me"]).unwrap().agents[2].spec, "anchor level=1");
    own.fill(&assign("reference", &["z"])).unwrap();
    assert_eq!(plan_of(&own, &["me"]).unwrap().agents[2].name, "my z");

    // The suite may name the agents of a role.
    let named = "[[role]]\nname = \"reference\"\nagents = [{ name = \"search\", spec = \"mcts sims=9\" }]\n";
    let named = suite(&format!("{named}{against}"));
    let agent = plan_of(&named, &["me"]).unwrap().agents[2].clone();
    assert_eq!((agent.name.as_str(), agent.spec.as_str()), ("search", "mcts sims=9"));
    assert_eq!(toml::from_str::<Suite>(&toml::to_string(&named).unwrap()).unwrap().roles, named.roles);
}

#[test]
fn role_may_fill_several_seats_with_a_single_agent() {
    let five = |table: &str| {
        let text = format!(
            "[[role]]\nname = \"civilian\"\ncount = 4\n[[part]]\nid = \"p\"\ngame = \"undercover\"\nschedule = \"against\"\nopponents = [\"@civilian\"]\ntables = [\"{table}\"]\nblocks = 3\n"
        );
        let mut suite = suite(&text);
        suite.fill(&assign("civilian", &["x"; 4])).unwrap();
        matches(&plan_of(&suite, &["me"]).unwrap())
    };
    for table in ["bbbba", "bcdea"] {
        let all = five(table);
        assert_eq!(all.len(), 3, "{table}");
        assert!(all.iter().all(|(_, seats)| *seats == [1, 1, 1, 1, 0]), "{table}");
    }
}

#[test]
fn candidates_are_replaced_by_variants_of_the_suite() {
    let text = format!(
        "[[variant]]\nname = \"plain\"\n[[variant]]\nname = \"cot\"\nllm = {{ prompting = \"cot\", legal = true }}\nparts = [\"p\", \"q\"]\n{}{}{}",
        part("schedule = \"against\"\nopponents = [\"random\"]\n"),
        part("schedule = \"round_robin\"\n").replace("\"p\"", "\"r\""),
        part("schedule = \"self_play\"\n[[part.variant]]\nname = \"listed\"\nllm = { legal = false }\n")
            .replace("\"p\"", "\"q\""),
    );
    let plan = plan_of(&suite(&text), &["a", "b"]).unwrap();
    let names = |part: usize| -> Vec<&str> {
        plan.parts[part].candidates.iter().map(|&who| plan.agents[who].name.as_str()).collect()
    };
    assert_eq!(names(0), ["a / plain", "b / plain", "a / cot", "b / cot"]);
    assert_eq!(names(1), ["a / plain", "b / plain"]);
    assert_eq!(
        names(2),
        ["a / plain (q: listed)", "b / plain (q: listed)", "a / cot (q: listed)", "b / cot (q: listed)"]
    );
    let last = &plan.agents[*plan.parts[2].candidates.last().unwrap()];
    let variant = last.variant.as_ref().unwrap();
    assert_eq!((variant.candidate, variant.name.as_str(), last.spec.as_str()), (1, "cot, listed", "b"));
    // Arguments of the part's variant take precedence over arguments of the suite's variant.
    assert_eq!(variant.llm, "prompting = \"cot\"\nlegal = false".parse().unwrap());
    // A variant that plays two parts is one agent.
    assert_eq!(plan.agents.iter().filter(|e| e.name == "a / plain").count(), 1);
    assert_eq!(plan.agents.iter().filter(|e| e.variant.is_none() && e.candidate).count(), 2);
}

#[test]
fn candidate_listed_as_opponent_meets_itself() {
    let text = |itself: &str| {
        part(&format!("schedule = \"against\"\nopponents = [\"b\", \"c\"]\n{itself}"))
            .replace("blocks = 2", "blocks = 1")
    };
    let pairings = |text: &str| -> Vec<Vec<usize>> {
        let plan = plan_of(&suite(text), &["a", "b"]).unwrap();
        plan.parts[0].pairings().into_iter().map(|(pairing, _)| pairing).collect()
    };
    assert_eq!(pairings(&text("self = true\n")), [[0, 1], [1, 1], [0, 2], [1, 2]]);
    assert_eq!(pairings(&text("")), [[0, 2], [1, 2], [0, 3], [1, 3]]);
    let plan = plan_of(&suite(&text("self = true\n")), &["a", "b"]).unwrap();
    let (done, _) = play(&plan, |_, _, _, turn| MatchScore::Points(if turn == 0 { 1.0 } else { 0.5 }));
    let tally = plan.parts[0].tally(&[1, 1], &done);
    assert_eq!((tally.wins, tally.draws, tally.losses), (1, 1, 0));
}

#[test]
fn drawn_seats_are_balanced_and_reproducible() {
    let seats = |seed: u64, schedule: &str| -> Vec<(String, Vec<usize>)> {
        let text = part(&format!("seats = \"drawn\"\n{schedule}")).replace("blocks = 2", "blocks = 20");
        matches(&plan_of(&suite(&format!("seed = {seed}\n{text}")), &["a", "b"]).unwrap())
    };
    let against = "schedule = \"against\"\nopponents = [\"random\"]\n";
    let all = seats(1, against);
    assert_eq!(all.len(), 2 * 20, "one match for each block");
    let first = |candidate: usize| -> Vec<bool> {
        all.iter().filter(|(_, seats)| seats.contains(&candidate)).map(|(_, seats)| seats[0] == candidate).collect()
    };
    // Two consecutive blocks have both seat orders, either of which comes first. All candidates have equal seatings.
    assert!(first(0).chunks(2).all(|two| two[0] != two[1]) && first(0) == first(1));
    assert!(first(0).chunks(2).any(|two| two[0]) && first(0).chunks(2).any(|two| !two[0]));
    assert_eq!(seats(1, against), all);
    assert_ne!(seats(2, against), all);

    // Over three cycles of a round robin, each pair plays in both seat orders.
    let cycles =
        part("schedule = \"round_robin\"\ncycles = 3\nseats = \"drawn\"\n").replace("blocks = 2", "blocks = 1");
    let all = matches(&plan_of(&suite(&cycles), &["a", "b", "c", "d"]).unwrap());
    assert_eq!(all.len(), 3 * 6);
    for pair in [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]] {
        let orders: BTreeSet<&Vec<usize>> =
            all.iter().map(|(_, seats)| seats).filter(|seats| pair.iter().all(|who| seats.contains(who))).collect();
        assert_eq!(orders.len(), 2, "{pair:?}");
    }
    // In a game of four seats, the candidate has each seat once in four blocks.
    let four = "[[part]]\nid = \"p\"\ngame = \"mcr_mahjong\"\nschedule = \"against\"\nopponents = [\"random\"]\nseats = \"drawn\"\nblocks = 4\n";
    let all = matches(&plan_of(&suite(four), &["a"]).unwrap());
    let taken: BTreeSet<usize> = all.iter().filter_map(|(_, seats)| seats.iter().position(|&who| who == 0)).collect();
    assert_eq!((all.len(), taken.len()), (4, 4));
}

#[test]
fn shuffled_order_is_stable_and_preserves_cycles() {
    let plan = |seed: u64, order: &str| {
        let text = part(&format!("schedule = \"round_robin\"\ncycles = 3\nseats = \"drawn\"\n{order}"));
        plan_of(&suite(&format!("seed = {seed}\n{text}")), &["a", "b", "c", "d"]).unwrap()
    };
    let keys = |plan: &Plan| -> Vec<String> { matches(plan).into_iter().map(|(key, _)| key).collect() };
    let shuffled = plan(1, "order = \"shuffled\"\n");
    let (plain, drawn) = (keys(&plan(1, "")), keys(&shuffled));
    assert_eq!(drawn.len(), 3 * 12);
    assert_ne!(plain, drawn);
    assert_eq!(plain.iter().collect::<BTreeSet<_>>(), drawn.iter().collect::<BTreeSet<_>>());
    let cycle = |key: &String| MatchKey::parse(key).unwrap().index / 2;
    assert!(drawn.iter().map(cycle).is_sorted(), "cycle by cycle");
    let pairings = |at: usize| -> Vec<Vec<usize>> {
        drawn[at * 12..(at + 1) * 12].iter().map(|key| MatchKey::parse(key).unwrap().pairing).collect()
    };
    assert!(pairings(0) != pairings(1) && pairings(1) != pairings(2), "each cycle has an order of its own");
    assert_eq!(keys(&plan(1, "order = \"shuffled\"\n")), drawn);
    assert_ne!(keys(&plan(2, "order = \"shuffled\"\n")), drawn);
    // The order of the remaining blocks does not depend on the completed blocks.
    let done: Results = drawn.iter().step_by(3).map(|key| (key.clone(), MatchScore::Points(1.0))).collect();
    let rest: Vec<String> = drawn.iter().filter(|key| !done.contains_key(*key)).cloned().collect();
    let due = shuffled.next(&done).into_iter().flat_map(|block| {
        block.matches.into_iter().map(move |m| key("p", &block.pairing, block.index, m.turn)).collect::<Vec<_>>()
    });
    assert_eq!(due.collect::<Vec<_>>(), rest);
}

#[test]
fn each_value_of_a_swept_parameter_adds_a_match_per_seating() {
    let text = "[[part]]\nid = \"p\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\"]\nsweep = { pile_sizes = [\"1;2\", \"3\"], is_misere = [true, false] }\nblocks = 2\n";
    let plan = plan_of(&suite(text), &["a"]).unwrap();
    let part = &plan.parts[0];
    let games: Vec<&str> = part.games.iter().map(|game| game.spec().string.as_str()).collect();
    let of =
        |piles: &str, misere: bool| ludex_games::load(&format!("nim(pile_sizes={piles},is_misere={misere})")).unwrap();
    let expected = [of("1;2", true), of("3", true), of("1;2", false), of("3", false)];
    assert_eq!(games, expected.iter().map(|game| game.spec().string.as_str()).collect::<Vec<_>>());
    assert_eq!(
        part.game.spec().string,
        ludex_games::load("nim").unwrap().spec().string,
        "the sweep does not change the part's game"
    );
    let all = matches(&plan);
    assert_eq!((all.len(), plan.matches_at_most()), (2 * 2 * 4, 16));
    for (k, (key, seats)) in all.iter().enumerate() {
        let turn = MatchKey::parse(key).unwrap().turn;
        assert_eq!((turn, part.game_at(turn)), (k % 8, k % 8 / 2));
        assert_eq!(seats, &if turn.is_multiple_of(2) { [0, 1] } else { [1, 0] });
    }
    // All matches of a block share its seed.
    let seeds = part.match_seeds(Seeds::Open(1), Deals::Paired);
    assert!((0..8).all(|turn| seeds.of(&[0, 1], 1, turn) == Seeds::Open(1).of(1)));
    let halves = plan_of(&suite(&text.replace("blocks = 2", "blocks = 2\norder = \"halves\"")), &["a"]).unwrap();
    let indices: BTreeSet<u64> = matches(&halves).iter().map(|(key, _)| MatchKey::parse(key).unwrap().index).collect();
    assert_eq!(indices.len(), 16, "each table in each game has seeds of its own");
}

#[test]
fn part_reports_missing_candidates() {
    let text = part("schedule = \"round_robin\"\n");
    let short = |text: &str, candidates: &[&str]| plan_of(&suite(text), candidates).unwrap().parts[0].short_of();
    assert_eq!(short(&text, &["a"]).unwrap(), "needs 2 candidates, but the run has 1; the part is not played");
    assert_eq!(short(&text, &["a", "b"]), None);
    let four =
        text.replace("tic_tac_toe", "mcr_mahjong").replace("round_robin\"", "round_robin\"\nseats = \"permutations\"");
    assert!(short(&four, &["a", "b", "c"]).unwrap().starts_with("needs 4 candidates"));
}

/// Parses suites with the protocols of five published evaluations.
#[test]
fn suites_express_published_evaluations() {
    let gtbench = "[policy]\ntries = 1\ninvalid = \"replay\"\nreplay_factor = 2\n[llm]\ntemperature = 0.2\nmax_tokens = 1024\n\
        [[role]]\nname = \"reference\"\n[[variant]]\nname = \"prompt\"\n[[variant]]\nname = \"cot\"\nllm = { prompting = \"cot\" }\n\
        [[summary]]\nid = \"without_breakthrough\"\nmetric = \"score_rate\"\nover = \"part\"\nexcept = [\"breakthrough\"]\n\
        [[part]]\nid = \"breakthrough\"\ngame = \"breakthrough(preset=gtbench)\"\nschedule = \"against\"\n\
        opponents = [\"mcts sims=1000 c=2 solve=true peek=true\", \"random\", \"@reference\"]\norder = \"halves\"\nblocks = 25\n\
        metrics = [\"score_rate\"]\ngroups = [\"board\", \"complete\"]\n\
        [[part]]\nid = \"nim\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"@reference\"]\norder = \"halves\"\nblocks = 25\nmetrics = [\"score_rate\"]\n";
    let mut gtbench = suite(gtbench);
    gtbench.fill(&assign("reference", &["llm model=x"])).unwrap();
    let plan = plan_of(&gtbench, &["m"]).unwrap();
    assert_eq!(plan.matches_at_most(), 2 * (3 + 1) * 50, "two variants, 25 matches on each seat");

    let adv = "[[role]]\nname = \"opponent\"\ncount = 3\n\
        [[part]]\nid = \"tower_defense\"\ngame = \"tower_defense(format=match,rounds=10,revise=alternate)\"\nschedule = \"against\"\n\
        opponents = [\"@opponent\"]\nself = true\ntables = [\"ab\", \"ba\"]\nsweep = { first = [0, 1] }\nblocks = 1\n";
    let mut adv = suite(adv);
    adv.fill(&assign("opponent", &["x", "y", "z"])).unwrap();
    let plan = plan_of(&adv, &["x", "w"]).unwrap();
    assert_eq!(plan.matches_at_most(), 2 * 3 * 4, "side by first reviser: four matches for each pair");
    assert_eq!(plan.agents.len(), 4, "x is one agent");

    let qitown = "[llm]\nemotion = true\n[[part]]\nid = \"gomoku\"\ngame = \"gomoku(preset=qitown)\"\nschedule = \"round_robin\"\n\
        blocks = 1\ncycles = 3\nseats = \"drawn\"\norder = \"shuffled\"\n";
    assert_eq!(plan_of(&suite(qitown), &["a", "b", "c", "d"]).unwrap().matches_at_most(), 18);
}
