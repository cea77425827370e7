//! One chunk: a heap block of slots, and nothing about what they hold.

use crate::primitive::{Slot, alloc, dealloc};
use core::alloc::Layout;
use core::ptr::NonNull;

/// Chunks begin on a boundary of two cache lines, so that the first and the last slots of a chunk
/// share no line with another chunk (nor with its prefetched neighbour).
const CHUNK_ALIGN: usize = 128;

/// The memory layout of a chunk of `len` slots, or `None` where it exceeds `isize::MAX` bytes once
/// rounded up to the alignment.
fn layout<T>(len: usize) -> Option<Layout> {
    Layout::array::<Slot<T>>(len)
        .ok()?
        .align_to(CHUNK_ALIGN)
        .ok()
}

/// Whether a chunk of `len` slots can exist at all.
pub(crate) fn fits_address_space<T>(len: usize) -> bool {
    layout::<T>(len).is_some()
}

/// Allocates a chunk of `len` empty slots; `None` where the allocator refuses.
///
/// The slots are made in place on the heap, so a chunk of any size needs no stack. A chunk of
/// zero-sized items takes no memory.
pub(crate) fn allocate<T>(len: usize) -> Option<NonNull<Slot<T>>> {
    let layout = layout::<T>(len)?;
    let first = if layout.size() == 0 {
        // As aligned as `layout` asks for; there is nothing to read or write behind it.
        core::ptr::without_provenance_mut(layout.align())
    } else {
        // SAFETY: the layout's size is not zero.
        unsafe { alloc(layout) }.cast::<Slot<T>>()
    };
    let first = NonNull::new(first)?;
    if Slot::<T>::NEEDS_INIT {
        for index in 0..len {
            // SAFETY: `index` is within the `len` slots just allocated.
            unsafe { first.add(index).write(Slot::new()) };
        }
    }
    Some(first)
}

/// Gives a chunk's memory back. The items must have been moved out or dropped.
///
/// # Safety
/// `first` must come from [`allocate`] with the same `len` and type, and nothing may use it later.
pub(crate) unsafe fn free<T>(first: NonNull<Slot<T>>, len: usize) {
    if Slot::<T>::NEEDS_INIT {
        for index in 0..len {
            // SAFETY: `allocate` has made every one of the `len` slots.
            unsafe { first.add(index).drop_in_place() };
        }
    }
    let Some(layout) = layout::<T>(len) else {
        unreachable!("a chunk of {len} slots was allocated, so it has a layout")
    };
    if layout.size() != 0 {
        // SAFETY: `allocate` has used the same layout.
        unsafe { dealloc(first.as_ptr().cast(), layout) };
    }
}
