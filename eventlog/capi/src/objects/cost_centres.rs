//! Lists of cost centres, as they were at one moment: `evl_cost_centres` and its functions; and what defines them in logs.

use super::{c_text, own_process};
use crate::code::{Code, Failure, Outcome, entry};
use crate::log::{LogObject, not_in_sink};
use crate::object::{Id, Out};
use crate::signals::PipeBlocked;
use crate::sized::{Filled, Versioned};
use ghc_eventlog::objects::{ObjectCostCentres, ObjectInfo, registry};
use std::ffi::{CString, c_char, c_int};
use std::sync::Arc;

/// `evl_cost_centre_info`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CCostCentre {
    pub(crate) size: u64,
    // Side by side, so that there is no padding where pointers have four bytes.
    pub(crate) label: *const c_char,
    pub(crate) module: *const c_char,
    pub(crate) srcloc: *const c_char,
    pub(crate) object_name: *const c_char,
    pub(crate) id: u64,
    pub(crate) flags: u64,
    pub(crate) object: u64,
}

// SAFETY: numbers and pointers without padding.
unsafe impl Versioned for CCostCentre {
    const NAME: &'static str = "evl_cost_centre_info";
}

/// `evl_objects_statistics`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CObjectsStatistics {
    pub(crate) size: u64,
    pub(crate) objects: u64,
    pub(crate) cost_centres: u64,
    pub(crate) undefined: u64,
    pub(crate) live_bytes: u64,
    pub(crate) live_stacks: u64,
    pub(crate) live_others: u64,
}

// SAFETY: numbers without padding.
unsafe impl Versioned for CObjectsStatistics {
    const NAME: &'static str = "evl_objects_statistics";
}

/// What `evl_cost_centres` stands for: copies of all texts, for as long as the handle is good.
#[derive(Default)]
pub(crate) struct CostCentreList {
    /// Names and numbers of objects.
    objects: Vec<(CString, u32)>,
    /// In the order of their numbers.
    cost_centres: Vec<CostCentre>,
}

struct CostCentre {
    id: u32,
    flags: u8,
    label: CString,
    module: CString,
    srcloc: CString,
    /// Which of the objects' it is.
    object: usize,
}

impl CostCentreList {
    /// Those of objects that are or were loaded, in the order in which they came.
    pub(super) fn of<'a>(objects: impl Iterator<Item = &'a ObjectCostCentres>) -> Self {
        let mut list = CostCentreList::default();
        for object in objects {
            let index = list.objects.len();
            list.objects.push((c_text(object.name()), object.id().0));
            let cost_centres = object.cost_centres().iter();
            list.cost_centres
                .extend(cost_centres.map(|info| CostCentre {
                    id: info.id,
                    flags: info.flags.0,
                    label: c_text(&info.label),
                    module: c_text(&info.module),
                    srcloc: c_text(&info.srcloc),
                    object: index,
                }));
        }
        list
    }

    /// Those of a file, which have no numbers yet.
    pub(super) fn of_file(info: &ObjectInfo) -> Self {
        let cost_centres = info.cost_centres.iter();
        CostCentreList {
            objects: vec![(c_text(&info.name), 0)],
            cost_centres: cost_centres
                .map(|info| CostCentre {
                    id: 0,
                    flags: 0,
                    label: c_text(&info.label),
                    module: c_text(&info.module),
                    srcloc: c_text(&info.srcloc),
                    object: 0,
                })
                .collect(),
        }
    }

    /// The one at that place. Its texts are there for as long as the list is.
    fn at(&self, index: usize) -> Option<CCostCentre> {
        let found = self.cost_centres.get(index)?;
        let (name, number) = self.objects.get(found.object)?;
        Some(CCostCentre {
            size: 0,
            label: found.label.as_ptr(),
            module: found.module.as_ptr(),
            srcloc: found.srcloc.as_ptr(),
            object_name: name.as_ptr(),
            id: u64::from(found.id),
            flags: u64::from(found.flags),
            object: u64::from(*number),
        })
    }

    fn find(&self, id: u32) -> Option<CCostCentre> {
        let index = self.cost_centres.binary_search_by_key(&id, |one| one.id);
        self.at(index.ok()?)
    }
}

/// `evl_objects_cost_centres`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_objects_cost_centres(out: *mut Id<Arc<CostCentreList>>) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "list") }?;
        own_process()?;
        let list = CostCentreList::of(registry().cost_centres().objects());
        out.put(Id::new(Arc::new(list))?);
        Ok(())
    })
}

/// `evl_cost_centres_len`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_cost_centres_len(list: Id<Arc<CostCentreList>>, out: *mut u64) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "len") }?;
        out.put(list.read(|list| list.cost_centres.len())? as u64);
        Ok(())
    })
}

/// Fills in one of a list.
unsafe fn put(
    list: Id<Arc<CostCentreList>>,
    out: *mut CCostCentre,
    look: impl FnOnce(&CostCentreList) -> Outcome<CCostCentre>,
) -> Outcome {
    // SAFETY: the header asks for a structure with its size.
    let mut out = unsafe { Filled::new(out) }?;
    let found = list.read(|list| look(list))?;
    out.put(&found?);
    Ok(())
}

/// `evl_cost_centres_get`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_cost_centres_get(
    list: Id<Arc<CostCentreList>>,
    index: u64,
    out: *mut CCostCentre,
) -> c_int {
    let look = |list: &CostCentreList| {
        let found = usize::try_from(index).ok().and_then(|index| list.at(index));
        found.ok_or_else(|| {
            let count = list.cost_centres.len();
            let text = format!("there is no cost centre {index} in a list of {count}, from 0 on");
            Failure::new(Code::Argument, text)
        })
    };
    // SAFETY: as the header says.
    entry(|| unsafe { put(list, out, look) })
}

/// `evl_cost_centres_find`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_cost_centres_find(
    list: Id<Arc<CostCentreList>>,
    id: u32,
    out: *mut CCostCentre,
) -> c_int {
    let look = |list: &CostCentreList| list.find(id).ok_or_else(|| unknown(id));
    // SAFETY: as the header says.
    entry(|| unsafe { put(list, out, look) })
}

/// There is no cost centre of that number.
pub(super) fn unknown(id: u32) -> Failure {
    let text = format!("no cost centre in the list has the number {id}");
    Failure::new(Code::Argument, text)
}

/// `evl_cost_centres_release`
#[unsafe(no_mangle)]
extern "C" fn evl_cost_centres_release(list: Id<Arc<CostCentreList>>) -> c_int {
    entry(|| list.take().map(drop))
}

/// `evl_objects_define`
#[unsafe(no_mangle)]
extern "C" fn evl_objects_define(log: Id<Arc<LogObject>>) -> c_int {
    entry(|| {
        own_process()?;
        let log = log.get()?;
        not_in_sink()?;
        if log.is_relayed() {
            return Err(Failure::of(Code::Relayed));
        }
        let _blocked = PipeBlocked::new();
        registry().define_in(&log.log);
        Ok(())
    })
}

/// `evl_objects_get_statistics`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_objects_get_statistics(out: *mut CObjectsStatistics) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a structure with its size.
        let mut out = unsafe { Filled::new(out) }?;
        own_process()?;
        not_in_sink()?;
        let list = registry().cost_centres();
        let live = super::heap::counts();
        out.put(&CObjectsStatistics {
            size: 0,
            objects: list.objects().count() as u64,
            cost_centres: list.len() as u64,
            undefined: registry().undefined(),
            live_bytes: live.total(),
            live_stacks: live.stacks() as u64,
            live_others: live.others(),
        });
        Ok(())
    })
}
