//! Profiled objects, for hosts in C: looking into their files, loading, calling and unloading them, the list of cost centres,
//! each thread's stack, and profiles.

mod cost_centres;
mod file;
mod heap;
mod info;
mod loaded;
mod profiler;
mod stack;

pub(crate) use cost_centres::CostCentreList;
#[cfg(test)]
pub(crate) use cost_centres::{CCostCentre, CObjectsStatistics};
pub(crate) use file::ObjectFile;
#[cfg(test)]
pub(crate) use info::CObjectInfo;
pub(crate) use loaded::{CallObject, LoadedObject};
pub(crate) use profiler::ProfilerObject;
#[cfg(test)]
pub(crate) use profiler::{CProfilerOptions, CProfilerStatistics};

use crate::code::{Code, Failure, Outcome};
use crate::fork;
use std::ffi::CString;

/// Refuses in a forked child: locks of what all objects share may be held by threads that are not there.
///
/// # Errors
/// In a child; and where there is no memory to find out that it is one.
fn own_process() -> Outcome {
    fork::get_ready()?;
    match fork::epoch() {
        0 => Ok(()),
        _ => Err(Failure::new(
            Code::Forked,
            "objects are of the process that this one was forked from",
        )),
    }
}

/// A text for C: up to its first NUL.
fn c_text(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}
