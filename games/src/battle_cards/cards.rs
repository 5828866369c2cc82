//! The cards: names and values.

/// Element of a card. Fire beats nature, nature beats water, water beats earth, and earth beats fire.
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
    /// Returns true if this element deals 50 % more damage to `other`.
    pub fn beats(self, other: Element) -> bool {
        use Element::{Earth, Fire, Nature, Water};
        matches!((self, other), (Fire, Nature) | (Nature, Water) | (Water, Earth) | (Earth, Fire))
    }
}

/// Special ability of a card, apart from taunt and shield. Numbers are for a bronze card; gold doubles them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// The card has no ability.
    Plain,
    /// On death, deals this much damage to its killer.
    Avenges(i32),
    /// Gains this much attack each time it attacks.
    Sharpens(i32),
    /// Destroys every card that it damages.
    Poisons,
    /// On death, deals this much damage to all enemies.
    Bursts(i32),
    /// Loses this much attack each time it attacks.
    Tires(i32),
    /// Excess damage of an attack carries over to the card next to the target.
    Carries,
    /// Each attacker burns: the attacker takes this much damage at the start of each of its own turns.
    Burns(i32),
    /// Attacks twice per turn.
    Twice,
    /// Doubles its attack each time it survives damage.
    Rages,
    /// Also damages the two cards next to the target; revives once.
    Phoenix,
    /// On death, is replaced by the card with this table index.
    Leaves(u8),
    /// Gains this much health each time it attacks.
    Grows(i32),
    /// At the start of the battle, gives attack and health to all other nature cards of its side.
    BlessesNature(i32, i32),
    /// At the start of the battle, gives attack and a shield to the cards next to it.
    Trains(i32),
    /// Gains this much attack each time another card of its side loses a shield.
    Inspired(i32),
    /// At the start of the battle, gains this much health for each other card of its side.
    Gathers(i32),
    /// On death, heals all cards of its side by this amount.
    Heals(i32),
    /// On each attack, summons the card with this table index, with a shield, at the right end of its side.
    Calls(u8),
    /// Each attacker loses this much attack.
    Weakens(i32),
    /// At the start of the battle, gives attack and health to all other cards of its side.
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
    /// True if enemies must attack this card before cards without taunt.
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

/// Number of different cards that a side can choose.
pub const KINDS: usize = 11;
/// Price of a gold card, as a multiple of the bronze price.
pub const GOLD_COST: u32 = 3;
/// Table index of the RockBeetle, which replaces a dead StoneWarrior.
const ROCK_BEETLE: u8 = 12;
/// Table index of the creature that invaders summon.
pub const SKELETON: u8 = 22;
/// Table index of the creature that defenders summon.
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

/// The card table: eleven invaders, eleven defenders, and each side's summoned creature. Columns: name, (attack,
/// health, cost), element, taunt or shield, ability, description of the ability, roles.
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

/// Returns the table index of card `n` of a side; `KINDS` and above mean the creature that the side summons.
pub fn of_side(side: usize, n: u8) -> u8 {
    match (usize::from(n), side) {
        (KINDS.., 0) => SKELETON,
        (KINDS.., _) => SOLDIER,
        (_, 0) => n,
        _ => KINDS as u8 + n,
    }
}
