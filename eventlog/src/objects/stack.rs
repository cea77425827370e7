//! Which cost centres each thread is in: a stack of numbers per thread, pushed by its thread alone and read by any.
//!
//! Only numbers are here, so nobody follows a pointer into an object, and entering a cost centre needs no protection
//! against unloading.
//!
//! A thread gets a record at its first cost centre (which allocates), and gives it back when it ends. Records are never
//! freed but used again: there are as many as threads were within cost centres at one time.
//!
//! # Invariants
//!
//! 1. A record that is reachable from `RECORDS` is never freed, and its `next` is not changed any more.
//! 2. Only the owner writes to a record: the thread whose own word points to it, and that word points to nothing
//!    else. There is one at most, whoever wins `thread` from 0, until it puts the 0 back.
//! 3. A frame is written before the word that makes it part of the stack. Each push makes a new version, so two
//!    equal words have the same stack between them.

mod own_word;

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use ghc_eventlog_object::{ABI_MAJOR, CostCentre, Host};

/// Cost centres that a stack holds at most: those deeper inside are not told apart from the last one that fits.
/// An event has room for as many.
///
/// ```
/// assert_eq!(ghc_eventlog::objects::stack::MAX_DEPTH, 255);
/// ```
pub const MAX_DEPTH: usize = 255;

/// How often a stack is read that changes meanwhile, before it is given up.
const ATTEMPTS: u32 = 1_000;

/// Bits of the depth in a record's word; the rest is the version. 2^56 pushes take years.
const DEPTH_BITS: u32 = 8;

/// The stack of one thread. What a sampler reads of a shallow one lies in one line of the cache.
#[repr(C, align(128))]
#[derive(Debug)]
struct Record {
    /// Version and depth.
    word: AtomicU64,
    /// The owner's number; 0 if there is none.
    thread: AtomicU32,
    /// Outermost first. The first is 0, which no cost centre is.
    ids: [AtomicU32; MAX_DEPTH + 1],
    /// A number for each part of the stack that begins at the bottom; the first is that of the empty stack. The
    /// owner's alone.
    keys: [AtomicU64; MAX_DEPTH + 1],
    /// How many records there were before.
    slot: AtomicU32,
    next: AtomicPtr<Record>,
}

/// All records, the newest first.
static RECORDS: AtomicPtr<Record> = AtomicPtr::new(core::ptr::null_mut());

/// The last thread's number.
static THREADS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Gives the record back when the thread ends.
    static OWNER: Owner = const { Owner };
}

/// This thread's record. Can be asked for at any time, and allocates nothing.
#[inline]
fn own() -> Option<&'static Record> {
    // SAFETY: null or, by invariant 2, a record, which by invariant 1 lives for ever.
    unsafe { own_word::get().cast::<Record>().as_ref() }
}

struct Owner;

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(record) = own() {
            own_word::set(core::ptr::null());
            let word = record.word.load(Ordering::Relaxed);
            // Pairs with the acquire load in `read`: who sees the next owner's pushes sees this too.
            record
                .word
                .store(word >> DEPTH_BITS << DEPTH_BITS, Ordering::Release);
            // Pairs with the acquire exchange in `attach`.
            record.thread.store(0, Ordering::Release);
        }
    }
}

/// A record for this thread, unless its thread locals are being destroyed: nobody would give the record back.
#[cold]
fn attach() -> Option<&'static Record> {
    OWNER.try_with(|_| ()).ok()?;
    // More threads than that, and two may have the same number; 0 is nobody's.
    let mut thread = 0;
    while thread == 0 {
        // Relaxed: only that it is another one each time matters.
        thread = THREADS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    }
    let record = records()
        .find(|record| {
            // Acquire pairs with the release store in `Owner::drop`: what the former owner has written comes before.
            let won =
                record
                    .thread
                    .compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed);
            won.is_ok()
        })
        .unwrap_or_else(|| add(thread));
    own_word::set((&raw const *record).cast());
    Some(record)
}

