//! Tests of the plan game framework with all three plan games.

use ludex_env::{DynState, Games};
use ludex_protocol::Move;
use serde_json::{Value, json};

use super::state::{forfeited, phase_after};
use super::*;
use crate::battle_cards::BattleCards;
use crate::elemental_duel::ElementalDuel;
use crate::tower_defense::TowerDefense;

fn games() -> Games {
    crate::builtin()
}

fn start(game: &str) -> Box<dyn DynState> {
    games().load(game).unwrap().start()
}

fn settings() -> PlanSettings {
    BattleCards::new(Default::default()).unwrap().settings
}

/// Submits one document for each seat to move.
fn say(s: &mut dyn DynState, documents: [Value; 2]) {
    let heard = |seat: usize| {
        let due = s.turn().seats().has(seat);
        due.then(|| s.parse_move(seat, &Move::Document(documents[seat].clone())).unwrap())
    };
    let joint = [heard(0), heard(1)];
    match s.turn() {
        ToMove::Seat(seat) => s.play_document(seat, &documents[seat]).unwrap(),
        _ => s.play_joint(&joint).unwrap(),
    }
}

fn view(s: &dyn DynState, seat: usize) -> Value {
    s.view(Viewer::Seat(seat)).value()
}

fn cards(names: &[&str], list: &str) -> Value {
    json!({ list: names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>() })
}

fn invaders(names: &[&str]) -> Value {
    cards(names, "invaders")
}

fn defenders(names: &[&str]) -> Value {
    cards(names, "defenders")
}

/// Compares the results of rounds without a battle with the verdict table.
#[test]
fn forfeits_depend_on_violations_and_excess_over_budget() {
    let over = &["over_budget"][..];
    let both = &["empty", "over_budget"][..];
    let none: &[&str] = &[];
    let judge = |violations, costs| forfeited(violations, costs, [20, 10]);
    assert_eq!(judge([none, none], [1, 1]), None);
    assert_eq!(judge([none, over], [1, 11]), Some((Some(0), "forfeit")));
    assert_eq!(judge([both, none], [21, 1]), Some((Some(1), "forfeit")));
    // 22 exceeds 20 by 10 %, 12 exceeds 10 by 20 %, and 11 exceeds 10 by 10 %. Equal excess has no winner.
    assert_eq!(judge([over, over], [22, 12]), Some((Some(0), "both_forfeit")));
    assert_eq!(judge([over, over], [25, 12]), Some((Some(1), "both_forfeit")));
    assert_eq!(judge([over, over], [22, 11]), Some((None, "both_forfeit")));
    assert_eq!(judge([both, over], [22, 12]), Some((None, "both_forfeit")));
    assert_eq!(judge([&["no_answer"], over], [0, 12]), Some((None, "both_forfeit")));
}

/// Checks which seats submit after each round.
#[test]
fn phases_follow_revision_rules() {
    let rounds = |settings: PlanSettings| {
        (1..=settings.length()).map(|played| phase_after(&settings, played)).collect::<Vec<_>>()
    };
    let (over, both) = (Some((Phase::Over, [false; 2])), [true; 2]);
    let only = |seat: usize| Some((Phase::Revision, [seat == 0, seat == 1]));
    let game = PlanSettings { format: RoundFormat::Match, rounds: 4, ..settings() };
    assert_eq!(rounds(settings()), [over]);
    assert_eq!(rounds(game), [only(0), only(1), only(0), over]);
    assert_eq!(rounds(PlanSettings { first: 1, ..game }), [only(1), only(0), only(1), over]);
    let game = PlanSettings { revise: Revise::Both, ..game };
    assert_eq!(
        rounds(game),
        [Some((Phase::Revision, both)), Some((Phase::Revision, both)), Some((Phase::Revision, both)), over]
    );
    let game = PlanSettings { roles: Roles::Alternate, ..game };
    assert_eq!(rounds(game), [Some((Phase::Revision, both)), Some((Phase::RevisionOther, both)), None, over]);
}

/// Invalid values and invalid combinations are refused.
#[test]
fn check_refuses_invalid_parameters() {
    let bad = |text: &str| games().load(text).err().unwrap_or_else(|| panic!("{text}")).name.unwrap();
    assert_eq!(bad("battle_cards(format=match,roles=alternate,revise=alternate)"), "roles");
    assert_eq!(bad("battle_cards(roles=alternate,revise=both)"), "roles");
    assert_eq!(bad("battle_cards(budget_scale=0.1)"), "budget_scale");
    assert_eq!(bad("tower_defense(first=2)"), "first");
    assert_eq!(bad("tower_defense(rounds=51)"), "rounds");
    assert_eq!(bad("tower_defense(tries=0)"), "tries");
    assert_eq!(bad("elemental_duel(hp_invader=0)"), "hp_invader");
    assert_eq!(bad("elemental_duel(rules=repo)"), "rules");
}

