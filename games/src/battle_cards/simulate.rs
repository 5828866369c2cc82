//! The battle: the sides alternate turns, and in each turn one card attacks.

use arrayvec::ArrayVec;
use serde_json::{Value, json};
use smallvec::SmallVec;

use super::cards::{Ability, CARDS, Card, Element, KINDS, of_side};
use super::{MOST, Rules, Team};
use crate::plan_game::{BattleEnd, BattleLog, EventField, event};

/// Maximum number of turns. After the last turn, the side with more total health wins.
const CAP: u32 = 200;
/// Maximum attack of a card.
const MOST_ATTACK: i32 = 9_999;

/// A card on the field.
#[derive(Clone, Debug)]
struct Unit {
    /// Index in the card table.
    card: u8,
    side: u8,
    number: u16,
    /// Multiplier of attack, health and abilities: 1 for bronze, 2 for gold.
    tier: i32,
    attack: i32,
    health: i32,
    /// Health up to which the card can be healed.
    most: i32,
    /// Damage at the start of each of the card's turns.
    burning: i32,
    shield: bool,
    /// True if the card has attacked in the current cycle.
    acted: bool,
    revived: bool,
    /// The card that dealt the lethal damage.
    killer: Option<(u8, u16)>,
}

impl Unit {
    fn table(&self) -> &'static Card {
        &CARDS[usize::from(self.card)]
    }

    fn name(&self) -> Name {
        (self.side, self.number)
    }

    fn lives(&self) -> bool {
        self.health > 0
    }
}

type Line = ArrayVec<Unit, MOST>;
/// Identifier of a card: its side, and its number among the cards of that side.
type Name = (u8, u16);

fn word((side, number): Name) -> EventField {
    EventField::Unit(if side == 0 { 'i' } else { 'd' }, number)
}

#[derive(Clone, Copy)]
struct Source {
    name: Name,
    card: &'static Card,
}

#[derive(Clone, Copy)]
enum Blow {
    Hit,
    Answer,
    Excess,
    Burn,
    Death,
}

impl Blow {
    fn name(self) -> &'static str {
        match self {
            Blow::Hit => "hit",
            Blow::Answer => "answer",
            Blow::Excess => "excess",
            Blow::Burn => "burn",
            Blow::Death => "death_damage",
        }
    }
}

struct Field<'a, L> {
    rules: Rules,
    log: &'a mut L,
    lines: [Line; 2],
    /// Number of cards that each side has fielded, including summoned cards.
    seen: [u16; 2],
    teams: [&'a Team; 2],
}

