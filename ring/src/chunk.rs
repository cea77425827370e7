//! One chunk: a block of a pool's memory that holds slots, and nothing about what is in them.
//!
//! ```text
//!  block's start                                               first slot
//!  | what the pool keeps | used | ... | flags | ... | headroom | slot 0 | slot 1 | ... | slot len - 1 |
//!  `------------------------ offset -------------------------'
//! ```
//!
//! Chunks of a ring with several producers have a flag for every slot; others have none. The flags end where a cache
//! line does, so that they are in as few of those as can be, and in none that anything else is in where they fill it.

use crate::pool::{Block, NoBlock, Pool};
#[cfg(loom)]
use crate::primitive::Ordering;
use crate::primitive::{AtomicU8, AtomicUsize, LINE, Slot};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Blocks and slots begin on a boundary of two cache lines, so that the first and the last slots of
/// a chunk share no line with another chunk (nor with its prefetched neighbour).
const CHUNK_ALIGN: usize = 128;

/// What a chunk's block begins with.
#[repr(C)]
struct Head {
    block: Block,
    /// Slots that hold items once the chunk is complete, for rings whose table may have forgotten the
    /// chunk by then.
    used: AtomicUsize,
}

/// How the chunks of one ring are laid out: everything but their length.
#[derive(Debug)]
pub(crate) struct Form<T> {
    headroom: usize,
    /// Bytes of flags that come with each slot.
    flag_size: usize,
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
    /// Chunks of slots.
    pub(crate) fn new() -> Self {
        Form {
            headroom: 0,
            flag_size: 0,
            items: PhantomData,
        }
    }

    /// Chunks of slots with a flag for every one.
    pub(crate) fn with_flags() -> Self {
        Form {
            flag_size: size_of::<AtomicU8>(),
            ..Self::new()
        }
    }

    /// With `headroom` bytes before the first slot of a chunk of `len`, which must not be longer than
    /// [`max_len`](Self::max_len) before; where that cannot be, the most headroom that can.
    pub(crate) fn with_headroom(self, headroom: usize, len: usize) -> Result<Self, usize> {
        let most = self.max_headroom(len);
        if headroom > most {
            return Err(most);
        }
        Ok(Form { headroom, ..self })
    }

    /// What [`max_len`](Self::max_len) leaves of the address space to a chunk of `len`.
    fn max_headroom(self, len: usize) -> usize {
        let slots = len.saturating_mul(self.slot_size());
        let before = Self::MOST_BYTES
            .saturating_sub(self.padding())
            .saturating_sub(slots);
        // A block has an address behind its last slot also where slots take nothing.
        let before = before.min(Self::MOST_BYTES - Self::align());
        // A multiple of the alignment, which the first slot needs.
        let most =
            (before - before % Self::align()).saturating_sub(size_of::<Head>() + self.flag_size);
        // Behind flags it takes whole lines.
        if self.flag_size == 0 {
            most
        } else {
            most - most % LINE
        }
    }

    /// Bytes from the block's start to the first slot of a chunk of `len`.
    #[inline]
    fn offset(self, len: usize) -> Option<usize> {
        size_of::<Head>()
            .checked_add(self.flag_size.checked_mul(len)?)?
            .checked_add(self.after_flags()?)?
            .checked_next_multiple_of(Self::align())
    }

    /// Bytes from the end of the flags to the first slot: whole lines, where there are flags.
    #[inline]
    fn after_flags(self) -> Option<usize> {
        if self.flag_size == 0 {
            return Some(self.headroom);
        }
        self.headroom.checked_next_multiple_of(LINE)
    }

    /// The flag of the first slot; those of the others follow.
    ///
    /// # Safety
    /// `first` must come from [`make`](Self::make) of the same form, which has flags, with the same
    /// `len`.
    #[inline]
    pub(crate) unsafe fn flags(self, first: NonNull<Slot<T>>, len: usize) -> NonNull<AtomicU8> {
        debug_assert!(self.flag_size != 0, "the form has flags");
        // Cannot be none, since the chunk exists.
        let before = self.after_flags().unwrap_or(0) + len * self.flag_size;
        // SAFETY: the block begins that many bytes before the first slot at least, and those of its head besides.
        unsafe { first.cast::<u8>().sub(before) }.cast()
    }

    /// Makes the flags say that no slot is used.
    ///
    /// # Safety
    /// As for [`flags`](Self::flags), and the caller must have the chunk to itself.
    pub(crate) unsafe fn clear_flags(self, first: NonNull<Slot<T>>, len: usize) {
        // SAFETY: as the caller says.
        let flags = unsafe { self.flags(first, len) };
        #[cfg(loom)]
        for index in 0..len {
            // Relaxed: whoever gets the chunk next is told of it in order.
            // SAFETY: `index` is within the flags.
            unsafe { flags.add(index).as_ref() }.store(0, Ordering::Relaxed);
        }
        #[cfg(not(loom))]
        // SAFETY: the flags lie side by side and are the caller's alone; an atomic byte is laid out as
        // a byte.
        unsafe {
            flags.cast::<u8>().write_bytes(0, len);
        }
    }

