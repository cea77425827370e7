//! What one word says of a chunk: where it is, how long, and which round of the table it was installed in.

use super::word::Seq;
use crate::primitive::Slot;
use core::ptr::{self, NonNull};

/// What an entry says.
pub(super) enum Entry<T> {
    /// There is no chunk.
    Empty,
    Chunk(Chunk<T>),
}

/// A chunk as its entry describes it.
pub(super) struct Chunk<T> {
    pub(super) first: NonNull<Slot<T>>,
    pub(super) log2: u32,
    /// Which of two neighbouring rounds of the table it was installed in.
    pub(super) lap: usize,
}

impl<T> Chunk<T> {
    pub(super) fn len(&self) -> usize {
        1 << self.log2
    }
}

// Chunks begin on a boundary of at least 128 bytes, which leaves seven bits of an entry.
const EMPTY: usize = 1;
const LOG2_SHIFT: u32 = 1;
const LOG2_MASK: usize = 31;
const LAP_SHIFT: u32 = 6;
const ADDRESS_MASK: usize = !127;

/// The entry that waits for chunk `seq`.
pub(super) fn empty<T>(seq: Seq) -> *mut Slot<T> {
    ptr::without_provenance_mut(seq.low() << 1 | EMPTY)
}

pub(super) fn pack<T>(chunk: &Chunk<T>) -> *mut Slot<T> {
    let bits = (chunk.log2 as usize) << LOG2_SHIFT | chunk.lap << LAP_SHIFT;
    debug_assert_eq!(
        chunk.first.addr().get() & !ADDRESS_MASK,
        0,
        "chunks are aligned"
    );
    // Exposed: of the chunk of its last claim, a producer remembers no more than where it is.
    chunk.first.as_ptr().expose_provenance();
    chunk.first.as_ptr().map_addr(|address| address | bits)
}

#[inline(always)]
pub(super) fn unpack<T>(entry: *mut Slot<T>) -> Entry<T> {
    let bits = entry.addr();
    if bits & EMPTY != 0 {
        return Entry::Empty;
    }
    match NonNull::new(entry.map_addr(|address| address & ADDRESS_MASK)) {
        Some(first) => Entry::Chunk(Chunk {
            first,
            log2: (bits >> LOG2_SHIFT & LOG2_MASK) as u32,
            lap: bits >> LAP_SHIFT & 1,
        }),
        None => Entry::Empty,
    }
}

/// The word for an idle chunk.
pub(super) fn pack_idle<T>(first: NonNull<Slot<T>>, len: usize) -> *mut Slot<T> {
    let log2 = len.trailing_zeros();
    pack(&Chunk {
        first,
        log2,
        lap: 0,
    })
}

/// The idle chunk of a word, if there is one: its first slot and its length.
pub(super) fn unpack_idle<T>(word: *mut Slot<T>) -> Option<(NonNull<Slot<T>>, usize)> {
    match unpack(word) {
        Entry::Chunk(chunk) => Some((chunk.first, chunk.len())),
        Entry::Empty => None,
    }
}