/// Limits the memory of a battle to 16 KiB.
const _: () = assert!(size_of::<Field<'static, ()>>() <= 16 * 1024);

/// Plays a battle between two teams and returns the result.
pub fn simulate<L: BattleLog>(teams: [&Team; 2], rules: Rules, log: &mut L) -> BattleEnd {
    let mut field = Field { rules, log, lines: [Line::new(), Line::new()], seen: [0; 2], teams };
    for (side, team) in teams.iter().enumerate() {
        for piece in &team.cards {
            let unit = field.make(side, of_side(side, piece.kind), if piece.gold { 2 } else { 1 });
            field.lines[side].push(unit);
        }
    }
    field.start();
    let health =
        |field: &Field<'_, L>, side: usize| -> i32 { field.lines[side].iter().map(|unit| unit.health.max(0)).sum() };
    let whole = [health(&field, 0), health(&field, 1)];
    let mut side = usize::from(field.lines[1].len() > field.lines[0].len());
    let mut turns = 0;
    let (winner, reason) = loop {
        if let Some(end) = field.over() {
            break end;
        }
        if turns == CAP {
            break (usize::from(health(&field, 1) > health(&field, 0)), "cap");
        }
        field.turn(side, turns);
        side = 1 - side;
        turns += 1;
    };
    event!(field.log, "end", ["invader", "defender"][winner], reason, turns as i32);
    let share = |side: usize| (f64::from(health(&field, side)) / f64::from(whole[side].max(1))).min(1.0);
    let value = share(0) - share(1);
    let line = &field.lines[winner];
    field.log.summary(|| {
        let survivors: Vec<Value> = line.iter().map(|u| json!([u.table().name, u.attack, u.health])).collect();
        json!({ "attacks": turns, "survivors": survivors })
    });
    BattleEnd { winner, reason, length: turns, value: [value, -value] }
}

impl<L: BattleLog> Field<'_, L> {
    fn make(&mut self, side: usize, card: u8, tier: i32) -> Unit {
        let number = self.seen[side];
        self.seen[side] += 1;
        let table = &CARDS[usize::from(card)];
        let [attack, health] = [table.attack * tier, table.health * tier];
        Unit {
            card,
            side: side as u8,
            number,
            tier,
            attack,
            health,
            most: health,
            burning: 0,
            shield: table.shield,
            acted: false,
            revived: false,
            killer: None,
        }
    }

    /// Returns the index of a card in its line, or `None` if it has left the field.
    fn at(&self, (side, number): Name) -> Option<usize> {
        self.lines[usize::from(side)].iter().position(|unit| unit.number == number)
    }

    fn unit(&mut self, name: Name) -> Option<&mut Unit> {
        self.lines[usize::from(name.0)].iter_mut().find(|unit| unit.number == name.1)
    }

    fn over(&self) -> Option<(usize, &'static str)> {
        match [self.lines[0].is_empty(), self.lines[1].is_empty()] {
            [true, true] => Some((0, "both_empty")),
            [true, false] => Some((1, "wiped_out")),
            [false, true] => Some((0, "wiped_out")),
            [false, false] => None,
        }
    }

    /// Applies the start-of-battle effects from left to right, first those of the invaders.
    fn start(&mut self) {
        for side in 0..2 {
            for n in 0..self.lines[side].len() {
                let Unit { tier, .. } = self.lines[side][n];
                let len = self.lines[side].len();
                let others = (0..len).filter(move |&m| m != n);
                match self.lines[side][n].table().is {
                    Ability::BlessesNature(attack, health) => {
                        for m in others {
                            if self.lines[side][m].table().element == Element::Nature {
                                self.buff(side, n, m, attack * tier, health * tier, false);
                            }
                        }
                    }
                    Ability::BlessesAll(attack, health) => {
                        others.for_each(|m| self.buff(side, n, m, attack * tier, health * tier, false));
                    }
                    Ability::Trains(attack) => {
                        let beside = others.filter(|m| m.abs_diff(n) == 1);
                        beside.for_each(|m| self.buff(side, n, m, attack * tier, 0, true));
                    }
                    Ability::Gathers(health) if len > 1 => {
                        self.buff(side, n, n, 0, health * tier * (len as i32 - 1), false);
                    }
                    _ => {}
                }
            }
        }
    }

    fn buff(&mut self, side: usize, from: usize, to: usize, attack: i32, health: i32, shield: bool) {
        let from = word(self.lines[side][from].name());
        let unit = &mut self.lines[side][to];
        unit.attack += attack;
        unit.health += health;
        unit.most += health;
        unit.shield |= shield;
        event!(self.log, "buff", from, word(unit.name()), attack, health, i32::from(shield));
    }

    /// Plays the turn of one card of `side`.
    fn turn(&mut self, side: usize, turn: u32) {
        let line = &mut self.lines[side];
        let next = line.iter().position(|unit| !unit.acted).unwrap_or_else(|| {
            line.iter_mut().for_each(|unit| unit.acted = false);
            0
        });
        let unit = &mut line[next];
        unit.acted = true;
        let (name, card, tier) = (unit.name(), unit.table(), unit.tier);
        event!(self.log, "turn", turn as i32, word(name));
        if unit.burning > 0 {
            let burning = unit.burning;
            self.damage(Blow::Burn, None, name, burning);
            if self.unit(name).is_none_or(|unit| !unit.lives()) {
                return self.bury(side);
            }
        }
        if let Ability::Sharpens(more) = card.is {
            self.sharpen(name, more * tier);
        }
        if let (Ability::Grows(more), Some(unit)) = (card.is, self.unit(name)) {
            unit.health += more * tier;
            unit.most += more * tier;
            let health = unit.health;
            event!(self.log, "health_is", word(name), health);
        }
        let times = if card.is == Ability::Twice { 2 } else { 1 };
        for _ in 0..times {
            if self.at(name).is_some() && self.over().is_none() {
                self.attack(name);
                self.bury(side);
            }
        }
        if let (Ability::Calls(called), None, Some(_)) = (card.is, self.over(), self.at(name))
            && !self.lines[side].is_full()
        {
            self.join(name, side, called, tier, self.lines[side].len());
        }
    }

    /// Adds `more` to the attack of a card, if it is alive.
    fn sharpen(&mut self, name: Name, more: i32) {
        let Some(unit) = self.unit(name) else { return };
        let attack = (unit.attack + more).clamp(0, MOST_ATTACK);
        if attack != unit.attack {
            unit.attack = attack;
            event!(self.log, "attack_is", word(name), attack);
        }
    }

    /// Returns the index of the enemy card that `side` attacks. Cards with taunt come first, then cards in order of
    /// priority, then the leftmost card.
    fn target(&self, side: usize) -> usize {
        let enemies = &self.lines[1 - side];
        if self.rules == Rules::Repo {
            return 0;
        }
        let taunted = enemies.iter().any(|unit| unit.table().taunt);
        let candidate = |unit: &Unit| !taunted || unit.table().taunt;
        let wanted = self.teams[side].priority.iter().find_map(|&kind| {
            let card = of_side(1 - side, kind);
            enemies.iter().position(|unit| unit.card == card && candidate(unit))
        });
        wanted.or_else(|| enemies.iter().position(candidate)).unwrap_or(0)
    }

    /// Plays one attack, without removing dead cards.
    fn attack(&mut self, name: Name) {
        let side = usize::from(name.0);
        let at = self.target(side);
        let Some(attacker) = self.unit(name) else { return };
        let (card, tier, power) = (attacker.table(), attacker.tier, attacker.attack);
        let enemies = &self.lines[1 - side];
        let target = &enemies[at];
        let (target_card, target_tier, answer) = (target.table(), target.tier, target.attack);
        let aim = target.name();
        let left = at.checked_sub(1).map(|n| enemies[n].name());
        let right = enemies.get(at + 1).map(Unit::name);
        event!(self.log, "attack", word(name), word(aim));
        let by = Some(Source { name, card });
        let sweeps = card.is == Ability::Phoenix;
        if let Some(left) = left.filter(|_| sweeps) {
            self.damage(Blow::Hit, by, left, power);
        }
        let excess = self.damage(Blow::Hit, by, aim, power);
        if let Some(right) = right.filter(|_| sweeps) {
            self.damage(Blow::Hit, by, right, power);
        }
        self.damage(Blow::Answer, Some(Source { name: aim, card: target_card }), name, answer);
        if let (Ability::Carries, Some(next)) = (card.is, right.or(left)) {
            self.damage(Blow::Excess, by, next, excess);
        }
        let stands = |field: &mut Self, name| field.unit(name).is_some_and(|unit| unit.lives());
        if let Ability::Tires(less) = card.is
            && stands(self, name)
        {
            self.sharpen(name, -less * tier);
        }
        if !stands(self, aim) {
            return;
        }
        match target_card.is {
            Ability::Burns(damage) => {
                if let Some(unit) = self.unit(name).filter(|unit| unit.lives()) {
                    unit.burning = damage * target_tier;
                    event!(self.log, "burning", word(name), damage * target_tier);
                }
            }
            Ability::Weakens(less) => self.sharpen(name, -less * target_tier),
            _ => {}
        }
    }

    /// Deals damage to a card, and returns the part of the damage that exceeds the card's remaining health.
    fn damage(&mut self, blow: Blow, from: Option<Source>, to: Name, amount: i32) -> i32 {
        let elements = self.rules == Rules::Paper && !matches!(blow, Blow::Excess | Blow::Burn);
        let Some(unit) = self.unit(to).filter(|unit| unit.lives()) else { return 0 };
        let stronger = from.is_some_and(|from| from.card.element.beats(unit.table().element));
        let amount = if elements && stronger { amount * 3 / 2 } else { amount };
        if amount <= 0 {
            return 0;
        }
        let source = from.map_or(EventField::Nothing, |from| word(from.name));
        if unit.shield {
            unit.shield = false;
            event!(self.log, "shield", source, word(to));
            self.inspire(to);
            return 0;
        }
        unit.health -= amount;
        let beyond = (-unit.health).max(0);
        let poison = from.is_some_and(|from| from.card.is == Ability::Poisons);
        if poison && matches!(blow, Blow::Hit | Blow::Answer) {
            unit.health = unit.health.min(0);
        }
        if !unit.lives() {
            unit.killer = from.map(|from| from.name);
        }
        let (left, attack, rages) = (unit.health, unit.attack, unit.table().is == Ability::Rages);
        event!(self.log, blow.name(), source, word(to), amount, left);
        if rages && left > 0 {
            self.sharpen(to, attack);
        }
        beyond
    }

    /// Raises the attack of the cards that are inspired when another card of their side, `lost`, loses its shield.
    fn inspire(&mut self, lost: Name) {
        for n in 0..self.lines[usize::from(lost.0)].len() {
            let unit = &self.lines[usize::from(lost.0)][n];
            if let Ability::Inspired(more) = unit.table().is
                && unit.number != lost.1
                && unit.lives()
            {
                let (name, more) = (unit.name(), more * unit.tier);
                self.sharpen(name, more);
            }
        }
    }

    /// Removes dead cards and applies their death effects, side `first` first, until no dead card is left.
    fn bury(&mut self, first: usize) {
        loop {
            let mut found = false;
            for side in [first, 1 - first] {
                if self.lines[side].iter().all(Unit::lives) {
                    continue;
                }
                let stood: SmallVec<[u16; MOST]> = self.lines[side].iter().map(|unit| unit.number).collect();
                for number in stood {
                    found |= self.die((side as u8, number));
                }
            }
            if !found {
                return;
            }
        }
    }

    /// Removes or revives a dead card, and applies its death effects. Returns false if the card is alive.
    fn die(&mut self, name: Name) -> bool {
        let side = usize::from(name.0);
        let Some(at) = self.at(name).filter(|&at| !self.lines[side][at].lives()) else { return false };
        let unit = &mut self.lines[side][at];
        if unit.table().is == Ability::Phoenix && !unit.revived {
            unit.revived = true;
            unit.health = unit.table().health * unit.tier;
            let health = unit.health;
            event!(self.log, "revive", word(name), health);
            return true;
        }
        event!(self.log, "dead", word(name));
        let unit = self.lines[side].remove(at);
        let (tier, dead) = (unit.tier, Source { name, card: unit.table() });
        match unit.table().is {
            Ability::Avenges(damage) => {
                if let Some(killer) = unit.killer {
                    self.damage(Blow::Death, Some(dead), killer, damage * tier);
                }
            }
            Ability::Bursts(damage) => {
                let foe = 1 - unit.side;
                let enemies: SmallVec<[u16; MOST]> = self.lines[1 - side].iter().map(|enemy| enemy.number).collect();
                for enemy in enemies {
                    self.damage(Blow::Death, Some(dead), (foe, enemy), damage * tier);
                }
            }
            Ability::Heals(amount) => {
                for n in 0..self.lines[side].len() {
                    let ally = &mut self.lines[side][n];
                    let healed = (amount * tier).min(ally.most - ally.health);
                    if ally.lives() && healed > 0 {
                        ally.health += healed;
                        event!(self.log, "heal", word(name), word(ally.name()), healed, ally.health);
                    }
                }
            }
            Ability::Leaves(card) => {
                let fills = self.rules == Rules::Repo && usize::from(card) >= 2 * KINDS;
                let count = if fills { MOST - self.lines[side].len() } else { 1 };
                (0..count).for_each(|n| self.join(name, side, card, tier, at + n));
            }
            _ => {}
        }
        true
    }

    fn join(&mut self, from: Name, side: usize, card: u8, tier: i32, place: usize) {
        let unit = self.make(side, card, tier);
        event!(self.log, "summon", word(from), word(unit.name()), unit.table().name, place as i32);
        self.lines[side].insert(place, unit);
    }
}
