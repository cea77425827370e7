//! Atomics, allocation and the slot cell: the language's own, or loom's under `--cfg loom`.
//!
//! This is the only file that names loom. Nothing here knows about rings.

#[cfg(loom)]
use core::mem::ManuallyDrop;
#[cfg(not(loom))]
use core::mem::MaybeUninit;

#[cfg(loom)]
pub(crate) use loom::{
    alloc::{alloc, dealloc},
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering},
};

#[cfg(all(loom, feature = "std"))]
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic::fence};

#[cfg(all(not(loom), feature = "std"))]
pub(crate) use {
    core::sync::atomic::fence,
    std::sync::{Mutex, MutexGuard},
};

#[cfg(not(loom))]
pub(crate) use {
    ::alloc::alloc::{alloc, dealloc},
    core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering},
};

#[cfg(all(not(loom), target_has_atomic = "64"))]
pub(crate) use core::sync::atomic::AtomicU64;

/// A word that counts for as long as a program may run, where the target has one that wide.
#[cfg(any(loom, target_pointer_width = "64", not(target_has_atomic = "64")))]
pub(crate) use AtomicUsize as AtomicWide;
#[cfg(not(any(loom, target_pointer_width = "64", not(target_has_atomic = "64"))))]
pub(crate) use core::sync::atomic::AtomicU64 as AtomicWide;

/// What is in an [`AtomicWide`].
#[cfg(any(loom, target_pointer_width = "64", not(target_has_atomic = "64")))]
pub(crate) type Wide = usize;
#[cfg(not(any(loom, target_pointer_width = "64", not(target_has_atomic = "64"))))]
pub(crate) type Wide = u64;

/// The lower bits of a wide number, as many as a `usize` has.
#[allow(
    clippy::unnecessary_cast,
    reason = "it is one where the two are not the same"
)]
pub(crate) fn narrow(wide: Wide) -> usize {
    wide as usize
}

/// Memory for one item. Whether it holds one is known only to the ring's positions.
#[cfg(not(loom))]
#[repr(transparent)]
pub(crate) struct Slot<T>(core::cell::UnsafeCell<MaybeUninit<T>>);

/// Memory for one item, with every access checked for races by loom. It knows whether it holds one,
/// so that a model which takes a hole for an item ends in a panic and not in undefined behaviour;
/// it never drops one, so that an item which the ring forgets is a leak.
#[cfg(loom)]
pub(crate) struct Slot<T>(loom::cell::UnsafeCell<Option<ManuallyDrop<T>>>);

impl<T> Slot<T> {
    /// Whether fresh memory must be turned into slots one by one (loom's cells have state).
    pub(crate) const NEEDS_INIT: bool = cfg!(loom);

