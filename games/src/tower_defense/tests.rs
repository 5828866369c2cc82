//! Battles computed by hand from the rules.
//!
//! Positions are in field units, 1120 to a cell. A demon appears at 12320 and walks 22 units times its speed in each
//! tick, so a demon of speed 2 that appears in tick 0, and is neither stopped nor slowed, is at 12320 - 44 k before its
//! step in tick k.

use ludex_env::draw::Stream;
use serde_json::{Value, json};

use super::plan::ENTRY;
use super::*;
use crate::plan_game::{BattleEnd, FullLog, events};

/// Parses a plan: units `Name x,y@ms` for humans or `Name y@ms` for demons, separated by semicolons. Without `@ms`, a
/// unit appears at 0 ms.
fn plan(side: usize, text: &str) -> Vec<Piece> {
    let piece = |text: &str| {
        let (name, place) = text.trim().split_once(' ').unwrap();
        let (cell, time) = place.split_once('@').unwrap_or((place, "0"));
        let number = |text: &str| text.trim().parse::<u8>().unwrap();
        let kind = match side {
            0 => HUMANS.iter().position(|u| u.name == name),
            _ => DEMONS.iter().position(|u| u.name == name),
        };
        let cell = match cell.split_once(',') {
            Some((x, y)) => 5 * number(x) + number(y),
            None => ENTRY + number(cell),
        };
        let tick = (time.parse::<i32>().unwrap() / TICK) as u16;
        Piece { kind: kind.unwrap_or_else(|| panic!("{name}")) as u8, cell, tick }
    };
    text.split(';').filter(|text| !text.trim().is_empty()).map(piece).collect()
}

fn fight_under(rules: Rules, humans: &str, demons: &str) -> (BattleEnd, FullLog) {
    let mut log = FullLog::default();
    let (humans, demons) = (plan(0, humans), plan(1, demons));
    let ended = simulate(&humans, &demons, rules, 2000, &mut log);
    // The log does not affect the result.
    assert_eq!(simulate(&humans, &demons, rules, 2000, &mut ()), ended);
    (ended, log)
}

fn fight(humans: &str, demons: &str) -> Vec<Value> {
    fight_under(Rules::Paper, humans, demons).1.events()
}

/// Asserts that a battle logs exactly these events.
#[track_caller]
fn is(humans: &str, demons: &str, expected: &str) {
    assert_eq!(json!(fight(humans, demons)), json!(events(expected)));
}

/// Asserts that the log contains these events in this order; other events may occur between them.
#[track_caller]
fn has(log: &[Value], expected: &str) {
    let mut rest = log.iter();
    for event in events(expected) {
        assert!(rest.any(|e| *e == event), "{event}");
    }
}

/// Asserts that the log contains exactly `n` events of this kind.
#[track_caller]
fn count(log: &[Value], kind: &str, n: usize) {
    assert_eq!(log.iter().filter(|e| e[1] == kind).count(), n, "{kind}");
}

#[test]
fn rifle_and_shield_battle_logs_expected_events() {
    is(
        "RifleSoldier 3,2; ShieldSoldier 4,2",
        "NormalDemon 2@1000",
        r#"[0,"place","h0","RifleSoldier",3,2] [0,"place","h1","ShieldSoldier",4,2] [20,"spawn","d0","NormalDemon",2,12320]
        [20,"shot","h0","d0",10,90] [30,"shot","h0","d0",10,80] [40,"shot","h0","d0",10,70] [50,"shot","h0","d0",10,60]
        [60,"shot","h0","d0",10,50] [70,"shot","h0","d0",10,40] [80,"shot","h0","d0",10,30] [90,"shot","h0","d0",10,20]
        [100,"shot","h0","d0",10,10] [110,"shot","h0","d0",10,0] [110,"dead","d0"] [110,"end","human","cleared"]"#,
    );
}

