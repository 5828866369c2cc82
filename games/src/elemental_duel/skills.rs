//! The elements and their skills.

/// Number of elements per side.
pub const ELEMENTS: usize = 3;
/// Number of skills per element.
pub const KINDS: usize = 6;
/// Names of the elements: three of the invaders, then three of the defenders.
pub static NAMES: [&str; 6] = ["Fire", "Water", "Dark", "Wood", "Earth", "Light"];

/// Returns ten times the damage factor of element `user` against element `target`.
pub fn factor(user: u8, target: u8) -> u64 {
    const FIRE: u8 = 0;
    const WATER: u8 = 1;
    const DARK: u8 = 2;
    const WOOD: u8 = 3;
    const EARTH: u8 = 4;
    const LIGHT: u8 = 5;
    match (user, target) {
        (FIRE, WOOD) | (WOOD, EARTH) | (EARTH, WATER) | (WATER, FIRE) => 12,
        (WOOD, FIRE) | (EARTH, WOOD) | (WATER, EARTH) | (FIRE, WATER) => 8,
        (LIGHT, DARK) | (DARK, LIGHT) => 15,
        _ => 10,
    }
}

/// Effect of a skill. The first number of a hit is its base damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skill {
    /// A hit without a further effect.
    Hits(u32),
    /// A hit (if its base damage is not 0), and layers of burning on the target for two rounds.
    Ignites(u32, u32),
    /// A bonus on the user's next fire hit.
    Warms,
    /// A hit with a bonus for each layer of burning on the target. If the flag is true, the layers are removed.
    Feeds(u32, u32, bool),
    /// A hit, and a curtain that damages each attacker of the user.
    Curtain(u32),
    /// A hit, and one layer of Tidal Surge for the user.
    Surges(u32),
    /// A shield, and one layer of Tidal Surge for the user.
    Barrier(u32),
    /// A hit with a bonus for each Tidal Surge layer of the user. If the flag is true, the layers are removed.
    Rides(u32, u32, bool),
    /// A hit, and a percentage of extra damage on later hits on the target.
    Exposes(u32, u32),
    /// A hit and a shield, both in proportion to the user's Tidal Surge layers.
    Resonates(u32, u32),
    /// A hit; the user heals by a percentage of the damage.
    Drains(u32, u32),
    /// A percentage by which hits on the user are reduced for three rounds.
    Guards(u32),
    /// A hit with a bonus if the target has less than half its HP.
    Siphons(u32, u32),
    /// A hit with a bonus for each full tenth of its HP that the target had lost before the hit.
    Announces(u32, u32),
    /// A percentage of the user's HP that the user pays; the target loses twice as much.
    Sacrifices(u32),
    /// Healing of the user at the end of each of three rounds.
    Buds(u32),
    /// A hit, and a seed on the target. A seeded character takes damage with each of its own hits.
    Seeds(u32),
    /// Heals the user. For three rounds, every healing that the user receives is 10 % larger.
    Totem(u32),
    /// Removal of all negative statuses of the user, then a hit.
    Purifies(u32),
    /// Healing of the user, a shield of half the excess healing, and a hit.
    Reincarnates(u32, u32),
    /// Poison on the target for three rounds.
    Poisons(u32),
    /// A shield that damages each attacker of the user.
    Armors(u32),
    /// A trap on the target: a part of the target's next hits is delayed, and each of these hits damages the target.
    Traps,
    /// A permanent shield, in proportion to the lost tenths of the user's HP.
    Pulses(u32),
    /// A hit with a percentage of the HP that the user has lost since the last use of this skill.
    Rebounds(u32),
    /// Removal of the oldest negative status of the user, healing of the user, and a hit.
    Glimmers(u32, u32),
    /// Conversion of a part of the next hit on the user into healing, with damage to the attacker.
    Emblem,
    /// Redirection of the next hit on the user to the attacker.
    Links,
    /// Removal of the target's oldest buff, and a weakness that reduces the target's damage.
    Dispels,
    /// Reduction of the damage of every hit on the user by a fixed amount.
    Shelters(u32),
    /// A hit, and a bonus on the base damage of the user's next hit.
    Sword(u32),
}

/// A skill in the table.
#[derive(Debug)]
pub struct SkillRow {
    /// Name of the skill.
    pub name: &'static str,
    /// Price of the skill.
    pub cost: u32,
    /// Effect of the skill.
    pub does: Skill,
    /// Description of the effect in words.
    pub ability: &'static str,
    /// Roles of the skill, for the similarity of two plans.
    pub roles: &'static [&'static str],
}

#[rustfmt::skip]
const fn skill(name: &'static str, cost: u32, does: Skill, ability: &'static str, roles: &'static [&'static str]) -> SkillRow {
    SkillRow { name, cost, does, ability, roles }
}

use Skill::*;

