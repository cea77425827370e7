//! Objects that register themselves: by a constructor, since they are linked into the program or opened by an ordinary
//! `dlopen`. What they call is here, under the names that they look for.
//!
//! Constructors run while the dynamic linker holds its lock. So nothing here takes the loader's lock, which is
//! held around calls of the dynamic linker.

use super::records::Table;
use super::registry::{ObjectCostCentres, registry};
use ghc_eventlog_object::Object;
use std::cell::{Cell, RefCell};
use std::process;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What objects refer to, so that an ordinary `dlopen` in a program that is no host fails.
#[allow(non_upper_case_globals, reason = "objects look for this name")]
#[unsafe(no_mangle)]
#[used]
pub(super) static evl_way_prof_abi1: u8 = 1;

/// The process in which an object registered itself last. A forked child may find the lock of the list held for ever.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// An object that has registered itself.
struct Attached {
    /// The address of its table.
    table: usize,
    /// In which process. A child that was forked from it has no such object.
    process: u32,
    numbered: Arc<ObjectCostCentres>,
}

/// Objects that have registered themselves.
static ATTACHED: Mutex<Vec<Attached>> = Mutex::new(Vec::new());

thread_local! {
    /// While the loader of this thread opens or closes a library: the tables that came meanwhile, which
    /// `while_loading` has. It needs no destructor: libraries are opened also by threads that are ending.
    static LOADING: Cell<Option<NonNull<RefCell<Vec<usize>>>>> = const { Cell::new(None) };
}

fn attached() -> MutexGuard<'static, Vec<Attached>> {
    // Each change is one call.
    ATTACHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this thread's loader is opening or closing a library, so that this is called by a constructor or destructor.
pub(super) fn is_loading() -> bool {
    LOADING.get().is_some()
}

/// Calls the dynamic linker, and returns which tables were registered by constructors meanwhile. They are not
/// in the list yet.
pub(super) fn while_loading<T>(call: impl FnOnce() -> T) -> (T, Vec<usize>) {
    /// Takes the pointer back, whatever becomes of the call.
    struct Loading;

    impl Drop for Loading {
        fn drop(&mut self) {
            LOADING.set(None);
        }
    }

    let came = RefCell::new(Vec::new());
    LOADING.set(Some(NonNull::from(&came)));
    let loading = Loading;
    let result = call();
    drop(loading);
    (result, came.into_inner())
}

/// Registers an object that is linked into the program, or opened by an ordinary `dlopen`, and returns its
/// number: 0 where it is not taken, since it is of another version or registered already. Does nothing while a
/// loader opens the object.
///
/// # Safety
/// `object` points to the table of an object, which stays where it is until [`evl_object_detach`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evl_object_attach(object: *const Object) -> u32 {
    match LOADING.get() {
        Some(came) => {
            // SAFETY: it is in `while_loading` of this thread, which takes the pointer back before it returns.
            let came = unsafe { came.as_ref() };
            came.borrow_mut().push(object.expose_provenance());
            0
        }
        // SAFETY: the caller's.
        None => unsafe { attach(object) },
    }
}

/// # Safety
/// As for [`evl_object_attach`].
pub(super) unsafe fn attach(object: *const Object) -> u32 {
    // SAFETY: the caller's.
    let Ok(table) = (unsafe { Table::new(object, None) }) else {
        return 0;
    };
    let mut attached = attached();
    if table.is_taken() {
        return 0;
    }
    let Some(numbered) = registry().add(&table.name(), table.definitions()) else {
        return 0;
    };
    table.take(&numbered);
    // Relaxed: as in `evl_object_detach`.
    PROCESS.store(process::id(), Ordering::Relaxed);
    let id = numbered.id().0;
    attached.push(Attached {
        table: object.addr(),
        process: process::id(),
        numbered,
    });
    id
}

/// Takes an object that [has registered itself](evl_object_attach) out of the list. Does nothing for others, and in a
/// forked child, whose locks may be held by threads of its parent: destructors run there as well.
///
/// # Safety
/// No code of the object runs any more, but for destructors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evl_object_detach(object: *const Object) {
    // Relaxed: who has attached the object has loaded it, and the dynamic linker's lock lies between.
    if PROCESS.load(Ordering::Relaxed) != process::id() {
        return;
    }
    let mut attached = attached();
    let process = process::id();
    let is_it = |one: &Attached| one.table == object.addr() && one.process == process;
    let Some(index) = attached.iter().position(is_it) else {
        return;
    };
    let Attached { numbered, .. } = attached.swap_remove(index);
    // SAFETY: it is in the list, so it is there until this returns.
    if let Ok(table) = unsafe { Table::new(object, None) } {
        table.let_go();
    }
    drop(attached);
    drop(registry().sampling());
    registry().remove(&numbered);
}
