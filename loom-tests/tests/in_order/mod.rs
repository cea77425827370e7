//! Numbered items in, the same numbers out: the two ends that the models have in common.

// Not every model needs all of it.
#![allow(dead_code, reason = "each file of models uses a part")]

use chunkring::PopError;
use chunkring::spsc::{Consumer, Producer};
use loom_tests::Tracked;

/// A consumer that expects the items 0, 1, 2 and so on.
pub(crate) struct Inbox {
    pub(crate) consumer: Consumer<Tracked>,
    pub(crate) taken: usize,
}

impl Inbox {
    pub(crate) fn new(consumer: Consumer<Tracked>) -> Self {
        Inbox { consumer, taken: 0 }
    }

    pub(crate) fn pop(&mut self) -> Result<(), PopError> {
        let item = self.consumer.pop()?;
        assert_eq!(
            item.value(),
            self.taken,
            "items come in the order they went in"
        );
        self.taken += 1;
        Ok(())
    }

    /// Looks `times` times, whether something is there or not.
    pub(crate) fn look(&mut self, times: usize) {
        for _ in 0..times {
            let _ = self.pop();
        }
    }

    /// Takes all that is there, and says why there is no more.
    pub(crate) fn drain(&mut self) -> PopError {
        loop {
            if let Err(nothing) = self.pop() {
                return nothing;
            }
        }
    }
}

/// Pushes items numbered from `first` on until `count` are in or one is refused. Returns how many
/// went in.
pub(crate) fn push(producer: &mut Producer<Tracked>, first: usize, count: usize) -> usize {
    (0..count)
        .take_while(|index| producer.push(Tracked::new(first + index)).is_ok())
        .count()
}

/// Puts `count` items numbered from `first` on into one reservation. Returns whether there was room.
pub(crate) fn record(producer: &mut Producer<Tracked>, first: usize, count: usize) -> bool {
    let Ok(mut grant) = producer.reserve(count) else {
        return false;
    };
    for index in 0..count {
        grant
            .push(Tracked::new(first + index))
            .expect("the grant has a slot for it");
    }
    grant.commit_all();
    true
}