#[test]
fn jump_and_bomb_battle_logs_expected_events() {
    is(
        "ShieldSoldier 10,1; Bomb 9,1@1000",
        "BouncingDemon 1; GreatDemon 2",
        r#"[0,"place","h0","ShieldSoldier",10,1] [0,"spawn","d0","BouncingDemon",1,12320]
        [0,"spawn","d1","GreatDemon",2,12320] [0,"jump","d0","h0",11200] [20,"place","h1","Bomb",9,1]
        [20,"stop","d0","h1",10364] [20,"hit","d0","h1",10,490] [30,"blast","h1","d0",300,-200] [30,"dead","d0"]
        [30,"blast","h1","d1",300,-100] [30,"dead","d1"] [30,"gone","h1"] [30,"end","human","cleared"]"#,
    );
}

#[test]
fn soldier_shoots_demons_one_after_another() {
    is(
        "HandgunSoldier 9,0",
        "ShadowDemon 0; MachineDemon 0",
        r#"[0,"place","h0","HandgunSoldier",9,0] [0,"spawn","d0","ShadowDemon",0,12320]
        [0,"spawn","d1","MachineDemon",0,12320] [20,"shot","h0","d0",10,90] [25,"stop","d0","h0",11200]
        [25,"hit","d0","h0",10,20] [25,"stop","d1","h0",11200] [25,"hit","d1","h0",30,-10] [25,"dead","h0"]
        [280,"breach","d0",0] [280,"end","demon","breach"]"#,
    );
}