/// A seat sees the cost of its over-budget document and may submit another document. The last document counts. The
/// opponent sees none of the over-budget documents.
#[test]
fn over_budget_document_can_be_resubmitted() {
    let mut s = start("battle_cards");
    let over = invaders(&["Phoenix", "Phoenix", "Phoenix", "Phoenix", "FireLizard"]);
    let before = view(&*s, 1);
    for left in [2, 1] {
        let joint = [Some(s.parse_move(0, &Move::Document(over.clone())).unwrap()), Some(ParsedMove::Action(22))];
        s.play_joint(&joint).unwrap();
        assert_eq!((&view(&*s, 0)["tries_left"], &view(&*s, 0)["over"]["cost"]), (&json!(left), &json!(21)));
        assert_eq!(view(&*s, 1)["waiting"], before["waiting"]);
        assert!(view(&*s, 1)["over"].is_null());
    }
    // Seat 1 replaces its draft by a document within the budget. Now both submissions are final.
    say(&mut *s, [over, defenders(&["King"])]);
    assert_eq!(s.turn(), ToMove::Over);
    assert_eq!(s.returns(), [-1.0, 1.0]);
    let last = &view(&*s, 0)["history"][0];
    assert_eq!((&last["costs"], &last["reason"]), (&json!([21, 5]), &json!("forfeit")));
    assert_eq!(last["violations"], json!([["over_budget"], []]));
}

/// Returns the name and value of each mark of a seat.
fn marked(before: &dyn DynState, after: &dyn DynState, seat: usize) -> Vec<Value> {
    let mut out = Marks::all();
    before.marks(&[None, None], after, &mut out);
    let marks = out.take().into_iter().filter(|mark| mark.seat == seat);
    marks.map(|mark| json!([mark.name, mark.value])).collect()
}

/// Round 1: Phoenix (5/5) kills Sapling (2/2) and keeps 3 of 5 health. Round 2 adds FireLizard. The similarities are
/// then 1 / 2 by pieces, 25 / (5 * sqrt 26) by costs, and 2 / 3 by roles. In round 3 the other seat keeps its plan.
#[test]
fn marks_equal_hand_computed_values() {
    let mut s = start("battle_cards(format=match,rounds=3)");
    let mut step = |documents: [Value; 2], seat: usize| {
        let before = s.boxed();
        say(&mut *s, documents);
        let marks = marked(&*before, &*s, seat);
        let from = marks.iter().position(|mark| mark[0] == "round").unwrap();
        json!(marks[from..])
    };
    let (keep, sapling) = (json!({ "keep": true }), defenders(&["Sapling"]));
    assert_eq!(
        step([invaders(&["Phoenix"]), sapling], 0),
        json!([
            ["round", 1.0],
            ["won", 1.0],
            ["cost", 5.0],
            ["budget", 20.0],
            ["over", 0.0],
            ["violation", "none"],
            ["revised", 0.0],
            ["kept", 0.0],
            ["value", 0.6]
        ])
    );
    let second = step([invaders(&["Phoenix", "FireLizard"]), keep.clone()], 0);
    assert_eq!(json!(second.as_array().unwrap()[6..8]), json!([["revised", 1.0], ["kept", 0.0]]));
    let likeness = [0.5, 5.0 / 26f64.sqrt(), 2.0 / 3.0];
    for (mark, expected) in second.as_array().unwrap()[9..].iter().zip(likeness) {
        assert!((mark[1].as_f64().unwrap() - expected).abs() < 1e-12, "{mark}");
    }
    let third = step([keep.clone(), keep], 1);
    assert_eq!(json!(third.as_array().unwrap()[6..8]), json!([["revised", 0.0], ["kept", 1.0]]));
    assert_eq!(
        json!(third.as_array().unwrap()[9..]),
        json!([["structural", 1.0], ["semantic", 1.0], ["functional", 1.0]])
    );
}

