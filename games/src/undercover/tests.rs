use std::collections::BTreeSet;

use serde_json::json;

use ludex_env::check::{self, scaled};
use ludex_env::dyn_state::DynState;
use ludex_protocol::Move;

use super::words::{self, lexicon};
use super::*;

#[test]
fn stems_equal_expected_words() {
    for (clue, word, wanted) in [
        ("suns", "sun", true),
        ("Sunny", "sun", false),
        ("running", "run", true),
        ("sunflower", "sun", false),
        ("grapefruits", "grape", true),
        ("ice-cream", "ice cream", true),
        ("an icecream van", "ice cream", true),
        ("ice and cream", "ice cream", false),
        ("Berries", "berry", true),
        ("bass", "bas", false),
        ("ring", "ring", true),
        ("caring", "care", false),
        ("dancing", "dance", true),
        ("horses", "horse", true),
        ("buses", "bus", false),
        ("It is A HORSE!", "horse", true),
        ("boxes", "box", true),
        ("wished", "wish", true),
        ("a fullwidth ＳＵＮ", "sun", true),
        ("他喜欢太阳吗", "太阳", true),
        ("他喜欢月亮吗", "太阳", false),
        ("", "sun", false),
    ] {
        assert_eq!(
            words::holds(clue, word),
            wanted,
            "{clue:?} and {word:?}: {:?} {:?}",
            words::stems(clue),
            words::stems(word)
        );
    }
}

#[test]
fn analysis_returns_stems() {
    let game = crate::load("undercover").unwrap();
    let out = game.analyze(&json!({ "clue": "dancing suns", "word": "dance" })).unwrap();
    assert_eq!(out, json!({ "holds": true, "clue": ["danc", "sun"], "word": ["danc"] }));
    for wrong in
        [json!({}), json!([]), json!({ "clue": 1, "word": "x" }), json!({ "clue": "a", "word": "b", "more": 1 })]
    {
        assert!(game.analyze(&wrong).is_err());
    }
}

#[test]
fn word_pairs_are_valid() {
    let text = include_str!("pairs.tsv");
    assert!(text.lines().take(3).any(|line| line.starts_with('#') && line.contains("Licence")));
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() >= 200 && lines.len() == lexicon().pairs.len(), "{} lines", lines.len());
    assert!(lines.is_sorted(), "the lines are sorted");
    let mut seen = BTreeSet::new();
    let mut uses = std::collections::BTreeMap::new();
    for line in lines {
        let ([a, b], _) = words::pair(line).unwrap_or_else(|why| panic!("{line:?}: {why}"));
        assert!(seen.insert([a.min(b), a.max(b)]), "{line:?} stands there twice");
        [a, b].iter().for_each(|w| *uses.entry(*w).or_insert(0) += 1);
    }
    assert!(uses.len() <= 512 && uses.values().all(|&n| n <= 3), "{} words", uses.len());
}

#[test]
fn invalid_pair_line_is_refused_with_reason() {
    for (line, why) in [
        ("sun\tmoon", "fields"),
        ("sun\tmoon\tsky\tmore", "fields"),
        ("sun\tmoon\t ", "category"),
        ("\tmoon\tsky", "1 to 3 words"),
        ("one two three four\tmoon\tsky", "1 to 3 words"),
        ("a word that has far too many characters\tmoon\tsky", "1 to 3 words"),
        ("Donaudampfschifffahrtsgesellschaft\tmoon\tsky", "characters"),
        ("grape\tgrapefruit\tfruit", "contains"),
        ("suns\tsun\tsky", "contains"),
    ] {
        let found = words::pair(line).unwrap_err();
        assert!(found.contains(why), "{line:?}: {found}");
    }
    for pair in ["sun", "sun;", "sun;suns", ";moon", "a b c d;moon"] {
        let e =
            crate::load_with("undercover", &serde_json::Map::from_iter([("pair".into(), pair.into())])).err().unwrap();
        assert_eq!(e.name.as_deref(), Some("pair"), "{pair}");
    }
}