/// A demon of speed 2 covers 12320 field units in steps of 44: 280 ticks, 0 to 279. At speed 4 it needs 140 ticks.
#[test]
fn demons_move_at_their_speed() {
    let spawn = r#"[0,"spawn","d0","NormalDemon",3,12320]"#;
    is("", "NormalDemon 3", &format!(r#"{spawn} [279,"breach","d0",3] [279,"end","demon","breach"]"#));
    let (ended, log) = fight_under(Rules::Paper, "", "NormalDemon 3");
    assert_eq!((ended.winner, ended.length, ended.value), (1, 279, [-1.0, 1.0]));
    let survivors = json!([["NormalDemon", 100]]);
    assert_eq!(log.summary, json!({ "ticks": 279, "lost_row": 3, "survivors": survivors, "survivors_cost": 100 }));
    has(&fight("", "SpeedyDemon 0; SpeedyDemon 1@1000"), r#"[139,"breach","d0",0] [139,"end","demon","breach"]"#);
}

/// The soldier shoots once a second: the tenth shot is in tick 200.
#[test]
fn handgun_soldier_shoots_each_second() {
    let log = fight("HandgunSoldier 0,0", "NormalDemon 0");
    has(
        &log,
        r#"[20,"shot","h0","d0",10,90] [40,"shot","h0","d0",10,80] [200,"shot","h0","d0",10,0] [200,"dead","d0"]"#,
    );
    count(&log, "shot", 10);
    // A soldier shoots no demon behind it or in another row. The demon has passed 9 * 1120 from tick 51 on.
    let log = fight("HandgunSoldier 9,0; HandgunSoldier 9,1@2550", "NormalDemon 1");
    count(&log, "shot", 0);
}

/// The rifle shoots twice a second, the machine gun four times.
#[test]
fn faster_guns_shoot_more_often() {
    let log = fight("RifleSoldier 0,0", "NormalDemon 0");
    has(&log, r#"[10,"shot","h0","d0",10,90] [20,"shot","h0","d0",10,80] [100,"dead","d0"]"#);
    let log = fight("MachineGunSoldier 0,0", "NormalDemon 0");
    has(&log, r#"[5,"shot","h0","d0",10,90] [10,"shot","h0","d0",10,80] [50,"dead","d0"]"#);
}

/// The demon destroys the 15 points of the shield soldier in ticks 20 to 300. It then needs 280 ticks from 12320 to the
/// edge.
#[test]
fn shield_soldier_blocks_demon() {
    let log = fight("ShieldSoldier 10,0", "NormalDemon 0");
    has(&log, r#"[0,"stop","d0","h0",12320] [20,"hit","d0","h0",10,140] [300,"hit","d0","h0",10,0] [300,"dead","h0"]"#);
    has(&log, r#"[580,"breach","d0",0] [580,"end","demon","breach"]"#);
}

/// Each hit costs a shield soldier 5 points: three hits for 15 points, six for 30 points. A hit costs other units 1
/// point.
#[test]
fn shield_breaker_damages_shields_more() {
    let log = fight("ShieldSoldier 10,0", "ShieldBreakerDemon 0");
    has(&log, r#"[20,"hit","d0","h0",50,100] [40,"hit","d0","h0",50,50] [60,"hit","d0","h0",50,0] [60,"dead","h0"]"#);
    has(&fight("EnhancedShieldSoldier 10,0", "ShieldBreakerDemon 0"), r#"[120,"hit","d0","h0",50,0]"#);
    has(&fight("Bomb 10,0", "ShieldBreakerDemon 0"), r#"[0,"stop","d0","h0",12320] [10,"gone","h0"]"#);
    has(&fight("LightMage 10,0", "ShieldBreakerDemon 0"), r#"[20,"hit","d0","h0",10,10]"#);
}

/// The demon cannot jump over the enhanced shield, but keeps its jump while it destroys the 30 points of that shield.
/// It moves again in tick 601. After 26 steps it meets the next shield, in column 9 at 11200, and jumps over it to
/// 10080.
#[test]
fn enhanced_shield_prevents_jump() {
    let log = fight("EnhancedShieldSoldier 10,0; ShieldSoldier 9,0", "BouncingDemon 0");
    has(&log, r#"[0,"stop","d0","h0",12320] [600,"dead","h0"] [626,"jump","d0","h1",10080]"#);
    count(&log, "jump", 1);
}

/// At 12320 - 254 * 44 = 1144, the next step would enter column 0, so the demon jumps to 0. Of two adjacent units, it
/// can jump over only the first.
#[test]
fn bouncing_demon_jumps_once() {
    has(&fight("ShieldSoldier 0,4", "BouncingDemon 4"), r#"[254,"jump","d0","h0",0] [254,"breach","d0",4]"#);
    let log = fight("ShieldSoldier 10,4; ShieldSoldier 9,4", "BouncingDemon 4");
    has(&log, r#"[0,"jump","d0","h0",11200] [1,"stop","d0","h1",11200] [20,"hit","d0","h1",10,140]"#);
}

/// The first shot, in tick 20, takes 10 of the 200 tenths of health. After each further second, the fire of the
/// previous shot and a new shot take 10 tenths each.
#[test]
fn flamethrower_burns_target() {
    let log = fight("FlamethrowerSoldier 0,0", "GreatDemon 0");
    has(&log, r#"[20,"shot","h0","d0",10,190] [40,"burn","d0",10,180] [40,"shot","h0","d0",10,170]"#);
    has(&log, r#"[200,"shot","h0","d0",10,10] [220,"burn","d0",10,0] [220,"dead","d0"] [220,"end","human","cleared"]"#);
    // Each further hit postpones the burn: with shots in ticks 20, 30, 40, .., the demon dies before it burns.
    let log = fight("FlamethrowerSoldier 0,0; FlamethrowerSoldier 1,0@500", "NormalDemon 0");
    has(
        &log,
        r#"[20,"shot","h0","d0",10,90] [30,"shot","h1","d0",10,80] [110,"shot","h1","d0",10,0] [110,"dead","d0"]"#,
    );
    count(&log, "burn", 0);
}

/// Fire neither damages nor ignites the fire demon; light damages it.
#[test]
fn fire_demon_ignores_fire() {
    let log = fight("FlamethrowerSoldier 0,0", "FireDemon 0");
    has(&log, r#"[20,"shot","h0","d0",0,100] [40,"shot","h0","d0",0,100]"#);
    count(&log, "burn", 0);
    let log = fight("FlamethrowerSoldier 0,0; LightMage 1,0", "FireDemon 0");
    has(&log, r#"[20,"shot","h0","d0",10,90] [40,"shot","h0","d0",10,80]"#);
    count(&log, "burn", 0);
    let log = fight_under(Rules::Repo, "IceSoldier 0,0", "FireDemon 0").1.events();
    has(&log, r#"[20,"shot","h0","d0",30,70]"#);
}

/// The king makes 20 steps of 44 to 11440, and then steps of 22. After 469 such steps, in tick 489, it is at 1122,
/// where it meets the soldier and kills it.
#[test]
fn ice_slows_demon_king() {
    let log = fight("IceSoldier 0,0", "DemonKing 0");
    has(&log, r#"[20,"shot","h0","d0",10,990] [20,"slow","d0",60] [40,"slow","d0",80]"#);
    has(&log, r#"[489,"stop","d0","h0",1120] [489,"hit","d0","h0",50,-30] [489,"dead","h0"]"#);
    // The last hit, in tick 480, slows the king until tick 519: 30 steps of 22 to 460, then 11 steps of 44.
    has(&log, r#"[480,"slow","d0",520] [530,"breach","d0",0]"#);
}

/// Ice neither damages nor slows the demon. After 254 steps of 44, in tick 254, the demon is at 1144, where it meets
/// the soldier. Fire burns the demon like any other.
#[test]
fn frost_demon_ignores_ice() {
    let log = fight("IceSoldier 0,0", "FrostDemon 0");
    has(&log, r#"[20,"shot","h0","d0",0,100] [254,"stop","d0","h0",1120]"#);
    count(&log, "slow", 0);
    has(&fight("IceSoldier 0,0; LightMage 1,0", "FrostDemon 0"), r#"[20,"shot","h0","d0",10,90]"#);
    has(&fight("FlamethrowerSoldier 0,0", "FrostDemon 0"), r#"[20,"shot","h0","d0",10,90] [40,"burn","d0",10,80]"#);
    let log = fight_under(Rules::Repo, "FlamethrowerSoldier 0,0", "FrostDemon 0").1.events();
    has(&log, r#"[20,"shot","h0","d0",50,50] [40,"burn","d0",50,0]"#);
}

/// Only anti-air guns can hit the flying demon, which passes over units. By the repository's rules it has 5 points of
/// health.
#[test]
fn only_anti_air_guns_hit_flying_demon() {
    let log = fight("AntiAirSoldier 0,0", "FlyingDemon 0");
    has(&log, r#"[20,"shot","h0","d0",10,90] [200,"dead","d0"] [200,"end","human","cleared"]"#);
    let log =
        fight("HandgunSoldier 0,0; ShieldSoldier 5,0; LinearExplosion 7,0; MachineGunSoldier 1,0", "FlyingDemon 0");
    for kind in ["shot", "stop", "hit", "blast"] {
        count(&log, kind, 0);
    }
    has(&log, r#"[279,"breach","d0",0]"#);
    has(&fight_under(Rules::Repo, "AntiAirSoldier 0,0", "FlyingDemon 0").1.events(), r#"[100,"dead","d0"]"#);
    // An anti-air gun also shoots at walking demons. Its shots as light hit flying demons that are sheltered.
    has(&fight("AntiAirSoldier 0,0", "NormalDemon 0"), r#"[20,"shot","h0","d0",10,90]"#);
    has(&fight("AntiAirSoldier 0,0", "FlyingDemon 0; ShadowDemon 0"), r#"[20,"shot","h0","d0",0,100]"#);
    has(&fight("AntiAirSoldier 0,0; LightMage 1,0", "FlyingDemon 0; ShadowDemon 0"), r#"[20,"shot","h0","d0",10,90]"#);
}

/// In tick 10 the demons are at 11880, in column 10. A bomb in 9,1 reaches rows 0 to 2 by the paper's rules. By the
/// repository's rules, it reaches its own cell and the four adjacent cells. A bomb that is destroyed first does not
/// explode.
#[test]
fn bomb_hits_surrounding_cells() {
    let demons = "GreatDemon 0; GreatDemon 1; GreatDemon 2; GreatDemon 3";
    let log = fight("Bomb 9,1", demons);
    has(&log, r#"[10,"blast","h0","d0",300,-100] [10,"blast","h0","d1",300,-100] [10,"blast","h0","d2",300,-100]"#);
    count(&log, "blast", 3);
    let log = fight_under(Rules::Repo, "Bomb 9,1", demons).1.events();
    has(&log, r#"[10,"blast","h0","d1",300,-100] [10,"gone","h0"]"#);
    count(&log, "blast", 1);
    count(&fight("Bomb 8,1", demons), "blast", 0);
    // In tick 20, in which the bomb is placed, ten kings in its cell deal 5 points each and destroy its 50 points.
    let kings = ["DemonKing 0"; 10].join(";");
    let log = fight("Bomb 10,0@1000", &kings);
    has(&log, r#"[20,"hit","d9","h0",50,0] [20,"dead","h0"]"#);
    count(&log, "blast", 0);
}

/// The explosion hits only its own row, and no demon that a shadow demon shelters.
#[test]
fn linear_explosion_hits_own_row() {
    let log = fight("LinearExplosion 0,1@1000", "NormalDemon 1; NormalDemon 1@1500; NormalDemon 0; NormalDemon 2");
    has(&log, r#"[30,"blast","h0","d0",300,-200] [30,"dead","d0"] [30,"blast","h0","d3",300,-200] [30,"gone","h0"]"#);
    count(&log, "blast", 2);
    let log = fight("LinearExplosion 0,1", "NormalDemon 1; ShadowDemon 1; FlyingDemon 1");
    has(&log, r#"[10,"blast","h0","d1",300,-200]"#);
    count(&log, "blast", 1);
    // Two shadows shelter each other.
    count(&fight("LinearExplosion 0,1", "ShadowDemon 1; ShadowDemon 1"), "blast", 0);
}

/// Before the pulse in tick 40, a shield reduces the damage of a shot to three tenths, and a machine body to half.
/// After the pulse, both demons take full damage.
#[test]
fn magnetic_pulse_removes_defenses() {
    let log = fight("MagneticSoldier 0,0; HandgunSoldier 1,0", "ShieldDemon 0");
    has(&log, r#"[20,"shot","h1","d0",3,97] [40,"pulse","h0","d0"] [40,"shot","h1","d0",10,87]"#);
    let log = fight("MagneticSoldier 0,0; HandgunSoldier 1,0", "MachineDemon 0");
    has(&log, r#"[20,"shot","h1","d0",5,195] [40,"pulse","h0","d0"] [40,"shot","h1","d0",10,185]"#);
    count(&log, "pulse", 1);
    // The pulse does not reach another row.
    count(&fight("MagneticSoldier 0,1", "ShieldDemon 0"), "pulse", 0);
    // From column 0, the pulse does not reach column 11, in which the demon appears in tick 40.
    let log = fight("MagneticSoldier 0,0", "ShieldDemon 0@2000");
    has(&log, r#"[80,"pulse","h0","d0"]"#);
    assert!(!log.contains(&json!([40, "pulse", "h0", "d0"])));
    count(&fight_under(Rules::Repo, "MagneticSoldier 0,0", "ShieldDemon 0").1.events(), "pulse", 0);
    // Fire is not normal damage.
    has(&fight("FlamethrowerSoldier 0,0", "ShieldDemon 0"), r#"[20,"shot","h0","d0",10,90]"#);
}

/// From tick 20 on, the demon moves from 11440 in steps of 66. After 156 such steps, in tick 176, it is at 1144, where
/// it meets the soldier and kills it with 3 points of damage. The way from 1120 to the edge takes 17 more steps.
#[test]
fn damaged_machine_demon_speeds_up() {
    let log = fight("HandgunSoldier 0,0", "MachineDemon 0");
    has(&log, r#"[176,"stop","d0","h0",1120] [176,"hit","d0","h0",30,0] [176,"dead","h0"] [193,"breach","d0",0]"#);
    // A shot absorbed by the shadow demon does not speed up the machine demon: it meets the soldier in tick 254.
    let log = fight("HandgunSoldier 0,0", "MachineDemon 0; ShadowDemon 0");
    has(&log, r#"[20,"shot","h0","d0",0,200] [254,"stop","d0","h0",1120]"#);
}

/// Only light damages other demons in the row of a shadow demon. The shadow demon itself takes all damage.
#[test]
fn shadow_demon_shelters_row_except_from_light() {
    let log = fight("HandgunSoldier 0,0", "NormalDemon 0; ShadowDemon 0");
    has(&log, r#"[20,"shot","h0","d0",0,100] [40,"shot","h0","d0",0,100]"#);
    let log = fight("HandgunSoldier 0,0; LightMage 1,0", "NormalDemon 0; ShadowDemon 0");
    has(&log, r#"[20,"shot","h0","d0",10,90]"#);
    has(&fight("HandgunSoldier 0,0", "ShadowDemon 0"), r#"[20,"shot","h0","d0",10,90]"#);
    has(&fight("HandgunSoldier 0,0; LightMage 1,1", "NormalDemon 0; ShadowDemon 0"), r#"[20,"shot","h0","d0",0,100]"#);
    // Absorbed fire and ice still burn and slow, and the burning is absorbed too.
    let log = fight("FlamethrowerSoldier 0,0; IceSoldier 1,0", "NormalDemon 0; ShadowDemon 0");
    has(&log, r#"[20,"shot","h0","d0",0,100] [20,"slow","d0",60] [40,"burn","d0",0,100]"#);
    // A flamethrower's shot still burns after it is turned into light.
    let log = fight("FlamethrowerSoldier 0,0; LightMage 1,0", "NormalDemon 0; ShadowDemon 0");
    has(&log, r#"[20,"shot","h0","d0",10,90] [40,"burn","d0",0,90] [40,"shot","h0","d0",10,80]"#);
}

/// A rocket damages demons within 1120 of its target in adjacent rows. d4 is 26 * 44 = 1144 behind, d2 is two rows
/// away, and d3 flies.
#[test]
fn rocket_damages_neighbors_of_target() {
    let demons = "GreatDemon 2; GreatDemon 1@0; GreatDemon 2@1300; GreatDemon 4; FlyingDemon 3";
    let log = fight("RocketLauncherSoldier 0,2@500", demons);
    // Demons are numbered by time: d0 in row 2, d1 in row 1, d2 in row 4, d3 flies in row 3, d4 appears in tick 26.
    has(&log, r#"[30,"shot","h0","d0",20,180] [30,"splash","h0","d1",20,180] [50,"shot","h0","d0",20,160]"#);
    assert!(!log.iter().any(|e| e[1] == "splash" && e[3] != "d1"));
    // A demon that appears one tick earlier is 1100 behind the target and is damaged.
    let log = fight("RocketLauncherSoldier 0,2@500", "GreatDemon 2; GreatDemon 2@1250");
    has(&log, r#"[30,"shot","h0","d0",20,180] [30,"splash","h0","d1",20,180]"#);
}

/// At speed 1 the demon is at 12320 - 100 * 22 = 10120 in tick 100. The summoned demon starts at 9000, moves in the
/// same tick, and needs 205 steps.
#[test]
fn summoning_demon_adds_demons() {
    let log = fight("", "SummoningDemon 4");
    has(&log, r#"[100,"summon","d0","d1",9000] [200,"summon","d0","d2",6800] [300,"summon","d0","d3",4600]"#);
    has(&log, r#"[304,"breach","d1",4] [304,"end","demon","breach"]"#);
    // A shield stops the summoner at 12320. The summoned demon appears past the shield: 255 steps from 11200.
    let log = fight("ShieldSoldier 10,0", "SummoningDemon 0");
    has(&log, r#"[0,"stop","d0","h0",12320] [100,"summon","d0","d1",11200] [354,"breach","d1",0]"#);
    let log = fight_under(Rules::Repo, "", "SummoningDemon 4; SummoningDemon 2").1;
    // Both demons summon into row 3. A unit in that row acts before the summons, so it shoots one tick later.
    count(&log.events(), "summon", 6);
    let log = fight_under(Rules::Repo, "HandgunSoldier 0,3", "SummoningDemon 4; SummoningDemon 2").1.events();
    has(&log, r#"[101,"shot","h0","d2",10,90]"#);
    // Summoned demons cost nothing.
    let (_, log) = fight_under(Rules::Paper, "", "SummoningDemon 4");
    assert_eq!(log.summary["survivors_cost"], 300);
}

/// Units are placed by time, and units of the same time by index. A unit for an occupied cell is lost and gets no
/// number.
#[test]
fn units_are_placed_by_time_then_index() {
    let log = fight("LightMage 3,3@100; ShieldSoldier 3,3; Bomb 2,3@100", "NormalDemon 0@60000; FireDemon 1");
    has(
        &log,
        r#"[0,"place","h0","ShieldSoldier",3,3] [0,"spawn","d0","FireDemon",1,12320] [2,"lost","LightMage",3,3]
        [2,"place","h1","Bomb",2,3]"#,
    );
    // The battle ended long before the last demon was due.
    assert_eq!(log.last(), Some(&json!([279, "end", "demon", "breach"])));
}

/// Humans win once no demons are left or still to come, even without living human units. The value of the battle counts
/// the remaining units.
#[test]
fn battle_ends_by_breach_or_elimination() {
    let log = fight("LinearExplosion 10,1; LinearExplosion 10,1@60000", "NormalDemon 1; NormalDemon 1@60000");
    has(&log, r#"[10,"dead","d0"] [10,"gone","h0"] [1210,"dead","d1"] [1210,"end","human","cleared"]"#);
    let (ended, _) = fight_under(Rules::Paper, "LinearExplosion 10,1; ShieldSoldier 0,0", "NormalDemon 1");
    assert_eq!(ended.value, [1.025, -1.025]);
    let (ended, _) =
        fight_under(Rules::Paper, "LinearExplosion 10,1", "NormalDemon 1; NormalDemon 2; GreatDemon 3@60000");
    assert_eq!(ended.value, [-275.0 / 375.0, 275.0 / 375.0]);
    // A remaining demon reaches the left edge in tick 279, long before the tick limit.
    assert_eq!((ended.winner, ended.reason, ended.length), (1, "breach", 279));
}

/// None of 10,000 random battles reaches the maximum number of ticks.
#[test]
fn random_battles_end_before_tick_limit() {
    let mut rng = Stream::from_text("tower_defense");
    let n = ludex_env::check::scaled(10_000).max(10_000);
    let (mut won, mut ticks, mut longest) = (0, 0, 0);
    for _ in 0..n {
        let [humans, demons] =
            [(0, 2000), (1, 1500)].map(|(side, budget)| random(side, budget, Rules::Paper, &mut rng));
        let ended = simulate(&humans, &demons, Rules::Paper, 2000, &mut ());
        won += u64::from(ended.winner == 0);
        ticks += u64::from(ended.length);
        longest = longest.max(ended.length);
        assert_ne!(ended.reason, "cap");
    }
    let [share, mean] = [won, ticks].map(|k| k as f64 / n as f64);
    println!("{n} pairs: humans win {:.2} %, {mean:.1} ticks, the longest {longest}", 100.0 * share);
    assert!(share < 0.05, "{share}");
}