    /// The block of a chunk.
    ///
    /// # Safety
    /// `first` must come from [`make`](Self::make) of the same form, with the same `len`.
    #[inline]
    unsafe fn block_of(self, first: NonNull<Slot<T>>, len: usize) -> NonNull<Block> {
        // Cannot be none, since the chunk exists.
        let offset = self.offset(len).unwrap_or(0);
        // SAFETY: `make` has put the first slot `offset` bytes behind the block's start.
        unsafe { first.cast::<u8>().sub(offset) }.cast()
    }

    /// The most bytes that a block can have.
    const MOST_BYTES: usize = isize::MAX as usize - (Self::align() - 1);

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
            .checked_add(self.offset(len)?)?;
        Layout::from_size_align(size, Self::align()).ok()
    }

    /// The longest chunk that can exist at all. (With flags, a few less than that: their padding depends
    /// on how many there are.)
    pub(crate) fn max_len(self) -> usize {
        let before = self.offset(0).unwrap_or(usize::MAX);
        Self::MOST_BYTES
            .saturating_sub(before)
            .saturating_sub(self.padding())
            .checked_div(self.slot_size())
            .unwrap_or(usize::MAX)
    }

    /// Bytes that a slot takes with its flag.
    fn slot_size(self) -> usize {
        size_of::<Slot<T>>() + self.flag_size
    }

    /// The most bytes that may be lost between the flags and the slots.
    fn padding(self) -> usize {
        if self.flag_size == 0 {
            0
        } else {
            Self::align() - 1
        }
    }

    /// Bytes of a block of a given length.
    pub(crate) fn block_size(self, len: usize) -> Option<usize> {
        Some(self.layout(len)?.size())
    }

    /// A chunk of `len` empty slots, as far as the pool has memory for it.
    ///
    /// The slots are made in place, so a chunk of any size needs no stack.
    pub(crate) fn make(self, len: usize, pool: &Pool) -> Result<NonNull<Slot<T>>, NoBlock> {
        // There are both, since a ring's chunks are no longer than `max_len`.
        let layout = self.layout(len).ok_or(NoBlock::Memory)?;
        let offset = self.offset(len).ok_or(NoBlock::Memory)?;
        let block = pool.get(layout)?;
        // SAFETY: the layout has `offset` bytes before the slots.
        let first = unsafe { block.cast::<u8>().add(offset) }.cast::<Slot<T>>();
        if self.flag_size != 0 {
            // SAFETY: the chunk is this call's; a flag is not read before it is written.
            unsafe {
                #[cfg(loom)]
                let flags = self.flags(first, len);
                #[cfg(loom)]
                for index in 0..len {
                    flags.add(index).write(AtomicU8::new(0));
                }
                self.clear_flags(first, len);
            }
        }
        if Slot::<T>::NEEDS_INIT {
            let head = block.cast::<Head>().as_ptr();
            // SAFETY: the layout has room for a head, and the block is this call's.
            unsafe { (&raw mut (*head).used).write(AtomicUsize::new(len)) };
            for index in 0..len {
                // SAFETY: `index` is within the `len` slots of the layout.
                unsafe { first.add(index).write(Slot::new()) };
            }
        }
        Ok(first)
    }

    /// The chunk's own word for how many of its slots hold items once it is complete. It says nothing
    /// before it has been stored to.
    ///
    /// # Safety
    /// `first` must come from [`make`](Self::make) of the same form, which has no flags, and the chunk must
    /// not be given up as long as the word is used.
    pub(crate) unsafe fn used<'a>(self, first: *mut Slot<T>) -> &'a AtomicUsize {
        debug_assert_eq!(self.flag_size, 0, "the offset is the same for every length");
        // Cannot be none, since the chunk exists.
        let offset = self.offset(0).unwrap_or(0);
        // SAFETY: `make` has put a head `offset` bytes before the first slot.
        unsafe { &(*first.cast::<u8>().sub(offset).cast::<Head>()).used }
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
        // SAFETY: as the caller says, `make` has made the chunk.
        let block = unsafe { self.block_of(first, len) };
        debug_assert_eq!(
            // SAFETY: the caller gives the block up, so it is this call's.
            Some(unsafe { block.as_ref() }.layout),
            self.layout(len),
            "the chunk is as long as it was made"
        );
        block
    }
}