#[test]
fn stock_clues_contain_no_word_of_any_pair() {
    let all = lexicon();
    assert_eq!(all.clues.len(), STOCK_CLUES);
    for (k, clue) in all.clues.iter().enumerate() {
        assert!(
            all.clues[..k].iter().all(|c| !words::equal(&c.stems, &clue.stems)),
            "{} stands there twice",
            clue.text
        );
        for word in &all.words {
            assert!(!words::holds(clue.text, word), "{:?} holds {word}", clue.text);
        }
    }
}

fn start(text: &str) -> Box<dyn DynState> {
    crate::load(text).unwrap_or_else(|e| panic!("{text}: {e}")).start()
}

/// Plays one stock clue for each living seat.
fn round(s: &mut dyn DynState) {
    while let ToMove::Seat(seat) = s.turn() {
        let a = s.legal_list(seat)[1];
        s.play(seat, a).unwrap();
    }
}

/// Plays one vote for each seat: seat i votes for `targets[i]`.
fn vote(s: &mut dyn DynState, targets: &[Option<Action>]) {
    let joint: Vec<Option<Action>> = targets.iter().map(|t| t.map(|p| VOTE + p)).collect();
    s.play_together(&joint).unwrap();
}

const GIVEN: &str = "undercover(pair=sun;moon,undercover=last";

#[test]
fn game_ends_with_correct_winner() {
    // Number of players, number of undercovers, the seat that all others vote out in each round, and the winner.
    for (players, undercovers, out, won) in [
        (3usize, 1, vec![2], false),
        (3, 1, vec![0], true),
        (5, 1, vec![4], false),
        (5, 1, vec![0, 4], false),
        (5, 1, vec![0, 1], true),
        (5, 2, vec![0], true),
        (5, 2, vec![3, 4], false),
        (5, 2, vec![3, 0], true),
        (8, 1, vec![0, 1, 2, 3, 4], true),
        (8, 2, vec![6, 0, 1, 2, 3], true),
        (8, 2, vec![0, 7, 1, 6], false),
        (8, 3, vec![0, 1], true),
        (8, 3, vec![7, 0, 6, 5], false),
        (10, 1, vec![0, 1, 2, 3, 4, 5, 6], true),
        (10, 1, vec![0, 1, 2, 3, 4, 5, 9], false),
        (10, 2, vec![9, 0, 1, 2, 3, 4, 5], true),
        (10, 2, vec![0, 1, 2, 3, 4, 5], true),
        (10, 3, vec![9, 8, 7], false),
        (10, 3, vec![0, 1, 9, 2, 3, 4], true),
    ] {
        let mut s = start(&format!("{GIVEN},players={players},undercovers={undercovers})"));
        let mut alive: Vec<usize> = (0..players).collect();
        for &target in &out {
            assert_ne!(s.turn(), ToMove::Over, "{players} {undercovers} {out:?}");
            round(&mut *s);
            let other = *alive.iter().find(|&&p| p != target).unwrap();
            let joint: Vec<Option<Action>> = (0..players)
                .map(|p| alive.contains(&p).then_some(if p == target { other } else { target } as Action))
                .collect();
            vote(&mut *s, &joint);
            alive.retain(|&p| p != target);
        }
        assert_eq!(s.turn(), ToMove::Over, "{players} {undercovers} {out:?}");
        let wanted: Vec<f64> =
            (0..players).map(|p| if (p >= players - undercovers) == won { 1.0 } else { -1.0 }).collect();
        assert_eq!(s.returns(), wanted, "{players} {undercovers} {out:?}");
        let teams = (0..players).map(|p| usize::from(p >= players - undercovers)).collect();
        assert_eq!(s.teams(), Some(teams));
    }
}