    /// An empty slot.
    pub(crate) fn new() -> Self {
        #[cfg(loom)]
        return Slot(loom::cell::UnsafeCell::new(None));
        #[cfg(not(loom))]
        Slot(core::cell::UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Puts `value` into the slot, without dropping what was there.
    ///
    /// # Safety
    /// Nobody else may access the slot during the call.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, value: T) {
        #[cfg(loom)]
        self.0.with_mut(|slot| {
            // SAFETY: the caller has the slot to itself.
            unsafe { *slot = Some(ManuallyDrop::new(value)) };
        });
        #[cfg(not(loom))]
        // SAFETY: the caller has the slot to itself.
        unsafe {
            self.0.get().cast::<T>().write(value);
        }
    }

    /// Moves the value out of the slot.
    ///
    /// # Safety
    /// The slot must hold a value, which counts as moved afterwards, and nobody else may access the
    /// slot during the call.
    #[inline(always)]
    pub(crate) unsafe fn read(&self) -> T {
        #[cfg(loom)]
        return self.0.with_mut(|slot| {
            // SAFETY: the caller has the slot to itself.
            let value = unsafe { (*slot).take() };
            ManuallyDrop::into_inner(value.expect("the slot holds an item"))
        });
        #[cfg(not(loom))]
        // SAFETY: the caller says that there is a value, and has the slot to itself.
        unsafe {
            self.0.get().cast::<T>().read()
        }
    }

    /// Lets `look` see the value.
    ///
    /// # Safety
    /// The slot must hold a value, and nobody may write the slot during the call.
    #[cfg(loom)]
    pub(crate) unsafe fn look(&self, look: impl FnOnce(&T)) {
        self.0.with(|slot| {
            // SAFETY: the caller says that there is no writer.
            let value = unsafe { (*slot).as_ref() };
            look(value.expect("the slot holds an item"));
        });
    }

    /// Moves the values of `count` slots from slot `from` on to those from slot `to` on, which comes
    /// before, or is the same.
    ///
    /// # Safety
    /// The slots must lie in the chunk that begins at `first`, and nobody else may access them during
    /// the call. Those from `from` on must hold values, which count as moved; those from `to` to `from`
    /// must not.
    pub(crate) unsafe fn move_down(
        first: core::ptr::NonNull<Self>,
        from: usize,
        to: usize,
        count: usize,
    ) {
        if from == to {
            return;
        }
        #[cfg(loom)]
        for index in 0..count {
            // SAFETY: as the caller says.
            unsafe {
                let value = first.add(from + index).as_ref().read();
                first.add(to + index).as_ref().write(value);
            }
        }
        #[cfg(not(loom))]
        // SAFETY: as the caller says.
        unsafe {
            first.add(to).copy_from(first.add(from), count);
        }
    }

    /// Items that lie within sixteen cache lines; never any under loom, which knows no lines.
    pub(crate) const FEW: usize = match size_of::<T>() {
        0 => 0,
        size if cfg!(not(loom)) => 1024 / size,
        _ => 0,
    };

    /// Slots of about a kibibyte, one at least.
    pub(crate) const STRIDE: usize = match size_of::<T>() {
        0 => usize::MAX,
        size if cfg!(not(loom)) && size < 1024 => 1024 / size,
        _ => 1,
    };

    /// Writes into each cache line that ends within `count` slots from `first` on. To be called by whoever has
    /// taken the values out and has done with the lines: a line that was only read must be asked for
    /// before it can be filled again, while one that was written is simply handed over, at a third of the cost.
    ///
    /// # Safety
    /// The slots must lie in one chunk and hold no values (but such as are leaked: nobody looks at them any
    /// more), and nobody else may access them during the call.
    #[inline(always)]
    pub(crate) unsafe fn finish(first: *mut Self, count: usize) {
        // Every slot ends a line.
        #[cfg(loom)]
        for index in 0..count {
            // SAFETY: the caller has the slots to itself.
            unsafe { &*first.add(index) }
                .0
                // SAFETY: as above.
                .with_mut(|slot| assert!(unsafe { (*slot).is_none() }, "the slot holds no item"));
        }
        #[cfg(not(loom))]
        {
            let start = first.cast::<u8>();
            // At most the size of a chunk.
            let bytes = count * size_of::<T>();
            // The last byte of the line in which the slots begin, and of each that follows.
            let first_last = LINE - 1 - start as usize % LINE;
            let mut last = start.wrapping_add(first_last);
            let end = start.wrapping_add(bytes);
            // SAFETY: the bytes lie within the slots, which the caller has to itself, and which hold nothing
            // that anybody looks at; a slot may be of any bytes.
            unsafe {
                // Eight at a time where there are many, since each is but one store.
                if bytes > 7 * LINE {
                    let mut eights = (bytes + LINE - 1 - first_last) / (8 * LINE);
                    while eights != 0 {
                        for line in 0..8 {
                            last.wrapping_add(line * LINE).write(0);
                        }
                        last = last.wrapping_add(8 * LINE);
                        eights -= 1;
                    }
                }
                while last < end {
                    last.write(0);
                    last = last.wrapping_add(LINE);
                }
            }
        }
    }

    /// Drops the values in `count` slots from `first` on. Where a drop panics, the others are still
    /// dropped.
    ///
    /// # Safety
    /// The slots must lie in one chunk and hold values, which count as moved afterwards, and nobody
    /// else may access them during the call.
    pub(crate) unsafe fn drop_range(first: *mut Self, count: usize) {
        // Without slots there may be no chunk either, and not even an empty slice begins at null.
        if count == 0 || !core::mem::needs_drop::<T>() {
            return;
        }
        #[cfg(loom)]
        drop(
            // A vector, since its drop goes on after a panic as that of a slice does.
            (0..count)
                // SAFETY: the caller says that the slots from `first` on hold values.
                .map(|index| unsafe { (*first.add(index)).read() })
                .collect::<::alloc::vec::Vec<T>>(),
        );
        #[cfg(not(loom))]
        // SAFETY: a slot is laid out as the value it holds, and the caller has the slots to itself.
        unsafe {
            core::ptr::slice_from_raw_parts_mut(first.cast::<T>(), count).drop_in_place();
        }
    }
}

/// Where a slot is, or the end of those that lie in a chunk. Slots of items that take no memory all lie in the same place,
/// and are still told apart: as if each took a byte.
pub(crate) struct Cursor<T>(*mut Slot<T>);

// By hand, so that nothing is asked of `T`.
impl<T> Clone for Cursor<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Cursor<T> {}

impl<T> PartialEq for Cursor<T> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Cursor<T> {
    /// Bytes from one slot to the next.
    const STEP: usize = if size_of::<Slot<T>>() == 0 {
        1
    } else {
        size_of::<Slot<T>>()
    };

    /// At no slot.
    pub(crate) fn nowhere() -> Self {
        Cursor(core::ptr::null_mut())
    }

