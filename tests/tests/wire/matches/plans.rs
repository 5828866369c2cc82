//! Games of plans over real sockets: until a round is played, only the author of a plan can see it.

use ludex_tests::Server;
use ludex_tests::bot::act;
use regex::Regex;
use serde_json::{Value, json};

use super::documents::Recorded;

/// Names of all games in which a move is a plan.
pub(super) const GAMES: [&str; 3] = ["tower_defense", "battle_cards", "elemental_duel"];

/// Plans for one side of a game: two within the budget, and one over it.
pub(super) struct Plans {
    pub sound: Value,
    pub other: Value,
    pub over: Value,
}

/// Returns the plans for side 0 or 1 of a game.
pub(super) fn plans(game: &str, side: usize) -> Plans {
    let cards = |list: &[(&str, &str)]| -> Value {
        list.iter().map(|(name, tier)| json!({"name": name, "tier": tier})).collect()
    };
    let skills = |list: [(&str, [&str; 3]); 3]| -> Value {
        list.iter().map(|(element, skills)| json!({"element": element, "skills": skills})).collect()
    };
    let human = |name: &str, x: u32| json!({"name": name, "x": x, "y": 2, "spawn_time": 0});
    let demon = |name: &str, y: u32| json!({"name": name, "y": y, "spawn_time": 1000});
    let (field, [sound, other, over]) = match (game, side) {
        ("tower_defense", 0) => {
            let over: Value = (0..4).map(|x| human("RocketLauncherSoldier", x)).collect();
            let sound = json!([human("RifleSoldier", 3), human("ShieldSoldier", 4)]);
            ("humans", [sound, json!([human("IceSoldier", 0)]), over])
        }
        ("tower_defense", _) => {
            let over = json!([demon("DemonKing", 1), demon("DemonKing", 3)]);
            ("demons", [json!([demon("NormalDemon", 2)]), json!([demon("GreatDemon", 1)]), over])
        }
        ("battle_cards", 0) => (
            "invaders",
            [
                cards(&[("TideGuardian", "Bronze"), ("Phoenix", "Gold")]),
                cards(&[("FireLizard", "Bronze")]),
                cards(&[("Phoenix", "Gold"), ("TideLord", "Gold")]),
            ],
        ),
        ("battle_cards", _) => (
            "defenders",
            [
                cards(&[("King", "Bronze"), ("Paladin", "Bronze")]),
                cards(&[("Sapling", "Gold")]),
                cards(&[("King", "Gold"), ("MountainGiant", "Gold")]),
            ],
        ),
        (_, 0) => {
            let same = |fire, water, dark| skills([("Fire", [fire; 3]), ("Water", [water; 3]), ("Dark", [dark; 3])]);
            let sound = same("burst_flame_bomb", "stream_pierce", "soul_siphon");
            let other = same("flame_splash", "stream_pierce", "shadow_claw");
            ("invaders", [sound, other, same("magma_eruption", "tsunami_ending", "void_assimilation")])
        }
        _ => {
            let same = |wood, earth, light| skills([("Wood", [wood; 3]), ("Earth", [earth; 3]), ("Light", [light; 3])]);
            let sound = same("bud_healing", "quicksand_trap", "divine_link");
            let other = same("parasitic_seed", "earth_shock", "holy_glimmer");
            ("defenders", [sound, other, same("poison_vine", "core_rebound", "divine_sword")])
        }
    };
    let [sound, other, over] = [sound, other, over].map(|list| json!({ field: list }));
    Plans { sound, other, over }
}

/// Answers every turn with the attempts that `choose` returns, until the match ends.
async fn play(client: &mut Recorded, mut choose: impl FnMut(&Value) -> Vec<Value>) {
    loop {
        let turn = client.until(|m| m["type"] == "turn" || m["type"] == "match_end").await;
        if turn["type"] == "match_end" {
            return;
        }
        for (attempt, mv) in choose(&turn).into_iter().enumerate() {
            let mut fields = act(&turn, mv);
            fields["try"] = attempt.into();
            let reply = client.call("act", fields).await;
            if reply["type"] == "accepted" {
                break;
            }
            assert_eq!(reply["type"], "refused", "{reply}");
        }
    }
}

/// Returns the legal action ids of pieces in a turn, without `submit` and `keep`.
fn pieces(turn: &Value) -> Vec<u64> {
    let legal = turn["legal"].as_array().expect("ids").iter();
    legal.filter_map(Value::as_u64).filter(|&id| id > 1).collect()
}

fn low(turn: &Value) -> Value {
    json!({"action": pieces(turn).first()})
}

fn high(turn: &Value) -> Value {
    json!({"action": pieces(turn).last()})
}

fn document_act(document: &Value) -> Value {
    json!({ "document": document })
}

/// Returns the next act of a plan that grows by at least eight actions and is submitted as soon as allowed.
fn draft_acts(turn: &Value, step: usize) -> Vec<Value> {
    let submits = turn["legal"][0] == 0 && (step >= 8 || pieces(turn).is_empty());
    vec![if submits { json!({"action": 0}) } else { low(turn) }]
}

