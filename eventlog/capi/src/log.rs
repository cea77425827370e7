//! The life of a log: `evl_create` to `evl_drop`, and what is done to it while it runs.

use crate::code::{Code, Failure, Outcome, entry};
use crate::config::{self, CPolicy, Config};
use crate::fork;
use crate::handle;
use crate::object::{Id, Kind, Out};
use crate::signals::{AllBlocked, PipeBlocked};
use crate::sink::SinkObject;
use crate::sized::Filled;
use crate::statistics::{self, CStatistics};
use crate::within::is_within_sink;
use ghc_eventlog::format::Header;
use ghc_eventlog::{
    EventLog, Previous, ResizeError, SetSinkError, SnapshotError, Start, StartError, Statistics,
};
use std::error::Error;
use std::ffi::c_int;
use std::mem::{self, ManuallyDrop};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What `evl_log` stands for.
pub(crate) struct LogObject {
    pub(crate) log: ManuallyDrop<EventLog>,
    /// What it declares.
    pub(crate) header: Arc<Header>,
    /// Held while the log is redirected: handles of sinks change in the order of the cuts.
    redirect: Mutex<()>,
    sink: Mutex<Arc<SinkObject>>,
    /// It has been stopped, and its sink has all of it.
    is_over: AtomicBool,
    /// What it takes is written by the run-time system.
    is_relayed: bool,
}

impl LogObject {
    pub(crate) fn new(
        log: EventLog,
        header: Arc<Header>,
        sink: Arc<SinkObject>,
        is_relayed: bool,
    ) -> Self {
        LogObject {
            log: ManuallyDrop::new(log),
            header,
            redirect: Mutex::default(),
            sink: Mutex::new(sink),
            is_over: AtomicBool::new(false),
            is_relayed,
        }
    }

    /// Whether events are written to it by the run-time system alone.
    pub(crate) fn is_relayed(&self) -> bool {
        self.is_relayed
    }

    /// The sink that it writes to.
    pub(crate) fn current_sink(&self) -> Arc<SinkObject> {
        Arc::clone(&self.sink())
    }

    /// Goes on in another sink. Gives the one that it has taken the place of, if it has: others may redirect the
    /// log at the same time, so nobody else knows which that is.
    ///
    /// # Errors
    /// Why not, or what became of the previous one.
    pub(crate) fn replace_sink(
        &self,
        object: Arc<SinkObject>,
        previous: Previous,
        start: Start,
    ) -> (Outcome, Option<Arc<SinkObject>>) {
        let sink = match not_in_sink().and_then(|()| object.sink()) {
            Ok(sink) => sink,
            Err(failure) => return (Err(failure), None),
        };
        // A sink with a queue starts its thread.
        let _blocked = AllBlocked::new();
        let redirect = self.redirect.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.log.set_sink(sink, previous, start);
        let replaced = matches!(outcome, Ok(()) | Err(SetSinkError::Previous { .. }))
            .then(|| mem::replace(&mut *self.sink(), object));
        drop(redirect);
        let outcome = outcome.map_err(|error| {
            let code = match &error {
                SetSinkError::Stopped => Code::Stopped,
                SetSinkError::InUse
                | SetSinkError::Closed
                | SetSinkError::Begun
                | SetSinkError::NotBegun => Code::Used,
                SetSinkError::Previous { .. } => Code::PreviousSink,
                _ => Code::Sink,
            };
            failure(code, &error)
        });
        // It is dropped without a lock: it may be the last of a sink whose release calls the library.
        (outcome, replaced)
    }

    /// Writes what its flight recorder holds to a new file.
    ///
    /// # Errors
    /// Where it has none, another snapshot is being written, or the file cannot be had.
    pub(crate) fn snapshot_to(&self, path: &Path) -> Outcome {
        let mut recording = Vec::new();
        // Before the file is made: what has no flight recorder must cost no file.
        self.log
            .snapshot(&mut recording)
            .map_err(|error| snapshot_failure(&error))?;
        let written = std::fs::write(path, recording);
        written.map_err(|error| Failure::new(Code::Io, format!("{}: {error}", path.display())))
    }

