//! The tables that host and object share, as C lays them out: cost centres, the host's functions, the object itself.
//!
//! The C header `eventlog_object.h` declares the same. [`LAYOUT`](crate::LAYOUT) changes with them.

use core::ffi::c_char;
use core::mem::{offset_of, size_of};
use core::sync::atomic::{AtomicPtr, AtomicU32};

/// Of these tables: a host loads objects of its own major number only.
pub const ABI_MAJOR: u16 = 1;

/// What an object may rely on within [`ABI_MAJOR`]: a host loads objects of its own minor number or an earlier one.
pub const ABI_MINOR: u16 = 0;

/// A flag of a cost centre: it stands for a constant that is evaluated once.
pub const CAF: u32 = 1;

/// A cost centre in the data of an object: a named place in its code. [`scc!`](crate::scc!) makes them, in the section
/// `evl_cc`.
///
/// ```
/// use ghc_eventlog_object::CostCentre;
/// use std::sync::atomic::Ordering;
///
/// static PARSE: CostCentre = CostCentre::new(c"parse", c"my_object::input", c"src/input.rs:7", 0);
/// // The host gives it a number when it loads the object.
/// assert_eq!(PARSE.id.load(Ordering::Relaxed), 0);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct CostCentre {
    /// Its number, 0 until the host has given it one.
    pub id: AtomicU32,
    /// [`CAF`], or 0.
    pub flags: u32,
    /// Its name: a text with a NUL behind it.
    pub label: *const c_char,
    /// The module that it is in.
    pub module: *const c_char,
    /// Where it is in the source.
    pub srcloc: *const c_char,
}

// SAFETY: the texts are never written (`new` takes them for `'static`, and the C side has literals), and the number is
// atomic.
unsafe impl Sync for CostCentre {}
// SAFETY: as above; nothing belongs to a thread.
unsafe impl Send for CostCentre {}

impl CostCentre {
    /// A cost centre that no host knows yet.
    ///
    /// ```
    /// use ghc_eventlog_object::{CAF, CostCentre};
    ///
    /// static TABLE: CostCentre = CostCentre::new(c"table", c"my_object", c"src/lib.rs:3", CAF);
    /// assert_eq!(TABLE.flags, 1);
    /// ```
    #[must_use]
    pub const fn new(
        label: &'static core::ffi::CStr,
        module: &'static core::ffi::CStr,
        srcloc: &'static core::ffi::CStr,
        flags: u32,
    ) -> Self {
        CostCentre {
            id: AtomicU32::new(0),
            flags,
            label: label.as_ptr(),
            module: module.as_ptr(),
            srcloc: srcloc.as_ptr(),
        }
    }
}

/// What a host does for an object.
#[derive(Debug)]
#[repr(C)]
pub struct Host {
    /// Bytes of this table; later versions append to it.
    pub size: u32,
    /// The host's [`ABI_MAJOR`].
    pub abi: u32,
    /// Enters a cost centre on the calling thread, and returns what [`leave`](Self::leave) takes. The cost centre must
    /// be one that the host has numbered.
    pub enter: unsafe extern "C" fn(cost_centre: *const CostCentre) -> u32,
    /// Leaves the cost centre whose `enter` has returned that, and whatever was entered since.
    pub leave: unsafe extern "C" fn(entered: u32),
}

/// Where a host puts its table: null while there is none.
pub type HostSlot = AtomicPtr<Host>;

/// The slot of this library. Every library has a copy of this crate inside, so it is one for each.
#[doc(hidden)]
pub static HOST: HostSlot = AtomicPtr::new(core::ptr::null_mut());

/// What an object exports as `evl_object_v1`; [`object!`](crate::object!) makes it.
#[derive(Debug)]
#[repr(C)]
pub struct Object {
    /// Bytes of this table; later versions append to it.
    pub size: u32,
    /// The object's [`ABI_MAJOR`].
    pub abi: u32,
    /// Its name: a text with a NUL behind it.
    pub name: *const c_char,
    /// The first of its cost centres.
    pub begin: *const CostCentre,
    /// Behind the last of its cost centres.
    pub end: *const CostCentre,
    /// Where the host puts its table.
    pub host: *const HostSlot,
    /// Called once it is loaded and numbered. What is not 0 is a refusal: it is unloaded again.
    pub init: Option<unsafe extern "C" fn() -> i32>,
    /// Called before it is unloaded, after its last call has returned.
    pub fini: Option<unsafe extern "C" fn()>,
}

// SAFETY: nothing of it is ever written; what it points to is `Sync`.
unsafe impl Sync for Object {}
// SAFETY: as above; nothing belongs to a thread.
unsafe impl Send for Object {}

/// A symbol of the host that an object cannot be loaded without.
#[derive(Debug)]
#[repr(transparent)]
pub struct Require(pub *const u8);

// SAFETY: the address is never followed.
unsafe impl Sync for Require {}

// What `LAYOUT` says in words.
const _: () = {
    const PTR: usize = size_of::<*const u8>();
    assert!(offset_of!(CostCentre, id) == 0 && offset_of!(CostCentre, flags) == 4);
    assert!(offset_of!(CostCentre, label) == 8 && offset_of!(CostCentre, module) == 8 + PTR);
    assert!(
        offset_of!(CostCentre, srcloc) == 8 + 2 * PTR && size_of::<CostCentre>() == 8 + 3 * PTR
    );
    assert!(offset_of!(Host, size) == 0 && offset_of!(Host, abi) == 4);
    assert!(offset_of!(Host, enter) == 8 && offset_of!(Host, leave) == 8 + PTR);
    assert!(size_of::<Host>() == 8 + 2 * PTR);
    assert!(offset_of!(Object, size) == 0 && offset_of!(Object, abi) == 4);
    assert!(offset_of!(Object, name) == 8 && offset_of!(Object, begin) == 8 + PTR);
    assert!(offset_of!(Object, end) == 8 + 2 * PTR && offset_of!(Object, host) == 8 + 3 * PTR);
    assert!(offset_of!(Object, init) == 8 + 4 * PTR && offset_of!(Object, fini) == 8 + 5 * PTR);
    assert!(size_of::<Object>() == 8 + 6 * PTR);
};
