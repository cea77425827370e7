//! Memory that is counted by cost centres: `evl_malloc` and its kin. C frees without a size, so each block has its own in
//! front of it.

use ghc_eventlog::objects::{LiveBytes, ProfiledAllocator};
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::ptr;

/// Alignment of all blocks, and bytes in front of each, which begin with the size of all.
const FRONT: usize = 16;

static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();

/// What is live.
pub(super) fn counts() -> &'static LiveBytes {
    ALLOCATOR.counts()
}

/// The layout of a block with what is in front of it, if there can be one.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(FRONT)?, FRONT).ok()
}

/// The part of an allocation that is C's.
///
/// # Safety
/// `base` is null, or an allocation of that layout.
unsafe fn hand_out(base: *mut u8, layout: Layout) -> *mut c_void {
    if base.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: it has so many bytes, and is aligned.
    unsafe {
        base.cast::<usize>().write(layout.size());
        base.add(FRONT).cast()
    }
}

/// The allocation that a block is in.
///
/// # Safety
/// `block` was handed out here, and has not been freed.
unsafe fn take_back(block: *mut c_void) -> (*mut u8, Layout) {
    // SAFETY: `hand_out` has put the size of a layout there.
    unsafe {
        let base = block.cast::<u8>().sub(FRONT);
        let size = base.cast::<usize>().read();
        (base, Layout::from_size_align_unchecked(size, FRONT))
    }
}

/// `evl_malloc`
#[unsafe(no_mangle)]
extern "C" fn evl_malloc(size: usize) -> *mut c_void {
    let Some(layout) = layout(size) else {
        return ptr::null_mut();
    };
    // SAFETY: its size is not 0, and it is handed out as it was allocated.
    unsafe { hand_out(ALLOCATOR.alloc(layout), layout) }
}

/// `evl_calloc`
#[unsafe(no_mangle)]
extern "C" fn evl_calloc(count: usize, size: usize) -> *mut c_void {
    let Some(layout) = count.checked_mul(size).and_then(layout) else {
        return ptr::null_mut();
    };
    // SAFETY: as above.
    unsafe { hand_out(ALLOCATOR.alloc_zeroed(layout), layout) }
}

/// `evl_realloc`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return evl_malloc(size);
    }
    let Some(new) = layout(size) else {
        return ptr::null_mut();
    };
    // SAFETY: the header asks for a block that was allocated here; the new size is not 0, and that of a layout of the
    // same alignment.
    unsafe {
        let (base, old) = take_back(block);
        hand_out(ALLOCATOR.realloc(base, old, new.size()), new)
    }
}

/// `evl_free`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_free(block: *mut c_void) {
    if !block.is_null() {
        // SAFETY: the header asks for a block that was allocated here.
        unsafe {
            let (base, layout) = take_back(block);
            ALLOCATOR.dealloc(base, layout);
        }
    }
}