#[test]
fn tie_is_broken_by_chance() {
    let mut s = start(&format!("{GIVEN})"));
    round(&mut *s);
    vote(&mut *s, &[Some(1), Some(0), Some(0), Some(1), Some(2)]);
    assert_eq!(s.turn(), ToMove::Chance);
    let mut outcomes = Outcomes::new();
    s.chance(&mut outcomes);
    assert_eq!(outcomes.items(), [(0, 1), (1, 1)]);
    s.play_chance(1).unwrap();
    assert_eq!(s.view(Viewer::Public).value()["alive"], json!([0, 2, 3, 4]));
    assert_eq!(s.turn(), ToMove::Seat(0));
}

#[test]
fn tie_of_all_seats_is_broken_among_all_seats() {
    let mut s = start(&format!("{GIVEN})"));
    round(&mut *s);
    vote(&mut *s, &[Some(1), Some(2), Some(3), Some(4), Some(0)]);
    let mut outcomes = Outcomes::new();
    s.chance(&mut outcomes);
    assert_eq!(outcomes.items(), [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]);
    s.play_chance(4).unwrap();
    assert_eq!((s.turn(), s.returns()), (ToMove::Over, vec![1.0, 1.0, 1.0, 1.0, -1.0]));
    // A seat with strictly most votes is eliminated without a draw.
    let mut s = start(&format!("{GIVEN})"));
    round(&mut *s);
    vote(&mut *s, &[Some(1), Some(2), Some(1), Some(4), Some(0)]);
    assert_eq!(s.view(Viewer::Public).value()["alive"], json!([0, 2, 3, 4]));
}

