//! The halves of the ring for several producers.

use super::halves::{Commit, Pop, Push, Read, Release, Reserve, sealed::Sealed};
use crate::control::Control;
use crate::error::{PopError, PushError, ReserveError, TakeError};
use crate::mpsc;
use crate::owned::OwnedChunk;

impl<T> Sealed for mpsc::Producer<T> {}
impl<T> Sealed for mpsc::Consumer<T> {}
impl<T> Sealed for mpsc::Grant<'_, T> {}
impl<T> Sealed for mpsc::ReadSlice<'_, T> {}

impl<T> Push for mpsc::Producer<T> {
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
    fn is_cloned(&self) -> bool {
        self.is_cloned()
    }
}

impl<T> Reserve for mpsc::Producer<T> {
    type Grant<'a>
        = mpsc::Grant<'a, T>
    where
        T: 'a;

    #[inline]
    fn reserve(&mut self, count: usize) -> Result<mpsc::Grant<'_, T>, ReserveError> {
        self.reserve(count)
    }
    #[inline]
    fn begun(&self) -> usize {
        self.ended()
    }
    fn seal(&mut self) {
        self.seal();
    }
}

impl<T> Commit for mpsc::Grant<'_, T> {
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
        self.ended()
    }
}

impl<T> Pop for mpsc::Consumer<T> {
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

impl<T> Read for mpsc::Consumer<T> {
    type Slice<'a>
        = mpsc::ReadSlice<'a, T>
    where
        T: 'a;

    #[inline]
    fn read(&mut self) -> Result<mpsc::ReadSlice<'_, T>, PopError> {
        self.read()
    }
    fn take_chunk(&mut self) -> Result<OwnedChunk<T>, TakeError> {
        self.take_chunk()
    }
}

impl<T> Release for mpsc::ReadSlice<'_, T> {
    #[inline]
    fn ready(&self) -> usize {
        self.ready()
    }
    #[inline]
    fn release(self, count: usize) -> bool {
        self.release_and_tell(count)
    }
}