/// A new record with that owner.
fn add(thread: u32) -> &'static Record {
    let record: &'static Record = Box::leak(Box::new(Record {
        word: AtomicU64::new(0),
        thread: AtomicU32::new(thread),
        ids: [const { AtomicU32::new(0) }; MAX_DEPTH + 1],
        keys: [const { AtomicU64::new(0) }; MAX_DEPTH + 1],
        slot: AtomicU32::new(0),
        next: AtomicPtr::new(core::ptr::null_mut()),
    }));
    let pointer = (&raw const *record).cast_mut();
    // Acquire pairs with the release exchange below: the slot of the one before is read.
    let mut head = RECORDS.load(Ordering::Acquire);
    loop {
        // SAFETY: null, or by invariant 1 a record that lives for ever.
        let before = unsafe { head.as_ref() };
        // Relaxed, also the stores: published by the exchange.
        let slot = before.map_or(0, |before| before.slot.load(Ordering::Relaxed) + 1);
        record.slot.store(slot, Ordering::Relaxed);
        record.next.store(head, Ordering::Relaxed);
        // Release pairs with the acquire loads here and in `records`. So does acquire on failure.
        match RECORDS.compare_exchange_weak(head, pointer, Ordering::Release, Ordering::Acquire) {
            Ok(_) => return record,
            Err(newer) => head = newer,
        }
    }
}

/// All records.
fn records() -> impl Iterator<Item = &'static Record> {
    // Pairs with the release exchange in `add`; those behind it were published by exchanges that it continues.
    let mut next = RECORDS.load(Ordering::Acquire);
    core::iter::from_fn(move || {
        // SAFETY: null, or by invariant 1 a record that lives for ever.
        let record = unsafe { next.as_ref() }?;
        // Relaxed: not changed since the record was published.
        next = record.next.load(Ordering::Relaxed);
        Some(record)
    })
}

/// Enters the cost centre of that number on this thread, and returns what [`leave`] takes. A cost centre that
/// the thread entered last, and has not left, is not entered again; nor is 0, which is none.
///
/// Objects do this by themselves, with `scc!` or `evl_enter`. This is for whoever has a number and no such code, as
/// an interpreter has: a number of [the list](crate::objects::Registry::cost_centres). Whether it is one is not
/// looked at here; of one that is not, samples speak without a definition.
///
/// Takes no lock. The first cost centre of a thread may allocate, 3 KiB. Nothing is entered, and 0 returned, where the
/// thread's data is being destroyed.
///
/// ```
/// use ghc_eventlog::objects::stack;
///
/// # let id = 7;
/// let entered = stack::enter(id);
/// assert!(stack::current().ids().eq([id]));
/// stack::leave(entered);
/// assert_eq!(stack::current().depth(), 0);
/// ```
#[inline]
pub fn enter(id: u32) -> u32 {
    let Some(record) = own().or_else(attach) else {
        return 0;
    };
    // Relaxed loads here and below: by invariant 2 only this thread writes.
    let word = record.word.load(Ordering::Relaxed);
    let depth = word as u8 as usize;
    if id == 0 || depth == MAX_DEPTH || record.ids[depth].load(Ordering::Relaxed) == id {
        return depth as u32;
    }
    let key = record.keys[depth].load(Ordering::Relaxed);
    // Release pairs with the acquire load of this frame in `read`: whoever sees it sees the last change of the
    // word, too.
    record.ids[depth + 1].store(id, Ordering::Release);
    // Relaxed: only this thread reads it.
    record.keys[depth + 1].store(push_key(key, id), Ordering::Relaxed);
    let version = 1 << DEPTH_BITS;
    // Release pairs with the acquire load in `read`: who sees the new depth sees the frame.
    record.word.store(word + version + 1, Ordering::Release);
    depth as u32
}

