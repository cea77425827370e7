//! Items that witness their own drops.

#![allow(dead_code, reason = "each test binary uses what it needs of this")]

use std::panic::panic_any;
use std::sync::{Arc, Mutex};

/// Where witnesses report to.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How often each item was dropped, by the order in which the items were made.
    drops: Vec<u32>,
    /// Items whose drop panics after it has been counted.
    panicking: Vec<usize>,
}

/// What a panicking witness throws, to tell it from a failed assertion.
#[derive(Debug)]
pub(crate) struct DropPanic;

/// An item on the heap, so that a sanitizer sees a use after its drop as well.
#[derive(Debug)]
pub(crate) struct Witness {
    number: Box<usize>,
    ledger: Arc<Ledger>,
}

impl Ledger {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A ledger on which the items of these numbers panic when they are dropped.
    pub(crate) fn panicking_at(numbers: &[usize]) -> Arc<Self> {
        let ledger = Self::new();
        ledger.state.lock().unwrap().panicking = numbers.to_vec();
        ledger
    }

    /// The next item; items are numbered from 0 on.
    pub(crate) fn item(self: &Arc<Self>) -> Witness {
        let mut state = self.state.lock().unwrap();
        let number = Box::new(state.drops.len());
        state.drops.push(0);
        Witness {
            number,
            ledger: Arc::clone(self),
        }
    }

    /// How often each item was dropped.
    pub(crate) fn drops(&self) -> Vec<u32> {
        self.state.lock().unwrap().drops.clone()
    }

    /// How many drops there were in all.
    pub(crate) fn total(&self) -> u32 {
        self.drops().iter().sum()
    }

    #[track_caller]
    pub(crate) fn assert_each_dropped_once(&self, items: usize) {
        assert_eq!(self.drops(), vec![1; items]);
    }
}

impl Witness {
    pub(crate) fn number(&self) -> usize {
        *self.number
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let panics = {
            let mut state = self.ledger.state.lock().unwrap();
            state.drops[*self.number] += 1;
            state.panicking.contains(&self.number)
        };
        if panics {
            panic_any(DropPanic);
        }
    }
}

/// Runs `f`, in which the drop of one witness must panic.
#[track_caller]
pub(crate) fn assert_drop_panics(f: impl FnOnce()) {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
        .expect_err("a drop should have panicked");
    assert!(
        payload.is::<DropPanic>(),
        "another panic than that of a drop"
    );
}
