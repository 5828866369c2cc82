//! Battles with results computed by hand from the rules.

use ludex_env::draw::Stream;
use serde_json::json;

use super::cards::CARDS;
use super::*;
use crate::plan_game::{BattleEnd, FullLog, events};

/// Parses a team: card names, `*` after gold cards, and after `|` the names in order of priority.
fn team(side: usize, text: &str) -> Team {
    let (cards, priority) = text.split_once('|').unwrap_or((text, ""));
    let find = |side: usize, name: &str| {
        let n = (0..=KINDS as u8).find(|&n| CARDS[usize::from(cards::of_side(side, n))].name == name);
        n.unwrap_or_else(|| panic!("{name}"))
    };
    let piece = |name: &str| Piece { kind: find(side, name.trim_end_matches('*')), gold: name.ends_with('*') };
    Team {
        cards: cards.split_whitespace().map(piece).collect(),
        priority: priority.split_whitespace().map(|name| find(1 - side, name)).collect(),
    }
}

fn fight_under(rules: Rules, invaders: &str, defenders: &str) -> (BattleEnd, FullLog) {
    let mut log = FullLog::default();
    let teams = [team(0, invaders), team(1, defenders)];
    let ended = simulate([&teams[0], &teams[1]], rules, &mut log);
    // The log does not affect the result.
    assert_eq!(simulate([&teams[0], &teams[1]], rules, &mut ()), ended);
    (ended, log)
}

fn fight(invaders: &str, defenders: &str) -> FullLog {
    fight_under(Rules::Paper, invaders, defenders).1
}

/// Asserts that the battle starts with the expected events.
#[track_caller]
fn begins(invaders: &str, defenders: &str, expected: &str) {
    let log = fight(invaders, defenders).events();
    for (n, event) in events(expected).into_iter().enumerate() {
        assert_eq!(log.get(n), Some(&event), "event {n}");
    }
}

/// Asserts that the battle consists of the expected events.
#[track_caller]
fn is(invaders: &str, defenders: &str, expected: &str) {
    begins(invaders, defenders, expected);
    assert_eq!(fight(invaders, defenders).events().len(), events(expected).len());
}

#[test]
fn growth_taunt_and_element_bonus_affect_battle() {
    is(
        "FireLizard WaterElemental",
        "Sapling RockBeetle",
        r#"["turn",0,"i0"] ["attack","i0","d1"] ["hit","i0","d1",2,3] ["answer","d1","i0",1,1] ["turn",1,"d0"]
        ["health_is","d0",3] ["attack","d0","i0"] ["hit","d0","i0",2,-1] ["answer","i0","d0",3,0] ["dead","d0"]
        ["dead","i0"] ["turn",2,"i1"] ["attack_is","i1",3] ["attack","i1","d1"] ["hit","i1","d1",4,-1]
        ["answer","d1","i1",1,1] ["dead","d1"] ["end","invader","wiped_out",3]"#,
    );
}

#[test]
fn battle_applies_shields_excess_damage_and_death_damage() {
    is(
        "BanditLeader MoltenHound",
        "EliteSoldier StoneWarrior VineProtector",
        r#"["buff","d0","d1",1,0,1] ["turn",0,"d0"] ["attack","d0","i0"] ["hit","d0","i0",1,2] ["answer","i0","d0",8,-7]
        ["dead","d0"] ["turn",1,"i0"] ["attack","i0","d1"] ["shield","i0","d1"] ["answer","d1","i0",3,-1] ["dead","i0"]
        ["turn",2,"d1"] ["attack","d1","i1"] ["hit","d1","i1",4,-3] ["answer","i1","d1",3,2] ["dead","i1"]
        ["death_damage","i1","d1",1,1] ["death_damage","i1","d2",1,3] ["end","defender","wiped_out",3]"#,
    );
}

