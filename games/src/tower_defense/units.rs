//! The units: names and values.

use super::Rules;

/// Role of a human unit in battle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// The unit shoots at the first demon in its row.
    Shoots(Shot),
    /// The unit only blocks the way.
    Blocks {
        /// True if demons cannot jump over the unit.
        high: bool,
    },
    /// The unit explodes after its interval and disappears.
    Explodes(Blast),
    /// The unit removes the defenses of demons in its row.
    Pulses,
    /// The unit turns the shots of units in its row into light.
    Lights,
}

/// Type of a shot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shot {
    /// A shot with normal damage to the target.
    Bullet,
    /// A shot of fire, which deals a second point of damage later.
    Flame,
    /// A shot of ice, which slows the target.
    Ice,
    /// A shot that also reaches flying demons.
    Air,
    /// A shot with normal damage to the target and to demons near it.
    Rocket,
}

/// Area of an explosion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blast {
    /// The unit's own cell and the surrounding cells.
    Around,
    /// The whole row of the unit.
    Row,
}

/// Special trait of a demon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trait {
    /// The demon has no special trait.
    Plain,
    /// A shield against normal damage.
    Shield,
    /// A body that halves normal damage. The demon becomes faster once damaged.
    Machine,
    /// A jump over the first unit that the demon meets.
    Bouncing,
    /// Higher damage to shields.
    ShieldBreaker,
    /// Immunity to fire damage.
    Fire,
    /// Immunity to ice and slowing.
    Frost,
    /// Flight over units. Only anti-air guns can hit the demon.
    Flying,
    /// Shelter for other demons in the row against all damage except light.
    Shadow,
    /// Summons of additional demons.
    Summoning,
}

/// A kind of human unit.
#[derive(Debug)]
pub struct Human {
    /// Name of the unit.
    pub name: &'static str,
    /// Initial health in points.
    pub health: i32,
    /// Milliseconds between shots or pulses, or until the explosion; 0 for a unit that does none of these.
    pub interval: u16,
    /// Damage per hit in points.
    pub damage: i32,
    /// Price of the unit.
    pub cost: u32,
    /// Role of the unit.
    pub duty: Duty,
    /// Description of the role in words.
    pub ability: &'static str,
    /// Roles of the unit, from which the similarity of two plans is computed.
    pub roles: &'static [&'static str],
}

/// A kind of demon.
#[derive(Debug)]
pub struct Demon {
    /// Name of the demon.
    pub name: &'static str,
    /// Initial health in points.
    pub health: i32,
    /// Speed in multiples of 22 field units per tick.
    pub speed: i32,
    /// Damage per second, in points.
    pub damage: i32,
    /// Price of the demon.
    pub cost: u32,
    /// Trait of the demon.
    pub is: Trait,
    /// Description of the trait in words.
    pub ability: &'static str,
    /// Roles of the demon, from which the similarity of two plans is computed.
    pub roles: &'static [&'static str],
}

#[rustfmt::skip]
const fn human(name: &'static str, figures: (i32, u16, i32, u32), duty: Duty, ability: &'static str, roles: &'static [&'static str]) -> Human {
    let (health, interval, damage, cost) = figures;
    Human { name, health, interval, damage, cost, duty, ability, roles }
}

#[rustfmt::skip]
const fn demon(name: &'static str, figures: (i32, i32, i32, u32), is: Trait, ability: &'static str, roles: &'static [&'static str]) -> Demon {
    let (health, speed, damage, cost) = figures;
    Demon { name, health, speed, damage, cost, is, ability, roles }
}

use Duty::{Blocks, Explodes, Lights, Pulses, Shoots};