/// A seat submits two documents over budget and then a document within budget, and the round is played. After five
/// documents over budget, the fifth counts and forfeits the round.
#[test]
fn last_over_budget_attempt_forfeits_round() {
    let demons = json!({ "demons": [{ "name": "NormalDemon", "y": 0, "spawn_time": 0 }] });
    let bombs = |n: u32| {
        let bomb = |k: u32| json!({ "name": "Bomb", "x": k % 11, "y": k / 11, "spawn_time": 0 });
        json!({ "humans": (0..n).map(bomb).collect::<Vec<_>>() })
    };
    for documents in [vec![11, 12, 10], vec![11, 12, 13, 14, 15]] {
        let mut s = start("tower_defense");
        for (n, bombs_now) in documents.iter().enumerate() {
            let now = view(&*s, 0);
            assert_eq!((&now["tries_left"], &now["budget"]), (&json!(5 - n), &json!(2000)));
            let told = s.view(Viewer::Seat(0)).text();
            if n > 0 {
                let before = documents[n - 1];
                assert_eq!(now["over"], json!({ "strategy": bombs(before), "cost": 200 * before }));
                assert!(told.contains(&format!("Your last plan costs {}, more than 2000", 200 * before)), "{told}");
                assert!(told.contains(&format!("Tries left: {}.", 5 - n)), "{told}");
            }
            let (due, before) = (s.turn().seats(), s.boxed());
            say(&mut *s, [bombs(*bombs_now), demons.clone()]);
            let marks = marked(&*before, &*s, 0);
            let word = if *bombs_now > 10 { "over_budget" } else { "none" };
            let expected = [json!(["attempt", f64::from(n as u32 + 1)]), json!(["cost", f64::from(200 * bombs_now)])];
            assert_eq!((&marks[..2], &marks[2]), (&expected[..], &json!(["violation", word])));
            // The demon side is final with the first document; only the human side sees the attempts.
            assert_eq!((due.has(1), view(&*s, 1)["over"].is_null()), (n == 0, true));
        }
        assert_eq!(s.turn(), ToMove::Over);
        let round = view(&*s, 0)["history"][0].clone();
        let last = documents[documents.len() - 1];
        assert_eq!(round["costs"], json!([200 * last, 100]));
        // Ten bombs are enough: at tick 10, the demon is at 11880 field units, in the column next to the last bomb.
        let (violations, reason, returns) = match last {
            10 => (json!([]), "cleared", [1.0, -1.0]),
            _ => (json!(["over_budget"]), "forfeit", [-1.0, 1.0]),
        };
        assert_eq!((&round["violations"][0], &round["reason"]), (&violations, &json!(reason)));
        assert_eq!(s.returns(), returns);
    }
    // Both plans are over budget: 2,200 exceeds 2,000 by 10 %, and 1,800 exceeds 1,500 by 20 %.
    let mut s = start("tower_defense(tries=1)");
    let kings = (0..18).map(|_| json!({ "name": "NormalDemon", "y": 0, "spawn_time": 0 })).collect::<Vec<_>>();
    say(&mut *s, [bombs(11), json!({ "demons": kings })]);
    assert_eq!((s.returns(), &view(&*s, 0)["history"][0]["reason"]), (vec![1.0, -1.0], &json!("both_forfeit")));
}

/// The submission `keep` reuses the strategy. The submission `none` forfeits the next round, and later rounds can reuse
/// the strategy.
#[test]
fn seat_can_keep_last_strategy_or_forfeit_round() {
    let mut s = start("battle_cards(format=match,rounds=4,revise=both)");
    assert!(s.parse_move(0, &Move::Document(json!({ "keep": true }))).is_err());
    say(&mut *s, [invaders(&["Phoenix"]), defenders(&["Sapling"])]);
    assert_eq!(s.returns(), [1.0, -1.0]);
    assert!(s.parse_move(0, &Move::Document(json!({ "keep": true, "invaders": [] }))).is_err());
    say(&mut *s, [json!({ "none": true }), json!({ "keep": true })]);
    assert_eq!(s.returns(), [0.0, 0.0]);
    assert_eq!(view(&*s, 1)["history"][1]["strategies"][0], Value::Null);
    assert_eq!(view(&*s, 1)["history"][1]["violations"], json!([["no_answer"], []]));
    say(&mut *s, [json!({ "keep": true }), json!({ "keep": true })]);
    assert_eq!(view(&*s, 1)["history"][2]["reason"], "wiped_out");
    assert_eq!(s.returns(), [1.0, -1.0]);
    say(&mut *s, [json!({ "none": true }), json!({ "none": true })]);
    // Both seats lose a round without a winner.
    assert_eq!((s.returns(), s.turn()), (vec![0.0, -2.0], ToMove::Over));
}

/// Sides swap after each round, so each seat first submits a strategy for both sides.
#[test]
fn roles_set_to_alternate_swap_sides_between_rounds() {
    let mut s = start("battle_cards(format=match,rounds=3,revise=both,roles=alternate)");
    let (strong, weak) = (["Phoenix", "Phoenix"], ["Sapling"]);
    say(&mut *s, [invaders(&strong), defenders(&weak)]);
    assert_eq!((s.phase(), s.returns()), (Some("initial_other"), vec![0.0, 0.0]));
    say(&mut *s, [defenders(&weak), invaders(&strong)]);
    assert_eq!((s.phase(), s.returns()), (Some("revision"), vec![1.0, -1.0]));
    assert_eq!(view(&*s, 0)["side"], "invader");
    say(&mut *s, [invaders(&["PoisonFrog"]), json!({ "keep": true })]);
    // Round 2 has swapped sides. Round 3 follows immediately and uses the revision submitted after round 1.
    assert_eq!((s.turn(), s.phase()), (ToMove::Over, None));
    let history = view(&*s, 1)["history"].clone();
    assert_eq!(history[1]["sides"], json!(["defender", "invader"]));
    assert_eq!(history[1]["winner"], 1);
    assert_eq!(history[2]["strategies"][0]["invaders"][0]["name"], "PoisonFrog");
}

