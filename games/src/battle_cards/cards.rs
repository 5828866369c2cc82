//! The cards: names and values.

/// The element of a card. Fire beats nature, nature water, water earth, earth fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Fire, which beats nature.
    Fire,
    /// Water, which beats earth.
    Water,
    /// Nature, which beats water.
    Nature,
    /// Earth, which beats fire.
    Earth,
    /// Rogue, which beats no element.
    Rogue,
    /// Guardian, which beats no element.
    Guardian,
}

impl Element {
    /// Returns true if damage to `other` is increased by half.
    pub fn beats(self, other: Element) -> bool {
        use Element::{Earth, Fire, Nature, Water};
        matches!((self, other), (Fire, Nature) | (Nature, Water) | (Water, Earth) | (Earth, Fire))
    }
}

/// Special ability of a card, apart from taunt and shield. Numbers are those of a bronze card; gold doubles them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// The card has no ability.
    Plain,
    /// On death, deals damage to its killer.
    Avenges(i32),
    /// Gains attack with each own attack.
    Sharpens(i32),
    /// Destroys every card that it damages.
    Poisons,
    /// On death, deals damage to all enemies.
    Bursts(i32),
    /// Loses attack with each own attack.
    Tires(i32),
    /// Excess damage carries over to the next target.
    Carries,
    /// Each attacker burns at the start of its own turns.
    Burns(i32),
    /// Attacks twice per turn.
    Twice,
    /// Doubles its attack with each damage that it survives.
    Rages,
    /// Also damages the target's neighbors; revives once.
    Phoenix,
    /// On death, leaves this card in its position.
    Leaves(u8),
    /// Gains health with each own attack.
    Grows(i32),
    /// At the start, gives attack and health to the other nature allies.
    BlessesNature(i32, i32),
    /// At the start, gives attack and a shield to both neighbors.
    Trains(i32),
    /// Gains attack whenever an ally loses a shield.
    Inspired(i32),
    /// At the start, gains health for each other ally.
    Gathers(i32),
    /// On death, heals all allies.
    Heals(i32),
    /// On attack, summons this card with a shield at the right end.
    Calls(u8),
    /// Each attacker loses attack.
    Weakens(i32),
    /// At the start, gives attack and health to all other allies.
    BlessesAll(i32, i32),
}

/// A row of the card table.
#[derive(Debug)]
pub struct Card {
    /// Name of the card.
    pub name: &'static str,
    /// Attack of a bronze card.
    pub attack: i32,
    /// Health of a bronze card.
    pub health: i32,
    /// Price of a bronze card.
    pub cost: u32,
    /// Element of the card.
    pub element: Element,
    /// True if enemies must attack it first.
    pub taunt: bool,
    /// True if the card starts with a shield.
    pub shield: bool,
    /// Ability of the card.
    pub is: Ability,
    /// Description of the ability in words.
    pub ability: &'static str,
    /// Roles of the card, for the similarity of two plans.
    pub roles: &'static [&'static str],
}

/// Number of cards that a side may choose from.
pub const KINDS: usize = 11;
/// Price of a gold card, as a multiple of bronze.
pub const GOLD_COST: u32 = 3;
/// Index of RockBeetle in the table.
const ROCK_BEETLE: u8 = 12;
/// Index of the invaders' summon.
pub const SKELETON: u8 = 22;
/// Index of the defenders' summon.
pub const SOLDIER: u8 = 23;

const TAUNT: u8 = 1;
const SHIELD: u8 = 2;

#[rustfmt::skip]
const fn card(name: &'static str, figures: (i32, i32, u32), element: Element, flags: u8, is: Ability, ability: &'static str, roles: &'static [&'static str]) -> Card {
    let (attack, health, cost) = figures;
    Card { name, attack, health, cost, element, taunt: flags & TAUNT > 0, shield: flags & SHIELD > 0, is, ability, roles }
}

use Ability::*;
use Element::*;

