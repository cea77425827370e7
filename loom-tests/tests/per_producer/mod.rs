//! Items numbered by each producer in, the same out in the order of each: what the models of the ring for
//! several producers have in common.

// Not every model needs all of it.
#![allow(dead_code, reason = "each file of models uses a part")]

use chunkring::mpsc::{Consumer, Producer};
use chunkring::{OwnedChunk, PopError};
use loom_tests::Tracked;

/// The item `number` of producer `who`.
pub(crate) fn item(who: usize, number: usize) -> Tracked {
    Tracked::new(100 * who + number)
}

/// A consumer that expects each producer's items 0, 1, 2 and so on.
pub(crate) struct Inbox {
    pub(crate) consumer: Consumer<Tracked>,
    /// The next number of each producer.
    pub(crate) next: [usize; 3],
    pub(crate) taken: usize,
    /// Whether items may be missing, which were overwritten.
    gaps: bool,
}

impl Inbox {
    pub(crate) fn new(consumer: Consumer<Tracked>) -> Self {
        Inbox {
            consumer,
            next: [0; 3],
            taken: 0,
            gaps: false,
        }
    }

    /// For a ring that overwrites.
    pub(crate) fn with_gaps(consumer: Consumer<Tracked>) -> Self {
        let mut inbox = Inbox::new(consumer);
        inbox.gaps = true;
        inbox
    }

    pub(crate) fn receive(&mut self, item: &Tracked) {
        let (who, number) = (item.value() / 100, item.value() % 100);
        let next = &mut self.next[who];
        if self.gaps {
            assert!(number >= *next, "a producer's items come in its order");
        } else {
            assert_eq!(number, *next, "a producer's items come in its order");
        }
        *next = number + 1;
        self.taken += 1;
    }

    pub(crate) fn pop(&mut self) -> Result<(), PopError> {
        let item = self.consumer.pop()?;
        self.receive(&item);
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

    /// Takes the items out of a chunk that was handed over.
    pub(crate) fn empty(&mut self, chunk: OwnedChunk<Tracked>) {
        let len = chunk.len();
        assert_ne!(len, 0, "a chunk without items was handed over");
        let before = self.taken;
        for item in chunk {
            self.receive(&item);
        }
        assert_eq!(self.taken - before, len);
    }

    /// Tries to take `times` chunks.
    pub(crate) fn take(&mut self, times: usize) {
        for _ in 0..times {
            if let Ok(chunk) = self.consumer.take_chunk() {
                self.empty(chunk);
            }
        }
    }
}

/// Pushes items of producer `who`, numbered from `first` on, until `count` are in or one is refused.
/// Returns how many went in.
pub(crate) fn push(
    producer: &mut Producer<Tracked>,
    who: usize,
    first: usize,
    count: usize,
) -> usize {
    (0..count)
        .take_while(|index| producer.push(item(who, first + index)).is_ok())
        .count()
}

/// Puts `count` items of producer `who`, numbered from `first` on, into one reservation. Returns whether
/// there was room.
pub(crate) fn record(
    producer: &mut Producer<Tracked>,
    who: usize,
    first: usize,
    count: usize,
) -> bool {
    let Ok(mut grant) = producer.reserve(count) else {
        return false;
    };
    for index in 0..count {
        grant
            .push(item(who, first + index))
            .expect("the grant has a slot for it");
    }
    grant.commit_all();
    true
}
