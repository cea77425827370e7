//! Profiles of the process that are written to a log: `evl_profiler` and its functions.

use super::{heap, own_process};
use crate::code::{Code, Failure, Outcome, entry};
use crate::log::{LogObject, failure, not_in_sink};
use crate::object::{Id, Out};
use crate::signals::{AllBlocked, PipeBlocked};
use crate::sized::{Filled, Versioned, get};
use ghc_eventlog::EmitError;
use ghc_eventlog::objects::{Profiler, ProfilerError, ProfilerStatistics};
use std::ffi::c_int;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// `evl_profiler_options`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CProfilerOptions {
    pub(crate) size: u64,
    pub(crate) tick_ns: u64,
    pub(crate) has_heap: u64,
    pub(crate) heap_ns: u64,
}

// SAFETY: numbers without padding.
unsafe impl Versioned for CProfilerOptions {
    const NAME: &'static str = "evl_profiler_options";
}

const DEFAULT: CProfilerOptions = CProfilerOptions {
    size: size_of::<CProfilerOptions>() as u64,
    tick_ns: 1_000_000,
    has_heap: 0,
    heap_ns: 0,
};

/// `evl_profiler_statistics`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CProfilerStatistics {
    pub(crate) size: u64,
    pub(crate) ticks: u64,
    pub(crate) late: u64,
    pub(crate) stacks: u64,
    pub(crate) missed: u64,
    pub(crate) lost: u64,
    pub(crate) heap_samples: u64,
    pub(crate) heap_failures: u64,
}

// SAFETY: numbers without padding.
unsafe impl Versioned for CProfilerStatistics {
    const NAME: &'static str = "evl_profiler_statistics";
}

/// What `evl_profiler` stands for.
pub(crate) struct ProfilerObject {
    pub(crate) log: Id<Arc<LogObject>>,
    /// Taken out by whoever stops it, which waits for those who use it.
    profiler: RwLock<Option<Profiler>>,
}

impl ProfilerObject {
    fn with<T>(&self, run: impl FnOnce(&Profiler) -> T) -> Outcome<T> {
        // Nothing is changed but at once.
        let profiler = self.profiler.read().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have stopped it since its handle was found.
        profiler
            .as_ref()
            .map(run)
            .ok_or_else(|| Failure::of(Code::Stale))
    }
}

fn of(statistics: ProfilerStatistics) -> CProfilerStatistics {
    CProfilerStatistics {
        size: 0,
        ticks: statistics.ticks,
        late: statistics.late,
        stacks: statistics.stacks,
        missed: statistics.missed,
        lost: statistics.lost,
        heap_samples: statistics.heap_samples,
        heap_failures: statistics.heap_failures,
    }
}

fn profiler_failure(error: &ProfilerError) -> Failure {
    let code = match error {
        ProfilerError::Refused(EmitError::Stopped) => Code::Stopped,
        ProfilerError::Refused(EmitError::Relayed) => Code::Relayed,
        ProfilerError::Refused(EmitError::Undeclared { .. }) => Code::Undeclared,
        ProfilerError::Refused(_) => Code::Full,
        ProfilerError::Log(_) => Code::Sink,
        ProfilerError::Thread(_) => Code::Io,
        _ => Code::Argument,
    };
    failure(code, error)
}

/// `evl_profiler_options_init`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_profiler_options_init(to: *mut CProfilerOptions, size: u64) -> c_int {
    entry(|| {
        // SAFETY: the header asks for so many bytes.
        unsafe { Filled::with_size(to, size) }?.put(&DEFAULT);
        Ok(())
    })
}

/// `evl_profiler_start`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_profiler_start(
    log: Id<Arc<LogObject>>,
    from: *const CProfilerOptions,
    out: *mut Id<Arc<ProfilerObject>>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "profiler") }?;
        // SAFETY: the header asks for null or a structure with its size.
        let options = unsafe { get(from, DEFAULT) }?;
        own_process()?;
        let object = log.get()?;
        not_in_sink()?;
        let mut builder = Profiler::builder();
        if options.tick_ns > 0 {
            builder = builder.time(Duration::from_nanos(options.tick_ns));
        }
        match options.has_heap {
            0 => {}
            1 => {
                let every = match options.heap_ns {
                    0 => None,
                    every => Some(Duration::from_nanos(every)),
                };
                builder = builder.heap(heap::counts(), every);
            }
            other => {
                let text = format!("has_heap is {other}: 0 or 1 is possible");
                return Err(Failure::new(Code::Argument, text));
            }
        }
        // Its thread takes none.
        let _blocked = AllBlocked::new();
        let profiler = builder.start(&object.log);
        let profiler = profiler.map_err(|error| profiler_failure(&error))?;
        let profiler = ProfilerObject {
            log,
            profiler: RwLock::new(Some(profiler)),
        };
        out.put(Id::new(Arc::new(profiler))?);
        Ok(())
    })
}

/// `evl_profiler_sample_heap`
#[unsafe(no_mangle)]
extern "C" fn evl_profiler_sample_heap(profiler: Id<Arc<ProfilerObject>>) -> c_int {
    entry(|| {
        let profiler = profiler.get()?;
        not_in_sink()?;
        let _blocked = PipeBlocked::new();
        let sampled = profiler.with(Profiler::sample_heap)?;
        sampled.map_err(|error| profiler_failure(&error))
    })
}

/// `evl_profiler_get_statistics`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_profiler_get_statistics(
    profiler: Id<Arc<ProfilerObject>>,
    out: *mut CProfilerStatistics,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a structure with its size.
        let mut out = unsafe { Filled::new(out) }?;
        let profiler = profiler.get()?;
        not_in_sink()?;
        out.put(&of(profiler.with(Profiler::statistics)?));
        Ok(())
    })
}

/// `evl_profiler_stop`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_profiler_stop(
    profiler: Id<Arc<ProfilerObject>>,
    out: *mut CProfilerStatistics,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for null or a structure with its size.
        let out = (!out.is_null()).then(|| unsafe { Filled::new(out) });
        let out = out.transpose()?;
        // The handle stays good where a sink calls this.
        not_in_sink()?;
        let object = profiler.take()?;
        let _blocked = PipeBlocked::new();
        let taken = {
            let mut profiler = object
                .profiler
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            profiler.take()
        };
        let statistics = taken.ok_or_else(|| Failure::of(Code::Stale))?.stop();
        if let Some(mut out) = out {
            out.put(&of(statistics));
        }
        Ok(())
    })
}
