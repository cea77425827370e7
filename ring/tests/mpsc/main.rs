//! The ring for several producers: what both kinds of ring promise, and what only this one does.

#[path = "../nothing/mod.rs"]
mod nothing;
#[path = "../witness/mod.rs"]
mod witness;

/// What the shared tests are about.
mod kind {
    pub(crate) use chunkring::mpsc::*;
    use chunkring::{BuildError, Builder};

    pub(crate) trait Make {
        fn ring<T>(&self) -> Result<(Producer<T>, Consumer<T>), BuildError>;
    }

    impl Make for Builder {
        fn ring<T>(&self) -> Result<(Producer<T>, Consumer<T>), BuildError> {
            self.mpsc()
        }
    }

    /// How long chunks become where so many slots are asked for.
    pub(crate) fn rounded(chunk_len: usize) -> usize {
        chunk_len.next_power_of_two()
    }

    /// What a consumer does that would like the current chunk to be complete.
    pub(crate) fn want_seal<T>(consumer: &mut Consumer<T>) {
        consumer.seal();
    }

    /// What a producer does now and then for that consumer: nothing, since a consumer seals by itself.
    pub(crate) fn seal_if_wanted<T>(_: &mut Producer<T>) {}

    /// How long chunks can be where positions and memory set this bound.
    pub(crate) fn longest(bound: usize) -> usize {
        bound.min(1 << 24)
    }

    /// Whether a producer counts slots that were left unused.
    pub(crate) const UNUSED_COUNT: bool = true;

    /// Goes past slots that were left unused behind the last item, by a look.
    pub(crate) fn pass_unused<T>(consumer: &mut Consumer<T>) {
        assert!(consumer.read().is_err());
    }

    /// Bytes that a chunk of so many items of type `T` takes.
    pub(crate) fn chunk_bytes<T>(chunk_len: usize) -> usize {
        // What the pool keeps of each, and the flags, before the first slot.
        let align = align_of::<T>().max(128);
        (16 + chunk_len).next_multiple_of(align) + chunk_len * size_of::<T>()
    }
}

#[path = "../either/alignment.rs"]
mod alignment;
#[path = "../either/drops.rs"]
mod drops;
#[path = "../either/hand_off.rs"]
mod hand_off;
#[cfg(feature = "std")]
#[path = "../either/io.rs"]
mod io;
#[path = "../either/items.rs"]
mod items;
#[path = "../either/panics.rs"]
mod panics;
#[path = "../either/policies.rs"]
mod policies;
#[path = "../either/pool.rs"]
mod pool;
#[path = "../either/read.rs"]
mod read;
#[path = "../either/reserve.rs"]
mod reserve;
#[path = "../either/resize.rs"]
mod resize;
#[path = "../either/several.rs"]
mod several;
#[path = "../either/shape.rs"]
mod shape;
#[path = "../either/stress.rs"]
mod stress;
#[path = "../either/traits.rs"]
mod traits;
#[path = "../either/wrap.rs"]
mod wrap;
#[path = "../either/zst.rs"]
mod zst;

mod bounds;
mod clones;
mod load;
mod model;
mod overwrite;
mod runs;
mod script;
mod unused;
