//! What is asked of a polling half, and the halves of each kind of ring that have it. Nothing here
//! waits.
//!
//! What the public traits ask for is hidden: it is the crate's own, and the wrappers have methods for it.

use crate::control::Control;
use crate::error::{PopError, PushError, ReserveError, TakeError};
use crate::owned::OwnedChunk;
use crate::spsc;

pub(super) mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// A producer that can be [paired](super::pair): [`spsc::Producer`] or
/// [`mpsc::Producer`](crate::mpsc::Producer). It cannot be implemented elsewhere.
///
/// ```
/// fn send_all<P: chunkring::wait::Push<Item = u8>>(producer: &mut chunkring::wait::Producer<P>) {
///     for byte in *b"abc" {
///         producer.push_wait(byte).unwrap();
///     }
/// }
/// ```
pub trait Push: Sealed + Sized {
    /// What is pushed.
    type Item;

    #[doc(hidden)]
    fn push(&mut self, item: Self::Item) -> Result<(), PushError<Self::Item>>;
    #[doc(hidden)]
    fn control(&self) -> Control<Self::Item>;
    #[doc(hidden)]
    fn is_closed(&self) -> bool;
    #[doc(hidden)]
    fn items(&self) -> usize;
    #[doc(hidden)]
    fn free_slots(&self) -> usize;
    #[doc(hidden)]
    fn capacity(&self) -> usize;
    #[doc(hidden)]
    fn chunk_len(&self) -> usize;
    /// Whether the ring may have one more chunk: where it has refused all the same, memory is short.
    #[doc(hidden)]
    fn may_begin(&self) -> bool;
    /// Whether there are other producers of the same ring.
    #[doc(hidden)]
    fn is_cloned(&self) -> bool {
        false
    }
}

/// A producer whose slots can be reserved side by side: [`spsc::Producer`] or
/// [`mpsc::Producer`](crate::mpsc::Producer). It cannot be implemented elsewhere.
///
/// ```
/// fn send<P: chunkring::wait::Reserve>(producer: &mut chunkring::wait::Producer<P>) {
///     assert!(producer.reserve_wait(1).is_ok());
/// }
/// ```
pub trait Reserve: Push {
    /// The slots of the polling half.
    type Grant<'a>: Commit<Item = Self::Item>
    where
        Self: 'a;

    #[doc(hidden)]
    fn reserve(&mut self, count: usize) -> Result<Self::Grant<'_>, ReserveError>;
    /// Changes where a chunk is ended: another number then.
    #[doc(hidden)]
    fn begun(&self) -> usize;
    #[doc(hidden)]
    fn seal(&mut self);
}

/// Reserved slots of a polling half: [`spsc::Grant`] or
/// [`mpsc::Grant`](crate::mpsc::Grant). It cannot be implemented elsewhere.
///
/// ```
/// fn commit<G: chunkring::wait::Commit>() {}
/// commit::<chunkring::spsc::Grant<'static, u8>>();
/// ```
pub trait Commit: Sealed {
    /// What the slots are for.
    type Item;

    #[cfg(not(loom))]
    #[doc(hidden)]
    fn extend_from_slice(&mut self, items: &[Self::Item])
    where
        Self::Item: Copy;
    #[doc(hidden)]
    fn commit(self, count: usize);
    #[doc(hidden)]
    fn commit_all(self);
    /// As of the producer whose slots they are.
    #[doc(hidden)]
    fn begun(&self) -> usize;
}

/// A consumer that can be [paired](super::pair): [`spsc::Consumer`] or
/// [`mpsc::Consumer`](crate::mpsc::Consumer). It cannot be implemented elsewhere.
///
/// ```
/// fn sum<C: chunkring::wait::Pop<Item = u64>>(consumer: chunkring::wait::Consumer<C>) -> u64 {
///     consumer.into_iter().sum()
/// }
/// ```
pub trait Pop: Sealed + Sized {
    /// What is popped.
    type Item;

    #[doc(hidden)]
    fn pop(&mut self) -> Result<Self::Item, PopError>;
    #[doc(hidden)]
    fn control(&self) -> Control<Self::Item>;
    #[doc(hidden)]
    fn is_closed(&self) -> bool;
    #[doc(hidden)]
    fn items(&self) -> usize;
    #[doc(hidden)]
    fn capacity(&self) -> usize;
    /// Changes where a chunk is given back: another number then.
    #[doc(hidden)]
    fn given_back(&self) -> usize;
}

