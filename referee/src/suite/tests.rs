use super::*;

#[test]
fn built_in_suites_parse() {
    for (name, text) in SUITES {
        let suite = Suite::parse(text, &ludex_games::builtin()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(suite.name, *name);
        // The serialized suite parses again.
        let again = toml::to_string(&suite).unwrap();
        assert_eq!(Suite::parse(&again, &ludex_games::builtin()).unwrap(), suite, "{again}");
    }
    assert!(Suite::builtin_text("qick").unwrap_err().to_string().contains("did you mean quick?"));
}

/// Checks that the reference uses every field. New fields must be explained in the file `reference.toml`.
#[test]
fn reference_explains_every_field() {
    let text = Suite::builtin_text("reference").unwrap();
    let suite = Suite::parse(text, &ludex_games::builtin()).unwrap();
    let names = |value: serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let suite = Suite { files: [("starts.jsonl".to_owned(), String::new())].into(), ..suite };
    let of_parts = suite.parts.iter().flat_map(|part| names(serde_json::to_value(part).unwrap()));
    let policy = MatchPolicy { unparsed: Some(After::Tries(IllegalPolicy::Random)), ..suite.policy.clone() };
    let fields = [
        names(serde_json::to_value(&suite).unwrap()),
        of_parts.collect(),
        names(serde_json::to_value(&policy).unwrap()),
        suite.figures.iter().flat_map(|figure| names(serde_json::to_value(figure).unwrap())).collect(),
    ];
    for field in fields.concat().iter().filter(|f| *f != "part") {
        let set = text.lines().any(|line| {
            let line = line.trim_start_matches(['#', ' ']);
            line.starts_with(&format!("{field} ="))
                || line.starts_with(&format!("[{field}"))
                || line.starts_with(&format!("[[{field}]]"))
                || line.contains(&format!(".{field}]"))
        });
        assert!(set, "{field} is not explained");
    }
    let tables = [
        names(serde_json::to_value(&suite.roles[0]).unwrap()),
        names(serde_json::to_value(&suite.variants[0]).unwrap()),
        names(serde_json::to_value(&suite.summaries[0]).unwrap()),
        names(serde_json::to_value(Rubric { values: Vec::new(), ..suite.rubrics[0].clone() }).unwrap()),
        names(serde_json::to_value(&suite.rubrics[0].values[0]).unwrap()),
    ];
    // Fields that are omitted at their default.
    let more = ["agents", "count", "parts", "self", "sweep", "except", "groups"];
    for field in tables.concat().iter().map(String::as_str).filter(|field| *field != "value").chain(more) {
        assert!(text.lines().any(|line| line.starts_with(&format!("{field} ="))), "{field} is not explained");
    }
    assert!(
        ["seats = \"permutations\"", "seats = \"drawn\"", "order = \"halves\"", "order = \"shuffled\""]
            .iter()
            .all(|value| text.contains(value))
    );
    let schedules = ["against", "climb", "bisect", "round_robin", "self_play", "converge"];
    assert!(schedules.iter().all(|s| text.contains(&format!("schedule = \"{s}\""))));
}

#[test]
fn invalid_suites_are_refused() {
    let text = Suite::builtin_text("reference").unwrap();
    for (from, to, why) in [
        ("name = \"reference\"", "name = \"Re ference\"", "lowercase letters"),
        ("headline = \"scores\"", "headline = \"score\"", "headline: unknown figure \"score\"; did you mean scores?"),
        ("tries = 3 ", "trys = 3 ", "trys"),
        (
            "game = \"kuhn_poker\"",
            "game = \"kun_poker\"",
            "part \"kuhn\": there is no game \"kun_poker\"; did you mean kuhn_poker?",
        ),
        ("kind = \"bars\"", "kind = \"bar\"", "figure \"opponents\": unknown kind \"bar\"; did you mean bars?"),
        ("id = \"effort\"", "id = \"scores\"", "used by one figure only"),
        ("id = \"effort\"", "id = \"overall\"", "not overall or leaderboard"),
        ("part = \"nim\"  ", "part = \"nimm\"  ", "figure \"opponents\": unknown part \"nimm\""),
        ("tables = [\"abb\", \"baa\"]", "tables = [\"ab\"]", "expected 3 letters"),
        ("\"illegal_rate\"", "\"ilegal_rate\"", "unknown metric"),
        (
            "\"illegal_rate\"]",
            "{ id = \"mean\", of = \"regret\" }]",
            "part \"nim\": metric mean: of: expected a mark of nim, got \"regret\"; allowed: ",
        ),
        ("\"illegal_rate\"]", "{ id = \"mean\", off = \"pile\" }]", "off"),
        ("cell = \"score_rate\"", "cell = \"score_rat\"", "figure \"scores\": unknown metric \"score_rat\""),
        ("title = \"Score\" }", "title = \"Score\", parts = [\"nimm\"] }", "unknown part \"nimm\""),
        ("title = \"Score\" }", "title = \"Score\", from = \"1\" }", "from"),
        ("kind = \"bars\"", "kind = \"bars\"\ncolour = \"agent\"", "figure \"opponents\": "),
        ("opponents = [\"random\", \"anchor level=2\"]", "", "needs opponents"),
        ("id = \"kuhn\"", "id = \"nim\"", "used by one part only"),
        ("name = \"unlisted\"", "name = \"listed\"", "expected unique names"),
        ("blocks = 4\nblocks_of", "blocks = 0\nblocks_of", "expected 1 to 100000"),
        ("blocks = 4\nblocks_of", "blocks = 9000000000\nblocks_of", "expected 1 to 100000"),
        ("limit_s = 300 ", "limit_s = 9223372036854775807 ", "policy: limit_s"),
        ("rematches = 1 ", "rematches = 2 ", "rematches: expected 0 to 1, got 2"),
        ("\"random\", \"anchor level=2\"", "\"random\", \"random \"", "expected each opponent once"),
        ("schedule = \"climb\"", "schedule = \"clim\"", "clim"),
        ("tables = [\"abab\", \"baba\"]", "tables = [\"abai\"]", "letters from a to h"),
        ("tables = [\"abab\", \"baba\"]", "tables = [\"abca\"]", "expected a multiple of 2, got 1"),
        ("tables = [\"abab\", \"baba\"]", "tables = [\"abda\"]", "tables skip a letter"),
        ("seats = \"permutations\"", "seats = \"permutations\"\ntables = [\"abcd\"]", "exclude each other"),
        (", \"anchor level=1\", \"anchor level=2\"]", "]", "expected a multiple of 3, got 1"),
        ("seats = \"permutations\"", "seats = \"permutation\"", "unknown variant"),
        (
            "seats = \"drawn\"",
            "seats = \"drawn\"\ntables = [\"ab\"]",
            "part \"among\": seats = \"drawn\" and tables exclude each other",
        ),
        ("order = \"shuffled\"", "order = \"halves\"", "is not for seats = \"drawn\""),
        ("blocks = 4\nblocks_of", "order = \"shuffled\"\nblocks = 4\nblocks_of", "is not for a ladder"),
        ("blocks = 4\nblocks_of", "sweep = { a = [1] }\nblocks = 4\nblocks_of", "sweep is not for a ladder"),
        ("is_misere = [true", "is_missere = [true", "part \"roles\": sweep: "),
        ("is_misere = [true", "is_misere = [false", "combinations need different games"),
        ("is_misere = [true, false]", "is_misere = []", "at least one value"),
        ("is_misere = [true, false]", "is_misere = [true, 7]", "sweep: "),
        ("cycles = 3\n", "cycles = 3\nself = true\n", "self = true is for schedule = \"against\""),
        ("opponents = [\"@reference\"]", "opponents = [\"@referense\"]", "did you mean reference?"),
        ("opponents = [\"@reference\"]", "opponents = [\"random\"]", "no part has \"@reference\" among its opponents"),
        ("count = 1 ", "count = 2 ", "role \"reference\": expected count to equal the number of agents"),
        ("name = \"reference\"\nagents", "name = \"Ref\"\nagents", "part \"roles\": unknown role \"reference\""),
        ("name = \"cot\"", "name = \"brief\"", "expected unique names"),
        ("parts = [\"roles\"]", "parts = [\"rolls\"]", "variant \"brief\": unknown part \"rolls\""),
        ("name = \"listed\"", "name = \"listed\"\nparts = [\"nim\"]", "without the field parts"),
        ("except = [\"ablation\"", "except = [\"ablations\"", "unknown part \"ablations\" in except"),
        ("metric = \"score\"", "metric = \"time_per_move\"", "none of its parts has the metric \"time_per_move\""),
        ("groups = []", "groups = [\"maths\"]", "no part is in the group \"maths\""),
        (
            "metric = \"score\"",
            "metric = { id = \"mean\", of = \"length\" }",
            "none of its parts has the metric \"mean of=length\"",
        ),
        ("where = {}", "where = { opponent = \"@other\" }", "summary \"points\": where: unknown role \"other\""),
        ("where = {}", "where = { seat = 0 }", "expected a metric with where, got score; use score_rate"),
        ("where = {}", "where = { seats = 0 }", "seats"),
        ("form = \"mean\"", "form = \"median\"", "unknown variant"),
        ("most = 400 }", "most = 40 }", "over <= games <= most"),
        ("over = 10,", "over = 60,", "over <= games <= most"),
        ("sigma = 1.5", "sigma = 0", "above 0"),
        ("metric = \"trueskill\"", "metric = \"elo\"", "elo"),
        ("stop = {", "blocks = 2\nstop = {", "instead of blocks"),
        ("stop = {", "cycles = 2\nstop = {", "instead of blocks, cycles"),
        ("blocks = 2                              # for", "cycles = 4\nblocks = 2 # for", "cycles is for schedule"),
        ("schedule = \"converge\"", "schedule = \"round_robin\"", "stop is for schedule = \"converge\" only"),
        ("schedule = \"round_robin\"\nblocks = 1", "schedule = \"converge\"", "needs stop"),
        ("cache_answers = [\"initial\"]", "cache_answers = [\"inital\"]", "(initial, revision), got \"inital\""),
        ("starts = \"reference-starts.jsonl\"", "cache_answers = [\"initial\"]", "has no phases"),
        ("moves = 3 ", "moves = 0 ", "at least 1"),
        ("reference-starts.jsonl\"", "others.jsonl\"", "is neither in [files] nor built in"),
        (
            "moves = 3                               # the match is truncated after this many decisions of the candidate\nblocks = 2",
            "blocks = 3",
            "blocks = 3, but reference-starts.jsonl has 2 starts",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Suite::parse(&text.replacen(from, to, 1), &ludex_games::builtin()).unwrap_err().to_string();
        assert!(error.contains(why), "{to}: {error}");
    }
    assert!(Suite::parse("name = 3", &ludex_games::builtin()).unwrap_err().to_string().contains("line 1"));
}

#[test]
fn baseline_among_variants_is_a_variant() {
    let text = Suite::builtin_text("llmarena").unwrap().replace("baseline = \"normal\"", "baseline = \"norml\"");
    let why = Suite::parse(&text, &ludex_games::builtin()).err().unwrap().to_string();
    assert!(why.contains("figure \"table3\": baseline: unknown variant \"norml\"; did you mean normal?"), "{why}");
}

#[test]
fn part_policy_overrides_the_suite_policy() {
    let text = "name = \"s\"\nversion = 1\ntitle = \"S\"\n[policy]\ntries = 1\nlimit_s = 7\n\
        [[part]]\nid = \"a\"\ngame = \"nim\"\nschedule = \"self_play\"\nblocks = 1\n[part.policy]\ninvalid = \"replay\"\n\
        [[part]]\nid = \"b\"\ngame = \"nim\"\nschedule = \"self_play\"\nblocks = 1\n";
    let suite = Suite::parse(text, &ludex_games::builtin()).unwrap();
    let [a, b] = [0, 1].map(|k| suite.policy(&suite.parts[k]).clone());
    assert_eq!((a.tries, a.limit_s, a.invalid), (1, 7, Invalid::Replay));
    assert_eq!((b.tries, b.limit_s, b.invalid), (1, 7, Invalid::Count));
    assert_eq!(a.opponent_fault, OpponentFault::Discard);
}

#[test]
fn unparsed_replies_follow_a_separate_policy() {
    let suite = |policy: &str, of_part: &str| {
        let text = format!(
            "name = \"s\"\nversion = 1\ntitle = \"S\"\n[policy]\n{policy}\n[[part]]\nid = \"a\"\n\
            game = \"nim\"\nschedule = \"self_play\"\nblocks = 1\n[part.policy]\n{of_part}\n"
        );
        Suite::parse(&text, &ludex_games::builtin())
    };
    let illegal = |policy, of_part| {
        let suite = suite(policy, of_part).unwrap();
        let again = Suite::parse(&toml::to_string(&suite).unwrap(), &ludex_games::builtin()).unwrap();
        assert_eq!(again, suite);
        suite.policy(&suite.parts[0]).illegal()
    };
    let refusals = |policy, tries| Some(Refusals { policy, tries });
    let plain = illegal("tries = 4\nillegal = \"random\"", "");
    assert_eq!(plain, IllegalMoveRules { policy: IllegalPolicy::Random, tries: 4, unparsed: None });
    let both = "illegal = { tries = 2, then = \"default\" }\nunparsed = { tries = 5, then = \"random\" }";
    let apart =
        IllegalMoveRules { policy: IllegalPolicy::Default, tries: 2, unparsed: refusals(IllegalPolicy::Random, 5) };
    assert_eq!(illegal(both, ""), apart);
    assert_eq!(illegal("", both), apart);
    // A plain word uses the policy's number of attempts; fields missing in the part come from the suite.
    let laid = illegal(both, "tries = 7\nunparsed = \"forfeit\"");
    assert_eq!(laid, IllegalMoveRules { unparsed: refusals(IllegalPolicy::Forfeit, 7), ..apart });
    for (wrong, why) in [
        ("unparsed = { tries = 0, then = \"default\" }", "unparsed.tries: expected 1 to 100, got 0"),
        ("illegal = { tries = 101, then = \"default\" }", "illegal.tries: expected 1 to 100, got 101"),
        ("illegal = { tries = 2, than = \"default\" }", "forfeit, random or default, or a table such as"),
        ("unparsed = \"sleep\"", "forfeit, random or default, or a table such as"),
    ] {
        let error = suite(wrong, "").unwrap_err().to_string();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}