/// Returns the acts of a seat at `step` of the tested phase. `world` (0 to 2) selects one of three variants, which
/// build different plans by different kinds of moves. All variants submit at the third step, because views show which
/// seats have not submitted.
fn way(world: usize, plans: &Plans, turn: &Value, step: usize) -> Vec<Value> {
    let initial = turn["phase"].as_str().is_some_and(|phase| phase.starts_with("initial"));
    let nonsense = json!({"text": "I cannot decide."});
    match (world, step) {
        (0, 0 | 1) if initial => vec![document_act(&plans.over)],
        (0, 0 | 1) => vec![low(turn)],
        (0, _) => vec![document_act(&plans.sound)],
        (1, 0) => vec![nonsense, document_act(&json!({"wrong": 1})), low(turn)],
        (1, 1) => vec![low(turn)],
        (1, _) => vec![json!({"text": format!("Here it is: {}", plans.other)})],
        (_, 0 | 1) => vec![high(turn)],
        _ => vec![nonsense, document_act(&json!({"none": true}))],
    }
}

/// Returns the frames that a client received before round `round` was revealed, and the frame that reveals it. Ids,
/// commitments and times are removed.
fn before(client: &Recorded, round: usize) -> (Vec<String>, String) {
    let times = Regex::new(r#""(ms|now_ms)":\d+"#).expect("a pattern");
    let drawn = Regex::new(r#""(match|join|seed_commit)":"[^"]*""#).expect("a pattern");
    let heard = client.frames.iter().filter_map(|frame| frame.strip_prefix("< "));
    let heard = heard.skip_while(|frame| !frame.contains("\"match_start\""));
    let (mut told, mut rounds) = (Vec::new(), 0);
    for frame in heard {
        let frame = drawn.replace_all(frame, "\"$1\":\"\"");
        let frame = times.replace_all(&frame, "\"$1\":0").into_owned();
        rounds += usize::from(frame.contains("\"kind\":\"reveal\""));
        if rounds == round {
            return (told, frame);
        }
        // The last plan of a round starts the round, so the view after that move already shows it.
        let mut message: Value = serde_json::from_str(&frame).expect("JSON");
        if message["view"]["struct"]["history"].as_array().is_some_and(|history| history.len() >= round) {
            message.as_object_mut().expect("a map").remove("view");
            told.push(message.to_string());
            return (told, frame);
        }
        told.push(frame);
    }
    panic!("round {round} was not shown to {}", client.name);
}

/// Plays a match with plan variant `world`. For seat 1 and for a spectator, returns the frames before `round` is
/// revealed and the frame that reveals it.
async fn world(server: &Server, game: &str, phase: &str, world: usize, round: usize) -> [(Vec<String>, String); 2] {
    let [mut author, mut other] = [Recorded::new(server, "ann").await, Recorded::new(server, "bob").await];
    for (seat, client) in [&mut author, &mut other].into_iter().enumerate() {
        let views = ["struct", "text", "texts", "tensor"];
        let join = json!({"game": game, "seat": seat, "clock": {"move_ms": 60_000}, "views": views});
        assert_eq!(client.call("join", join).await["type"], "joined");
    }
    let start = author.until_kind("match_start").await;
    let mut watcher = Recorded::new(server, "eve").await;
    watcher.call("spectate", json!({"match": start["match"], "views": ["struct", "text"]})).await;
    // The order of sides depends on the phase; see the pages of the games.
    let side = usize::from(phase.ends_with("_other"));
    let name = game.split('(').next().expect("a name");
    let of = [0, 1].map(|side| plans(name, side));
    let (mut step, mut built_steps, mut built_phase) = (0, 0, Value::Null);
    let by_author = |turn: &Value| {
        if turn["phase"] != phase {
            let other_side = turn["phase"].as_str().is_some_and(|phase| phase.ends_with("_other"));
            return vec![document_act(&of[usize::from(other_side)].sound)];
        }
        step += 1;
        way(world, &of[side], turn, step - 1)
    };
    let by_other = |turn: &Value| {
        if turn["phase"] != built_phase {
            (built_steps, built_phase) = (0, turn["phase"].clone());
        }
        built_steps += 1;
        draft_acts(turn, built_steps - 1)
    };
    tokio::join!(play(&mut author, by_author), play(&mut other, by_other), watcher.until_kind("match_end"));
    assert!(step >= 3, "{game} asks in phase {phase} {step} times");
    [&other, &watcher].map(|client| before(client, round))
}

/// Checks that frames are equal for variants that differ in a seat's plan. The variants also differ in the number and
/// steps of the seat's attempts, and in the form of the moves (documents, texts, ids).
#[tokio::test]
async fn plan_is_hidden_until_its_round() {
    let server = Server::start(|_| {}).await;
    for game in GAMES {
        for (form, phase, round) in [
            ("revise=alternate", "initial", 1),
            ("revise=alternate", "revision", 2),
            ("revise=both", "initial", 1),
            ("revise=both", "revision", 2),
            // Sides swap after each round, so plans for the other side are played in the second round.
            ("revise=both,roles=alternate", "initial_other", 2),
        ] {
            let game = format!("{game}(format=match,rounds=2,{form})");
            let mut worlds = Vec::new();
            for n in 0..3 {
                worlds.push(world(&server, &game, phase, n, round).await);
            }
            for (k, who) in ["the other seat", "a spectator"].into_iter().enumerate() {
                let [first, second, third] = [0, 1, 2].map(|n| &worlds[n][k]);
                assert!(first.0.len() > 2, "{game} {phase}: {who} hears {:?}", first.0);
                assert_eq!(first.0, second.0, "{game} {phase}: what {who} hears");
                assert_eq!(first.0, third.0, "{game} {phase}: what {who} hears");
                // The revealed rounds differ, so the comparison above can fail.
                assert!(first.1 != second.1 && second.1 != third.1, "{game} {phase}: {who} is shown {}", first.1);
            }
        }
    }
    server.stop().stopped().await;
}
