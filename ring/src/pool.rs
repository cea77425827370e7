//! Where chunks' memory comes from, and where it goes: idle blocks, a budget, a source behind both.
//!
//! A pool knows nothing of items or rings: it hands out blocks of memory. Rings of different items
//! may share one.
//!
//! # Orderings
//!
//! | word | pairs |
//! |---|---|
//! | a place of the bag | the Release exchange that puts a block in with the Acquire swap that takes it out: whoever has it next sees it as its last owner left it |
//! | `budget` | a setting, Relaxed, but for the exchanges (AcqRel) of whoever changes it and of whoever has put a block into the bag: the later of the two sees what the other has done, and frees the block where it is too many |
//! | `used` | a count, Relaxed: no memory is reached through it |

use crate::counted::Counted;
use crate::error::BuildError;
#[cfg(feature = "std")]
use crate::event::Event;
use crate::primitive::{
    AtomicPtr, AtomicUsize, Handover, Ordering, alloc, dealloc, load_before_write,
    load_ptr_before_write, or_few_in_a_model,
};
use alloc::boxed::Box;
use core::alloc::Layout;
use core::fmt;
use core::ptr::{self, NonNull};

/// Idle blocks that a pool holds at most.
const BAG: usize = or_few_in_a_model(16, 1);

/// Where a pool gets memory from, if not from the global allocator.
///
/// # Safety
/// What [`allocate`](Self::allocate) gives must be writable memory of that layout that nothing else
/// uses until it is [freed](Self::free).
///
/// Neither should panic: the ring stays sound, but memory may be lost, or a chunk stay where it is.
///
/// # Examples
///
/// A source that refuses now and then, for tests:
///
/// ```
/// use chunkring::{Pool, Source};
/// use std::alloc::{Layout, alloc, dealloc};
/// use std::ptr::NonNull;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// #[derive(Default)]
/// struct EveryOther(AtomicUsize);
///
/// // SAFETY: all memory is the global allocator's.
/// unsafe impl Source for EveryOther {
///     fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
///         if self.0.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
///             return None;
///         }
///         // SAFETY: a chunk's layout is never of size zero.
///         NonNull::new(unsafe { alloc(layout) })
///     }
///
///     unsafe fn free(&self, memory: NonNull<u8>, layout: Layout) {
///         // SAFETY: the caller gives back what `allocate` gave, with the same layout.
///         unsafe { dealloc(memory.as_ptr(), layout) }
///     }
/// }
///
/// let pool = Pool::with_source(usize::MAX, EveryOther::default())?;
/// # Ok::<(), chunkring::BuildError>(())
/// ```
pub unsafe trait Source: Send + Sync {
    /// Memory of that layout, whose size is never zero; `None` where there is none.
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>>;

    /// Takes memory back.
    ///
    /// # Safety
    /// `memory` must come from [`allocate`](Self::allocate) of the same source with the same
    /// `layout`, and nothing may use it any more.
    unsafe fn free(&self, memory: NonNull<u8>, layout: Layout);
}

/// Memory for chunks, with a budget, shared by as many rings as one likes. Clones are the same pool.
///
/// All memory of chunks counts against the budget (in bytes, headers and alignment included): those
/// in rings, those [taken out](crate::spsc::Consumer::take_chunk) and not dropped yet, and the idle
/// ones that the pool keeps to be used again, at most 16 at a time. A chunk that the budget has no
/// room for is refused as if the ring were full. Rings whose chunks differ in size free each other's
/// idle ones, so rings of one size share a pool best.
///
/// # Examples
///
/// Two rings that may take one mebibyte between them:
///
/// ```
/// use chunkring::{Builder, Pool};
///
/// let pool = Pool::new(1 << 20)?;
/// let (mut producer, _consumer) = Builder::new(1024, 8).pool(&pool).spsc::<u64>()?;
/// let (_producer, _consumer) = Builder::new(512, 4).pool(&pool).spsc::<[u8; 16]>()?;
/// assert_eq!(pool.used(), 0, "chunks come when they are needed");
/// producer.push(1).unwrap();
/// assert!(pool.used() > 8192 && pool.used() < 9000);
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Pool(Counted<Inner>);

struct Inner {
    /// Bytes of all blocks that live.
    used: AtomicUsize,
    /// Bytes that `used` may not exceed by taking another block.
    budget: AtomicUsize,
    bag: [AtomicPtr<Block>; BAG],
    source: Option<Box<dyn Source>>,
    /// What the producers of all rings of the pool wait for: a chunk, whether it is the ring that may
    /// have one more or the pool.
    #[cfg(feature = "std")]
    room: Event,
}

/// What a block of memory begins with.
pub(crate) struct Block {
    pub(crate) layout: Layout,
    handed_over: Handover,
}

/// Why a pool has no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoBlock {
    /// The budget has no room for it.
    Budget,
    /// The source has no memory for it.
    Memory,
}