#[test]
fn battle_applies_double_attacks_priority_revival_and_summoning() {
    is(
        "TideGuardian Phoenix | Paladin",
        "King Paladin",
        r#"["turn",0,"i0"] ["attack","i0","d1"] ["shield","i0","d1"] ["shield","d1","i0"] ["attack","i0","d1"]
        ["hit","i0","d1",4,2] ["answer","d1","i0",3,-1] ["dead","i0"] ["turn",1,"d0"] ["attack","d0","i1"]
        ["hit","d0","i1",3,2] ["answer","i1","d0",5,5] ["summon","d0","d2","Soldier",2] ["turn",2,"i1"]
        ["attack","i1","d1"] ["hit","i1","d0",5,0] ["hit","i1","d1",5,-3] ["shield","i1","d2"] ["answer","d1","i1",3,-1]
        ["revive","i1",5] ["dead","d0"] ["dead","d1"] ["turn",3,"d2"] ["attack","d2","i1"] ["hit","d2","i1",2,3]
        ["answer","i1","d2",5,-3] ["dead","d2"] ["end","invader","wiped_out",4]"#,
    );
}

/// Fire beats nature: a damage of 2 becomes 3, in the attack and in the death effect. Both cards die; the attacker is
/// removed first.
#[test]
fn dead_fire_lizard_damages_its_killer() {
    is(
        "FireLizard",
        "AncientTreant",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",3,1] ["answer","d0","i0",4,-2] ["dead","i0"]
        ["death_damage","i0","d0",3,-2] ["dead","d0"] ["end","invader","both_empty",1]"#,
    );
}

/// A gold elemental is 4/4 and gains 2 attack. Water beats earth: a damage of 6 becomes 9.
#[test]
fn water_elemental_grows_with_attacks() {
    is(
        "WaterElemental*",
        "BlackRock",
        r#"["turn",0,"i0"] ["attack_is","i0",6] ["attack","i0","d0"] ["hit","i0","d0",9,-8] ["answer","d0","i0",5,-1]
        ["dead","i0"] ["dead","d0"] ["end","invader","both_empty",1]"#,
    );
}

/// A poisonous card kills its target or its attacker, unless a shield absorbs the damage. A giant that dies does not
/// weaken its attacker.
#[test]
fn poison_kills_unless_shielded() {
    is(
        "PoisonFrog",
        "MountainGiant",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",1,0] ["answer","d0","i0",4,-3] ["dead","i0"] ["dead","d0"]
        ["end","invader","both_empty",1]"#,
    );
    is(
        "PoisonFrog",
        "King Sapling",
        r#"["turn",0,"d0"] ["attack","d0","i0"] ["hit","d0","i0",3,-2] ["answer","i0","d0",1,0] ["dead","d0"] ["dead","i0"]
        ["end","defender","wiped_out",1]"#,
    );
    is(
        "PoisonFrog",
        "Paladin",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["shield","i0","d0"] ["answer","d0","i0",3,-2] ["dead","i0"]
        ["end","defender","wiped_out",1]"#,
    );
}

/// A gold hound is 6/2 and deals 2 to all enemies on death. Each of two paladins is inspired when the other paladin
/// loses its shield.
#[test]
fn dead_molten_hound_damages_enemies_and_inspires_paladins() {
    is(
        "MoltenHound*",
        "Paladin Paladin",
        r#"["turn",0,"d0"] ["attack","d0","i0"] ["hit","d0","i0",3,-1] ["shield","i0","d0"] ["attack_is","d1",5]
        ["dead","i0"] ["death_damage","i0","d0",2,4] ["shield","i0","d1"] ["attack_is","d0",5]
        ["end","defender","wiped_out",1]"#,
    );
}

/// Attack falls from 7 to 3 after the card attacks, not after it is attacked. The dead king summons no card.
#[test]
fn battle_frenzy_loses_attack_when_it_attacks() {
    is(
        "BattleFrenzy",
        "King",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",7,3] ["answer","d0","i0",3,1] ["attack_is","i0",3]
        ["turn",1,"d0"] ["attack","d0","i0"] ["hit","d0","i0",3,-2] ["answer","i0","d0",3,0] ["dead","d0"] ["dead","i0"]
        ["end","invader","both_empty",2]"#,
    );
}

