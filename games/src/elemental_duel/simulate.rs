//! The battle: in each round, the characters use their skills in turn.

use serde_json::json;
use smallvec::SmallVec;

use super::skills::{ELEMENTS, SKILLS, Skill, SkillRow, factor};
use super::{BattleSettings, Mode, Team};
use crate::plan_game::{BattleEnd, BattleLog, EventField, event};

/// Maximum number of rounds. After the last round, the side with more total health wins.
const CAP: u32 = 50;
/// Damage per round of one layer of burning.
const LAYER: u64 = 5;
/// Damage that a curtain deals to an attacker. The next four constants are the damage of armor, seed, emblem and
/// quicksand.
const CURTAIN: i32 = 30;
const ARMOR: i32 = 5;
const SEED: i32 = 5;
const EMBLEM: i32 = 10;
const QUICKSAND: i32 = 10;
/// Number of hits that one quicksand delays.
const CAUGHT: u32 = 3;
/// Increase of the base damage of the hit after a sword.
const SWORD: u64 = 20;
/// The element whose hits residual warmth strengthens.
const FIRE: u8 = 0;
/// Duration of a status that lasts until it is used up.
const ALWAYS: u8 = u8::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Burning,
    Poison,
    Vulnerable,
    Warm,
    Guard,
    Reflect,
    Rock,
    Healing,
    Seed,
    Totem,
    Weak,
    Quicksand,
    Emblem,
    Link,
    Sanctuary,
    Sword,
    Delayed,
}

impl Is {
    fn name(self) -> &'static str {
        match self {
            Is::Burning => "burning",
            Is::Poison => "poison",
            Is::Vulnerable => "vulnerable",
            Is::Warm => "warm",
            Is::Guard => "guard",
            Is::Reflect => "reflect",
            Is::Rock => "rock",
            Is::Healing => "healing",
            Is::Seed => "seed",
            Is::Totem => "totem",
            Is::Weak => "weak",
            Is::Quicksand => "quicksand",
            Is::Emblem => "emblem",
            Is::Link => "link",
            Is::Sanctuary => "sanctuary",
            Is::Sword => "sword",
            Is::Delayed => "delayed",
        }
    }

    fn negative(self) -> bool {
        matches!(self, Is::Burning | Is::Poison | Is::Vulnerable | Is::Seed | Is::Weak | Is::Quicksand)
    }

    /// Returns true if the status is a buff, which a skill can dispel.
    fn buff(self) -> bool {
        matches!(self, Is::Guard | Is::Reflect | Is::Warm)
    }
}

#[derive(Clone, Copy)]
struct Status {
    is: Is,
    value: u32,
    /// Number of rounds left, or [`ALWAYS`].
    rounds: u8,
    layers: u8,
}

struct Shield {
    left: i32,
    rounds: u8,
}

struct Character {
    element: u8,
    skills: [u8; 3],
    /// Index of the next skill among the character's three.
    next: u8,
    hp: i32,
    out: bool,
    surge: u32,
    /// HP lost since the last use of core rebound.
    stored: u64,
    statuses: SmallVec<[Status; 16]>,
    shields: SmallVec<[Shield; 4]>,
}

impl Character {
    fn has(&self, is: Is) -> bool {
        self.statuses.iter().any(|s| s.is == is)
    }

    /// Removes the oldest status of a kind. Returns false if nothing was removed.
    fn spend(&mut self, is: Is) -> bool {
        let at = self.statuses.iter().position(|s| s.is == is);
        at.map(|at| self.statuses.remove(at)).is_some()
    }

    fn all(&self, is: Is) -> impl Iterator<Item = u32> + '_ {
        self.statuses.iter().filter(move |s| s.is == is).map(|s| s.value)
    }

    fn layers(&self) -> u64 {
        self.statuses.iter().filter(|s| s.is == Is::Burning).map(|s| u64::from(s.layers)).sum()
    }
}

/// Index of a character: 0 to 2 for the invaders, 3 to 5 for the defenders.
type Who = usize;

fn word(who: Who) -> EventField {
    EventField::Unit(if who < ELEMENTS { 'i' } else { 'd' }, (who % ELEMENTS) as u16)
}