    fn sink(&self) -> MutexGuard<'_, Arc<SinkObject>> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) -> (Statistics, Outcome) {
        match self.log.stop() {
            Ok(statistics) => {
                // Relaxed: nothing is told by it but that one caller is the first.
                let was_over = self.is_over.swap(true, Ordering::Relaxed);
                let outcome = match was_over {
                    true => Err(Failure::of(Code::Stopped)),
                    false => Ok(()),
                };
                (statistics, outcome)
            }
            Err(error) => {
                let failure = failure(Code::Sink, &error);
                (error.statistics().clone(), Err(failure))
            }
        }
    }
}

impl Drop for LogObject {
    fn drop(&mut self) {
        // What the sink has refused is offered once more, by whatever call has it last.
        let _blocked = PipeBlocked::new();
        // SAFETY: here alone, and nobody uses it from here on.
        unsafe { ManuallyDrop::drop(&mut self.log) };
    }
}

/// The failure of an error whose cause may be that a sink calls.
pub(crate) fn failure(code: Code, error: &(dyn Error + 'static)) -> Failure {
    let cause = error.source().unwrap_or(error);
    match cause.downcast_ref::<std::io::Error>() {
        Some(cause) => Failure::from_io(code, cause, error),
        None => Failure::from_error(code, error),
    }
}

fn snapshot_failure(error: &SnapshotError) -> Failure {
    let code = match error {
        SnapshotError::NotRecording => Code::NotRecording,
        SnapshotError::Busy => Code::Busy,
        _ => Code::Sink,
    };
    failure(code, error)
}

/// Refuses a call that would wait for the sink that makes it.
pub(crate) fn not_in_sink() -> Outcome {
    match is_within_sink() {
        true => Err(Failure::of(Code::InSink)),
        false => Ok(()),
    }
}

/// `evl_create`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_create(
    config: *const Config,
    sink: Id<Arc<SinkObject>>,
    out: *mut Id<Arc<LogObject>>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "log") }?;
        fork::get_ready()?;
        // SAFETY: the header asks for it.
        let (builder, header) = unsafe { config::builder(config) }?;
        let sink = sink.get()?;
        let _blocked = AllBlocked::new();
        let log = builder.sink(sink.sink()?).map_err(|error| {
            let code = match &error {
                StartError::Buffer(_) => Code::Memory,
                StartError::SinkUsed => Code::Used,
                StartError::Io(_) => Code::Sink,
                _ => Code::Argument,
            };
            failure(code, &error)
        })?;
        let log = LogObject::new(log, Arc::new(header), sink, false);
        out.put(Id::new(Arc::new(log))?);
        Ok(())
    })
}

/// `evl_stop`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_stop(log: Id<Arc<LogObject>>, out: *mut CStatistics) -> c_int {
    entry(|| {
        // SAFETY: the header asks for null or a structure with its size.
        let out = (!out.is_null()).then(|| unsafe { Filled::new(out) });
        let out = out.transpose()?;
        let log = log.get()?;
        let _blocked = PipeBlocked::new();
        let (statistics, outcome) = log.stop();
        if let Some(mut out) = out {
            out.put(&statistics::of(&statistics));
        }
        outcome
    })
}

/// `evl_drop`
#[unsafe(no_mangle)]
extern "C" fn evl_drop(log: Id<Arc<LogObject>>) -> c_int {
    entry(|| {
        let object = log.take()?;
        let _blocked = PipeBlocked::new();
        // Its last sample goes into the log. It waits for other profilers, whose sink may be the one that calls: then it is
        // left to whoever stops it.
        if !is_within_sink() {
            drop(handle::remove_owned_by(log, |kind| kind == Kind::Profiler));
        }
        let (_, outcome) = object.stop();
        drop(handle::remove_owned_by(log, |kind| kind != Kind::Profiler));
        match outcome {
            // That is how it should be.
            Err(failure) if failure.code == Code::Stopped => Ok(()),
            outcome => outcome,
        }
    })
}