#[test]
fn each_violation_is_reported() {
    let judged = |game: &str, side: usize, document: Value| {
        let mut s = start(game);
        let none = json!({ "none": true });
        let mut documents = [none.clone(), none];
        documents[side] = document;
        // Over-budget documents are repeated until they count.
        while s.turn() != ToMove::Over {
            say(&mut *s, documents.clone());
        }
        view(&*s, 0)["history"][0]["violations"][side].clone()
    };
    let unit =
        |name: &str, x: Value, y: Value, time: Value| json!({ "name": name, "x": x, "y": y, "spawn_time": time });
    let humans = |all: Vec<Value>| judged("tower_defense", 0, json!({ "humans": all }));
    let one = |name: &str, x: f64, y: f64, time: f64| humans(vec![unit(name, json!(x), json!(y), json!(time))]);
    assert_eq!(one("Bomb", 5.0, 4.0, 60_000.0), json!([]));
    assert_eq!(one("Bomb", 5.0, 4.0, 49.0), json!([]));
    assert_eq!(one("Peashooter", 1.0, 1.0, 0.0), json!(["unknown_name"]));
    assert_eq!(one("KING", 1.0, 1.0, 60_001.0), json!(["unknown_name", "bad_time"]));
    assert_eq!(one("DemonKing", 1.0, 1.0, 0.0), json!(["wrong_side"]));
    for (x, y) in [(11.0, 0.0), (-1.0, 0.0), (0.5, 0.0), (0.0, 5.0), (1e308, 0.0)] {
        assert_eq!(one("Bomb", x, y, 0.0), json!(["out_of_grid"]), "{x} {y}");
    }
    for time in [-1.0, 0.5, 60_001.0, 1e308] {
        assert_eq!(one("Bomb", 0.0, 0.0, time), json!(["bad_time"]), "{time}");
    }
    let bomb = |time: i32| unit("Bomb", json!(1), json!(1), json!(time));
    assert_eq!(humans(vec![bomb(0), bomb(49)]), json!(["same_cell"]));
    assert_eq!(humans(vec![bomb(0), bomb(50)]), json!([]));
    assert_eq!(humans(vec![]), json!(["empty"]));
    assert_eq!(humans((0..11).map(|n| bomb(50 * n)).collect()), json!(["over_budget"]));
    let team = |all: Value| judged("battle_cards", 0, all);
    assert_eq!(team(json!({ "invaders": [{ "name": "Phoenix", "tier": "Silver" }] })), json!(["bad_tier"]));
    assert_eq!(team(invaders(&["FireLizard"; 8])), json!(["too_many"]));
    assert_eq!(team(invaders(&["King"])), json!(["wrong_side"]));
    assert_eq!(team(invaders(&["Skeleton"])), json!(["unknown_name"]));
    let wishes = |name: &str| json!({ "invaders": [{ "name": "Phoenix" }], "target_priority_for_invaders": [name] });
    assert_eq!(team(wishes("Soldier")), json!([]));
    assert_eq!(team(wishes("Phoenix")), json!(["bad_priority"]));
    assert_eq!(team(invaders(&[])), json!(["empty"]));
    assert_eq!(
        team(json!({ "invaders": [{ "name": "Phoenix", "tier": "Gold" }, { "name": "Phoenix", "tier": "Gold" }] })),
        json!(["over_budget"])
    );
    let duel = |elements: [&str; 3], skills: [[&str; 3]; 3]| {
        let of = |n: usize| json!({ "element": elements[n], "skills": skills[n] });
        judged("elemental_duel", 1, json!({ "defenders": [of(0), of(1), of(2)] }))
    };
    let (wood, earth, light) = (["bud_healing"; 3], ["earth_shock"; 3], ["holy_glimmer"; 3]);
    assert_eq!(duel(["Wood", "Earth", "Light"], [wood, earth, light]), json!([]));
    assert_eq!(duel(["Wood", "Wood", "Light"], [wood, wood, light]), json!(["elements"]));
    assert_eq!(duel(["Wood", "Earth", "Light"], [wood, ["x"; 3], light]), json!(["unknown_name"]));
    assert_eq!(duel(["Wood", "Earth", "Light"], [wood, wood, light]), json!(["wrong_element"]));
    let fire = ["flame_splash"; 3];
    assert_eq!(duel(["Fire", "Earth", "Light"], [fire, earth, light]), json!(["elements"]));
    assert_eq!(duel(["Fire", "Earth", "Light"], [wood, earth, light]), json!(["elements", "wrong_element"]));
    assert_eq!(
        duel(["Wood", "Earth", "Light"], [["poison_vine"; 3], ["earth_pulse"; 3], light]),
        json!(["over_budget"])
    );
    let short = json!({ "defenders": [{ "element": "Wood", "skills": wood }] });
    assert_eq!(judged("elemental_duel", 1, short), json!(["characters", "elements"]));
    let other = json!({ "invaders": [
        { "element": "Fire", "skills": ["flame_splash", "flame_splash"] },
        { "element": "Water", "skills": ["stream_pierce", "stream_pierce", "stream_pierce"] },
        { "element": "Dark", "skills": ["final_announcement", "shadow_claw", "shadow_claw"] },
    ] });
    assert_eq!(judged("elemental_duel", 0, other), json!(["skills"]));
}