    #[inline(always)]
    pub(crate) fn at(first: *mut Slot<T>) -> Self {
        Cursor(first)
    }

    /// So many slots on.
    #[inline(always)]
    pub(crate) fn after(self, count: usize) -> Self {
        Cursor(self.0.wrapping_byte_add(count * Self::STEP))
    }

    /// Slots from here to `other`, which must not come before.
    #[inline(always)]
    pub(crate) fn slots_to(self, other: Self) -> usize {
        other.0.addr().wrapping_sub(self.0.addr()) / Self::STEP
    }

    /// The slot. Only an address: it may be none.
    #[inline(always)]
    pub(crate) fn slot(self) -> *mut Slot<T> {
        if size_of::<Slot<T>>() == 0 {
            return core::ptr::NonNull::dangling().as_ptr();
        }
        self.0
    }
}

/// Counts as a write, so that memory which is given up while somebody may still look at it is found.
#[cfg(loom)]
impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        self.0.with_mut(|_| ());
    }
}

/// Loads a word that only the calling thread ever writes.
///
/// loom 0.7 forgets another thread's earlier access to an atomic once this thread has loaded it, and
/// then leaves out the interleavings of that access with this thread's next store; so under loom the
/// writer's own look goes past its scheduler.
#[inline(always)]
pub(crate) fn load_own(word: &AtomicUsize) -> usize {
    #[cfg(loom)]
    // SAFETY: no other thread writes the word.
    return unsafe { word.unsync_load() };
    #[cfg(not(loom))]
    word.load(Ordering::Relaxed)
}

/// Loads a word that the calling thread may write next, and other threads, too.
///
/// For loom such a load is an exchange of nothing, which it does not forget (see [`load_own`]); or,
/// where the environment's `LOOM_LOADS` is `plain`, a load, which may see an old value. Neither
/// explores everything, so models run in both ways.
#[inline(always)]
pub(crate) fn load_before_write(word: &AtomicUsize, order: Ordering) -> usize {
    #[cfg(loom)]
    if loads_are_exchanges() {
        return word.fetch_add(0, order);
    }
    word.load(order)
}

/// [`load_before_write`] for a word of 64 bits. An exchange that fails, so that loom has no store to put
/// behind another thread's plain one.
#[cfg(target_has_atomic = "64")]
#[inline(always)]
pub(crate) fn load_u64_before_write(word: &AtomicU64, order: Ordering) -> u64 {
    #[cfg(loom)]
    if loads_are_exchanges() {
        let outcome = word.compare_exchange(u64::MAX, u64::MAX, order, order);
        return outcome.unwrap_or_else(|seen| seen);
    }
    word.load(order)
}

/// [`load_before_write`] for a wide word.
#[inline(always)]
pub(crate) fn load_wide_before_write(word: &AtomicWide, order: Ordering) -> Wide {
    #[cfg(loom)]
    return load_before_write(word, order);
    #[cfg(not(loom))]
    word.load(order)
}

/// [`load_before_write`] for a pointer.
#[inline(always)]
pub(crate) fn load_ptr_before_write<T>(word: &AtomicPtr<T>, order: Ordering) -> *mut T {
    #[cfg(loom)]
    if loads_are_exchanges() {
        let nothing = core::ptr::null_mut();
        let outcome = word.compare_exchange(nothing, nothing, order, order);
        return outcome.unwrap_or_else(|seen| seen);
    }
    word.load(order)
}

/// A number that is `few` to a model, which explores all that comes of each one more.
pub(crate) const fn or_few_in_a_model(number: usize, few: usize) -> usize {
    if cfg!(loom) { few } else { number }
}

/// Whether a [`pause`] is of any use. To a model it is nothing, and another look afterwards only more to explore.
pub(crate) const PAUSES_COUNT: bool = cfg!(not(loom));

/// Flags that a consumer looks at before it decides.
pub(crate) const FLAGS_AT_ONCE: usize = or_few_in_a_model(8, 2);

/// Flags that lie in one cache line.
pub(crate) const FLAGS_IN_A_LINE: usize = or_few_in_a_model(LINE, 2);

/// Bytes that caches move at once, on most processors.
pub(crate) const LINE: usize = 64;

/// Asks for the cache line at `address`, to be written soon. Only a hint, so it need not even be memory.
#[inline(always)]
pub(crate) fn prefetch_to_write(address: usize) {
    // By hand, since the compiler makes a prefetch for reading of its intrinsic, and that leaves the line shared.
    // Processors that don't know the instruction take it for none; all but Intel's first ones of 64 bits, from 2004
    // and 2005, which the systems of today don't run on for the same reason.
    #[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
    // SAFETY: the instruction changes nothing that the program can see, and does not fault.
    unsafe {
        core::arch::asm!(
            "prefetchw [{}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly),
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, miri)))))]
    let _ = address;
}

