//! A loaded object: calling it, and unloading it.
//!
//! # Invariants
//!
//! 1. Whoever counts itself in `calls` and then finds the state `LOADED` is seen by whoever leaves that state,
//!    which looks at `calls` afterwards: both are of the one order of sequentially consistent operations. So
//!    once the sum of `calls` is 0 in another state, no call is open and none will be.
//! 2. The state `CLOSING` is entered once, by one thread. Only that thread touches the library from then on.

use super::check::ObjectInfo;
use super::error::{Busy, BusyReason};
use super::image::Image;
use super::linker::{Library, Place};
use super::records::Table;
use super::registry::{ObjectCostCentres, ObjectId, registry};
use super::unload::{PinReason, Unload};
use super::{attach, keys, loader, stack};
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The state of an object that can be called.
const LOADED: u8 = 0;
/// No new calls; those that are open are waited for.
const DRAINING: u8 = 1;
/// No calls; it is being unloaded.
const CLOSING: u8 = 2;
/// It has been unloaded.
const GONE: u8 = 3;

/// Counters of open calls, so that threads do not share a line of the cache.
const SHARDS: usize = 16;

/// What all handles of an object share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) path: PathBuf,
    pub(super) info: ObjectInfo,
    pub(super) numbered: Arc<ObjectCostCentres>,
    pub(super) place: Place,
    pub(super) table: Table<'static>,
    pub(super) library: Mutex<Option<Library>>,
    pub(super) image: Option<Image>,
    pub(super) state: AtomicU8,
    /// Its `init` has refused, so its `fini` is not called, whoever unloads it.
    refused: AtomicBool,
    pub(super) calls: [CachePadded<AtomicU64>; SHARDS],
    pub(super) outcome: OnceLock<Unload>,
}

impl Inner {
    pub(super) fn new(
        path: PathBuf,
        info: ObjectInfo,
        numbered: Arc<ObjectCostCentres>,
        place: Place,
        table: Table<'static>,
        library: Library,
        image: Option<Image>,
    ) -> Self {
        Inner {
            path,
            info,
            numbered,
            place,
            table,
            library: Mutex::new(Some(library)),
            image,
            state: AtomicU8::new(LOADED),
            refused: AtomicBool::new(false),
            calls: Default::default(),
            outcome: OnceLock::new(),
        }
    }

    fn library(&self) -> MutexGuard<'_, Option<Library>> {
        // Nothing panics while it is held.
        self.library.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pointer that a symbol stands for.
    #[inline]
    #[track_caller]
    fn get<T: Copy>(&self, symbol: &Symbol<T>) -> T {
        let id = self.numbered.id();
        assert!(
            symbol.object == id,
            "the symbol is of object {}, the call of object {id}",
            symbol.object
        );
        // SAFETY: `T` is of the size of a pointer, and the type of this one, as `symbol` demands.
        unsafe { std::mem::transmute_copy::<NonNull<c_void>, T>(&symbol.address) }
    }

    /// Ends a call that was counted there.
    #[inline]
    fn leave(&self, shard: usize) {
        // Release pairs with the load in `in_use`: what the call has done comes before the unloading.
        self.calls[shard].fetch_sub(1, Ordering::Release);
    }