/// `evl_flush`
#[unsafe(no_mangle)]
extern "C" fn evl_flush(log: Id<Arc<LogObject>>) -> c_int {
    entry(|| {
        let log = log.get()?;
        let _blocked = PipeBlocked::new();
        let flushed = log.log.flush();
        flushed.map_err(|error| Failure::from_io(Code::Sink, &error, &error))
    })
}

/// What becomes of the previous sink.
///
/// # Errors
/// Where the number says nothing of that.
pub(crate) fn read_previous(number: c_int) -> Outcome<Previous> {
    match number {
        0 => Ok(Previous::Close),
        1 => Ok(Previous::Keep),
        other => {
            let text = format!(
                "{other} is nothing to do with the previous sink: EVL_CLOSE_PREVIOUS (0) or EVL_KEEP_PREVIOUS (1)"
            );
            Err(Failure::new(Code::Argument, text))
        }
    }
}

/// How a log begins in its new sink.
///
/// # Errors
/// Where the number says nothing of that.
pub(crate) fn read_start(number: c_int) -> Outcome<Start> {
    match number {
        0 => Ok(Start::Header),
        1 => Ok(Start::Continue),
        other => {
            let text = format!("{other} is no way to begin: EVL_HEADER (0) or EVL_CONTINUE (1)");
            Err(Failure::new(Code::Argument, text))
        }
    }
}

/// `evl_set_sink`
#[unsafe(no_mangle)]
extern "C" fn evl_set_sink(
    log: Id<Arc<LogObject>>,
    sink: Id<Arc<SinkObject>>,
    previous: c_int,
    start: c_int,
) -> c_int {
    entry(|| {
        let (previous, start) = (read_previous(previous)?, read_start(start)?);
        let log = log.get()?;
        log.replace_sink(sink.get()?, previous, start).0
    })
}

/// `evl_get_sink`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_get_sink(log: Id<Arc<LogObject>>, out: *mut Id<Arc<SinkObject>>) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "sink") }?;
        let log = log.get()?;
        let sink = Arc::clone(&log.sink());
        out.put(Id::new(sink)?);
        Ok(())
    })
}

/// `evl_snapshot`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_snapshot(
    log: Id<Arc<LogObject>>,
    sink: Id<Arc<SinkObject>>,
    bytes: *mut u64,
) -> c_int {
    entry(|| {
        let log = log.get()?;
        let writer = sink.get()?.take_writer()?;
        let _blocked = PipeBlocked::new();
        let written = log.log.snapshot(writer);
        let written = written.map_err(|error| snapshot_failure(&error))?;
        // SAFETY: the header asks for null or a valid place.
        if let Ok(mut bytes) = unsafe { Out::new(bytes, "bytes") } {
            bytes.put(written);
        }
        Ok(())
    })
}

/// `evl_resize`
#[unsafe(no_mangle)]
extern "C" fn evl_resize(log: Id<Arc<LogObject>>, bytes: u64) -> c_int {
    entry(|| {
        let log = log.get()?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        log.log.resize(bytes).map_err(|error| {
            let code = match error {
                ResizeError::Buffer { .. } => Code::Memory,
                _ => Code::Argument,
            };
            Failure::from_error(code, &error)
        })
    })
}

/// `evl_buffers_size`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_buffers_size(log: Id<Arc<LogObject>>, out: *mut u64) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "bytes") }?;
        out.put(log.get()?.log.buffers_size() as u64);
        Ok(())
    })
}

/// `evl_set_policy`
#[unsafe(no_mangle)]
extern "C" fn evl_set_policy(log: Id<Arc<LogObject>>, policy: CPolicy) -> c_int {
    entry(|| {
        let log = log.get()?;
        log.log.set_policy(policy.read()?);
        Ok(())
    })
}

/// `evl_get_policy`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_get_policy(log: Id<Arc<LogObject>>, out: *mut CPolicy) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "policy") }?;
        out.put(CPolicy::of(log.get()?.log.policy()));
        Ok(())
    })
}

/// `evl_now`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_now(log: Id<Arc<LogObject>>, out: *mut u64) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "nanoseconds") }?;
        out.put(log.get()?.log.clock().now());
        Ok(())
    })
}