/// Leaves what was entered when [`enter`] returned that, and whatever was entered since. On another thread, or a second
/// time, it leaves as much of that thread's stack as is deeper; a number that is no depth of it leaves nothing.
///
/// ```
/// use ghc_eventlog::objects::stack;
///
/// let outer = stack::enter(1);
/// let inner = stack::enter(2);
/// stack::leave(outer);
/// assert_eq!(stack::current().depth(), 0);
/// stack::leave(inner);
/// assert_eq!(stack::current().depth(), 0);
/// ```
#[inline]
pub fn leave(entered: u32) {
    if let Some(record) = own() {
        // Relaxed: by invariant 2 only this thread writes.
        let word = record.word.load(Ordering::Relaxed);
        let depth = word & u64::from(u8::MAX);
        // A number that is no depth of this stack leaves nothing.
        if u64::from(entered) < depth {
            // Release pairs with the acquire load in `read`: who sees that this thread has left sees what it
            // did within.
            record
                .word
                .store(word - depth + u64::from(entered), Ordering::Release);
        }
    }
}

/// The key of a stack with one more cost centre on it.
#[inline]
fn push_key(key: u64, id: u32) -> u64 {
    (key.rotate_left(5) ^ u64::from(id)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What an object's [`Host`] slot is set to.
pub(crate) static HOST: Host = Host {
    size: size_of::<Host>() as u32,
    abi: ABI_MAJOR as u32,
    enter: host_enter,
    leave: host_leave,
};

/// # Safety
/// `cost_centre` points to a cost centre.
unsafe extern "C" fn host_enter(cost_centre: *const CostCentre) -> u32 {
    // SAFETY: the caller's.
    let cost_centre = unsafe { &*cost_centre };
    // Relaxed: the number was written before the host's slot was set, which the caller has seen.
    enter(cost_centre.id.load(Ordering::Relaxed))
}

unsafe extern "C" fn host_leave(entered: u32) {
    leave(entered);
}

/// A copy of the stack that a thread was in.
///
/// ```
/// use ghc_eventlog::objects::stack::Stack;
///
/// let stack = Stack::new();
/// assert!(stack.ids().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Stack {
    thread: u32,
    slot: u32,
    depth: usize,
    /// Innermost first.
    ids: [u32; MAX_DEPTH],
}

impl Stack {
    /// An empty stack of no thread, 1 KiB of room for what [`each`] reads.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::objects::stack::Stack::new().thread(), 0);
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Stack {
            thread: 0,
            slot: 0,
            depth: 0,
            ids: [0; MAX_DEPTH],
        }
    }

    /// The thread's number: from 1, in the order of the threads' first cost centres, another one for each thread.
    ///
    /// ```
    /// use ghc_eventlog::objects::stack;
    ///
    /// let mut threads = Vec::new();
    /// stack::each(|stack| threads.push(stack.thread()));
    /// assert!(threads.is_empty());
    /// ```
    #[must_use]
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// A small number: from 0, another one for each of the threads that are there together. When a thread has
    /// ended, another one gets its number.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::objects::stack::Stack::new().slot(), 0);
    /// ```
    #[must_use]
    pub fn slot(&self) -> u32 {
        self.slot
    }

    /// The numbers of the cost centres, innermost first, as events have them.
    ///
    /// ```
    /// use ghc_eventlog::format::{CostCentreStack, Event};
    /// use ghc_eventlog::objects::stack::Stack;
    ///
    /// let stack = Stack::new();
    /// let stack = CostCentreStack::innermost(stack.ids());
    /// let event = Event::ProfSampleCostCentre { cap: 1, tick: 7, stack };
    /// ```
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids[..self.depth]
    }
}