/// Two violations are reported in the order of the documentation page, even if both sides violate rules.
#[test]
fn violations_are_reported_in_documented_order() {
    let unit = |name: &str, x: i32, time: i32| json!({ "name": name, "x": x, "y": 0, "spawn_time": time });
    let flaws: [(&str, Value); 4] = [
        ("unknown_name", unit("Sunflower", 1, 0)),
        ("wrong_side", unit("DemonKing", 2, 0)),
        ("out_of_grid", unit("Bomb", 11, 0)),
        ("bad_time", unit("Bomb", 3, -50)),
    ];
    let demons = json!({ "demons": [{ "name": "Bomb", "y": 0, "spawn_time": 0 }] });
    for (n, (first, one)) in flaws.iter().enumerate() {
        for (second, other) in &flaws[n + 1..] {
            let mut s = start("tower_defense");
            say(&mut *s, [json!({ "humans": [other, one] }), demons.clone()]);
            let round = view(&*s, 0)["history"][0].clone();
            assert_eq!(round["violations"], json!([[first, second], ["wrong_side"]]));
            assert_eq!((round["winner"].clone(), s.returns()), (Value::Null, vec![-1.0, -1.0]));
        }
        // With `tries=1`, a document over budget that also violates another rule is final.
        let mut all: Vec<Value> = (0..11).map(|k| unit("Bomb", k, 50 * k)).collect();
        all.push(one.clone());
        let mut s = start("tower_defense(tries=1)");
        say(&mut *s, [json!({ "humans": all }), json!({ "none": true })]);
        let round = view(&*s, 1)["history"][0].clone();
        assert_eq!(round["violations"], json!([[first, "over_budget"], ["no_answer"]]));
        assert_eq!(round["reason"], "both_forfeit");
    }
}

/// Cases: a plan for the wrong side, `keep` next to units, `keep` at the start, two objects, a truncated object, and a
/// code fence.
#[test]
fn malformed_documents_get_expected_verdicts() {
    let mut s = start("battle_cards(format=match,rounds=3,revise=both)");
    let refused = |s: &dyn DynState, given: Move| s.parse_move(0, &given).unwrap_err();
    for document in [
        defenders(&["King"]),
        json!({ "keep": true }),
        json!({ "none": false }),
        json!({ "none": true, "invaders": [] }),
        json!({ "invaders": [{ "name": "Phoenix" }, 7] }),
        json!({ "invaders": [{ "name": ["Phoenix"] }] }),
        json!({ "invaders": vec![json!({ "name": "FireLizard" }); 41] }),
    ] {
        assert!(!refused(&*s, Move::Document(document.clone())).issues.is_empty(), "{document}");
    }
    for text in ["", "Phoenix and TideLord!", r#"{"invaders": [{"name": "Phoenix"}"#] {
        let refusal = refused(&*s, Move::Text(text.into()));
        assert_eq!(refusal.code, ludex_protocol::ErrorCode::Unparsed, "{text}");
    }
    let two = r#"{"invaders": [{"name": "TideLord"}]} or rather {"invaders": [{"name": "Phoenix"}]}"#;
    let last = json!({ "invaders": [{ "name": "Phoenix", "tier": "Bronze" }] });
    assert_eq!(s.parse_move(0, &Move::Text(two.into())).unwrap(), ParsedMove::Document(last.clone()));
    assert_eq!(s.parse_move(0, &Move::Text(format!("```\n{last}\n```"))).unwrap(), ParsedMove::Document(last));
    say(&mut *s, [json!({ "none": true }), defenders(&["King"])]);
    assert_eq!((s.returns(), &view(&*s, 0)["history"][0]["reason"]), (vec![-1.0, 1.0], &json!("forfeit")));
    // Without an earlier strategy the round is forfeited again.
    say(&mut *s, [json!({ "keep": true }), json!({ "keep": true })]);
    assert_eq!(view(&*s, 0)["history"][1]["violations"], json!([["no_answer"], []]));
    assert!(
        !refused(&*s, Move::Document(json!({ "keep": true, "invaders": [{ "name": "Phoenix" }] }))).issues.is_empty()
    );
}