/// The gold card is 14/8 and loses 8 attack per attack: 14, 6, 0. With no attack left, it still takes its turns and
/// receives counterattacks.
#[test]
fn card_with_zero_attack_still_takes_turns() {
    is(
        "BattleFrenzy*",
        "RockBeetle RockBeetle RockBeetle RockBeetle RockBeetle",
        r#"["turn",0,"d0"] ["attack","d0","i0"] ["hit","d0","i0",1,7] ["answer","i0","d0",14,-9] ["dead","d0"]
        ["turn",1,"i0"] ["attack","i0","d1"] ["hit","i0","d1",14,-9] ["answer","d1","i0",1,6] ["attack_is","i0",6] ["dead","d1"]
        ["turn",2,"d2"] ["attack","d2","i0"] ["hit","d2","i0",1,5] ["answer","i0","d2",6,-1] ["dead","d2"]
        ["turn",3,"i0"] ["attack","i0","d3"] ["hit","i0","d3",6,-1] ["answer","d3","i0",1,4] ["attack_is","i0",0] ["dead","d3"]
        ["turn",4,"d4"] ["attack","d4","i0"] ["hit","d4","i0",1,3]
        ["turn",5,"i0"] ["attack","i0","d4"] ["answer","d4","i0",1,2]
        ["turn",6,"d4"] ["attack","d4","i0"] ["hit","d4","i0",1,1]
        ["turn",7,"i0"] ["attack","i0","d4"] ["answer","d4","i0",1,0] ["dead","i0"] ["end","defender","wiped_out",8]"#,
    );
}

/// Excess damage goes to the card on the target's right or, if the target is the last card, on its left. Cards with
/// taunt are attacked first. The seer makes the sapling 3/4.
#[test]
fn bandit_leader_carries_excess_damage() {
    is(
        "BanditLeader BanditLeader",
        "Sapling ForestSeer",
        r#"["buff","d1","d0",1,2,0] ["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",8,-4] ["answer","d0","i0",3,0]
        ["excess","i0","d1",4,-2] ["dead","i0"] ["dead","d0"] ["dead","d1"] ["end","invader","wiped_out",1]"#,
    );
    is(
        "BanditLeader FireLizard",
        "Sapling RockBeetle",
        r#"["turn",0,"i0"] ["attack","i0","d1"] ["hit","i0","d1",8,-3] ["answer","d1","i0",1,2] ["excess","i0","d0",3,-1]
        ["dead","d0"] ["dead","d1"] ["end","invader","wiped_out",1]"#,
    );
}

/// A counterattack of 1 on nature stays 1 (1.5 rounded down). The sapling dies from burning before its second attack.
#[test]
fn lava_golem_burns_attackers() {
    is(
        "FireLizard LavaGolem",
        "Sapling Sapling",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",3,-1] ["answer","d0","i0",2,0] ["dead","i0"] ["dead","d0"]
        ["turn",1,"d1"] ["health_is","d1",3] ["attack","d1","i1"] ["hit","d1","i1",2,6] ["answer","i1","d1",1,2]
        ["burning","d1",3] ["turn",2,"i1"] ["attack","i1","d1"] ["hit","i1","d1",1,1] ["answer","d1","i1",2,4]
        ["turn",3,"d1"] ["burn",null,"d1",3,-2] ["dead","d1"] ["end","invader","wiped_out",4]"#,
    );
}

/// Attack doubles each time the card survives damage. A counterattack uses the attack value from the start of the
/// exchange.
#[test]
fn tide_lord_doubles_attack_after_damage() {
    is(
        "TideLord",
        "King",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",4,6] ["answer","d0","i0",3,6] ["attack_is","i0",8]
        ["turn",1,"d0"] ["attack","d0","i0"] ["hit","d0","i0",3,3] ["attack_is","i0",16] ["answer","i0","d0",8,-2]
        ["dead","d0"] ["end","invader","wiped_out",2]"#,
    );
}

/// A dead overlord leaves one skeleton in its position; under the repository's rules, seven.
#[test]
fn shadow_overlord_leaves_skeleton() {
    is(
        "ShadowOverlord",
        "AncientTreant",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",4,0] ["answer","d0","i0",4,0] ["dead","i0"]
        ["summon","i0","i1","Skeleton",0] ["dead","d0"] ["end","invader","wiped_out",1]"#,
    );
    assert_eq!(fight("ShadowOverlord*", "AncientTreant*").summary["survivors"], json!([["Skeleton", 6, 2]]));
    let summary = fight_under(Rules::Repo, "ShadowOverlord", "AncientTreant").1.summary;
    assert_eq!(summary, json!({ "attacks": 1, "survivors": vec![("Skeleton", 3, 1); 7] }));
}

