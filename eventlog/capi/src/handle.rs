//! Handles: numbers that stand for objects, and are good for nothing else. A number that was never given
//! out, has been given back, is of another kind or of a parent process is told, never followed.
//!
//! ```text
//!  handle:  | process 12 | kind 4 | generation 24 | index 24 |
//! ```
//!
//! An index names a slot, whose place never changes. A slot has a new generation each time that it is
//! used; one that has had all of them is used no more, so that no two objects ever have the same handle.

use crate::code::{Code, Failure, Outcome};
use crate::fork;
use crate::log::LogObject;
use crate::object::{Id, Kind, Object};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, TryLockError};

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 24;
const KIND_BITS: u32 = 4;
const EPOCH_BITS: u32 = 12;

/// Objects that there can be at a time.
const MOST: u32 = 1 << INDEX_BITS;

/// Slots of the first bucket; each of the others has twice as many as the one before.
const FIRST_BUCKET: u32 = 64;

/// Buckets for [`MOST`] slots, and for some more.
const BUCKETS: usize = 19;

/// What a handle says, taken apart.
#[derive(Clone, Copy)]
struct Handle {
    index: u32,
    generation: u32,
    kind: u8,
    epoch: u32,
}

fn low(number: u64, bits: u32) -> u32 {
    (number & ((1 << bits) - 1)) as u32
}

impl Handle {
    fn of(id: u64) -> Self {
        Handle {
            index: low(id, INDEX_BITS),
            generation: low(id >> INDEX_BITS, GENERATION_BITS),
            kind: low(id >> (INDEX_BITS + GENERATION_BITS), KIND_BITS) as u8,
            epoch: low(id >> (INDEX_BITS + GENERATION_BITS + KIND_BITS), EPOCH_BITS),
        }
    }

    fn id(self) -> u64 {
        let high = u64::from(self.epoch) << KIND_BITS | u64::from(self.kind);
        (high << GENERATION_BITS | u64::from(self.generation)) << INDEX_BITS | u64::from(self.index)
    }
}

fn epoch() -> u32 {
    low(u64::from(fork::epoch()), EPOCH_BITS)
}

/// A place for an object.
#[derive(Default)]
struct Slot {
    /// The handle of the object that is there; 0 for none. Changed while the object is locked.
    id: AtomicU64,
    object: RwLock<Option<Object>>,
}

/// The objects of one process.
struct Registry {
    buckets: [OnceLock<Box<[Slot]>>; BUCKETS],
    room: Mutex<Room>,
    /// In a child of this process, those of the processes before it.
    ancestors: AtomicPtr<Registry>,
}

/// Which slots are free.
#[derive(Default)]
struct Room {
    /// Free slots that have been used, and the generations that they are to have next.
    free: Vec<(u32, u32)>,
    /// The first slot that has never been used.
    next: u32,
}

/// This process's. One that is not there is made by whoever needs it.
static CURRENT: AtomicPtr<Registry> = AtomicPtr::new(ptr::null_mut());

/// Those of the processes that this one was forked from, the nearest first. Never looked into; whoever
/// searches the memory for leaks finds that they are meant to be there.
static ANCESTORS: AtomicPtr<Registry> = AtomicPtr::new(ptr::null_mut());

/// Leaves the parent's objects alone, whose locks may be held by threads that are not here. For a child,
/// before anything else.
pub(crate) fn forget_all() {
    // Relaxed, all of them: there is one thread.
    let parents = CURRENT.swap(ptr::null_mut(), Ordering::Relaxed);
    // SAFETY: null, or made by `current` and never freed.
    if let Some(registry) = unsafe { parents.as_ref() } {
        let others = ANCESTORS.swap(parents, Ordering::Relaxed);
        registry.ancestors.store(others, Ordering::Relaxed);
    }
}

