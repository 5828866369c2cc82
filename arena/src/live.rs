//! Settings that may change while the server runs.

use std::sync::Arc;

use parking_lot::RwLock;

/// Setting that the operator may change while the server runs. A reader keeps the value of the moment of its read.
#[derive(Debug, Default)]
pub struct Live<T>(RwLock<Arc<T>>);

impl<T> Live<T> {
    /// Returns the current value.
    pub fn get(&self) -> Arc<T> {
        self.0.read().clone()
    }

    /// Replaces the value for all later readers.
    pub fn set(&self, value: T) {
        *self.0.write() = Arc::new(value);
    }
}

impl<T> From<T> for Live<T> {
    fn from(value: T) -> Self {
        Live(RwLock::new(Arc::new(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_keeps_the_value_of_its_read() {
        let live = Live::from(1);
        let before = live.get();
        live.set(2);
        assert_eq!((*before, *live.get()), (1, 2));
    }
}