/// A consumer whose items can be read in place: [`spsc::Consumer`] or
/// [`mpsc::Consumer`](crate::mpsc::Consumer). It cannot be implemented elsewhere.
///
/// ```
/// fn read<C: chunkring::wait::Read>(consumer: &mut chunkring::wait::Consumer<C>) {
///     consumer.read_wait().unwrap().release_all();
/// }
/// ```
pub trait Read: Pop {
    /// The items of the polling half.
    #[cfg(not(loom))]
    type Slice<'a>: Release + core::ops::Deref<Target = [Self::Item]>
    where
        Self: 'a;

    /// The items of the polling half.
    #[cfg(loom)]
    type Slice<'a>: Release
    where
        Self: 'a;

    #[doc(hidden)]
    fn read(&mut self) -> Result<Self::Slice<'_>, PopError>;
    #[doc(hidden)]
    fn take_chunk(&mut self) -> Result<OwnedChunk<Self::Item>, TakeError>;
}

/// Items of a polling half, read in place: [`spsc::ReadSlice`] or
/// [`mpsc::ReadSlice`](crate::mpsc::ReadSlice). It cannot be implemented elsewhere.
///
/// ```
/// fn release<S: chunkring::wait::Release>() {}
/// release::<chunkring::spsc::ReadSlice<'static, u8>>();
/// ```
pub trait Release: Sealed {
    /// How many there are.
    #[doc(hidden)]
    fn ready(&self) -> usize;
    /// Says whether a chunk was given back.
    #[doc(hidden)]
    fn release(self, count: usize) -> bool;
}

impl<T> Sealed for spsc::Producer<T> {}
impl<T> Sealed for spsc::Consumer<T> {}
impl<T> Sealed for spsc::Grant<'_, T> {}
impl<T> Sealed for spsc::ReadSlice<'_, T> {}

impl<T> Push for spsc::Producer<T> {
    type Item = T;

    #[inline]
    fn push(&mut self, item: T) -> Result<(), PushError<T>> {
        self.push(item)
    }
    fn control(&self) -> Control<T> {
        self.control()
    }
    fn is_closed(&self) -> bool {
        self.is_closed()
    }
    fn items(&self) -> usize {
        self.len()
    }
    fn free_slots(&self) -> usize {
        self.free_slots()
    }
    fn capacity(&self) -> usize {
        self.capacity()
    }
    fn chunk_len(&self) -> usize {
        self.chunk_len()
    }
    fn may_begin(&self) -> bool {
        self.may_begin()
    }
}

impl<T> Reserve for spsc::Producer<T> {
    type Grant<'a>
        = spsc::Grant<'a, T>
    where
        T: 'a;

    #[inline]
    fn reserve(&mut self, count: usize) -> Result<spsc::Grant<'_, T>, ReserveError> {
        self.reserve(count)
    }
    #[inline]
    fn begun(&self) -> usize {
        self.begun()
    }
    fn seal(&mut self) {
        self.seal();
    }
}

impl<T> Commit for spsc::Grant<'_, T> {
    type Item = T;

    #[cfg(not(loom))]
    #[inline]
    fn extend_from_slice(&mut self, items: &[T])
    where
        T: Copy,
    {
        self.extend_from_slice(items);
    }
    #[inline]
    fn commit(self, count: usize) {
        self.commit(count);
    }
    #[inline]
    fn commit_all(self) {
        self.commit_all();
    }
    #[inline]
    fn begun(&self) -> usize {
        self.begun()
    }
}

impl<T> Pop for spsc::Consumer<T> {
    type Item = T;

    #[inline]
    fn pop(&mut self) -> Result<T, PopError> {
        self.pop()
    }
    fn control(&self) -> Control<T> {
        self.control()
    }
    fn is_closed(&self) -> bool {
        self.is_closed()
    }
    fn items(&self) -> usize {
        self.len()
    }
    fn capacity(&self) -> usize {
        self.capacity()
    }
    #[inline]
    fn given_back(&self) -> usize {
        self.given_back()
    }
}

impl<T> Read for spsc::Consumer<T> {
    type Slice<'a>
        = spsc::ReadSlice<'a, T>
    where
        T: 'a;

    #[inline]
    fn read(&mut self) -> Result<spsc::ReadSlice<'_, T>, PopError> {
        self.read()
    }
    fn take_chunk(&mut self) -> Result<OwnedChunk<T>, TakeError> {
        self.take_chunk()
    }
}

impl<T> Release for spsc::ReadSlice<'_, T> {
    #[inline]
    fn ready(&self) -> usize {
        self.ready()
    }
    #[inline]
    fn release(self, count: usize) -> bool {
        self.release_and_tell(count)
    }
}