impl Registry {
    fn current() -> &'static Registry {
        // Acquire: pairs with the Release below.
        let found = CURRENT.load(Ordering::Acquire);
        // SAFETY: null, or made below and never freed.
        if let Some(registry) = unsafe { found.as_ref() } {
            return registry;
        }
        let made = Box::into_raw(Box::new(Registry::new()));
        // Release: what was made is seen by whoever finds it. Acquire: pairs with that.
        let put = CURRENT.compare_exchange(found, made, Ordering::Release, Ordering::Acquire);
        match put {
            // SAFETY: it was made above, and from here on nobody frees it.
            Ok(_) => unsafe { &*made },
            Err(others) => {
                // SAFETY: it was made above, and nobody else knows of it.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: another thread has made it, as above.
                unsafe { &*others }
            }
        }
    }

    fn new() -> Self {
        Registry {
            buckets: Default::default(),
            room: Mutex::default(),
            ancestors: AtomicPtr::default(),
        }
    }

    fn place(index: u32) -> (usize, usize) {
        let bucket = (index / FIRST_BUCKET + 1).ilog2();
        let first = FIRST_BUCKET * ((1 << bucket) - 1);
        (bucket as usize, (index - first) as usize)
    }

    /// The slot of that index, if it has ever been used.
    fn slot(&self, index: u32) -> Option<&Slot> {
        let (bucket, at) = Registry::place(index);
        self.buckets.get(bucket)?.get()?.get(at)
    }

    fn made_slot(&self, index: u32) -> Option<&Slot> {
        let (bucket, at) = Registry::place(index);
        let slots = self.buckets.get(bucket)?.get_or_init(|| {
            let len = (FIRST_BUCKET as usize) << bucket;
            std::iter::repeat_with(Slot::default).take(len).collect()
        });
        slots.get(at)
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An index that nobody has, and the generation that its slot is to have.
    ///
    /// # Errors
    /// Where there is none left.
    fn vacancy(&self) -> Outcome<(u32, u32)> {
        let mut room = self.room();
        match room.free.pop() {
            Some(found) => Ok(found),
            None if room.next < MOST => {
                room.next += 1;
                Ok((room.next - 1, 1))
            }
            None => {
                drop(room);
                let text = format!("{MOST} handles are in use, the most that there can be");
                Err(Failure::new(Code::Limit, text))
            }
        }
    }

    /// Puts an object where its handle finds it. It is made when there is a place for it.
    ///
    /// # Errors
    /// Where there are too many, or those of `make`.
    fn insert_with(&self, kind: Kind, make: impl FnOnce() -> Outcome<Object>) -> Outcome<u64> {
        let (index, generation) = self.vacancy()?;
        let object = make().inspect_err(|_| self.room().free.push((index, generation)))?;
        let id = Handle {
            index,
            generation,
            kind: kind as u8,
            epoch: epoch(),
        }
        .id();
        let slot = self.made_slot(index).ok_or_else(|| foreign(id, kind))?;
        let mut place = slot.object.write().unwrap_or_else(PoisonError::into_inner);
        *place = Some(object);
        // Release: pairs with the Acquire in `find`.
        slot.id.store(id, Ordering::Release);
        Ok(id)
    }

    /// The slot that a handle names, if its object is there.
    ///
    /// # Errors
    /// Whatever is wrong with the handle.
    fn find(&self, id: u64, kind: Kind) -> Outcome<&Slot> {
        if id == 0 {
            return Err(Failure::new(
                Code::Null,
                format!("a null handle where there must be one of {}", kind.name()),
            ));
        }
        let handle = Handle::of(id);
        if handle.kind != kind as u8 || handle.generation == 0 {
            return Err(foreign(id, kind));
        }
        if handle.epoch != epoch() {
            return Err(Failure::of(Code::Forked));
        }
        let slot = self.slot(handle.index).ok_or_else(|| foreign(id, kind))?;
        // Acquire: pairs with the Release in `insert_with`. The lock of the object says it again.
        if slot.id.load(Ordering::Acquire) != id {
            return Err(stale(id, kind));
        }
        Ok(slot)
    }
}

/// What is no handle of that kind.
pub(crate) fn foreign(id: u64, kind: Kind) -> Failure {
    Failure::new(
        Code::Handle,
        format!("{id:#018x} is no handle of {}", kind.name()),
    )
}

fn stale(id: u64, kind: Kind) -> Failure {
    let text = format!(
        "the handle {id:#018x} of {} has been given back",
        kind.name()
    );
    Failure::new(Code::Stale, text)
}

/// Puts an object where its handle finds it.
///
/// # Errors
/// Where there are too many.
pub(crate) fn insert(object: Object, kind: Kind) -> Outcome<u64> {
    insert_with(kind, || Ok(object))
}

/// As [`insert`], for an object that must not be made for nothing: it is made when there is a place for it.
///
/// # Errors
/// Where there are too many, or those of `make`.
pub(crate) fn insert_with(kind: Kind, make: impl FnOnce() -> Outcome<Object>) -> Outcome<u64> {
    Registry::current().insert_with(kind, make)
}

/// Looks at an object, which others may do at the same time. `look` must be short: it takes what it needs
/// along.
///
/// # Errors
/// Whatever is wrong with the handle.
pub(crate) fn read<T>(id: u64, kind: Kind, look: impl FnOnce(&Object) -> T) -> Outcome<T> {
    let slot = Registry::current().find(id, kind)?;
    let object = slot.object.read().unwrap_or_else(PoisonError::into_inner);
    match &*object {
        // Relaxed: it is changed by whoever holds the lock.
        Some(object) if slot.id.load(Ordering::Relaxed) == id => Ok(look(object)),
        _ => Err(stale(id, kind)),
    }
}