/// The human units: name, (health, interval, damage, cost), duty, ability, roles.
#[rustfmt::skip]
pub static HUMANS: [Human; 13] = [
    human("HandgunSoldier", (3, 1000, 1, 100), Shoots(Shot::Bullet), "shoots every 1000 ms", &["ranged"]),
    human("RifleSoldier", (3, 500, 1, 200), Shoots(Shot::Bullet), "shoots every 500 ms", &["ranged"]),
    human("MachineGunSoldier", (3, 250, 1, 400), Shoots(Shot::Bullet), "shoots every 250 ms", &["ranged", "burst"]),
    human("ShieldSoldier", (15, 0, 0, 50), Blocks { high: false }, "blocks only", &["front"]),
    human("EnhancedShieldSoldier", (30, 0, 0, 100), Blocks { high: true }, "blocks only; cannot be jumped over", &["front", "anti-special"]),
    human("FlamethrowerSoldier", (2, 1000, 1, 200), Shoots(Shot::Flame), "shoots fire every 1000 ms; a hit burns for 1 more after 1000 ms", &["ranged", "dot"]),
    human("IceSoldier", (2, 1000, 1, 200), Shoots(Shot::Ice), "shoots ice every 1000 ms; a hit halves the speed for 2000 ms", &["ranged", "control"]),
    human("AntiAirSoldier", (2, 1000, 1, 175), Shoots(Shot::Air), "shoots every 1000 ms; can also hit flyers", &["ranged", "anti-special"]),
    human("Bomb", (50, 500, 30, 200), Explodes(Blast::Around), "explodes 500 ms after it is placed: 30 to the 3x3 cells around it; then it is gone", &["area", "burst"]),
    human("LinearExplosion", (50, 500, 30, 200), Explodes(Blast::Row), "explodes 500 ms after it is placed: 30 to its whole row; then it is gone", &["area", "burst"]),
    human("MagneticSoldier", (2, 2000, 0, 100), Pulses, "every 2000 ms ShieldDemon and MachineDemon in its row within 10 columns lose their defence", &["control", "anti-special"]),
    human("LightMage", (2, 0, 0, 150), Lights, "shots of its row become light", &["buff", "anti-special"]),
    human("RocketLauncherSoldier", (2, 1000, 2, 600), Shoots(Shot::Rocket), "shoots every 1000 ms; also hits everything within one cell of the target", &["ranged", "area"]),
];

/// The demons: name, (health, speed, damage, cost), trait, ability, roles.
#[rustfmt::skip]
pub static DEMONS: [Demon; 13] = [
    demon("NormalDemon", (10, 2, 1, 100), Trait::Plain, "-", &["front"]),
    demon("GreatDemon", (20, 2, 1, 175), Trait::Plain, "-", &["front"]),
    demon("DemonKing", (100, 2, 5, 800), Trait::Plain, "-", &["front", "burst"]),
    demon("SpeedyDemon", (10, 4, 1, 150), Trait::Plain, "walks twice as fast", &["burst"]),
    demon("ShieldDemon", (10, 2, 1, 175), Trait::Shield, "normal damage -70 % while it has its shield", &["front", "shield"]),
    demon("MachineDemon", (20, 2, 3, 250), Trait::Machine, "normal damage -50 % while it has its body; speed 3 after its first damage", &["front", "shield"]),
    demon("BouncingDemon", (10, 2, 1, 150), Trait::Bouncing, "jumps once over a unit, but not over an EnhancedShieldSoldier", &["anti-special"]),
    demon("ShieldBreakerDemon", (10, 2, 1, 150), Trait::ShieldBreaker, "damage 5 against ShieldSoldier and EnhancedShieldSoldier", &["anti-special", "burst"]),
    demon("FireDemon", (10, 2, 1, 150), Trait::Fire, "immune to fire", &["anti-special"]),
    demon("FrostDemon", (10, 2, 1, 150), Trait::Frost, "immune to ice and slowness", &["anti-special"]),
    demon("FlyingDemon", (10, 2, 1, 200), Trait::Flying, "passes over units and never attacks; only an AntiAirSoldier hits it", &["anti-special"]),
    demon("ShadowDemon", (10, 2, 1, 300), Trait::Shadow, "other demons of its row are immune to all but light", &["buff", "shield"]),
    demon("SummoningDemon", (10, 1, 1, 300), Trait::Summoning, "every 5000 ms a NormalDemon appears one cell before it", &["summon"]),
];

/// Index of the kind of demon that summoning demons summon.
pub const SUMMONED: u8 = 0;

/// Returns the price of a human unit under these rules.
pub fn human_cost(kind: u8, rules: Rules) -> u32 {
    let unit = &HUMANS[usize::from(kind)];
    if rules == Rules::Repo && unit.duty == Shoots(Shot::Air) { 100 } else { unit.cost }
}

/// Returns the health of a demon under these rules, in points.
pub fn demon_health(kind: u8, rules: Rules) -> i32 {
    let demon = &DEMONS[usize::from(kind)];
    if rules == Rules::Repo && demon.is == Trait::Flying { 5 } else { demon.health }
}