impl Default for Stack {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads the record into `stack`, as it was at one moment. `None` if it changed each time.
fn read(record: &Record, stack: &mut Stack) -> Option<()> {
    for _ in 0..ATTEMPTS {
        // Acquire pairs with the release stores of the word: the frames up to the depth are there, and so is what the
        // thread did in those that it has left.
        let word = record.word.load(Ordering::Acquire);
        // Relaxed: the owner wrote it before the word, if this is its stack; the second load tells.
        let thread = record.thread.load(Ordering::Relaxed);
        let depth = word as u8 as usize;
        for (inner, id) in record.ids[1..=depth].iter().rev().enumerate() {
            // Acquire pairs with the release store in `enter`: if this is of a later push, the word below is
            // later, too.
            stack.ids[inner] = id.load(Ordering::Acquire);
        }
        // Relaxed: not before the loads above, which acquire. By invariant 3 nothing has changed if it is the same.
        if record.word.load(Ordering::Relaxed) == word
            && record.thread.load(Ordering::Relaxed) == thread
        {
            (stack.thread, stack.depth) = (thread, depth);
            // Relaxed: not changed since the record was published.
            stack.slot = record.slot.load(Ordering::Relaxed);
            return Some(());
        }
        core::hint::spin_loop();
    }
    None
}

/// Calls `take` with the stack of every thread that is within a cost centre, each as it was at one moment, not
/// all at the same. Returns how many changed too often to be read: those are left out.
///
/// Waits for nobody, and nobody waits for it; a thread may enter and leave cost centres meanwhile. Allocates nothing.
///
/// A sampler that writes events holds [`Registry::sampling`](crate::objects::Registry::sampling) from before
/// the call until the last event has been emitted. No object is unloaded meanwhile, so its cost centres are
/// defined in that log.
///
/// ```
/// use ghc_eventlog::objects::stack;
///
/// let missed = stack::each(|stack| println!("thread {}: {:?}", stack.thread(), stack.ids()));
/// assert_eq!(missed, 0);
/// ```
pub fn each(mut take: impl FnMut(&Stack)) -> usize {
    let mut stack = Stack::new();
    let mut missed = 0;
    for record in records() {
        match read(record, &mut stack) {
            None => missed += 1,
            Some(()) if stack.depth == 0 => {}
            Some(()) => take(&stack),
        }
    }
    missed
}

/// Whether a thread may be within one of the cost centres from `first` on, `count` of them.
pub(crate) fn in_use(first: u32, count: u32) -> bool {
    let mut stack = Stack::new();
    records().any(|record| match read(record, &mut stack) {
        // Deeper inside than the record knows, or always on its way: it may be in any.
        None => true,
        Some(()) if stack.depth == MAX_DEPTH => true,
        Some(()) => stack.ids().iter().any(|id| id.wrapping_sub(first) < count),
    })
}

/// The stack that the calling thread is in; see [`current`]. It stays on that thread.
///
/// ```
/// use ghc_eventlog::objects::stack;
///
/// let here = stack::current();
/// assert_eq!((here.depth(), here.ids().count()), (0, 0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Current {
    record: Option<&'static Record>,
    depth: usize,
    /// The record is read by its owner alone.
    thread: core::marker::PhantomData<*const ()>,
}

/// The stack that the calling thread is in, as an allocator needs it: takes no lock, allocates nothing, and may
/// be called from everywhere, also while the thread is ending.
///
/// ```
/// use ghc_eventlog::objects::stack;
///
/// assert_eq!(stack::current().key(), 0);
/// ```
#[inline]
#[must_use]
pub fn current() -> Current {
    let record = own();
    Current {
        record,
        // Relaxed: by invariant 2 only this thread writes.
        depth: record.map_or(0, |record| {
            record.word.load(Ordering::Relaxed) as u8 as usize
        }),
        thread: core::marker::PhantomData,
    }
}

impl Current {
    /// A number for the whole stack: 0 for the empty one, and the same for the same cost centres in the same
    /// order, on any thread. Two stacks of one number are possible but rare, as with any hash of 64 bits: who
    /// must be exact compares [`ids`](Self::ids). It takes one load, however deep the stack.
    ///
    /// ```
    /// use ghc_eventlog::objects::stack;
    ///
    /// let bytes_by_stack = std::collections::HashMap::from([(stack::current().key(), 16)]);
    /// assert_eq!(bytes_by_stack[&0], 16);
    /// ```
    #[inline]
    #[must_use]
    pub fn key(&self) -> u64 {
        // Relaxed: by invariant 2 only this thread writes.
        self.record
            .map_or(0, |record| record.keys[self.depth].load(Ordering::Relaxed))
    }

