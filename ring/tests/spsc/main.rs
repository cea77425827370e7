//! The ring for one producer: what both kinds of ring promise, and what only this one does.

#[path = "../nothing/mod.rs"]
mod nothing;
#[path = "../witness/mod.rs"]
mod witness;

/// What the shared tests are about.
mod kind {
    pub(crate) use chunkring::spsc::*;
    use chunkring::{BuildError, Builder};

    pub(crate) trait Make {
        fn ring<T>(&self) -> Result<(Producer<T>, Consumer<T>), BuildError>;
    }

    impl Make for Builder {
        fn ring<T>(&self) -> Result<(Producer<T>, Consumer<T>), BuildError> {
            self.spsc()
        }
    }

    /// How long chunks become where so many slots are asked for.
    pub(crate) fn rounded(chunk_len: usize) -> usize {
        chunk_len
    }

    /// What a consumer does that would like the current chunk to be complete.
    pub(crate) fn want_seal<T>(consumer: &mut Consumer<T>) {
        consumer.request_seal();
    }

    /// What a producer does now and then for that consumer.
    pub(crate) fn seal_if_wanted<T>(producer: &mut Producer<T>) {
        producer.seal_if_requested();
    }

    /// How long chunks can be where positions and memory set this bound.
    pub(crate) fn longest(bound: usize) -> usize {
        bound
    }

    /// Whether a producer counts slots that were left unused.
    pub(crate) const UNUSED_COUNT: bool = false;

    /// Goes past slots that were left unused behind the last item: they have gone with it.
    pub(crate) fn pass_unused<T>(_: &mut Consumer<T>) {}

    /// Bytes that a chunk of so many items of type `T` takes.
    pub(crate) fn chunk_bytes<T>(chunk_len: usize) -> usize {
        128_usize.next_multiple_of(align_of::<T>()) + chunk_len * size_of::<T>()
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
mod seal;
mod unused;