struct Field<'a, L> {
    log: &'a mut L,
    most: [i32; 2],
    all: [Character; 2 * ELEMENTS],
}

/// Limits the memory of a battle to 16 KiB.
const _: () = assert!(size_of::<Field<'static, ()>>() <= 16 * 1024);

/// Plays a battle between two teams of three characters and returns the result.
pub fn simulate<L: BattleLog>(teams: [&Team; 2], settings: BattleSettings, log: &mut L) -> BattleEnd {
    let all = std::array::from_fn(|who| {
        let side = who / ELEMENTS;
        let piece = teams[side][who % ELEMENTS];
        Character {
            element: piece.element + (side * ELEMENTS) as u8,
            skills: piece.skills,
            next: 0,
            hp: settings.hp[side] as i32,
            out: false,
            surge: 0,
            stored: 0,
            statuses: SmallVec::new(),
            shields: SmallVec::new(),
        }
    });
    let mut field = Field { log, most: settings.hp.map(|hp| hp as i32), all };
    let mut round = 0;
    let (winner, reason) = loop {
        if round == CAP {
            break (usize::from(field.health(1) >= field.health(0)), "cap");
        }
        round += 1;
        if let Some(end) = field.round(round, settings.mode) {
            break end;
        }
    };
    event!(field.log, "end", ["invader", "defender"][winner], reason, round as i32);
    let share = |side: usize| f64::from(field.health(side)) / f64::from(ELEMENTS as i32 * field.most[side]);
    let value = share(0) - share(1);
    let all = &field.all;
    field.log.summary(|| {
        let hp: Vec<Vec<i32>> = all.chunks(ELEMENTS).map(|side| side.iter().map(|c| c.hp).collect()).collect();
        json!({ "rounds": round, "hp": hp })
    });
    BattleEnd { winner, reason, length: round, value: [value, -value] }
}

impl<L: BattleLog> Field<'_, L> {
    /// Returns the total HP of a side's living characters.
    fn health(&self, side: usize) -> i32 {
        self.side(side).map(|who| self.all[who].hp.max(0)).sum()
    }

    /// Iterates over the living characters of a side.
    fn side(&self, side: usize) -> impl Iterator<Item = Who> + '_ {
        (side * ELEMENTS..(side + 1) * ELEMENTS).filter(|&who| !self.all[who].out)
    }

    fn over(&self) -> Option<(usize, &'static str)> {
        match [0, 1].map(|side| self.side(side).next().is_none()) {
            [true, true] => Some((1, "both_out")),
            [true, false] => Some((1, "wiped_out")),
            [false, true] => Some((0, "wiped_out")),
            [false, false] => None,
        }
    }

    fn round(&mut self, round: u32, mode: Mode) -> Option<(usize, &'static str)> {
        event!(self.log, "round", round as i32);
        for who in 0..2 * ELEMENTS {
            let side = who / ELEMENTS;
            let waits = mode == Mode::Gauntlet && self.side(side).next() != Some(who);
            if self.all[who].out || waits {
                continue;
            }
            let target = self.side(1 - side).next();
            if let Some(target) = target {
                self.act(who, target);
            }
            (0..2 * ELEMENTS).for_each(|who| self.fall(who));
            if let Some(end) = self.over() {
                return Some(end);
            }
        }
        for who in 0..2 * ELEMENTS {
            if !self.all[who].out {
                self.close(who);
                self.fall(who);
            }
        }
        self.over()
    }

    /// Marks a character as out if it has no HP left.
    fn fall(&mut self, who: Who) {
        let character = &mut self.all[who];
        if !character.out && character.hp <= 0 {
            character.out = true;
            event!(self.log, "out", word(who));
        }
    }

    /// Applies the end-of-round effects to one character: damage over time, healing, and durations.
    fn close(&mut self, who: Who) {
        for n in 0..self.all[who].statuses.len() {
            let Status { is, value, rounds, .. } = self.all[who].statuses[n];
            match is {
                Is::Burning | Is::Poison => self.tick(who, is, value),
                Is::Delayed if rounds == 1 => self.tick(who, is, value),
                Is::Healing if self.all[who].hp > 0 => _ = self.heal(who, value as i32),
                _ => {}
            }
        }
        let character = &mut self.all[who];
        character.statuses.retain(|status| last(&mut status.rounds));
        character.shields.retain(|shield| last(&mut shield.rounds) && shield.left > 0);
    }

    fn tick(&mut self, who: Who, is: Is, damage: u32) {
        let [hp, shields, left] = self.take(who, damage as i32);
        event!(self.log, "tick", is.name(), word(who), hp, shields, left);
    }

    /// Deducts damage from shields, the oldest first, then from HP. Returns the HP lost, the shield points lost, and
    /// the HP left.
    fn take(&mut self, who: Who, damage: i32) -> [i32; 3] {
        let character = &mut self.all[who];
        let mut rest = damage;
        for shield in &mut character.shields {
            let part = rest.min(shield.left);
            shield.left -= part;
            rest -= part;
        }
        character.hp -= rest;
        character.stored += rest as u64;
        [rest, damage - rest, character.hp]
    }

    /// Deals damage to `to` and logs it as an event of `kind`.
    fn pay(&mut self, kind: &'static str, from: Who, to: Who, damage: i32) {
        let [hp, shields, left] = self.take(to, damage);
        event!(self.log, kind, word(from), word(to), hp, shields, left);
    }

    /// Heals a character and returns the amount above its maximum HP.
    fn heal(&mut self, who: Who, amount: i32) -> i32 {
        let most = self.most[who / ELEMENTS];
        let character = &mut self.all[who];
        let amount = if character.has(Is::Totem) { amount * 11 / 10 } else { amount };
        let healed = amount.min(most - character.hp);
        character.hp += healed;
        event!(self.log, "heal", word(who), healed, character.hp);
        amount - healed
    }

    fn give(&mut self, who: Who, is: Is, value: u32, rounds: u8) {
        self.give_layers(who, Status { is, value, rounds, layers: 0 });
    }

    fn give_layers(&mut self, who: Who, status: Status) {
        self.all[who].statuses.push(status);
        let rounds = if status.rounds == ALWAYS { EventField::Nothing } else { i32::from(status.rounds).into() };
        event!(self.log, "status", word(who), status.is.name(), status.value as i32, rounds);
    }

    fn shield(&mut self, who: Who, amount: i32, rounds: u8) {
        if amount <= 0 {
            return;
        }
        self.all[who].shields.push(Shield { left: amount, rounds });
        let rounds = if rounds == ALWAYS { EventField::Nothing } else { i32::from(rounds).into() };
        event!(self.log, "shield", word(who), amount, rounds);
    }

    fn surge(&mut self, who: Who, layers: u32) {
        if self.all[who].surge != layers {
            self.all[who].surge = layers;
            event!(self.log, "surge", word(who), layers as i32);
        }
    }

    /// Removes up to `most` statuses for which `which` is true, the oldest first.
    fn dispel(&mut self, who: Who, which: impl Fn(Is) -> bool, most: usize) {
        for _ in 0..most {
            let statuses = &mut self.all[who].statuses;
            let Some(at) = statuses.iter().position(|s| which(s.is)) else { return };
            let gone = statuses.remove(at);
            event!(self.log, "dispel", word(who), gone.is.name());
        }
    }

    /// Returns how many full tenths of its maximum HP a character has lost.
    fn lost_tenths(&self, who: Who) -> u64 {
        let most = self.most[who / ELEMENTS];
        ((most - self.all[who].hp) * 10 / most).max(0) as u64
    }

    fn factor(&self, user: Who, target: Who) -> u64 {
        factor(self.all[user].element, self.all[target].element)
    }

    /// Returns the damage per round of a status, including the element factor.
    fn over_time(&self, user: Who, target: Who, base: u64) -> u32 {
        (base * self.factor(user, target) / 10) as u32
    }

    /// Deals a direct hit with a base damage of `fifths / 5`. Returns the damage.
    fn hit(&mut self, user: Who, target: Who, fifths: u64) -> i32 {
        let sword = if self.all[user].spend(Is::Sword) { 5 * SWORD } else { 0 };
        let mut up = (fifths + sword) * self.factor(user, target);
        let mut down = 50;
        if self.all[user].element == FIRE && self.all[user].spend(Is::Warm) {
            (up, down) = (up * 13, down * 10);
        }
        // Vulnerabilities and guards count in tenths, weaknesses in twentieths, so that all products are exact
        // integers.
        let exposed: u64 = self.all[target].all(Is::Vulnerable).map(|v| u64::from(v) / 10).sum();
        (up, down) = (up * (10 + exposed), down * 10);
        for guard in self.all[target].all(Is::Guard) {
            (up, down) = (up * (10 - u64::from(guard) / 10), down * 10);
        }
        for weak in self.all[user].all(Is::Weak) {
            (up, down) = (up * (20 - u64::from(weak) / 5), down * 20);
        }
        let mut damage = ((up / down) as i32).max(1);
        let sheltered: u32 = self.all[target].all(Is::Sanctuary).sum();
        damage = (damage - sheltered as i32).max(0);
        if self.all[target].spend(Is::Link) {
            self.pay("linked", target, user, damage);
            return damage;
        }
        if self.all[target].spend(Is::Emblem) {
            let part = damage / 5;
            damage -= part;
            self.heal(target, part);
            self.pay("emblem", target, user, EMBLEM);
        }
        let caught = self.all[user].statuses.iter().any(|s| s.is == Is::Quicksand);
        if caught {
            let part = damage / 5;
            damage -= part;
            if part > 0 {
                self.give(target, Is::Delayed, part as u32, 2);
            }
        }
        self.pay("hit", user, target, damage);
        for n in 0..self.all[target].statuses.len() {
            match self.all[target].statuses[n].is {
                Is::Reflect => self.pay("reflect", target, user, CURTAIN),
                Is::Rock if self.all[target].shields.iter().any(|s| s.left > 0) => {
                    self.pay("reflect", target, user, ARMOR);
                }
                _ => {}
            }
        }
        if self.all[user].has(Is::Seed) {
            self.pay("seed", user, user, SEED);
        }
        if caught {
            self.pay("quicksand", user, user, QUICKSAND);
            let statuses = &mut self.all[user].statuses;
            if let Some(at) = statuses.iter().position(|s| s.is == Is::Quicksand) {
                statuses[at].value -= 1;
                if statuses[at].value == 0 {
                    statuses.remove(at);
                }
            }
        }
        damage
    }

    /// Uses the next skill of `user` on `target`.
    fn act(&mut self, user: Who, target: Who) {
        let character = &mut self.all[user];
        let entry: &SkillRow =
            &SKILLS[usize::from(character.element)][usize::from(character.skills[usize::from(character.next)])];
        character.next = (character.next + 1) % 3;
        event!(self.log, "skill", word(user), entry.name, word(target));
        let surge = self.all[user].surge;
        let strike = |field: &mut Self, base: u64| field.hit(user, target, 5 * base);
        match entry.does {
            Skill::Hits(base) => _ = strike(self, base.into()),
            Skill::Ignites(base, layers) => {
                if base > 0 {
                    strike(self, base.into());
                }
                let value = self.over_time(user, target, LAYER * u64::from(layers));
                self.give_layers(target, Status { is: Is::Burning, value, rounds: 2, layers: layers as u8 });
            }
            Skill::Warms => self.give(user, Is::Warm, 30, 2),
            Skill::Feeds(base, more, clears) => {
                let layers = self.all[target].layers();
                strike(self, u64::from(base) + u64::from(more) * layers);
                if clears {
                    self.dispel(target, |is| is == Is::Burning, usize::MAX);
                }
            }
            Skill::Curtain(base) => {
                strike(self, base.into());
                self.give(user, Is::Reflect, CURTAIN as u32, 2);
            }
            Skill::Surges(base) => {
                strike(self, base.into());
                self.surge(user, surge + 1);
            }
            Skill::Barrier(amount) => {
                self.shield(user, amount as i32, 3);
                self.surge(user, surge + 1);
            }
            Skill::Rides(base, more, clears) => {
                strike(self, u64::from(base + more * surge));
                if clears {
                    self.surge(user, 0);
                }
            }
            Skill::Exposes(base, more) => {
                strike(self, base.into());
                self.give(target, Is::Vulnerable, more, 2);
            }
            Skill::Resonates(more, shield) => {
                if surge > 0 {
                    strike(self, u64::from(more * surge));
                }
                self.shield(user, (shield * surge) as i32, 3);
            }
            Skill::Drains(base, part) => {
                let damage = strike(self, base.into());
                self.heal(user, damage * part as i32 / 100);
            }
            Skill::Guards(less) => self.give(user, Is::Guard, less, 3),
            Skill::Siphons(base, more) => {
                let low = 2 * self.all[target].hp < self.most[target / ELEMENTS];
                strike(self, u64::from(if low { base + more } else { base }));
            }
            Skill::Announces(base, more) => {
                let lost = self.lost_tenths(target);
                strike(self, u64::from(base) + u64::from(more) * lost);
            }
            Skill::Sacrifices(part) => self.sacrifice(user, target, part as i32),
            Skill::Buds(amount) => self.give(user, Is::Healing, amount, 3),
            Skill::Seeds(base) => {
                strike(self, base.into());
                self.give(target, Is::Seed, SEED as u32, 3);
            }
            Skill::Totem(amount) => {
                self.heal(user, amount as i32);
                self.give(user, Is::Totem, 10, 3);
            }
            Skill::Purifies(base) => {
                self.dispel(user, Is::negative, usize::MAX);
                strike(self, base.into());
            }
            Skill::Reincarnates(amount, base) => {
                let excess = self.heal(user, amount as i32);
                self.shield(user, excess / 2, 3);
                strike(self, base.into());
            }
            Skill::Poisons(base) => {
                let value = self.over_time(user, target, base.into());
                self.give(target, Is::Poison, value, 3);
            }
            Skill::Armors(amount) => {
                self.shield(user, amount as i32, 3);
                self.give(user, Is::Rock, ARMOR as u32, 3);
            }
            Skill::Traps => self.give(target, Is::Quicksand, CAUGHT, 3),
            Skill::Pulses(each) => {
                let amount = u64::from(each) * self.lost_tenths(user);
                self.shield(user, amount as i32, ALWAYS);
            }
            Skill::Rebounds(part) => {
                let stored = std::mem::take(&mut self.all[user].stored);
                if stored > 0 {
                    self.hit(user, target, stored * u64::from(part) / 20);
                }
            }
            Skill::Glimmers(amount, base) => {
                self.dispel(user, Is::negative, 1);
                self.heal(user, amount as i32);
                strike(self, base.into());
            }
            Skill::Emblem => self.give(user, Is::Emblem, 20, 2),
            Skill::Links => self.give(user, Is::Link, 100, 2),
            Skill::Dispels => {
                self.dispel(target, Is::buff, 1);
                self.give(target, Is::Weak, 15, 2);
            }
            Skill::Shelters(less) => self.give(user, Is::Sanctuary, less, 3),
            Skill::Sword(base) => {
                strike(self, base.into());
                self.give(user, Is::Sword, SWORD as u32, ALWAYS);
            }
        }
    }

    /// Deducts `part` percent of the user's HP, and twice that amount from the target's HP, ignoring all protection.
    /// The HP that the user pays does not count for core rebound.
    fn sacrifice(&mut self, user: Who, target: Who, part: i32) {
        let amount = self.all[user].hp * part / 100;
        if amount == 0 {
            return;
        }
        self.all[user].hp -= amount;
        let left = self.all[user].hp;
        event!(self.log, "sacrifice", word(user), amount, left);
        let target_character = &mut self.all[target];
        target_character.hp -= 2 * amount;
        target_character.stored += 2 * amount as u64;
        let left = target_character.hp;
        event!(self.log, "hit", word(user), word(target), 2 * amount, 0, left);
    }
}

/// Decrements the number of rounds left. Returns false if no round is left.
fn last(rounds: &mut u8) -> bool {
    if *rounds != ALWAYS {
        *rounds -= 1;
    }
    *rounds > 0
}