/// The skill table: six skills for each element of [`NAMES`]. Columns: name, cost, effect, description, roles.
#[rustfmt::skip]
pub static SKILLS: [[SkillRow; KINDS]; 2 * ELEMENTS] = [
    [
        skill("flame_splash", 1, Ignites(12, 1), "12, and burning 1 layer (5 per round) for 2 rounds", &["dot"]),
        skill("residual_warmth", 1, Warms, "the next fire skill with damage to the end of the next round +30 %", &["buff"]),
        skill("burst_flame_bomb", 2, Feeds(25, 3, false), "25, +3 per burning layer of the target", &["burst"]),
        skill("flame_whirlwind", 2, Ignites(0, 4), "burning 4 layers (5 per layer and round) for 2 rounds", &["dot"]),
        skill("magma_eruption", 3, Feeds(40, 5, true), "40, +5 per burning layer of the target, which are cleared", &["burst"]),
        skill("hell_curtain", 3, Curtain(35), "35, and for 2 rounds who hits the user takes 30", &["burst", "shield"]),
    ],
    [
        skill("stream_pierce", 1, Surges(10), "10, and +1 Tidal Surge", &["buff"]),
        skill("water_barrier", 1, Barrier(5), "shield 5 for 3 rounds, and +1 Tidal Surge", &["shield", "buff"]),
        skill("whirlpool_strangle", 2, Rides(20, 4, false), "20, +4 per Tidal Surge", &["burst"]),
        skill("ice_branded", 2, Exposes(15, 50), "15, and the target takes +50 % to the end of the next round", &["control"]),
        skill("tsunami_ending", 3, Rides(30, 5, true), "30, +5 per Tidal Surge, which are cleared", &["burst"]),
        skill("abyss_resonance", 3, Resonates(3, 6), "3 per Tidal Surge, and shield 6 per Tidal Surge for 3 rounds", &["shield"]),
    ],
    [
        skill("shadow_claw", 1, Drains(14, 30), "14, and the user heals 30 % of the damage", &["heal"]),
        skill("fear_whisper", 1, Guards(10), "the user takes 10 % less for 3 rounds", &["shield"]),
        skill("soul_siphon", 2, Siphons(25, 15), "25, +15 if the target is below 50 % HP", &["burst"]),
        skill("night_ambush", 2, Exposes(20, 20), "20, and the target takes +20 % to the end of the next round", &["control"]),
        skill("final_announcment", 3, Announces(45, 5), "45, +5 per full 10 % HP that the target has lost", &["burst"]),
        skill("void_assimilation", 3, Sacrifices(20), "the user pays 20 % of its HP; the target loses twice that, past shields and reductions", &["burst", "anti-special"]),
    ],
    [
        skill("bud_healing", 1, Buds(6), "heals 6 at the end of each of 3 rounds", &["heal"]),
        skill("parasitic_seed", 1, Seeds(10), "10, and for 3 rounds the target takes 5 with each hit of its own", &["dot"]),
        skill("life_totem", 2, Totem(25), "heals 25; then healing +10 % for 3 rounds", &["heal", "buff"]),
        skill("natural_purification", 2, Purifies(30), "clears the user's negative statuses, and 30", &["anti-special"]),
        skill("forest_reincarnation", 3, Reincarnates(60, 20), "heals 60, half the excess as a shield for 3 rounds, and 20", &["heal", "shield"]),
        skill("poison_vine", 3, Poisons(25), "25 at the end of each of 3 rounds", &["dot"]),
    ],
    [
        skill("rock_armor", 1, Armors(12), "shield 12 for 3 rounds; while a shield is left, who hits the user takes 5", &["front", "shield"]),
        skill("earth_shock", 1, Hits(20), "20", &["burst"]),
        skill("granite_barrier", 2, Guards(40), "the user takes 40 % less for 3 rounds", &["front", "shield"]),
        skill("quicksand_trap", 2, Traps, "for 3 rounds, 20 % of each of the target's next 3 hits is delayed, and each costs it 10", &["control"]),
        skill("earth_pulse", 3, Pulses(8), "permanent shield 8 per full 10 % HP that the user has lost", &["front", "shield"]),
        skill("core_rebound", 3, Rebounds(80), "80 % of all HP that the user has lost since its last use", &["burst"]),
    ],
    [
        skill("holy_glimmer", 1, Glimmers(8, 8), "removes the user's oldest negative status, heals 8, and 8", &["heal"]),
        skill("faith_emblem", 1, Emblem, "20 % of the next hit to the end of the next round heals the user instead; the attacker takes 10", &["shield", "heal"]),
        skill("divine_link", 2, Links, "the next hit to the end of the next round is dealt to the attacker instead", &["shield", "anti-special"]),
        skill("luminous_dispel", 2, Dispels, "removes the target's oldest buff, and the target's damage -15 % for 2 rounds", &["control", "anti-special"]),
        skill("angelic_sanctuary", 3, Shelters(30), "every hit on the user -30 for 3 rounds", &["front", "shield"]),
        skill("divine_sword", 3, Sword(20), "20; the base of the user's next hit +20", &["burst", "buff"]),
    ],
];