    /// Cost centres in the stack.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::objects::stack::current().depth(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The numbers of the cost centres, innermost first. After the thread has left some of them and entered
    /// others, these may be the others'.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::objects::stack::current().ids().next(), None);
    /// ```
    pub fn ids(&self) -> impl ExactSizeIterator<Item = u32> + use<> {
        let ids = self
            .record
            .map_or(&[][..], |record| &record.ids[1..=self.depth]);
        // Relaxed: by invariant 2 only this thread writes.
        ids.iter().rev().map(|id| id.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn ids() -> Vec<u32> {
        current().ids().collect()
    }

    #[test]
    fn leaving_leaves_what_was_entered_since_and_no_more() {
        let first = enter(11);
        let second = enter(12);
        enter(13);
        assert_eq!(ids(), [13, 12, 11]);
        leave(second);
        assert_eq!(ids(), [11]);
        leave(second + 70);
        assert_eq!(ids(), [11]);
        leave(first);
        assert!(ids().is_empty());
    }

    #[test]
    fn a_cost_centre_that_calls_itself_is_entered_once_and_none_is_never() {
        let outer = enter(21);
        let inner = enter(21);
        assert_eq!(ids(), [21]);
        leave(inner);
        assert_eq!(
            ids(),
            [21],
            "the inner call has left, the outer one has not"
        );
        leave(enter(0));
        assert_eq!(ids(), [21]);
        leave(outer);
    }

    #[test]
    fn a_stack_deeper_than_the_most_stays_whole_and_counts_as_used_by_all() {
        let tokens: Vec<u32> = (0..400).map(|level| enter(1 + level % 2 + 40)).collect();
        assert_eq!(current().depth(), MAX_DEPTH);
        assert!(in_use(9_999_999, 1));
        for token in tokens.iter().rev() {
            leave(*token);
        }
        assert_eq!(current().depth(), 0);
    }

    #[test]
    fn a_key_is_that_of_the_stack_on_any_thread() {
        let key_of = |ids: &[u32]| {
            let tokens: Vec<u32> = ids.iter().map(|id| enter(*id)).collect();
            let key = current().key();
            leave(tokens[0]);
            key
        };
        let here = [key_of(&[31, 32]), key_of(&[32, 31]), key_of(&[31])];
        let there = std::thread::spawn(move || key_of(&[31, 32]))
            .join()
            .unwrap();
        assert_eq!(here[0], there);
        assert!(here[0] != here[1] && here[0] != here[2] && here[1] != here[2]);
        assert_eq!(current().key(), 0);
    }

    #[test]
    fn threads_that_have_ended_leave_their_records_to_others() {
        let count = || records().count();
        let run = || {
            std::thread::spawn(|| {
                enter(51);
                current().record.unwrap().thread.load(Ordering::Relaxed)
            })
        };
        let numbers: Vec<u32> = (0..100).map(|_| run().join().unwrap()).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        // Other tests have threads, too.
        assert!(count() < 50, "{}", count());
    }

    #[test]
    fn a_stack_is_read_as_it_was_at_one_moment() {
        // The frames of a stack are always n, n + 1, n + 2, whatever n and however deep.
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut first = 1_000_000;
                // Relaxed: it is only a wish to end.
                while !stop.load(Ordering::Relaxed) {
                    let token = enter(first);
                    for inner in 1..(first % 200) {
                        enter(first + inner);
                        let again = enter(77);
                        leave(again);
                    }
                    leave(token);
                    first += 1;
                }
            });
            let (mut seen, mut mixed) = (0, Vec::new());
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while seen < 20_000 && mixed.is_empty() && std::time::Instant::now() < deadline {
                each(|stack| {
                    let outermost = *stack.ids().last().unwrap();
                    if outermost < 1_000_000 {
                        return;
                    }
                    let ids = stack.ids().iter().rev().filter(|id| **id != 77);
                    if !ids.copied().eq(outermost..outermost + ids_but_77(stack)) {
                        mixed.push(stack.ids().to_vec());
                    }
                    seen += 1;
                });
            }
            // Before anything fails, so that the writer ends.
            stop.store(true, Ordering::Relaxed);
            writer.join().unwrap();
            assert_eq!(mixed, Vec::<Vec<u32>>::new());
            assert!(seen > 1_000, "{seen}");
        });
        fn ids_but_77(stack: &Stack) -> u32 {
            stack.ids().iter().filter(|id| **id != 77).count() as u32
        }
    }
}