/// Uses an object that is one thread's at a time.
///
/// # Errors
/// Whatever is wrong with the handle; [`Code::Busy`] where another thread uses it.
#[inline]
pub(crate) fn exclusive<T>(
    id: u64,
    kind: Kind,
    run: impl FnOnce(&mut Object) -> Outcome<T>,
) -> Outcome<T> {
    let slot = Registry::current().find(id, kind)?;
    let mut object = match slot.object.try_write() {
        Ok(object) => object,
        Err(TryLockError::Poisoned(object)) => object.into_inner(),
        Err(TryLockError::WouldBlock) => return Err(Failure::of(Code::Busy)),
    };
    match &mut *object {
        // Relaxed: it is changed by whoever holds the lock.
        Some(object) if slot.id.load(Ordering::Relaxed) == id => run(object),
        _ => Err(stale(id, kind)),
    }
}

/// Takes an object out. The caller drops it, when no lock is held.
///
/// # Errors
/// Whatever is wrong with the handle; [`Code::Busy`] where another thread uses what is
/// [one thread's at a time](exclusive).
pub(crate) fn remove(id: u64, kind: Kind) -> Outcome<Object> {
    let registry = Registry::current();
    let slot = registry.find(id, kind)?;
    let object = {
        let mut place = match slot.object.try_write() {
            Ok(object) => object,
            Err(TryLockError::Poisoned(object)) => object.into_inner(),
            Err(TryLockError::WouldBlock) if kind.is_exclusive() => {
                return Err(Failure::of(Code::Busy));
            }
            Err(TryLockError::WouldBlock) => {
                slot.object.write().unwrap_or_else(PoisonError::into_inner)
            }
        };
        // Relaxed, both: it is changed by whoever holds the lock, and 0 leads nowhere.
        if slot.id.load(Ordering::Relaxed) != id {
            return Err(stale(id, kind));
        }
        slot.id.store(0, Ordering::Relaxed);
        place.take()
    };
    let Handle {
        index, generation, ..
    } = Handle::of(id);
    if generation + 1 < 1 << GENERATION_BITS {
        registry.room().free.push((index, generation + 1));
    }
    object.ok_or_else(|| stale(id, kind))
}

/// Takes out what belongs to that log and can do nothing without it, of those kinds.
pub(crate) fn remove_owned_by(
    log: Id<Arc<LogObject>>,
    wanted: impl Fn(Kind) -> bool,
) -> Vec<Object> {
    let registry = Registry::current();
    let slots = registry.buckets.iter().filter_map(OnceLock::get).flatten();
    slots
        .filter_map(|slot| {
            // Relaxed: nothing is made of it before the lock is held. Others' capabilities are left alone,
            // which one thread has at a time.
            let id = slot.id.load(Ordering::Relaxed);
            let kind = Kind::of(Handle::of(id).kind)?;
            if !kind.is_owned() || !wanted(kind) {
                return None;
            }
            let owner = read(id, kind, Object::owner).ok()??;
            (owner.number() == log.number()).then(|| remove(id, kind).ok())?
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::SinkObject;
    use std::cell::Cell;
    use std::io;

    #[test]
    fn every_index_has_a_place_of_its_own() {
        let mut last = (0, usize::MAX);
        for index in 0..100_000 {
            let (bucket, at) = Registry::place(index);
            let next = match at {
                0 => last.0 + usize::from(index != 0),
                _ => last.0,
            };
            assert_eq!(bucket, next);
            assert!(at == 0 || at == last.1 + 1);
            assert!(at < (FIRST_BUCKET as usize) << bucket);
            last = (bucket, at);
        }
        let (bucket, _) = Registry::place(MOST - 1);
        assert_eq!(bucket, BUCKETS - 1);
    }

    #[test]
    fn an_object_is_made_where_there_is_a_place_for_it_and_nowhere_else() {
        let registry = Registry::new();
        let made = Cell::new(0);
        let sink = || {
            made.set(made.get() + 1);
            Ok(Object::Sink(Arc::new(SinkObject::of_writer(Box::new(
                io::sink(),
            )))))
        };
        let refused = registry.insert_with(Kind::Sink, || Err(Failure::of(Code::Empty)));
        assert_eq!(refused.unwrap_err().code, Code::Empty);
        let first = registry.insert_with(Kind::Sink, sink).unwrap();
        let Handle {
            index, generation, ..
        } = Handle::of(first);
        assert_eq!((index, generation), (0, 1), "the place has come back");
        assert!(registry.find(first, Kind::Sink).is_ok());

        registry.room().next = MOST;
        let refused = registry.insert_with(Kind::Sink, sink);
        assert_eq!(refused.unwrap_err().code, Code::Limit);
        assert_eq!(made.get(), 1);
    }

    #[test]
    fn a_handle_is_taken_apart_as_it_was_put_together() {
        let handle = Handle {
            index: MOST - 1,
            generation: (1 << GENERATION_BITS) - 1,
            kind: 9,
            epoch: (1 << EPOCH_BITS) - 1,
        };
        let again = Handle::of(handle.id());
        assert_eq!(again.id(), handle.id());
        assert_eq!(
            (again.index, again.generation, again.kind, again.epoch),
            (handle.index, handle.generation, handle.kind, handle.epoch)
        );
    }
}