/// Each refusal of a document names the path of the violation.
#[test]
fn schema_violations_are_refused_with_paths() {
    let s = start("tower_defense");
    let issues = |value: Value| s.parse_move(0, &Move::Document(value)).unwrap_err().issues;
    let paths = |value: Value| issues(value).into_iter().map(|issue| issue.path).collect::<Vec<_>>();
    let unit = json!({ "name": "Bomb", "x": 1, "y": 1, "spawn_time": 0 });
    assert_eq!(
        paths(json!({ "humans": [unit, { "name": 7, "x": "1", "y": 1 }] })),
        ["/humans/1/name", "/humans/1/spawn_time", "/humans/1/x"]
    );
    assert_eq!(paths(json!({ "humans": [unit], "more": 1 })), ["/more"]);
    assert_eq!(paths(json!({ "humans": vec![unit; 201] })), ["/humans"]);
    assert_eq!(paths(json!({ "demons": [] })).first().map(String::as_str), Some(""));
    assert!(!paths(json!({})).is_empty());
    let said = s.parse_move(0, &Move::Text("I build a wall.".into())).unwrap_err();
    assert_eq!(said.code, ludex_protocol::ErrorCode::Unparsed);
    let fenced = "```json\n{\"humans\": [{\"name\": \"Bomb\", \"x\": 1.0, \"y\": 1, \"spawn_time\": 99}]}\n```";
    let heard = s.parse_move(0, &Move::Text(fenced.into())).unwrap();
    let canonical = json!({ "humans": [{ "name": "Bomb", "x": 1, "y": 1, "spawn_time": 50 }] });
    assert_eq!(heard, ParsedMove::Document(canonical));
}

/// Checks that submitting documents and choosing action ids lead to equal states and hashes.
fn both_ways<C: PlanEngine>(game: &str, ids: impl Fn(usize, &C::Plan) -> Vec<Action>)
where
    PlanGame<C>: Game<Params = C::Params>,
{
    let plans = PlanGame::<C>::new(Default::default()).unwrap();
    let mut rng = Stream::from_text(game);
    for _ in 0..ludex_env::check::scaled(10_000) {
        let teams = [0, 1].map(|side| plans.engine.random(side, plans.budgets[side], &mut rng));
        let documents = [0, 1].map(|side| plans.engine.document(side, &teams[side]));
        let mut said = start(game);
        say(&mut *said, documents.clone());
        let mut built = start(game);
        let mut todo = [0, 1].map(|side| ids(side, &teams[side]));
        todo.iter_mut().for_each(|ids| ids.reverse());
        while built.turn() != ToMove::Over {
            let due = built.turn().seats();
            let joint = [0, 1].map(|seat| due.has(seat).then(|| todo[seat].pop().unwrap_or(SUBMIT)));
            built.play_together(&joint).unwrap_or_else(|e| panic!("{game}: {} {}", e.message, documents[0]));
        }
        assert_eq!(view(&*said, 0), view(&*built, 0));
        assert_eq!((said.hash(), said.returns()), (built.hash(), built.returns()));
        let settled = &view(&*said, 1)["history"][0];
        assert_eq!(settled["strategies"], json!(documents));
        assert_eq!(settled["violations"], json!([[], []]));
    }
}

#[test]
fn documents_and_action_ids_lead_to_equal_states() {
    both_ways::<crate::tower_defense::TowerDefenseEngine>("tower_defense", |side, plan| {
        let one = |piece: &crate::tower_defense::Piece| {
            let cell = Action::from(piece.cell);
            let place = if side == 0 { 15 + cell } else { 151 + cell - 55 };
            [
                2 + Action::from(piece.kind),
                place,
                70 + Action::from(piece.tick) / 20,
                131 + Action::from(piece.tick) % 20,
            ]
        };
        plan.iter().flat_map(one).collect()
    });
    both_ways::<crate::battle_cards::BattleCardsEngine>("battle_cards", |_, team| {
        let cards = team.cards.iter().map(|piece| 2 + 2 * Action::from(piece.kind) + Action::from(piece.gold));
        cards.chain(team.priority.iter().map(|&kind| 24 + Action::from(kind))).collect()
    });
    both_ways::<crate::elemental_duel::ElementalDuelEngine>("elemental_duel", |_, team| {
        let one = |piece: &crate::elemental_duel::Piece| {
            let skills = piece.skills.map(|n| 5 + Action::from(n));
            [2 + Action::from(piece.element), skills[0], skills[1], skills[2]]
        };
        team.iter().flat_map(one).collect()
    });
}

/// A submitted document replaces the pieces chosen by action ids.
#[test]
fn document_replaces_pieces_chosen_by_ids() {
    let mut s = start("battle_cards");
    s.play_together(&[Some(2), Some(2)]).unwrap();
    assert_eq!(view(&*s, 0)["draft"]["strategy"]["invaders"][0]["name"], "FireLizard");
    assert!(s.view(Viewer::Public).value()["draft"].is_null());
    say(&mut *s, [invaders(&["Phoenix"]), defenders(&["King"])]);
    assert_eq!(
        view(&*s, 0)["history"][0]["strategies"][0],
        json!({ "invaders": [{ "name": "Phoenix", "tier": "Bronze" }] })
    );
}