    /// What uses it, if anything does.
    fn in_use(&self) -> Option<BusyReason> {
        // Sequentially consistent, by invariant 1; acquires what the calls have done, with their release on return.
        let calls = self
            .calls
            .iter()
            .map(|count| count.load(Ordering::SeqCst))
            .sum();
        let (first, count) = self.numbered.range();
        match calls {
            0 => stack::in_use(first, count).then_some(BusyReason::CostCentres),
            calls => Some(BusyReason::Calls(calls)),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The image's name must not come again while the library is mapped.
        if let Some(image) = self.image.take() {
            if self.place.is_mapped() {
                std::mem::forget(image);
            }
        }
    }
}

/// A loaded object. Clones are the same object. It stays loaded until it is [unloaded](Self::unload), also when
/// every handle is gone: [`Objects::loaded`](super::Objects::loaded) has it.
///
/// ```no_run
/// use ghc_eventlog::objects::{LoadOptions, Objects};
/// use std::time::Duration;
///
/// // SAFETY: the object is one of ours.
/// let object = unsafe { Objects::new().load("target/release/libgreeter.so", LoadOptions::new()) }?;
/// // SAFETY: this is the function's type.
/// let greet = unsafe { object.symbol::<unsafe extern "C" fn(u32) -> u32>(c"greet") }?;
/// if let Some(entered) = object.enter() {
///     // SAFETY: any number will do.
///     println!("{}", unsafe { entered.get(&greet)(3) });
/// }
/// println!("{}", object.unload(Duration::from_secs(1))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Object(pub(super) Arc<Inner>);

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("id", &self.id())
            .field("name", &self.name())
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

thread_local! {
    /// Which of the counters this thread counts its calls in.
    static SHARD: Cell<usize> = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: any other number will do.
        Cell::new(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS)
    };
}

impl Object {
    /// The object's number in this process.
    ///
    /// ```
    /// fn number(object: &ghc_eventlog::objects::Object) -> u32 {
    ///     object.id().0
    /// }
    /// ```
    #[must_use]
    pub fn id(&self) -> ObjectId {
        self.0.numbered.id()
    }