impl Pool {
    /// A pool of at most `budget` bytes, from the global allocator.
    ///
    /// A budget that is less than a chunk, 0 among them, is a budget like any other: it has room for no
    /// chunk, so every push is refused as full until [`set_budget`](Self::set_budget) makes room.
    ///
    /// # Errors
    /// [`BuildError::OutOfMemory`] where memory for the pool itself cannot be had.
    ///
    /// ```
    /// use chunkring::{Builder, Pool};
    ///
    /// let pool = Pool::new(0)?;
    /// let (mut producer, _consumer) = Builder::new(64, 4).pool(&pool).spsc::<u8>()?;
    /// assert!(producer.push(1).unwrap_err().is_full());
    /// pool.set_budget(1 << 20);
    /// producer.push(1).unwrap();
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn new(budget: usize) -> Result<Self, BuildError> {
        Pool::made(budget, None)
    }

    /// A pool of at most `budget` bytes, from a source of one's own.
    ///
    /// # Errors
    /// [`BuildError::OutOfMemory`] where memory for the pool itself cannot be had.
    ///
    /// ```
    /// use chunkring::{Builder, Pool, Source};
    /// use std::{alloc::Layout, ptr::NonNull};
    ///
    /// /// A source that has nothing.
    /// struct Nothing;
    /// // SAFETY: no memory is ever given.
    /// unsafe impl Source for Nothing {
    ///     fn allocate(&self, _: Layout) -> Option<NonNull<u8>> {
    ///         None
    ///     }
    ///     unsafe fn free(&self, _: NonNull<u8>, _: Layout) {}
    /// }
    ///
    /// let pool = Pool::with_source(usize::MAX, Nothing)?;
    /// let (mut producer, _consumer) = Builder::new(8, 2).pool(&pool).spsc()?;
    /// assert!(producer.push(1).unwrap_err().is_full());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn with_source(budget: usize, source: impl Source + 'static) -> Result<Self, BuildError> {
        let source = boxed(source).ok_or(BuildError::OutOfMemory)?;
        Pool::made(budget, Some(source))
    }

    fn made(budget: usize, source: Option<Box<dyn Source>>) -> Result<Self, BuildError> {
        let inner = Inner {
            used: AtomicUsize::new(0),
            budget: AtomicUsize::new(budget),
            bag: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            source,
            #[cfg(feature = "std")]
            room: Event::new(),
        };
        Counted::new(inner).map(Pool).ok_or(BuildError::OutOfMemory)
    }

    /// Bytes of all chunks that live, idle ones included.
    ///
    /// ```
    /// assert_eq!(chunkring::Pool::new(1 << 20)?.used(), 0);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Bytes that the pool may use.
    ///
    /// ```
    /// assert_eq!(chunkring::Pool::new(1 << 20)?.budget(), 1 << 20);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn budget(&self) -> usize {
        self.0.budget.load(Ordering::Relaxed)
    }

    /// Changes the budget, from any thread at any time. Idle chunks beyond a smaller one are freed
    /// at once; chunks in use stay, and new ones are refused until enough of those have come back.
    /// Producers that wait for memory (feature `std`) look again.
    ///
    /// ```
    /// let pool = chunkring::Pool::new(1 << 20)?;
    /// pool.set_budget(1 << 16);
    /// assert_eq!(pool.budget(), 1 << 16);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn set_budget(&self, bytes: usize) {
        // Release, Acquire: pairs with the exchange in `put`; a block that was put in under the old
        // budget is seen below.
        self.0.budget.swap(bytes, Ordering::AcqRel);
        if self.used() > bytes {
            self.trim();
        }
        self.room_came();
    }

    /// Frees the idle chunks that the pool keeps.
    ///
    /// ```
    /// let pool = chunkring::Pool::new(1 << 20)?;
    /// pool.trim();
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn trim(&self) {
        for place in &self.0.bag {
            if let Some(block) = take(place) {
                // SAFETY: the bag's blocks are nobody's, and this one is not in the bag any more.
                unsafe { self.free(block) };
            }
        }
    }

    /// A block of exactly that layout, which must begin with room for a [`Block`]: an idle one, or a
    /// new one as far as budget and source allow.
    pub(crate) fn get(&self, layout: Layout) -> Result<NonNull<Block>, NoBlock> {
        for place in &self.0.bag {
            let Some(block) = take(place) else { continue };
            // SAFETY: the block is not in the bag any more, so it is this call's.
            if unsafe { block.as_ref() }.layout == layout {
                return Ok(block);
            }
            // Another ring's, or one from before a change of length. It would only stand in the way
            // of those that can be used.
            // SAFETY: as above.
            unsafe { self.free(block) };
        }
        self.reserve(layout.size()).ok_or(NoBlock::Budget)?;
        let block = self.0.allocate(layout);
        if block.is_none() {
            self.0.used.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        block.ok_or(NoBlock::Memory)
    }

    /// Counts `bytes` as used, where the budget has room for them.
    fn reserve(&self, bytes: usize) -> Option<()> {
        let budget = self.budget();
        let mut used = load_before_write(&self.0.used, Ordering::Relaxed);
        loop {
            let more = used.checked_add(bytes).filter(|more| *more <= budget)?;
            match self.0.used.compare_exchange_weak(
                used,
                more,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(()),
                Err(seen) => used = seen,
            }
        }
    }

    /// Keeps a block to be used again, or frees it where there are enough.
    ///
    /// # Safety
    /// The block must come from [`get`](Self::get), and nothing may use it any more.
    pub(crate) unsafe fn put(&self, block: NonNull<Block>) {
        // SAFETY: as the caller says, the block is still this call's.
        unsafe { block.as_ref() }.handed_over.touch();
        if self.used() <= self.budget() {
            for place in &self.0.bag {
                // Release: pairs with the Acquire swap in `take`.
                let put = place.compare_exchange(
                    ptr::null_mut(),
                    block.as_ptr(),
                    Ordering::Release,
                    Ordering::Relaxed,
                );
                if put.is_ok() {
                    // Release, Acquire: pairs with the exchange in `set_budget`, which may have
                    // looked for idle blocks just before this one came.
                    if self.used() > self.0.budget.fetch_add(0, Ordering::AcqRel) {
                        self.trim();
                    }
                    self.room_came();
                    return;
                }
            }
        }
        // SAFETY: the caller gives the block up.
        unsafe { self.free(block) };
    }

    /// Gives a block back to the source.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    pub(crate) unsafe fn free(&self, block: NonNull<Block>) {
        // SAFETY: the caller gives the block up, so it is this call's.
        let size = unsafe { block.as_ref() }.layout.size();
        // SAFETY: as above; `get` had it from the same source.
        unsafe { self.0.free(block) };
        self.0.used.fetch_sub(size, Ordering::Relaxed);
        self.room_came();
    }

    /// Wakes the producers that wait for a chunk. To be called after whatever may let them have one.
    pub(crate) fn room_came(&self) {
        #[cfg(feature = "std")]
        self.0.room.notify();
    }

    /// What those producers wait for.
    #[cfg(feature = "std")]
    pub(crate) fn room(&self) -> &Event {
        &self.0.room
    }
}