/// The initial view is the same for `first=0` and `first=1`.
#[test]
fn initial_view_does_not_depend_on_first_revising_seat() {
    let text = |game: &str, seat| start(game).view(Viewer::Seat(seat)).text();
    for seat in 0..2 {
        let [a, b] = [0, 1].map(|first| text(&format!("battle_cards(format=match,first={first})"), seat));
        assert_eq!(a, b);
    }
    let first = text("tower_defense", 0);
    for part in
        ["human side", "budget is 2000", "HandgunSoldier: cost 100", "The other side has: NormalDemon", "such as {"]
    {
        assert!(first.contains(part), "{part}");
    }
}

/// Each example in the catalogue is a legal plan at half of the budget.
#[test]
fn example_plan_of_each_side_is_legal() {
    fn check<C: PlanEngine>() {
        let params: C::Params = Default::default();
        let engine = C::new(&params).unwrap();
        for side in 0..2 {
            let document = engine.document(side, &engine.example(side));
            let reading = engine.read(side, C::BUDGETS[side] / 2, &document);
            assert_eq!(reading.violations, Vec::<&str>::new(), "{document}");
        }
    }
    check::<crate::tower_defense::TowerDefenseEngine>();
    check::<crate::battle_cards::BattleCardsEngine>();
    check::<crate::elemental_duel::ElementalDuelEngine>();
}

/// Repeated variation changes a plan and keeps it legal, even within a small budget.
#[test]
fn randomly_changed_plans_are_legal() {
    fn check<C: PlanEngine>() {
        let engine = C::new(&Default::default()).unwrap();
        let mut rng = Stream::from_text(C::INFO.id);
        for side in 0..2 {
            for budget in [C::BUDGETS[side] / 2, C::BUDGETS[side], 4 * C::BUDGETS[side]] {
                let (mut plan, mut differ) = (engine.random(side, budget, &mut rng), 0);
                for _ in 0..300 {
                    let next = engine.vary(side, budget, &plan, &mut rng);
                    let document = engine.document(side, &next);
                    assert_eq!(engine.read(side, budget, &document).violations, Vec::<&str>::new(), "{document}");
                    differ += u32::from(next != plan);
                    plan = next;
                }
                assert!(differ > 150, "{} {side} {budget}: {differ}", C::INFO.id);
            }
        }
    }
    check::<crate::tower_defense::TowerDefenseEngine>();
    check::<crate::battle_cards::BattleCardsEngine>();
    check::<crate::elemental_duel::ElementalDuelEngine>();
}

/// Replies to queries equal the results of the worked examples.
#[test]
fn analysis_reproduces_worked_examples() {
    let game = TowerDefense::new(Default::default()).unwrap();
    let rifle = json!([{ "name": "RifleSoldier", "x": 3, "y": 2, "spawn_time": 0 }, { "name": "ShieldSoldier", "x": 4, "y": 2, "spawn_time": 0 }]);
    let demon = json!([{ "name": "NormalDemon", "y": 2, "spawn_time": 1000 }]);
    let question = json!({ "human": { "humans": rifle }, "demon": { "demons": demon }, "log": true });
    let answer = game.analyze(&question).unwrap();
    assert_eq!(
        (&answer["winner"], &answer["reason"], &answer["costs"]),
        (&json!("human"), &json!("cleared"), &json!([250, 100]))
    );
    assert_eq!(answer["log"].as_array().unwrap().last(), Some(&json!([110, "end", "human", "cleared"])));
    assert_eq!(answer["summary"]["survivors"], json!([["RifleSoldier", 30], ["ShieldSoldier", 150]]));
    let game = BattleCards::new(Default::default()).unwrap();
    let answer = game.analyze(&json!({ "invader": invaders(&["King"]), "defender": { "none": true } })).unwrap();
    assert_eq!(
        answer,
        json!({ "winner": null, "reason": "both_forfeit", "costs": [0, 0], "violations": [["wrong_side"], ["no_answer"]], "summary": null })
    );
    let why = |question: Value| game.analyze(&question).unwrap_err();
    assert!(why(json!({ "invader": { "invaders": 7 }, "defender": null })).path.starts_with("/invader/invaders"));
    assert!(why(json!({ "invader": null, "defender": null, "mode": "team" })).path == "/mode");
    let game = ElementalDuel::new(Default::default()).unwrap();
    let answer = game.analyze(&json!({ "invader": null, "defender": null, "hp_invader": 0 })).unwrap_err();
    assert!(answer.message.contains("hp_invader"), "{answer:?}");
}

/// Plays random matches with action ids and sampled documents, and checks the laws that hold for all games.
#[test]
fn plan_games_satisfy_all_laws() {
    let sampled = |s: &dyn DynState, seat: usize, rng: &mut Stream| {
        if rng.below(2) == 0 { None } else { s.sample(seat, rng).map(Move::Document) }
    };
    for name in ["battle_cards", "elemental_duel", "tower_defense"] {
        for params in [
            "",
            "(format=match,rounds=3)",
            "(format=match,rounds=3,revise=both,feedback=verbose)",
            "(format=match,rounds=4,revise=both,roles=alternate)",
        ] {
            let game = games().load(&format!("{name}{params}")).unwrap();
            if let Err(faults) = ludex_env::check::game_with(&game, 0..3, &sampled) {
                panic!("{}", faults.join("\n").chars().take(1_500).collect::<String>());
            }
        }
    }
}