/// Leaves the lines that others are at work on to them for a moment: a hint, of some 10 to 40 ns. Nothing to a
/// model, since nobody is waited for.
#[inline(always)]
pub(crate) fn pause() {
    #[cfg(not(loom))]
    core::hint::spin_loop();
}

/// What a loop does that waits for another thread's next step.
#[inline(always)]
pub(crate) fn relax() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    core::hint::spin_loop();
}

#[cfg(loom)]
fn loads_are_exchanges() -> bool {
    extern crate std;
    static PLAIN: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    !*PLAIN.get_or_init(|| std::env::var("LOOM_LOADS").is_ok_and(|loads| loads == "plain"))
}

/// Under loom, what an owner touches before it hands memory over and after it has got it, so that a
/// missing order between the two is found. Otherwise nothing.
pub(crate) struct Handover(#[cfg(loom)] loom::cell::UnsafeCell<()>);

impl Handover {
    pub(crate) fn new() -> Self {
        Handover(
            #[cfg(loom)]
            loom::cell::UnsafeCell::new(()),
        )
    }

    #[inline(always)]
    pub(crate) fn touch(&self) {
        #[cfg(loom)]
        self.0.with_mut(|_| ());
    }

    /// As [`touch`](Self::touch), where there may be other owners yet.
    #[inline(always)]
    pub(crate) fn touch_shared(&self) {
        #[cfg(loom)]
        self.0.with(|_| ());
    }
}

/// What the calling thread sleeps on.
///
/// The language's is the thread's own token, so nothing is allocated. Somebody else may use that, too:
/// whoever sleeps must expect to be woken for no reason. loom's `park` loses its token to locks, hence
/// its `Notify`, which wakes for no reason now and then as well.
#[cfg(feature = "std")]
pub(crate) struct Parker(#[cfg(loom)] std::sync::Arc<loom::sync::Notify>);

/// Wakes the thread of a [`Parker`].
#[cfg(feature = "std")]
pub(crate) struct Unparker(
    #[cfg(loom)] std::sync::Arc<loom::sync::Notify>,
    #[cfg(not(loom))] std::thread::Thread,
);

#[cfg(feature = "std")]
impl Parker {
    pub(crate) fn new() -> Self {
        Parker(
            #[cfg(loom)]
            std::sync::Arc::new(loom::sync::Notify::new()),
        )
    }

    pub(crate) fn unparker(&self) -> Unparker {
        #[cfg(loom)]
        return Unparker(std::sync::Arc::clone(&self.0));
        #[cfg(not(loom))]
        Unparker(std::thread::current())
    }

    /// Sleeps until woken, at the longest until `deadline` or for `nap`. `false`, without sleeping,
    /// where the deadline has passed.
    ///
    /// loom knows no time: there, every deadline has passed, and naps have no end.
    pub(crate) fn park(
        &self,
        deadline: Option<std::time::Instant>,
        nap: Option<core::time::Duration>,
    ) -> bool {
        #[cfg(loom)]
        {
            let _ = nap;
            if deadline.is_none() {
                self.0.wait();
            }
            deadline.is_none()
        }
        #[cfg(not(loom))]
        {
            let left = deadline.map(|at| at.saturating_duration_since(std::time::Instant::now()));
            if left == Some(core::time::Duration::ZERO) {
                return false;
            }
            match left.into_iter().chain(nap).min() {
                Some(limit) => std::thread::park_timeout(limit),
                None => std::thread::park(),
            }
            true
        }
    }
}

#[cfg(feature = "std")]
impl Unparker {
    pub(crate) fn unpark(self) {
        #[cfg(loom)]
        self.0.notify();
        #[cfg(not(loom))]
        self.0.unpark();
    }
}

/// Under loom, whether anybody has ever been able to wait for an event. Otherwise always so.
///
/// A look for those who wait comes with a fence, and a fence orders more than the ring itself does:
/// it would hide what a model of the ring alone is to find, and what a build without `std` lacks. So
/// models of rings that nobody waits on are spared it. (An atomic of the language's, since this is
/// set before the model's threads start.)
#[cfg(feature = "std")]
pub(crate) struct Armed(#[cfg(loom)] core::sync::atomic::AtomicBool);

#[cfg(feature = "std")]
impl Armed {
    pub(crate) fn new() -> Self {
        Armed(
            #[cfg(loom)]
            core::sync::atomic::AtomicBool::new(false),
        )
    }

    pub(crate) fn arm(&self) {
        #[cfg(loom)]
        self.0.store(true, core::sync::atomic::Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn is_armed(&self) -> bool {
        #[cfg(loom)]
        return self.0.load(core::sync::atomic::Ordering::Relaxed);
        #[cfg(not(loom))]
        true
    }
}