#[test]
fn default_vote_is_uniform() {
    let mut s = start(&format!("{GIVEN})"));
    round(&mut *s);
    let mut counts = [0u32; 5];
    for k in 0..10_000 {
        match s.default_move(2, &mut Stream::from_text(&format!("default {k}"))) {
            ParsedMove::Action(a) => counts[(a - VOTE) as usize] += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(counts[2], 0, "players never vote for themselves");
    let chi: f64 = [0, 1, 3, 4].iter().map(|&p: &usize| (f64::from(counts[p]) - 2_500.0).powi(2) / 2_500.0).sum();
    assert!(chi < 16.3, "chi-square {chi} of 3 degrees is beyond 0.999: {counts:?}");
    assert_eq!(start(&format!("{GIVEN})")).default_move(0, &mut Stream::from_text("x")), ParsedMove::Action(BLANK));
}

fn code(s: &dyn DynState, seat: usize, given: Move) -> String {
    let refused = s.parse_move(seat, &given).expect_err("it is refused");
    refused.issues.first().and_then(|i| i.code.as_deref()).unwrap_or("none").to_owned()
}

#[test]
fn clue_notation_variants_parse() {
    let mut s = start(&format!("{GIVEN},clue_chars=60)"));
    let said = |s: &dyn DynState, seat: usize, text: &str| s.parse_move(seat, &Move::Text(text.into()));
    let clue = |text: &str| Ok(ParsedMove::Document(json!({ "clue": text })));
    for (text, wanted) in [
        ("It shines at dusk", clue("It shines at dusk")),
        ("  \"It   shines\"  ", clue("It shines")),
        ("player_0: It shines", clue("It shines")),
        ("I think of something.\nPLAYER_0: It shines", clue("It shines")),
        ("player_0: first\nplayer_0: second", clue("second")),
        ("```json\n{\"clue\": \"It shines\"}\n```", clue("It shines")),
        ("it is ROUND", Ok(ParsedMove::Action(13))),
        ("player_0: It is round.", Ok(ParsedMove::Action(13))),
        ("blank", Ok(ParsedMove::Action(0))),
        ("player_0:", Ok(ParsedMove::Action(0))),
        ("", Ok(ParsedMove::Action(0))),
    ] {
        assert_eq!(said(&*s, 0, text), wanted, "{text:?}");
    }
    let text = |t: &str| Move::Text(t.into());
    assert_eq!(code(&*s, 0, text("line one\nline two")), "unparsed");
    assert_eq!(code(&*s, 0, text("no move")), "unparsed");
    assert_eq!(code(&*s, 0, text("it is like the moon")), "contains_word", "the others' word is moon");
    assert_eq!(code(&*s, 0, text(&"long ".repeat(20))), "too_long");
    assert_eq!(code(&*s, 0, Move::Document(json!({ "clue": "x".repeat(70) }))), "maxLength");
    let refused = s.parse_move(0, &Move::Text(format!("moon {}", "long ".repeat(20)))).unwrap_err();
    assert_eq!(refused.issues.len(), 2, "all flaws at once");
    s.play_document(0, &json!({ "clue": "It shines" })).unwrap();
    assert_eq!(code(&*s, 1, text("it SHINES!")), "repeated");
    s.play(1, 13).unwrap();
    assert!(!s.is_legal(2, 13));
    assert_eq!(code(&*s, 2, text("It is round")), "repeated");
    assert_eq!(said(&*s, 2, "blank"), Ok(ParsedMove::Action(0)));
}

/// Replies of models to the prompts of LLMArena, which expect `player_i: clue` and `vote: player_i`.
#[test]
fn llmarena_replies_are_parsed() {
    let clue = |text: &str| Ok(ParsedMove::Document(json!({ "clue": text })));
    let s = start("undercover(preset=llmarena,pair=sun;moon)");
    for (text, wanted) in [
        ("player_0: It shines at night", clue("It shines at night")),
        ("player_0: \"It shines at night\"", clue("It shines at night")),
        ("Player_0: It shines at night.", clue("It shines at night.")),
        ("PLAYER_0:It shines at night", clue("It shines at night")),
        ("My word is something above us.\n\nplayer_0: It shines at night", clue("It shines at night")),
        ("player_1 was vague.\nplayer_0: It shines at night\n", clue("It shines at night")),
        ("Thought: be careful.\nAction: player_0: It shines at night", clue("It shines at night")),
        ("player_0: draft\nNo, better:\nplayer_0: It shines at night", clue("It shines at night")),
        ("It shines at night", clue("It shines at night")),
        ("\u{201c}It shines at night\u{201d}", clue("It shines at night")),
        ("player_0: it is round", Ok(ParsedMove::Action(13))),
    ] {
        assert_eq!(s.parse_move(0, &Move::Text(text.into())), wanted, "{text:?}");
    }
    let mut s = start("undercover(preset=llmarena_guess,pair=sun;moon)");
    round(&mut *s);
    for text in [
        "vote: player_2",
        "Vote: player_2",
        "vote: Player_2.",
        "I vote for player_2",
        "player_0: I think it is player_4, no: vote: player_2",
        "player_1 and player_3 agree, player_4 too.\nvote: player_2",
        "vote: 2",
        "My vote: **player_2**",
    ] {
        assert_eq!(s.parse_move(0, &Move::Text(text.into())), Ok(ParsedMove::Action(VOTE + 2)), "{text:?}");
    }
    let guess = r#"```json
{"vote": "player_2", "guesses": {"player_1": "moon"}}
```"#;
    let wanted = json!({ "vote": "player_2", "guesses": { "player_1": "moon" } });
    assert_eq!(s.parse_move(0, &Move::Text(guess.into())), Ok(ParsedMove::Document(wanted)));
}

#[test]
fn vote_notation_variants_parse() {
    let mut s = start(&format!("{GIVEN},guesses=true,players=6)"));
    round(&mut *s);
    let everyone = [Some(5), Some(5), Some(5), Some(5), Some(5), Some(0)];
    let mut other = start(&format!("{GIVEN},players=6,undercovers=2)"));
    round(&mut *other);
    vote(&mut *other, &everyone);
    round(&mut *other);
    let said = |text: &str| s.parse_move(1, &Move::Text(text.into()));
    for text in [
        "vote: player_3",
        "player_3",
        "3",
        " vote: 3 ",
        "Vote: Player_3",
        "I trust player_2 but not player_3.",
        "{\"vote\": \"player_3\"}",
    ] {
        assert_eq!(said(text), Ok(ParsedMove::Action(VOTE + 3)), "{text:?}");
    }
    let text = |t: &str| Move::Text(t.into());
    assert_eq!(code(&*s, 1, text("player_1")), "own_seat");
    assert_eq!(code(&*s, 1, text("player_7")), "unknown_seat");
    assert_eq!(code(&*s, 1, text("none")), "unparsed");
    assert_eq!(code(&*other, 1, text("player_5")), "not_alive");
    let guess = json!({ "vote": "player_3", "guesses": { "player_5": " sun ", "player_0": "moon" } });
    let wanted = json!({ "vote": "player_3", "guesses": { "player_0": "moon", "player_5": "sun" } });
    assert_eq!(s.parse_move(1, &Move::Document(guess)), Ok(ParsedMove::Document(wanted)));
    assert_eq!(code(&*s, 1, Move::Document(json!({ "vote": "player_3", "guesses": { "player_1": "x" } }))), "own_seat");
    assert_eq!(
        code(&*s, 1, Move::Document(json!({ "vote": "player_3", "guesses": { "player_8": "x" } }))),
        "unknown_seat"
    );
    assert!(
        other.parse_move(1, &Move::Document(json!({ "vote": "player_3", "guesses": { "player_0": "x" } }))).is_err()
    );
    assert_eq!(
        s.parse_move(1, &Move::Document(json!({ "vote": "player_3", "guesses": {} }))),
        Ok(ParsedMove::Action(VOTE + 3))
    );
}

#[test]
fn guesses_are_visible_only_to_the_seat_that_made_them() {
    let mut s = start("undercover(preset=llmarena_guess,pair=sun;moon)");
    round(&mut *s);
    let said = json!({ "vote": "player_3", "guesses": { "player_0": "moon" } });
    for who in [Viewer::Public, Viewer::Seat(0), Viewer::Seat(4)] {
        assert_eq!(s.observe_document(who, 1, &said), s.seen(who, Mover::Seat(1), VOTE + 3));
    }
    let joint: Vec<Option<ParsedMove>> = (0..5)
        .map(|p| {
            Some(if p == 1 {
                ParsedMove::Document(said.clone())
            } else {
                ParsedMove::Action(if p == 3 { VOTE } else { VOTE + 3 })
            })
        })
        .collect();
    s.play_joint(&joint).unwrap();
    assert_eq!(s.view(Viewer::Seat(1)).value()["guesses"][0]["word"], "moon");
    for who in [Viewer::Public, Viewer::Seat(0)] {
        assert_eq!(s.view(who).value()["guesses"], json!([]));
    }
}

#[test]
fn seats_see_own_word_only() {
    let s = start(&format!("{GIVEN})"));
    assert_eq!(s.view(Viewer::Seat(4)).value()["word"], "sun");
    assert_eq!(s.view(Viewer::Seat(0)).value()["word"], "moon");
    assert!(!s.view(Viewer::Seat(0)).text().contains("sun"));
    let public = s.view(Viewer::Public);
    assert!(public.value().get("word").is_none() && !public.text().contains("moon"));
}

#[test]
fn stock_clues_with_word_of_fixed_pair_are_illegal() {
    let s = start("undercover(pair=winter;summer,undercover=last)");
    let barred = |s: &dyn DynState| (1..=STOCK_CLUES as Action).filter(|&a| !s.is_legal(0, a)).count();
    assert_eq!(barred(&*s), 1, "summer is in one stock clue");
    assert_eq!(barred(&*start(&format!("{GIVEN})"))), 0);
}

#[test]
fn game_laws_hold_for_presets_and_sizes() {
    for text in [
        "undercover",
        "undercover(preset=llmarena)",
        "undercover(preset=llmarena_guess)",
        "undercover(players=3)",
        "undercover(players=10,undercovers=3,guesses=true)",
        "undercover(players=8,undercovers=2,survive=5)",
        "undercover(pair=winter;summer)",
    ] {
        if let Err(faults) = check::game(&crate::load(text).unwrap(), 0..scaled(6)) {
            panic!("{text}: {}", faults.join("\n"));
        }
    }
}

#[test]
fn error_identifies_the_invalid_parameter() {
    for (name, text) in [
        ("players", "undercover(players=2)"),
        ("players", "undercover(players=11)"),
        ("undercovers", "undercover(undercovers=0)"),
        ("undercovers", "undercover(players=4,undercovers=2)"),
        ("survive", "undercover(survive=5)"),
        ("survive", "undercover(survive=1)"),
        ("clue_chars", "undercover(clue_chars=19)"),
        ("pair", "undercover(pair=sun)"),
    ] {
        assert_eq!(crate::load(text).err().and_then(|e| e.name).as_deref(), Some(name), "{text}");
    }
}

/// Plays random games in which half of the moves are documents; invariants hold during the game and at the end.
#[test]
fn random_games_keep_invariants() {
    for preset in ["undercover", "undercover(preset=llmarena)", "undercover(preset=llmarena_guess)"] {
        let game = crate::load(preset).unwrap();
        let mut rng = Stream::from_text(preset);
        let mut outcomes = Outcomes::new();
        for _ in 0..scaled(1_000) {
            let (mut s, mut length) = (game.start(), 0);
            while s.turn() != ToMove::Over {
                let move_of = |s: &dyn DynState, seat: usize, rng: &mut Stream| {
                    let said = if rng.below(2) == 0 { s.sample(seat, rng) } else { None };
                    let heard = said.map(|said| s.parse_move(seat, &Move::Document(said)).unwrap());
                    heard.unwrap_or_else(|| ParsedMove::Action(s.random_action(seat, rng)))
                };
                match s.turn() {
                    ToMove::Chance => {
                        s.chance(&mut outcomes);
                        let (a, _) = outcomes.items()[rng.below(outcomes.items().len())];
                        s.play_chance(a).unwrap();
                        continue;
                    }
                    ToMove::Seat(seat) => match move_of(&*s, seat, &mut rng) {
                        ParsedMove::Action(a) => s.play(seat, a).unwrap(),
                        ParsedMove::Document(said) => s.play_document(seat, &said).unwrap(),
                    },
                    set => {
                        let living = set.seats();
                        let joint: Vec<Option<ParsedMove>> =
                            (0..5).map(|p| living.has(p).then(|| move_of(&*s, p, &mut rng))).collect();
                        s.play_joint(&joint).unwrap();
                    }
                }
                length += 1;
            }
            let (returns, teams) = (s.returns(), s.teams().unwrap());
            let sides: BTreeSet<(usize, bool)> = teams.iter().zip(&returns).map(|(&t, &r)| (t, r > 0.0)).collect();
            assert_eq!((sides.len(), teams.iter().sum::<usize>()), (2, 1), "{teams:?} {returns:?}");
            let view = s.view(Viewer::Public).value();
            let alive = view["alive"].as_array().unwrap().len();
            let undercover = teams.iter().position(|&t| t == 1).unwrap();
            assert_eq!(returns[undercover] > 0.0, view["alive"].as_array().unwrap().contains(&json!(undercover)));
            assert!((2..5).contains(&alive) && length <= game.spec().max_length, "{alive} {length}");
            assert!(preset == "undercover" || undercover == 4);
        }
    }
}

/// Returns the marks of a step as (seat, name, value).
fn marks(before: &dyn DynState, joint: &[Option<ParsedMove>], after: &dyn DynState) -> Vec<serde_json::Value> {
    let mut out = Marks::all();
    before.marks(joint, after, &mut out);
    out.take().iter().map(|m| json!([m.seat, m.name, m.value])).collect()
}

#[test]
fn clue_vote_and_guess_marks_are_counted() {
    let mut s = start(&format!("{GIVEN},players=3,guesses=true)"));
    let mut counted = Vec::new();
    let clues =
        [ParsedMove::Document(json!({ "clue": "It shines" })), ParsedMove::Action(BLANK), ParsedMove::Action(13)];
    for (seat, clue) in clues.into_iter().enumerate() {
        let before = s.boxed();
        match &clue {
            ParsedMove::Action(a) => s.play(seat, *a).unwrap(),
            ParsedMove::Document(said) => s.play_document(seat, said).unwrap(),
        }
        counted.extend(marks(&*before, &[], &*s));
    }
    let of_clues = [(0, 0, 0), (1, 0, 1), (2, 1, 0)];
    let wanted = of_clues
        .map(|(p, stock, blank)| [json!([p, "stock", f64::from(stock)]), json!([p, "blank", f64::from(blank)])]);
    assert_eq!(counted, wanted.concat());
    let before = s.boxed();
    let guess = |words| ParsedMove::Document(json!({ "vote": "player_2", "guesses": words }));
    let joint = [
        Some(guess(json!({ "player_1": "Moons", "player_2": "sun" }))),
        Some(guess(json!({ "player_0": "moon", "player_2": "star" }))),
        Some(ParsedMove::Action(VOTE)),
    ];
    s.play_joint(&joint).unwrap();
    let found = marks(&*before, &joint, &*s);
    let of_votes = [(0, 1.0, 1.0), (1, 1.0, 0.0), (2, 0.0, 0.0)].map(|(p, some, all)| {
        [json!([p, "voted_right", 1.0]), json!([p, "guessed", some]), json!([p, "guessed_all", all])]
    });
    let ends = [(0, 1.0, "other"), (1, 1.0, "other"), (2, 0.0, "undercover")]
        .map(|(p, won, role)| [json!([p, "won", won]), json!([p, "role", role])]);
    assert_eq!(found, [of_votes.concat(), ends.concat()].concat());
}

/// The text of a view contains all that a seat needs: its name, word, rules, history, and the form of a reply.
#[test]
fn text_suffices_for_every_seat() {
    let mut s = start(&format!("{GIVEN},guesses=true)"));
    round(&mut *s);
    vote(&mut *s, &[Some(1), Some(0), Some(1), Some(1), Some(1)]);
    for seat in [0, 2, 3, 4] {
        assert_eq!(s.turn(), ToMove::Seat(seat));
        let text = s.view(Viewer::Seat(seat)).text();
        let word = if seat == 4 { "sun" } else { "moon" };
        for part in [
            format!("You are player_{seat}. Your secret word is: {word}."),
            "There are 5 players. 1 player is the undercover and has another word".into(),
            "when 3 or fewer players are left".into(),
            "Clues of round 1:".into(),
            "- player_3: ".into(),
            "Votes of round 1: player_0 for player_1".into(),
            "player_1 is out and was not an undercover.".into(),
            "In the game: player_0, player_2, player_3, player_4.".into(),
            format!("answer `player_{seat}: your clue`, at most 200 characters"),
        ] {
            assert!(text.contains(&part), "{part:?} is not in\n{text}");
        }
        s.play(seat, BLANK).unwrap();
    }
    let text = s.view(Viewer::Seat(2)).text();
    assert!(text.contains("answer `vote: player_K`, one of player_0, player_3, player_4.") && text.contains("guesses"));
    assert!(s.view(Viewer::Public).text().contains("To move: player_0, player_2, player_3, player_4."));
}

/// Returns path, submitted value and allowed values of each issue in a refusal.
fn issue_paths(s: &dyn DynState, seat: usize, given: serde_json::Value) -> Vec<String> {
    let refused = s.parse_move(seat, &Move::Document(given.clone())).expect_err("it is refused");
    let told = |i: &ludex_protocol::error::Issue| !i.message.is_empty() && (i.got.is_some() || i.allowed.is_some());
    assert!(!refused.issues.is_empty() && refused.issues.iter().all(told), "{given}: {:?}", refused.issues);
    refused.issues.into_iter().map(|i| i.path).collect()
}

#[test]
fn invalid_documents_are_refused_with_path() {
    let mut s = start(&format!("{GIVEN},guesses=true)"));
    assert!(issue_paths(&*s, 0, json!({ "vote": "player_1" })).contains(&"/clue".to_owned()));
    assert_eq!(issue_paths(&*s, 0, json!({ "clue": 1e300 })), ["/clue"]);
    assert_eq!(issue_paths(&*s, 0, json!({ "clue": "x", "more": [] })), ["/more"]);
    assert_eq!(issue_paths(&*s, 0, json!({ "clue": "word ".repeat(100) })), ["/clue"]);
    assert!(s.parse_move(1, &Move::Document(json!({ "clue": "not my turn" }))).is_err());
    round(&mut *s);
    assert!(issue_paths(&*s, 0, json!({ "clue": "It shines" })).contains(&"/vote".to_owned()));
    assert_eq!(issue_paths(&*s, 0, json!({ "vote": "player_10" })), ["/vote"]);
    assert_eq!(
        issue_paths(&*s, 0, json!({ "vote": "player_1", "guesses": { "player_0": "moon" } })),
        ["/guesses/player_0"]
    );
    assert_eq!(
        issue_paths(
            &*s,
            0,
            json!({ "vote": "player_0", "guesses": { "player_7": "moon", "player_1": "x".repeat(41) } })
        )
        .len(),
        1,
        "structural issues are reported before all others"
    );
    assert_eq!(
        issue_paths(&*s, 0, json!({ "vote": "player_0", "guesses": { "player_7": "moon", "player_0": "x" } })),
        ["/guesses/player_0", "/guesses/player_7", "/vote"]
    );
    // A joint move with a missing or an extra vote leaves the state unchanged.
    let before = s.view(Viewer::Public).value();
    for joint in [vec![Some(VOTE + 1); 4], vec![Some(VOTE + 1), Some(VOTE), None, Some(VOTE), Some(VOTE)]] {
        assert!(s.play_together(&joint).is_err(), "{joint:?}");
    }
    assert_eq!(s.view(Viewer::Public).value(), before);
}

/// Three clues were refused: one contained the word and was a repeat, one was too long, and one contained the word.
#[test]
fn marks_count_issues_of_refused_clues() {
    let s = start(&format!("{GIVEN})"));
    let attempt = |codes: &[&str]| RefusedMove {
        action: None,
        text: None,
        document: None,
        code: ludex_protocol::ErrorCode::IllegalAction,
        issues: codes.iter().map(|code| Issue { path: "/clue".into(), ..Issue::default() }.code(code)).collect(),
        ms: 0,
        notes: None,
    };
    let counted = |tries: &[RefusedMove]| {
        let mut out = Marks::all();
        s.tried(0, tries, &mut out);
        out.take().iter().map(|m| json!([m.seat, m.name, m.value])).collect::<Vec<_>>()
    };
    let tries = [attempt(&["contains_word", "repeated"]), attempt(&["too_long"]), attempt(&["contains_word"])];
    assert_eq!(counted(&tries), [json!([0, "clue_contains_word", 2.0]), json!([0, "repeated", 1.0])]);
    assert_eq!(counted(&[]), [json!([0, "clue_contains_word", 0.0]), json!([0, "repeated", 0.0])]);
    // Real refusals have the codes that the marks count.
    let codes = |text: &str| {
        let refusal = s.parse_move(0, &Move::Document(json!({ "clue": text }))).unwrap_err();
        refusal.issues.into_iter().filter_map(|i| i.code.map(String::from)).collect::<Vec<_>>()
    };
    assert_eq!(codes("The moons are bright"), ["contains_word"]);
    let mut s = start(&format!("{GIVEN})"));
    round(&mut *s);
    let mut out = Marks::all();
    s.tried(0, &tries, &mut out);
    assert!(out.take().is_empty(), "a vote is not a clue");
}