    /// What the object calls itself.
    ///
    /// ```
    /// fn is_greeter(object: &ghc_eventlog::objects::Object) -> bool {
    ///     object.name() == "greeter"
    /// }
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.numbered.name()
    }

    /// The file that it was loaded from, as it was named then.
    ///
    /// ```
    /// fn file(object: &ghc_eventlog::objects::Object) -> String {
    ///     object.path().display().to_string()
    /// }
    /// ```
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What its file told before it was loaded.
    ///
    /// ```
    /// fn bytes(object: &ghc_eventlog::objects::Object) -> u64 {
    ///     object.info().memory
    /// }
    /// ```
    #[must_use]
    pub fn info(&self) -> &ObjectInfo {
        &self.0.info
    }

    /// Its cost centres, with their numbers. They are told also when it is unloaded.
    ///
    /// ```
    /// fn labels(object: &ghc_eventlog::objects::Object) -> Vec<&str> {
    ///     object.cost_centres().cost_centres().iter().map(|one| &*one.label).collect()
    /// }
    /// ```
    #[must_use]
    pub fn cost_centres(&self) -> &ObjectCostCentres {
        &self.0.numbered
    }

    /// A function or variable that the object exports, to be used [within a call](Entered::get). Takes locks of
    /// the dynamic linker, which looks into the libraries that the object needs, too, where it exports none of
    /// that name itself.
    ///
    /// # Errors
    /// [`SymbolError`] if neither it nor such a library exports that, or it is unloaded.
    ///
    /// # Safety
    /// `T` is the type of a pointer to it: `unsafe extern "C" fn(…) -> …`, or `*const …`.
    ///
    /// # Panics
    /// If `T` is not of the size of a pointer; the compiler sees that.
    ///
    /// ```
    /// use ghc_eventlog::objects::{Object, Symbol, SymbolError};
    ///
    /// type Greet = unsafe extern "C" fn(u32) -> u32;
    ///
    /// fn greet(object: &Object) -> Result<Symbol<Greet>, SymbolError> {
    ///     // SAFETY: objects of this program export this function.
    ///     unsafe { object.symbol(c"greet") }
    /// }
    /// ```
    pub unsafe fn symbol<T: Copy>(&self, name: &CStr) -> Result<Symbol<T>, SymbolError> {
        const {
            assert!(
                size_of::<T>() == size_of::<*mut c_void>(),
                "a pointer is wanted"
            )
        };
        let library = self.0.library();
        let found = library.as_ref().and_then(|library| library.symbol(name));
        match found {
            Some(address) => Ok(Symbol {
                object: self.id(),
                address,
                kind: PhantomData,
            }),
            None => Err(SymbolError {
                object: self.name().to_owned(),
                symbol: name.to_owned(),
                unloaded: library.is_none(),
            }),
        }
    }

    /// Opens a call: the object is not unloaded until what this returns is dropped. `None` if it is being
    /// unloaded, or has been.
    ///
    /// Waits for nobody. Two operations on a counter that few threads share, 4 ns together.
    ///
    /// ```
    /// use ghc_eventlog::objects::{Object, Symbol};
    ///
    /// fn greet(object: &Object, greet: &Symbol<unsafe extern "C" fn(u32) -> u32>) -> Option<u32> {
    ///     let entered = object.enter()?;
    ///     // SAFETY: the function takes any number.
    ///     Some(unsafe { entered.get(greet)(3) })
    /// }
    /// ```
    #[inline]
    #[must_use]
    pub fn enter(&self) -> Option<Entered<'_>> {
        // Where the thread's data is gone, any will do.
        let shard = SHARD.try_with(Cell::get).unwrap_or(0);
        let calls = &self.0.calls[shard];
        // Sequentially consistent, both, by invariant 1. It also acquires what loading has written.
        calls.fetch_add(1, Ordering::SeqCst);
        let entered = Entered {
            object: &self.0,
            shard,
        };
        (self.0.state.load(Ordering::SeqCst) == LOADED).then_some(entered)
    }

    /// As [`enter`](Self::enter), for a call that is kept with what makes it, or ends on another thread: it holds
    /// a handle of the object.
    ///
    /// ```
    /// use ghc_eventlog::objects::{Object, OwnedEntered};
    ///
    /// fn keep(object: &Object, calls: &mut Vec<OwnedEntered>) -> bool {
    ///     calls.extend(object.enter_owned());
    ///     !calls.is_empty()
    /// }
    /// ```
    #[must_use]
    pub fn enter_owned(&self) -> Option<OwnedEntered> {
        let entered = self.enter()?;
        let shard = entered.shard;
        let object = self.clone();
        // What is dropped instead is made here.
        std::mem::forget(entered);
        Some(OwnedEntered { object, shard })
    }

    /// Unloads the object: no call begins any more; waits at most `wait` until no call is open and no thread is
    /// within one of its cost centres; waits for samplers; calls its `fini`; takes its cost centres out of the
    /// list, and tells the logs; deletes its thread-specific keys; has the dynamic linker close it; and asks
    /// the dynamic linker whether it is gone.
    ///
    /// Looks every so often whether it is still in use, up to a millisecond apart. Where it has been unloaded
    /// before, the outcome is told again.
    ///
    /// # Errors
    /// [`Busy`] if it is still in use then. It is loaded as before.
    ///
    /// ```
    /// use ghc_eventlog::objects::{Object, Unload};
    /// use std::time::Duration;
    ///
    /// fn is_gone(object: Object) -> bool {
    ///     object.unload(Duration::from_secs(5)).is_ok_and(|outcome| outcome == Unload::Unmapped)
    /// }
    /// ```
    pub fn unload(self, wait: Duration) -> Result<Unload, Busy> {
        match self.drain(wait) {
            Ok(()) => Ok(self.close()),
            Err(None) => Ok(self.0.outcome.get().cloned().unwrap_or(Unload::Unmapped)),
            Err(Some(reason)) => Err(Busy {
                reason,
                object: self,
            }),
        }
    }

    /// Whether it is mapped now, as the dynamic linker says. An object that was pinned may be gone later.
    ///
    /// ```
    /// fn is_there(object: &ghc_eventlog::objects::Object) -> bool {
    ///     object.is_mapped()
    /// }
    /// ```
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.0.place.is_mapped()
    }

    /// Goes from `LOADED` to `CLOSING`. Without a reason where it is gone already.
    fn drain(&self, wait: Duration) -> Result<(), Option<BusyReason>> {
        if attach::is_loading() {
            return Err(Some(BusyReason::WithinConstructor));
        }
        let inner = &*self.0;
        let state = &inner.state;
        // Sequentially consistent, by invariant 1.
        match state.compare_exchange(LOADED, DRAINING, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => {}
            Err(GONE) => return Err(None),
            Err(_) => return Err(Some(BusyReason::Unloading)),
        }
        let begin = Instant::now();
        let mut pause = Duration::from_micros(20);
        while let Some(reason) = inner.in_use() {
            let left = wait.saturating_sub(begin.elapsed());
            if left.is_zero() {
                // Pairs with the load in `enter`.
                state.store(LOADED, Ordering::SeqCst);
                return Err(Some(reason));
            }
            thread::sleep(pause.min(left));
            pause = (2 * pause).min(Duration::from_millis(1));
        }
        // By invariant 2 this thread alone is here; nobody reads anything by it.
        state.store(CLOSING, Ordering::SeqCst);
        Ok(())
    }

    /// Says that its `init` has refused. To be said while the call of `init` is open.
    pub(super) fn refuse(&self) {
        // Relaxed: the end of that call comes after it, which whoever unloads the object has seen.
        self.0.refused.store(true, Ordering::Relaxed);
    }

    /// Unloads what has refused to be loaded, without its `fini`.
    pub(super) fn give_up(&self) {
        // Whoever found it in the list meanwhile can have called it.
        loop {
            match self.drain(Duration::MAX) {
                Ok(()) => break,
                Err(None) => return,
                Err(Some(_)) => thread::sleep(Duration::from_millis(1)),
            }
        }
        self.let_go();
    }

    /// From `CLOSING` to `GONE`.
    fn close(&self) -> Unload {
        let inner = &*self.0;
        // Whoever samples has read its stacks before they were empty, and may not have emitted them yet.
        drop(registry().sampling());
        // Relaxed: see `refuse`.
        if !inner.refused.load(Ordering::Relaxed) {
            // SAFETY: by the invariants no code of the object is in use, which is all that objects may demand.
            unsafe { inner.table.fini() };
        }
        self.let_go()
    }

    /// The rest of [`close`](Self::close), without the object's `fini`.
    fn let_go(&self) -> Unload {
        let inner = &*self.0;
        inner.table.let_go();
        registry().remove(&inner.numbered);
        let outcome = self.unmap();
        let outcome = inner.outcome.get_or_init(|| outcome).clone();
        // Pairs with the exchange in `drain`, which then finds the outcome.
        inner.state.store(GONE, Ordering::SeqCst);
        outcome
    }

    fn unmap(&self) -> Unload {
        let inner = &*self.0;
        let mut held = loader::hold();
        held.forget(self);
        let Some(library) = inner.library().take() else {
            return Unload::Unmapped;
        };
        let range = inner.place.range();
        let handlers = signals_handled_in(range).map(PinReason::SignalHandler);
        let unseen =
            |pin: &&PinReason| matches!(pin, PinReason::ThreadKeys(by) if !keys::are_seen(by));
        let holds: Vec<PinReason> = handlers
            .chain(inner.info.pins.iter().filter(unseen).cloned())
            .collect();
        if !holds.is_empty() {
            // It stays open for ever.
            return Unload::Pinned(holds);
        }
        // SAFETY: as for `fini` in `close`; threads that are ending are of the contract of `load`.
        unsafe { keys::delete_in(range) };
        // SAFETY: as above, and nothing of it has been found to be held.
        attach::while_loading(|| unsafe { library.close() });
        if !inner.place.is_mapped() {
            return Unload::Unmapped;
        }
        let held = |pin: &&PinReason| !matches!(pin, PinReason::ThreadKeys(_));
        let mut reasons: Vec<_> = inner.info.pins.iter().filter(held).cloned().collect();
        if reasons.is_empty() {
            reasons.push(PinReason::OpenElsewhere);
        }
        Unload::Pinned(reasons)
    }
}