/// Returns a document that is truncated, renamed, or filled with other values.
fn mutated(document: &Value, rng: &mut Stream) -> Value {
    const STRANGE: &[&str] =
        &["null", "-1", "0.5", "1e308", "\"\"", "[]", "{}", "[[[[]]]]", "true", "\"Phoenix\"", "18446744073709551615"];
    if rng.below(12) == 0 {
        return serde_json::from_str(STRANGE[rng.below(STRANGE.len())]).unwrap();
    }
    match document {
        Value::Object(map) => {
            let mut out = serde_json::Map::new();
            for (name, value) in map {
                match rng.below(12) {
                    0 => {}
                    1 => drop(out.insert(format!("{name}s"), value.clone())),
                    _ => drop(out.insert(name.clone(), mutated(value, rng))),
                }
            }
            out.into()
        }
        Value::Array(list) => {
            let mut out: Vec<Value> = list.iter().map(|value| mutated(value, rng)).collect();
            if let (0, Some(last)) = (rng.below(6), out.last().cloned()) {
                out.extend(std::iter::repeat_n(last, rng.below(250)));
            }
            out.into()
        }
        other => other.clone(),
    }
}

/// Every mutated document gets a verdict: a refusal with issues, or a round played to its end. Tests 10,000 documents
/// in each phase of each game at scale 1; prints the slowest verdict.
#[test]
fn mutated_documents_get_verdicts() {
    for name in ["battle_cards", "elemental_duel", "tower_defense"] {
        let mut rng = Stream::from_text(name);
        let game = games().load(&format!("{name}(format=match,rounds=4,revise=both,roles=alternate,tries=1)")).unwrap();
        let (mut heard, wanted) =
            (std::collections::BTreeMap::<&str, [usize; 2]>::new(), ludex_env::check::scaled(10_000));
        let mut slowest = std::time::Duration::ZERO;
        while heard.len() < 4 || heard.values().any(|[refused, accepted]| ((refused + accepted) as u64) < wanted) {
            let mut s = game.start();
            while s.turn() != ToMove::Over {
                let phase = s.phase().unwrap();
                let mut take = |seat: usize| loop {
                    let document = mutated(&s.sample(seat, &mut rng).unwrap(), &mut rng);
                    let begun = std::time::Instant::now();
                    let read = s.parse_move(seat, &Move::Document(document));
                    slowest = slowest.max(begun.elapsed());
                    heard.entry(phase).or_default()[usize::from(read.is_ok())] += 1;
                    match read {
                        Ok(heard) => break Some(heard),
                        Err(why) => assert!(!why.issues.is_empty()),
                    }
                };
                let joint = [take(0), take(1)];
                s.play_joint(&joint).unwrap();
            }
            assert!(s.returns().iter().all(|sum| sum.abs() <= 4.0));
        }
        println!("{name}: {heard:?} mutated documents refused and accepted, the slowest verdict took {slowest:?}");
        assert!(heard.values().flatten().all(|&n| n as u64 > wanted / 20), "{heard:?}");
    }
}

/// Each game's documentation page contains every value of the tables in the code.
#[test]
fn documentation_pages_contain_all_table_values() {
    use crate::{battle_cards, elemental_duel, tower_defense};
    let mut rows: Vec<(&str, String)> = Vec::new();
    for unit in &tower_defense::HUMANS {
        let figures = format!("{} | {} | {} | {}", unit.health, unit.interval, unit.damage, unit.cost);
        rows.push((
            TowerDefense::INFO.page,
            format!("| {} | {figures} | {} | {} |", unit.name, unit.ability, unit.roles.join(", ")),
        ));
    }
    for unit in &tower_defense::DEMONS {
        let figures = format!("{} | {} | {} | {}", unit.health, unit.speed, unit.damage, unit.cost);
        rows.push((
            TowerDefense::INFO.page,
            format!("| {} | {figures} | {} | {} |", unit.name, unit.ability, unit.roles.join(", ")),
        ));
    }
    for card in &battle_cards::CARDS {
        let figures = format!("{} | {} | {} | {:?}", card.attack, card.health, card.cost, card.element);
        rows.push((
            BattleCards::INFO.page,
            format!("| {} | {figures} | {} | {} |", card.name, card.ability, card.roles.join(", ")),
        ));
    }
    for (element, skills) in elemental_duel::NAMES.iter().zip(&elemental_duel::SKILLS) {
        for skill in skills {
            let row = format!(
                "| {element} | {} | {} | {} | {} |",
                skill.name,
                skill.cost,
                skill.ability,
                skill.roles.join(", ")
            );
            rows.push((ElementalDuel::INFO.page, row));
        }
    }
    for (page, row) in rows {
        assert!(page.lines().any(|line| line == row), "{row}");
    }
}