/// Both seers strengthen all other nature cards, a gold seer by +2/+4. The beetle is an earth card and gains nothing.
#[test]
fn forest_seers_strengthen_nature_allies() {
    begins(
        "FireLizard",
        "ForestSeer Sapling RockBeetle ForestSeer*",
        r#"["buff","d0","d1",1,2,0] ["buff","d0","d3",1,2,0] ["buff","d3","d0",2,4,0] ["buff","d3","d1",2,4,0]"#,
    );
    // A gold sapling is 4/4 and gains 2 health when it attacks.
    begins("FireLizard", "Sapling* RockBeetle", r#"["turn",0,"d0"] ["health_is","d0",6]"#);
}

/// A gold warrior is 4/10 and leaves a gold beetle of 2/10.
#[test]
fn stone_warrior_leaves_rock_beetle() {
    is(
        "BanditLeader BattleFrenzy",
        "StoneWarrior*",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",8,2] ["answer","d0","i0",4,-1] ["dead","i0"]
        ["turn",1,"d0"] ["attack","d0","i1"] ["hit","d0","i1",4,0] ["answer","i1","d0",7,-5] ["dead","d0"]
        ["summon","d0","d1","RockBeetle",0] ["dead","i1"] ["end","defender","wiped_out",2]"#,
    );
    let summary = fight("BanditLeader BattleFrenzy", "StoneWarrior*").summary;
    assert_eq!(summary, json!({ "attacks": 2, "survivors": [["RockBeetle", 2, 10]] }));
}

/// Both neighbors of a gold trainer gain 2 attack. With two other allies, a rock gains 6 health, and a gold rock 12. A
/// gold treant gives all allies +6/+6.
#[test]
fn start_effects_strengthen_allies() {
    begins("FireLizard", "Sapling EliteSoldier* King", r#"["buff","d1","d0",2,0,1] ["buff","d1","d2",2,0,1]"#);
    begins("FireLizard", "BlackRock Sapling BlackRock*", r#"["buff","d0","d0",0,6,0] ["buff","d2","d2",0,12,0]"#);
    begins("FireLizard FireLizard", "BlackRock", r#"["turn",0,"i0"]"#);
    begins("FireLizard", "King AncientTreant* Sapling", r#"["buff","d1","d0",6,6,0] ["buff","d1","d2",6,6,0]"#);
}

/// A hit of 5 on a nature card deals 7. The protector heals the king by 2, up to the maximum of 10.
#[test]
fn vine_protector_heals_and_phoenix_revives() {
    begins(
        "Phoenix FireLizard",
        "King VineProtector",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",5,5] ["hit","i0","d1",7,-3] ["answer","d0","i0",3,2]
        ["dead","d1"] ["heal","d1","d0",2,7] ["turn",1,"d0"]"#,
    );
    // The dead hound deals 1 to the king: of the protector's 2 points, only 1 is needed.
    begins(
        "MoltenHound BanditLeader | VineProtector",
        "King VineProtector",
        r#"["turn",0,"i0"] ["attack","i0","d1"] ["hit","i0","d1",4,0] ["answer","d1","i0",5,-4] ["dead","i0"]
        ["death_damage","i0","d0",1,9] ["dead","d1"] ["heal","d1","d0",1,10]"#,
    );
    // A gold phoenix revives with 10, once.
    let log = fight("Phoenix*", "MountainGiant* AncientTreant").events();
    assert_eq!(log.iter().filter(|e| e[0] == "revive").collect::<Vec<_>>(), [&json!(["revive", "i0", 10])]);
}

/// A side has at most seven cards, so the king summons no soldier when its side is full.
#[test]
fn king_summons_soldier_if_side_has_room() {
    begins(
        "TideLord",
        "King RockBeetle RockBeetle RockBeetle RockBeetle RockBeetle RockBeetle",
        r#"["turn",0,"d0"] ["attack","d0","i0"] ["hit","d0","i0",3,6] ["attack_is","i0",8] ["answer","i0","d0",4,6]
        ["turn",1,"i0"] ["attack","i0","d1"]"#,
    );
    // A gold king summons a gold soldier, 4/4 with a shield.
    begins(
        "TideLord TideLord",
        "King* Sapling Sapling",
        r#"["turn",0,"d0"] ["attack","d0","i0"] ["hit","d0","i0",6,3] ["attack_is","i0",8] ["answer","i0","d0",4,16]
        ["summon","d0","d3","Soldier",3]"#,
    );
}

/// Water on earth: a damage of 4 becomes 6. The counterattack raises attack to 8, and the gold giant then subtracts 4.
#[test]
fn mountain_giant_weakens_attackers() {
    begins(
        "TideLord",
        "MountainGiant*",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",6,12] ["answer","d0","i0",8,1] ["attack_is","i0",8]
        ["attack_is","i0",4] ["turn",1,"d0"]"#,
    );
    // An attacker that dies is weakened too: 7 - 2.
    is(
        "BattleFrenzy",
        "MountainGiant",
        r#"["turn",0,"i0"] ["attack","i0","d0"] ["hit","i0","d0",7,2] ["answer","d0","i0",4,0] ["attack_is","i0",5]
        ["dead","i0"] ["end","defender","wiped_out",1]"#,
    );
}

/// Cards with taunt are attacked first, then the leftmost card of the first priority name on the field. The
/// repository's rules have neither taunt nor priority.
#[test]
fn targets_follow_taunt_and_priority() {
    let attacked = |rules, invaders: &str, defenders: &str| {
        let log = fight_under(rules, invaders, defenders).1.events();
        log.into_iter().find(|event| event[0] == "attack" && event[1] == "i0").unwrap()[2].clone()
    };
    let [paper, repo] = [Rules::Paper, Rules::Repo];
    assert_eq!(attacked(paper, "TideLord TideLord TideLord | Soldier King", "Sapling King King"), "d1");
    assert_eq!(attacked(repo, "TideLord TideLord TideLord | Soldier King", "Sapling King King"), "d0");
    assert_eq!(attacked(paper, "TideLord TideLord TideLord | King", "King Sapling RockBeetle"), "d2");
    assert_eq!(attacked(paper, "TideLord TideLord TideLord | StoneWarrior", "King RockBeetle StoneWarrior"), "d2");
    assert_eq!(attacked(repo, "TideLord TideLord TideLord", "King Sapling RockBeetle"), "d0");
}

/// The repository's rules have no element bonus: a fire damage of 2 on nature stays 2.
#[test]
fn rules_set_to_repo_ignore_elements() {
    let log = fight_under(Rules::Repo, "FireLizard", "AncientTreant").1.events();
    assert_eq!(log[2], json!(["hit", "i0", "d0", 2, 2]));
}

#[test]
fn elements_form_cycle() {
    use cards::Element::{self, *};
    let all: [Element; 6] = [Fire, Water, Nature, Earth, Rogue, Guardian];
    let pairs: Vec<_> = all.iter().flat_map(|a| all.iter().filter(|b| a.beats(**b)).map(move |b| (*a, *b))).collect();
    assert_eq!(pairs, [(Fire, Nature), (Water, Earth), (Nature, Water), (Earth, Fire)]);
}

/// Invaders win 36.3 % of 20,000 battles between random teams, within one percentage point. A battle takes 8.4 attacks
/// on average and never reaches the turn limit. `LUDEX_TEST_SCALE` raises the number of battles.
#[test]
fn random_teams_win_at_measured_rates() {
    let mut rng = Stream::from_text("battle_cards");
    let n = ludex_env::check::scaled(20_000).max(20_000);
    let (mut won, mut turns, mut capped) = (0, 0, 0);
    for _ in 0..n {
        let teams = [random(0, 20, &mut rng), random(1, 20, &mut rng)];
        let ended = simulate([&teams[0], &teams[1]], Rules::Paper, &mut ());
        won += u64::from(ended.winner == 0);
        turns += u64::from(ended.length);
        capped += u64::from(ended.reason == "cap");
    }
    let [share, mean] = [won, turns].map(|k| k as f64 / n as f64);
    println!("{n} pairs: invaders win {:.2} %, {mean:.2} attacks, {capped} at the cap", 100.0 * share);
    assert!((share - 0.363).abs() < 0.01, "{share}");
    assert!((mean - 8.4).abs() < 0.2, "{mean}");
    assert_eq!(capped, 0);
}

#[test]
fn card_list_marks_summoned_cards_as_not_choosable() {
    let game = crate::load("battle_cards").unwrap();
    for (seat, name) in [(0, "Skeleton"), (1, "Soldier")] {
        let text = game.start().view(ludex_env::Viewer::Seat(seat)).text();
        assert!(text.contains(&format!("\n{name}: summoned only, cannot be chosen; ")), "{text}");
        assert!(!text.contains("cost 0"), "{text}");
    }
}