/// The signals whose handlers lie there.
fn signals_handled_in(range: &std::ops::Range<usize>) -> impl Iterator<Item = i32> {
    (1..=libc::SIGRTMAX()).filter(move |signal| {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: asks, and changes nothing; writes an action where it returns 0.
        let code = unsafe { libc::sigaction(*signal, std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: it has been written then.
        code == 0 && range.contains(&unsafe { action.assume_init() }.sa_sigaction)
    })
}

/// An open call: while there is one, its object stays where it is.
///
/// ```
/// use ghc_eventlog::objects::{Entered, Symbol};
///
/// fn greet(entered: &Entered<'_>, greet: &Symbol<unsafe extern "C" fn(u32) -> u32>) -> u32 {
///     // SAFETY: the function takes any number.
///     unsafe { entered.get(greet)(1) }
/// }
/// ```
#[derive(Debug)]
#[must_use = "the object may be unloaded as soon as this is dropped"]
pub struct Entered<'a> {
    object: &'a Inner,
    shard: usize,
}

impl Entered<'_> {
    /// The pointer that a symbol of this object stands for. It is used while the call is open, not longer.
    ///
    /// # Panics
    /// If the symbol is another object's.
    ///
    /// ```
    /// use ghc_eventlog::objects::{Entered, Symbol};
    ///
    /// fn first(entered: &Entered<'_>, table: &Symbol<*const u64>) -> u64 {
    ///     // SAFETY: the object exports such a table.
    ///     unsafe { *entered.get(table) }
    /// }
    /// ```
    #[inline]
    #[track_caller]
    pub fn get<T: Copy>(&self, symbol: &Symbol<T>) -> T {
        self.object.get(symbol)
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        self.object.leave(self.shard);
    }
}

