//! One chunk: a block of a pool's memory that holds slots, and nothing about what is in them.
//!
//! ```text
//!  block's start                          first slot
//!  | what the pool keeps |  ... | headroom | slot 0 | slot 1 | ... | slot len - 1 |
//!  `---------------- offset ---------------'
//! ```

use crate::pool::{Block, Pool};
use crate::primitive::Slot;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Blocks and slots begin on a boundary of two cache lines, so that the first and the last slots of
/// a chunk share no line with another chunk (nor with its prefetched neighbour).
const CHUNK_ALIGN: usize = 128;

/// How the chunks of one ring are laid out: everything but their length.
#[derive(Debug)]
pub(crate) struct Form<T> {
    /// Bytes from the block's start to the first slot.
    offset: usize,
    headroom: usize,
    items: PhantomData<fn() -> T>,
}

// By hand, so that nothing is asked of `T`.
impl<T> Clone for Form<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Form<T> {}

impl<T> Form<T> {
    /// Chunks with `headroom` bytes before the first slot; `None` where that exceeds the address
    /// space.
    pub(crate) fn new(headroom: usize) -> Option<Self> {
        let offset = size_of::<Block>()
            .checked_add(headroom)?
            .checked_next_multiple_of(Self::align())?;
        let fits = offset <= isize::MAX as usize - Self::align();
        fits.then_some(Form {
            offset,
            headroom,
            items: PhantomData,
        })
    }

    const fn align() -> usize {
        if align_of::<Slot<T>>() > CHUNK_ALIGN {
            align_of::<Slot<T>>()
        } else {
            CHUNK_ALIGN
        }
    }

    /// Bytes before the first slot that are the owner's.
    pub(crate) fn headroom(self) -> usize {
        self.headroom
    }

    /// The layout of a block for `len` slots; `None` where it exceeds `isize::MAX` bytes.
    fn layout(self, len: usize) -> Option<Layout> {
        let size = size_of::<Slot<T>>()
            .checked_mul(len)?
            .checked_add(self.offset)?;
        Layout::from_size_align(size, Self::align()).ok()
    }

    /// The longest chunk that can exist at all.
    pub(crate) fn max_len(self) -> usize {
        let bytes = isize::MAX as usize - (Self::align() - 1) - self.offset;
        bytes
            .checked_div(size_of::<Slot<T>>())
            .unwrap_or(usize::MAX)
    }

    /// A chunk of `len` empty slots; `None` where the pool has no memory for it.
    ///
    /// The slots are made in place, so a chunk of any size needs no stack.
    pub(crate) fn make(self, len: usize, pool: &Pool) -> Option<NonNull<Slot<T>>> {
        let block = pool.get(self.layout(len)?)?;
        // SAFETY: the layout has `offset` bytes before the slots.
        let first = unsafe { block.cast::<u8>().add(self.offset) }.cast::<Slot<T>>();
        if Slot::<T>::NEEDS_INIT {
            for index in 0..len {
                // SAFETY: `index` is within the `len` slots of the layout.
                unsafe { first.add(index).write(Slot::new()) };
            }
        }
        Some(first)
    }

    /// Gives a chunk's memory back to the pool, which keeps it for the next one or frees it. The
    /// items must have been moved out or dropped.
    ///
    /// # Safety
    /// `first` must come from [`make`](Self::make) of the same form, with the same `len` and `pool`,
    /// and nothing may use it any more.
    pub(crate) unsafe fn put(self, first: NonNull<Slot<T>>, len: usize, pool: &Pool) {
        // SAFETY: the caller gives the chunk up.
        unsafe { pool.put(self.block(first, len)) };
    }

    /// As [`put`](Self::put), but frees the memory.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    pub(crate) unsafe fn free(self, first: NonNull<Slot<T>>, len: usize, pool: &Pool) {
        // SAFETY: the caller gives the chunk up.
        unsafe { pool.free(self.block(first, len)) };
    }

    /// The block of a chunk whose slots are done with.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    unsafe fn block(self, first: NonNull<Slot<T>>, len: usize) -> NonNull<Block> {
        if Slot::<T>::NEEDS_INIT {
            for index in 0..len {
                // SAFETY: `make` has made every one of the `len` slots.
                unsafe { first.add(index).drop_in_place() };
            }
        }
        // SAFETY: `make` has put the first slot `offset` bytes behind the block's start.
        let block = unsafe { first.cast::<u8>().sub(self.offset) }.cast::<Block>();
        debug_assert_eq!(
            // SAFETY: the caller gives the block up, so it is this call's.
            Some(unsafe { block.as_ref() }.layout),
            self.layout(len),
            "the chunk is as long as it was made"
        );
        block
    }
}
