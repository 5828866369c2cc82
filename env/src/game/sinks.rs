//! Receivers of legal actions.

use smallvec::SmallVec;

use super::Action;

/// A receiver of legal actions, such as a list, a mask or a counter.
pub trait ActionSink {
    /// Adds one legal action. Games add actions in ascending order, each once.
    fn put(&mut self, a: Action);

    /// Adds several legal actions, in ascending order.
    #[inline]
    fn put_all(&mut self, all: &[Action]) {
        all.iter().for_each(|&a| self.put(a));
    }
}

impl ActionSink for Vec<Action> {
    #[inline]
    fn put(&mut self, a: Action) {
        self.push(a);
    }

    #[inline]
    fn put_all(&mut self, all: &[Action]) {
        self.extend_from_slice(all);
    }
}

/// A sink that counts the actions.
#[derive(Default)]
pub struct Count(pub usize);

impl ActionSink for Count {
    #[inline]
    fn put(&mut self, _: Action) {
        self.0 += 1;
    }
}

/// A sink that searches for one action.
pub struct Find {
    /// The action to search for.
    pub wanted: Action,
    /// True after the action was added.
    pub found: bool,
}

impl ActionSink for Find {
    #[inline]
    fn put(&mut self, a: Action) {
        self.found |= a == self.wanted;
    }
}

/// A list that needs no heap allocation for up to 64 actions.
#[derive(Default)]
pub(super) struct Short(pub(super) SmallVec<[Action; 64]>);

impl ActionSink for Short {
    #[inline]
    fn put(&mut self, a: Action) {
        self.0.push(a);
    }
}

/// A sink that sets the byte of each action to 1 and ignores ids beyond the end of the slice.
pub struct MaskSink<'a>(pub &'a mut [u8]);

impl ActionSink for MaskSink<'_> {
    #[inline]
    fn put(&mut self, a: Action) {
        if let Some(b) = self.0.get_mut(a as usize) {
            *b = 1;
        }
    }
}

/// A sink that selects the action at one position.
pub struct Nth {
    /// Number of actions still to skip.
    pub left: usize,
    /// The selected action; `None` if there were too few actions.
    pub kept: Option<Action>,
}

impl ActionSink for Nth {
    #[inline]
    fn put(&mut self, a: Action) {
        if self.left == 0 && self.kept.is_none() {
            self.kept = Some(a);
        }
        self.left = self.left.wrapping_sub(1);
    }
}