/// An [open call](Entered) that holds a handle of its object. It may be dropped by any thread.
///
/// ```
/// use ghc_eventlog::objects::{Object, OwnedEntered};
///
/// fn begin(object: &Object) -> Option<OwnedEntered> {
///     object.enter_owned()
/// }
/// ```
#[derive(Debug)]
#[must_use = "the object may be unloaded as soon as this is dropped"]
pub struct OwnedEntered {
    object: Object,
    shard: usize,
}

impl OwnedEntered {
    /// The pointer that a symbol of this object stands for. It is used while the call is open, not longer.
    ///
    /// # Panics
    /// If the symbol is another object's.
    ///
    /// ```
    /// use ghc_eventlog::objects::{OwnedEntered, Symbol};
    ///
    /// fn first(entered: &OwnedEntered, table: &Symbol<*const u64>) -> u64 {
    ///     // SAFETY: the object exports such a table.
    ///     unsafe { *entered.get(table) }
    /// }
    /// ```
    #[inline]
    #[track_caller]
    pub fn get<T: Copy>(&self, symbol: &Symbol<T>) -> T {
        self.object.0.get(symbol)
    }

    /// The object that is called.
    ///
    /// ```
    /// fn name(entered: &ghc_eventlog::objects::OwnedEntered) -> &str {
    ///     entered.object().name()
    /// }
    /// ```
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }
}

impl Drop for OwnedEntered {
    fn drop(&mut self) {
        self.object.0.leave(self.shard);
    }
}

/// What an object exports under a name. It may be kept for longer than the object; it is used [within a
/// call](Entered::get).
///
/// ```
/// use ghc_eventlog::objects::Symbol;
///
/// struct Plugin {
///     greet: Symbol<unsafe extern "C" fn(u32) -> u32>,
/// }
/// ```
pub struct Symbol<T> {
    object: ObjectId,
    address: NonNull<c_void>,
    kind: PhantomData<T>,
}

impl<T> Clone for Symbol<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Symbol<T> {}

impl<T> fmt::Debug for Symbol<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbol")
            .field("object", &self.object)
            .field("address", &self.address)
            .finish()
    }
}

// SAFETY: an address; whoever uses it says that this is right.
unsafe impl<T> Send for Symbol<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Symbol<T> {}

/// An object does not export that.
///
/// ```
/// fn tell(error: &ghc_eventlog::objects::SymbolError) -> String {
///     error.to_string()
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolError {
    object: String,
    symbol: CString,
    unloaded: bool,
}

impl fmt::Display for SymbolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (object, symbol) = (&self.object, self.symbol.to_string_lossy());
        match self.unloaded {
            true => write!(f, "object {object}, which is to have {symbol}, is unloaded"),
            false => write!(f, "object {object} does not export {symbol}"),
        }
    }
}

impl std::error::Error for SymbolError {}