/// `Box::new`, but for `None` where it would abort the process; then `source` is dropped.
fn boxed<S: Source>(source: S) -> Option<Box<S>> {
    let layout = Layout::new::<S>();
    if layout.size() == 0 {
        // No memory is asked for.
        return Some(Box::new(source));
    }
    // Not loom's, since the box gives it back to the language's.
    // SAFETY: the layout's size is not zero.
    let memory = NonNull::new(unsafe { ::alloc::alloc::alloc(layout) })?.cast::<S>();
    // SAFETY: the memory is the global allocator's, for one `S`, and nothing else uses it.
    unsafe {
        memory.write(source);
        Some(Box::from_raw(memory.as_ptr()))
    }
}

/// Takes a block out of a place of the bag.
fn take(place: &AtomicPtr<Block>) -> Option<NonNull<Block>> {
    // Most places are empty most of the time.
    if load_ptr_before_write(place, Ordering::Relaxed).is_null() {
        return None;
    }
    // Acquire: pairs with the Release exchange in `put`.
    let block = NonNull::new(place.swap(ptr::null_mut(), Ordering::Acquire))?;
    // SAFETY: the block is not in the bag any more, so it is this call's.
    unsafe { block.as_ref() }.handed_over.touch();
    Some(block)
}

impl Inner {
    fn allocate(&self, layout: Layout) -> Option<NonNull<Block>> {
        debug_assert!(layout.size() >= size_of::<Block>() && layout.align() >= align_of::<Block>());
        let memory = match &self.source {
            Some(source) => source.allocate(layout),
            // SAFETY: the layout has room for a block's head, so its size is not zero.
            None => NonNull::new(unsafe { alloc(layout) }),
        };
        let block = memory?.cast::<Block>();
        // SAFETY: the memory is new, large enough and aligned for more than a block's head.
        unsafe {
            block.write(Block {
                layout,
                handed_over: Handover::new(),
            })
        };
        Some(block)
    }

    /// # Safety
    /// The block must come from `allocate`, and nothing may use it any more.
    unsafe fn free(&self, block: NonNull<Block>) {
        // SAFETY: the caller gives the block up, so it is this call's.
        let Block { layout, .. } = unsafe { block.read() };
        match &self.source {
            // SAFETY: the source gave this memory for this layout.
            Some(source) => unsafe { source.free(block.cast(), layout) },
            // SAFETY: the global allocator gave this memory for this layout.
            None => unsafe { dealloc(block.as_ptr().cast(), layout) },
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The last owner is gone, and with it every block that is not in the bag.
        for place in &self.bag {
            if let Some(block) = take(place) {
                // SAFETY: the bag's blocks are nobody's, and this one is not in the bag any more.
                unsafe { self.free(block) };
            }
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("used", &self.used())
            .field("budget", &self.budget())
            .finish_non_exhaustive()
    }
}