/// Eleven invaders, eleven defenders, and the summon of either side: name, (attack, health, cost), element, taunt and
/// shield, ability, its description, roles.
#[rustfmt::skip]
pub static CARDS: [Card; 24] = [
    card("FireLizard", (2, 2, 1), Fire, 0, Avenges(2), "death: 2 to its killer", &["burst"]),
    card("WaterElemental", (2, 2, 1), Water, 0, Sharpens(1), "+1 attack when it attacks", &["buff"]),
    card("PoisonFrog", (1, 1, 2), Water, 0, Poisons, "destroys what it damages", &["anti-special"]),
    card("MoltenHound", (3, 1, 2), Fire, 0, Bursts(1), "death: 1 to all enemies", &["area"]),
    card("BattleFrenzy", (7, 4, 2), Guardian, 0, Tires(4), "each own attack costs it 4 attack", &["burst"]),
    card("BanditLeader", (8, 3, 3), Rogue, 0, Carries, "excess damage of its attack goes to the unit beside the target", &["burst", "area"]),
    card("LavaGolem", (1, 8, 3), Fire, TAUNT, Burns(3), "taunt; who attacks it burns: 3 at each own turn", &["front", "dot"]),
    card("TideGuardian", (4, 2, 3), Water, SHIELD, Twice, "divine shield; attacks twice", &["shield", "burst"]),
    card("TideLord", (4, 9, 5), Water, 0, Rages, "doubles its attack whenever it survives damage", &["front", "buff"]),
    card("Phoenix", (5, 5, 5), Fire, 0, Phoenix, "also hits both neighbours of its target; revives once with full health", &["area", "heal"]),
    card("ShadowOverlord", (4, 4, 5), Rogue, 0, Leaves(SKELETON), "death: a Skeleton 3/1 takes its place", &["summon"]),
    card("Sapling", (2, 2, 1), Nature, 0, Grows(1), "+1 health when it attacks", &["heal"]),
    card("RockBeetle", (1, 5, 1), Earth, TAUNT, Plain, "taunt", &["front"]),
    card("ForestSeer", (2, 2, 2), Nature, 0, BlessesNature(1, 2), "start: +1/+2 to the other Nature allies", &["buff"]),
    card("StoneWarrior", (2, 5, 2), Earth, TAUNT, Leaves(ROCK_BEETLE), "taunt; death: a RockBeetle takes its place", &["front", "summon"]),
    card("EliteSoldier", (1, 1, 2), Guardian, 0, Trains(1), "start: divine shield and +1 attack to both neighbours", &["buff", "shield"]),
    card("Paladin", (3, 6, 3), Guardian, SHIELD, Inspired(2), "divine shield; +2 attack whenever another ally loses a shield", &["front", "shield"]),
    card("BlackRock", (5, 1, 3), Earth, 0, Gathers(3), "start: +3 health for each other ally", &["front"]),
    card("VineProtector", (5, 4, 3), Nature, 0, Heals(2), "death: heals all allies by 2", &["heal"]),
    card("King", (3, 10, 5), Guardian, 0, Calls(SOLDIER), "attack: a Soldier 2/2 with a divine shield joins, if there is room", &["front", "summon"]),
    card("MountainGiant", (4, 9, 5), Earth, TAUNT, Weakens(2), "taunt; who attacks it loses 2 attack", &["front", "control"]),
    card("AncientTreant", (4, 4, 5), Nature, 0, BlessesAll(3, 3), "start: +3/+3 to all other allies", &["buff"]),
    card("Skeleton", (3, 1, 0), Rogue, 0, Plain, "-", &["summon"]),
    card("Soldier", (2, 2, 0), Guardian, SHIELD, Plain, "divine shield", &["summon"]),
];

/// Returns the table index of a side's card `n`; from `KINDS` on, the creature that the side summons.
pub fn of_side(side: usize, n: u8) -> u8 {
    match (usize::from(n), side) {
        (KINDS.., 0) => SKELETON,
        (KINDS.., _) => SOLDIER,
        (_, 0) => n,
        _ => KINDS as u8 + n,
    }
}
