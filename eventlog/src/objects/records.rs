//! What an object's table says, read once and copied; and the two things that the host writes into an object:
//! the numbers of its cost centres, and the host's own table.

use super::registry::{Definition, ObjectCostCentres};
use super::stack;
use crate::format::CostCentreFlags;
use ghc_eventlog_object::{ABI_MAJOR, CostCentre, Host, HostSlot, Object};
use std::ffi::{CStr, c_char};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::Ordering;

/// An object's table in memory, which is there for as long as this is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    object: &'a Object,
    cost_centres: &'a [CostCentre],
    host: &'a HostSlot,
}

/// What is wrong with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadTable {
    Version,
    Size,
    CostCentres,
    HostSlot,
}

impl BadTable {
    pub(super) fn reason(self) -> &'static str {
        match self {
            BadTable::Version => "it is of another version than its note says",
            BadTable::Size => "it is shorter than its version demands",
            BadTable::CostCentres => "its cost centres do not lie in its own data",
            BadTable::HostSlot => "its slot for the host does not lie in its own data",
        }
    }
}

impl<'a> Table<'a> {
    /// The table at `object`, whose library lies at these addresses if they are known.
    ///
    /// # Safety
    /// It is the table of an object that stays where it is for `'a`, and is made by the macros of
    /// `ghc-eventlog-object` or `eventlog_object.h`.
    pub(super) unsafe fn new(
        object: *const Object,
        library: Option<&Range<usize>>,
    ) -> Result<Self, BadTable> {
        // SAFETY: the caller's.
        let object = unsafe { &*object };
        if object.abi != u32::from(ABI_MAJOR) {
            return Err(BadTable::Version);
        }
        if (object.size as usize) < size_of::<Object>() {
            return Err(BadTable::Size);
        }
        let within = |range: Range<usize>| {
            range.start <= range.end
                && library.is_none_or(|at| at.start <= range.start && range.end <= at.end)
        };
        let records = object.begin.addr()..object.end.addr();
        let bytes = records.end.wrapping_sub(records.start);
        // Null where the library has none and the linker therefore no section.
        let cost_centres = if records == (0..0) {
            &[]
        } else if !within(records)
            || bytes % size_of::<CostCentre>() != 0
            || !object.begin.is_aligned()
        {
            return Err(BadTable::CostCentres);
        } else {
            // SAFETY: aligned, in the object's data, and made of cost centres, as the caller says.
            unsafe { std::slice::from_raw_parts(object.begin, bytes / size_of::<CostCentre>()) }
        };
        let slot = object.host.addr();
        if slot == 0 || !object.host.is_aligned() || !within(slot..slot + size_of::<HostSlot>()) {
            return Err(BadTable::HostSlot);
        }
        Ok(Table {
            object,
            cost_centres,
            // SAFETY: not null, aligned, and in the object's data.
            host: unsafe { &*object.host },
        })
    }

    /// The object's name.
    pub(super) fn name(&self) -> String {
        // SAFETY: as `new` demands, a text of the object.
        unsafe { text(self.object.name) }.into()
    }

    /// Copies of what it says of its cost centres.
    pub(super) fn definitions(&self) -> Vec<Definition> {
        let copy = |cost_centre: &CostCentre| {
            // SAFETY: as `new` demands, texts of the object.
            let [label, module, srcloc] = unsafe {
                [cost_centre.label, cost_centre.module, cost_centre.srcloc].map(|at| text(at))
            };
            Definition {
                label,
                module,
                srcloc,
                flags: CostCentreFlags(cost_centre.flags as u8),
            }
        };
        self.cost_centres.iter().map(copy).collect()
    }

    /// Whether a host has numbered its cost centres, or has set its slot.
    pub(super) fn is_taken(&self) -> bool {
        // Relaxed: written by this thread, or by another that has let go of a lock since.
        let numbered = |cost_centre: &CostCentre| cost_centre.id.load(Ordering::Relaxed) != 0;
        !self.host.load(Ordering::Relaxed).is_null() || self.cost_centres.iter().any(numbered)
    }

    /// Writes the numbers, then has the object use this host. The numbers must have been defined before.
    pub(super) fn take(&self, numbered: &ObjectCostCentres) {
        for (cost_centre, info) in self.cost_centres.iter().zip(numbered.cost_centres()) {
            // Relaxed: published by the slot below.
            cost_centre.id.store(info.id, Ordering::Relaxed);
        }
        let host = (&raw const stack::HOST).cast_mut();
        // Pairs with the acquire load in `Scope::enter` and `evl_enter`.
        self.host.store(host, Ordering::Release);
    }

    /// Has the object use no host any more.
    pub(super) fn let_go(&self) {
        // Relaxed: nobody reads anything through null.
        self.host.store(ptr::null_mut::<Host>(), Ordering::Relaxed);
    }

    /// Calls the object's `init`. It is refused by a number other than 0.
    ///
    /// # Safety
    /// What the object's `init` demands.
    pub(super) unsafe fn init(&self) -> i32 {
        // SAFETY: the caller's.
        self.object.init.map_or(0, |init| unsafe { init() })
    }

    /// Calls the object's `fini`.
    ///
    /// # Safety
    /// What the object's `fini` demands: no code of the object is in use.
    pub(super) unsafe fn fini(&self) {
        if let Some(fini) = self.object.fini {
            // SAFETY: the caller's.
            unsafe { fini() };
        }
    }
}

/// A copy of a text; the empty one for null.
///
/// # Safety
/// Null, or a text with a NUL behind it.
unsafe fn text(text: *const c_char) -> Box<str> {
    if text.is_null() {
        return Box::default();
    }
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into()
}
