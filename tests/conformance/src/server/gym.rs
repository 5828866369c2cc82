//! Laws of the gym plane, checked with seeded random episodes of every game on the server's list.

pub(super) mod handle;

mod copies;
mod draws;
mod episodes;
mod repeats;
mod steps;
mod views;

use futures_util::FutureExt as _;
use ludex_protocol::message::Scope;

use super::{Law, Trial, law};

const fn of_gym(name: &'static str, tried: Trial) -> Law {
    law(4, name, Some(Scope::Gym), tried)
}

pub(super) const LAWS: &[Law] = &[
    of_gym("sends columns and views in their shapes", |b| b.each(steps::shapes).boxed_local()),
    of_gym("sends the same legal actions in every form of the mask", |b| b.each(steps::masks).boxed_local()),
    of_gym("refuses an illegal action and changes nothing", |b| b.each(steps::illegal).boxed_local()),
    of_gym("refuses wrong numbers of actions and wrong environments", |b| b.each(steps::wrong_calls).boxed_local()),
    of_gym("plays environment i of seed s like a single environment of seed s + i", |b| {
        b.each(steps::seeds).boxed_local()
    }),
    of_gym("shows the same transitions in all autoreset modes", |b| b.each(episodes::modes).boxed_local()),
    of_gym("sends rewards that sum to returns", |b| b.each(episodes::rewards).boxed_local()),
    of_gym("truncates at max_steps", |b| b.each(episodes::truncation).boxed_local()),
    of_gym("ends the episode of an illegal action with `lose`", |b| b.each(episodes::loses).boxed_local()),
    of_gym("lets the client play chance", |b| b.each(episodes::chance).boxed_local()),
    law(10, "draws chance by the documented function", Some(Scope::Gym), |b| b.each(draws::draws).boxed_local()),
    of_gym("plays the seats of its built-in agents", |b| b.each(episodes::opponents).boxed_local()),
    of_gym("clones environments that continue identically", |b| b.each(copies::clones).boxed_local()),
    of_gym("restores its snapshots", |b| b.each(copies::snapshots).boxed_local()),
    of_gym("refuses forged snapshots", |b| b.each(copies::forged).boxed_local()),
    of_gym("names actions and accepts these names", |b| b.each(views::names).boxed_local()),
    of_gym("shows in `view` what its batches show", |b| b.each(views::views).boxed_local()),
    of_gym("executes a repeated request only once", |b| repeats::resent(b).boxed_local()),
    of_gym("closes its environments", |b| repeats::closed(b).boxed_local()),
];
