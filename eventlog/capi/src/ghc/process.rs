//! The log of this process that the run-time system writes: how it begins, in which sink, and how it ends.

use super::environment::{Listen, Mode, Place, Settings, default_path, path_of};
use super::rts;
use crate::chunk::Popper;
use crate::code::{Code, Failure, Outcome};
use crate::fork;
use crate::log::LogObject;
use crate::object::Id;
use crate::signals::{AllBlocked, PipeBlocked};
use crate::sink::{self, SinkObject};
use crate::within::is_within_sink;
use ghc_eventlog::format::Header;
use ghc_eventlog::{
    Address, AttachOptions, BlockWriter, EventLog, Keep, Listener, Previous, Sink, Start, WhenFull,
    relay,
};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::catch_unwind;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// Bytes of what the sink has not taken where nothing is said.
const BUDGET: usize = 16 << 20;

/// Bytes of chunks in memory where nothing is said.
const MEMORY: usize = 64 << 20;

/// Bytes of a flight recorder where nothing is said.
const FLIGHT: usize = 16 << 20;

/// This process's log, and what is to become of it.
pub(super) struct Process {
    pid: u32,
    /// Whether it was forked from one that had such a log.
    is_child: bool,
    settings: Settings,
    /// Where writes go, once there is a log.
    writer: OnceLock<BlockWriter>,
    /// Whether the run-time system has begun to write, and has not ended.
    is_running: AtomicBool,
    /// Whether it has been told that there is no log. Once is enough, whatever else is written.
    has_complained: AtomicBool,
    /// Whether the program has said itself where the log goes.
    is_redirected: AtomicBool,
    /// Held while the log is redirected: what was set before is known, and is let go of once.
    turn: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    log: Option<Started>,
    /// Where the log is to begin, if the program has said so.
    first: Option<Arc<SinkObject>>,
    /// Sinks of streams that the log was redirected away from, and that may be set again.
    kept: Vec<Arc<SinkObject>>,
    /// The memory that chunks are taken from.
    memory: Option<Arc<SinkObject>>,
}

struct Started {
    id: Id<Arc<LogObject>>,
    object: Arc<LogObject>,
    /// They keep the sockets open.
    listeners: Vec<Listener>,
}

/// The current one. What a parent had stays, and is not looked into but for what needs no lock.
static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

/// Whether the process's end brings the log to its end.
static HAS_EXIT: AtomicBool = AtomicBool::new(false);

impl Process {
    /// That of this process. Asks for the process's number, a system call.
    pub(super) fn current() -> &'static Process {
        let pid = std::process::id();
        // Acquire: pairs with the Release below.
        let found = CURRENT.load(Ordering::Acquire);
        // SAFETY: null, or made below and never freed.
        let known = unsafe { found.as_ref() };
        if let Some(process) = known.filter(|process| process.pid == pid) {
            return process;
        }
        let made = Box::into_raw(Box::new(Process::new(pid, known)));
        // Release: what was made is seen by whoever finds it. Acquire: pairs with that.
        let put = CURRENT.compare_exchange(found, made, Ordering::Release, Ordering::Acquire);
        match put {
            // SAFETY: it was made above, and from here on nobody frees it.
            Ok(_) => unsafe { &*made },
            Err(others) => {
                // SAFETY: it was made above, and nobody else knows of it.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: another thread of this process has made it, as above.
                unsafe { &*others }
            }
        }
    }

    fn new(pid: u32, parent: Option<&Process>) -> Self {
        let settings = match parent {
            None => {
                let (settings, complaints) = Settings::read(|name| std::env::var_os(name));
                complaints.iter().for_each(|complaint| complain(complaint));
                settings
            }
            Some(parent) => parent.for_child(),
        };
        Process {
            pid,
            is_child: parent.is_some(),
            settings,
            writer: OnceLock::new(),
            is_running: AtomicBool::new(false),
            has_complained: AtomicBool::new(false),
            is_redirected: AtomicBool::new(false),
            turn: Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// What holds for a child. Its log does not go where its parent's goes.
    fn for_child(&self) -> Settings {
        // Relaxed: it was set before the fork, or by a thread that is not here.
        let is_redirected = self.is_redirected.load(Ordering::Relaxed);
        let sink = match &self.settings.sink {
            _ if is_redirected => Some(Place::Nowhere),
            None | Some(Place::Path(_)) => self.settings.sink.clone(),
            Some(_) => Some(Place::Nowhere),
        };
        Settings {
            sink,
            listen: None,
            ..self.settings.clone()
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for a call that a sink may make, while this thread or one that waits for the sink holds it.
    ///
    /// # Errors
    /// [`Code::InSink`] where it would be waited for there.
    fn state_of_call(&self) -> Outcome<MutexGuard<'_, State>> {
        if !is_within_sink() {
            return Ok(self.state());
        }
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Failure::of(Code::InSink)),
        }
    }

    pub(super) fn set_running(&self, is_running: bool) {
        // Relaxed: it tells whether it makes sense to ask the run-time system, which says the same itself.
        self.is_running.store(is_running, Ordering::Relaxed);
    }

    /// Takes what the run-time system has written.
    pub(super) fn write(&self, bytes: &[u8]) {
        if let Some(writer) = self.writer.get() {
            // What is refused is counted.
            let _ = writer.write(bytes);
            return;
        }
        match self.start(bytes) {
            Ok(writer) => {
                let _ = writer.write(bytes);
            }
            // Relaxed: nothing is told by it but that one caller is the first.
            Err(failure) if !self.has_complained.swap(true, Ordering::Relaxed) => {
                complain(&format!("{}; nothing is written", failure.text()));
            }
            Err(_) => {}
        }
    }

    /// Starts the log with its first write.
    fn start(&self, first: &[u8]) -> Outcome<BlockWriter> {
        let mut state = self.state();
        if let Some(writer) = self.writer.get() {
            return Ok(writer.clone());
        }
        let header =
            relay::header_of(first).map_err(|aside| Failure::from_error(Code::Argument, &aside))?;
        fork::get_ready()?;
        let _blocked = AllBlocked::new();
        let sink = match state.first.take() {
            Some(sink) => sink,
            None => self.open(),
        };
        let (sink, log, writer) = match self.begin(&sink, &header) {
            Ok((log, writer)) => (sink, log, writer),
            Err(failure) => {
                complain(&format!("{}; nothing is written", failure.text()));
                let sink = nowhere();
                let (log, writer) = self.begin(&sink, &header)?;
                (sink, log, writer)
            }
        };
        state.remember(&sink);
        let listener = self.serve(&log);
        let object = Arc::new(LogObject::new(log, Arc::new(header), sink, true));
        let id = Id::new(Arc::clone(&object))?;
        state.log = Some(Started {
            id,
            object,
            listeners: listener.into_iter().collect(),
        });
        // Relaxed: this is under the lock, and a child has inherited both.
        if !HAS_EXIT.swap(true, Ordering::Relaxed) {
            // SAFETY: the function stays, as the library is never unloaded.
            unsafe { libc::atexit(at_exit) };
        }
        Ok(self.writer.get_or_init(|| writer).clone())
    }

    fn begin(&self, sink: &SinkObject, header: &Header) -> Outcome<(EventLog, BlockWriter)> {
        let mut builder = EventLog::builder().buffer_size(BUDGET);
        if let (Mode::File, Some(bytes)) = (self.settings.mode, self.settings.budget) {
            builder = builder.buffer_size(bytes);
        }
        let started = builder.relayed(sink.sink()?, header);
        started.map_err(|error| Failure::from_error(Code::Sink, &error))
    }

    /// Serves the log where the settings say so.
    fn serve(&self, log: &EventLog) -> Option<Listener> {
        let address = match self.settings.listen.clone()? {
            Listen::Unix(path) => Address::Unix(path),
            Listen::Tcp(address) => Address::Tcp(address),
        };
        match log.listen(address, AttachOptions::default()) {
            Ok(listener) => Some(listener),
            Err(error) => {
                let failure = Failure::from_error(Code::Io, &error);
                complain(&format!("{}; the log is not served", failure.text()));
                None
            }
        }
    }

    /// The sink that the settings name. Where it cannot be had that is told, and nothing is written.
    fn open(&self) -> Arc<SinkObject> {
        let opened = match self.settings.mode {
            Mode::File => self.open_place(),
            Mode::Memory => Ok(memory(self.settings.budget)),
            Mode::Flight => {
                let keep = Keep::bytes(self.settings.budget.unwrap_or(FLIGHT));
                Ok(SinkObject::of_sink(Sink::flight_recorder(keep), None))
            }
        };
        opened.map_or_else(
            |failure| {
                complain(&format!("{}; nothing is written", failure.text()));
                nowhere()
            },
            Arc::new,
        )
    }

    fn open_place(&self) -> Outcome<SinkObject> {
        let Some(place) = &self.settings.sink else {
            return self.open_file(default_path(std::env::args_os().next()));
        };
        let opened = self.open_named(place);
        opened.map_err(|failure| {
            Failure::new(failure.code, format!("EVENTLOG_SINK: {}", failure.text()))
        })
    }

    fn open_named(&self, place: &Place) -> Outcome<SinkObject> {
        let at = |what: &dyn std::fmt::Display, error: &io::Error| {
            Failure::new(Code::Io, format!("{what}: {error}"))
        };
        let writer: Box<dyn Write + Send> = match place {
            Place::Path(path) => return self.open_file(path.clone().into_os_string()),
            Place::Output => {
                // SAFETY: any number may be asked about.
                let copy = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, 0) };
                if copy < 0 {
                    return Err(at(&"standard output", &io::Error::last_os_error()));
                }
                // SAFETY: it is new, and belongs to nobody else.
                Box::new(unsafe { File::from_raw_fd(copy) })
            }
            Place::Nowhere => Box::new(io::sink()),
            Place::Unix(path) => {
                let socket = sink::connect_unix(path);
                socket.map_err(|error| at(&path.display(), &error))?
            }
            Place::Tcp(address) => {
                sink::connect_tcp(address).map_err(|error| at(address, &error))?
            }
        };
        Ok(SinkObject::of_writer(writer))
    }

    /// A file, as a stream: so the program can be told which it is.
    fn open_file(&self, path: OsString) -> Outcome<SinkObject> {
        let path = path_of(&path, self.pid, self.is_child);
        let failed =
            |error: io::Error| Failure::new(Code::Io, format!("{}: {error}", path.display()));
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| failed(io::ErrorKind::InvalidInput.into()))?;
        // SAFETY: both texts end with a NUL.
        let file = unsafe { libc::fopen(name.as_ptr(), c"wbe".as_ptr()) };
        let file = NonNull::new(file).ok_or_else(|| failed(io::Error::last_os_error()))?;
        // SAFETY: it is open, and closed by the call of the request that says so, or by the end of the process.
        Ok(unsafe { SinkObject::of_stream(file, false) })
    }

    /// Serves the log at one more socket.
    pub(super) fn listen(&self, address: Address) -> Outcome {
        let mut state = self.state_of_call()?;
        let started = state.log.as_mut().ok_or_else(not_begun)?;
        let _blocked = AllBlocked::new();
        let listener = started.object.log.listen(address, AttachOptions::default());
        let listener = listener.map_err(|error| Failure::from_error(Code::Io, &error))?;
        started.listeners.push(listener);
        Ok(())
    }

    /// The run-time system writes no more for now: what it has written is to be in the sink.
    pub(super) fn pause(&self) {
        self.set_running(false);
        let log = match &self.state().log {
            Some(started) => started.object.log.clone(),
            None => return,
        };
        let _blocked = PipeBlocked::new();
        if let Err(error) = log.flush() {
            complain(&format!("the sink of the event log: {error}"));
        }
    }

    /// The log's handle.
    ///
    /// # Errors
    /// [`Code::Empty`] where it has not begun; [`Code::InSink`] where it is just beginning, in the sink that calls.
    pub(super) fn id(&self) -> Outcome<Id<Arc<LogObject>>> {
        let state = self.state_of_call()?;
        let started = state.log.as_ref().ok_or_else(not_begun)?;
        Ok(started.id)
    }

    /// The log.
    ///
    /// # Errors
    /// As for [`id`](Self::id).
    pub(super) fn object(&self) -> Outcome<Arc<LogObject>> {
        let state = self.state_of_call()?;
        let started = state.log.as_ref().ok_or_else(not_begun)?;
        Ok(Arc::clone(&started.object))
    }

    /// Makes the run-time system hand over what it holds. Says whether all that was emitted before the call is in
    /// the log then. No lock may be held.
    pub(super) fn gather(&self) -> bool {
        // Relaxed: see `set_running`.
        if !self.is_running.load(Ordering::Relaxed) {
            return true;
        }
        let object = self.object().ok();
        rts::flush(object.as_ref().map(|object| &*object.header))
    }

    /// The least that the log has for what its sink has not taken, where the run-time system's buffers are resized: it
    /// must not lose what it would not lose before.
    pub(super) fn usual_budget(&self) -> u64 {
        let said = self
            .settings
            .budget
            .filter(|_| self.settings.mode == Mode::File);
        said.unwrap_or(BUDGET) as u64
    }

    /// Goes on in another sink, or begins there.
    pub(super) fn set_sink(
        &self,
        sink: Arc<SinkObject>,
        previous: Previous,
        start: Start,
    ) -> Outcome {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.redirect(sink, previous, start).0
    }

    /// As [`set_sink`](Self::set_sink), by whoever has the turn. Gives the sink that it has taken the place of, if it
    /// has: whoever has the log's handle redirects it without a turn.
    fn redirect(
        &self,
        sink: Arc<SinkObject>,
        previous: Previous,
        start: Start,
    ) -> (Outcome, Option<Arc<SinkObject>>) {
        // Relaxed: only a child asks, later.
        self.is_redirected.store(true, Ordering::Relaxed);
        let mut state = self.state();
        let Some(started) = &state.log else {
            state.remember(&sink);
            return (Ok(()), state.first.replace(sink));
        };
        let object = Arc::clone(&started.object);
        // Sinks that are written to meanwhile may ask for the log.
        drop(state);
        let replaced = object.replace_sink(Arc::clone(&sink), previous, start);
        if Arc::ptr_eq(&object.current_sink(), &sink) {
            self.state().remember(&sink);
        }
        replaced
    }

    /// As [`set_sink`](Self::set_sink), for a stream, or for memory where there is none. One that the log was
    /// redirected away from goes on there. The previous stream is closed where it is to be ended.
    pub(super) fn set_stream(
        &self,
        file: Option<NonNull<libc::FILE>>,
        previous: Previous,
        start: Start,
    ) -> Outcome {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |sink: &&Arc<SinkObject>| match file {
            Some(file) => sink.stream() == file.as_ptr(),
            None => sink.popper().is_ok(),
        };
        let kept = self.state().kept.iter().find(known).cloned();
        let kept = kept.filter(|_| start == Start::Continue);
        let sink = match (kept, file) {
            (Some(kept), _) => kept,
            // SAFETY: the header asks that it be open, and stay so until it is let go.
            (None, Some(file)) => Arc::new(unsafe { SinkObject::of_stream(file, false) }),
            (None, None) => Arc::new(memory(self.settings.budget)),
        };
        let (outcome, before) = self.redirect(sink, previous, start);
        let Some(before) = before.filter(|_| previous == Previous::Close) else {
            return outcome;
        };
        if let Some(closed) = before
            .givers_stream()
            .filter(|closed| file != Some(*closed))
        {
            self.state()
                .kept
                .retain(|sink| sink.stream() != closed.as_ptr());
            // Whoever has a handle of it must not write to what is closed.
            before.retire();
            // SAFETY: the log has let it go and no sink has it, and the caller gives it away by asking for that.
            unsafe { libc::fclose(closed.as_ptr()) };
        }
        outcome
    }

    /// The stream that is written to, or will be.
    ///
    /// # Errors
    /// [`Code::InSink`], as for [`id`](Self::id).
    pub(super) fn stream(&self) -> Outcome<Option<NonNull<libc::FILE>>> {
        let state = self.state_of_call()?;
        let sink = match (&state.log, &state.first) {
            (Some(started), _) => started.object.current_sink(),
            (None, Some(first)) => Arc::clone(first),
            (None, None) => return Ok(None),
        };
        Ok(NonNull::new(sink.stream()))
    }

    /// The memory that chunks are taken from.
    ///
    /// # Errors
    /// [`Code::InSink`], as for [`id`](Self::id).
    pub(super) fn memory(&self) -> Outcome<Option<Arc<SinkObject>>> {
        Ok(self.state_of_call()?.memory.clone())
    }
}

impl State {
    /// Remembers a sink that the log writes to, as long as it may be set again or read from.
    fn remember(&mut self, sink: &Arc<SinkObject>) {
        if sink.popper().is_ok() {
            self.memory = Some(Arc::clone(sink));
        }
        if sink.popper().is_ok() || !sink.stream().is_null() {
            self.kept.retain(|kept| {
                !Arc::ptr_eq(kept, sink)
                    && (kept.stream() != sink.stream() || kept.stream().is_null())
            });
            self.kept.push(Arc::clone(sink));
        }
    }
}

fn memory(budget: Option<usize>) -> SinkObject {
    let (sink, chunks) = Sink::chunks(budget.unwrap_or(MEMORY), WhenFull::DropNewest);
    SinkObject::of_sink(sink, Some(Popper::new(chunks)))
}

fn nowhere() -> Arc<SinkObject> {
    Arc::new(SinkObject::of_sink(Sink::null(), None))
}

/// The failure of a call that comes before the run-time system has written anything.
pub(super) fn not_begun() -> Failure {
    let text = "the run-time system has not begun a log: +RTS -l makes it, in a program that is linked with -eventlog";
    Failure::new(Code::Empty, text)
}

/// Tells it to whoever started the program.
fn complain(text: &str) {
    // Where that cannot be written the log goes on all the same.
    let _ = writeln!(io::stderr(), "eventlog: {text}");
}

/// Brings the log to its end.
extern "C" fn at_exit() {
    let _ = catch_unwind(|| Process::current().finish());
}

impl Process {
    fn finish(&self) {
        let Ok(object) = self.object() else {
            return;
        };
        let _blocked = PipeBlocked::new();
        if let (Mode::Flight, Some(_)) = (self.settings.mode, &self.settings.sink) {
            self.keep_recording(&object.log);
        }
        if let Err(error) = object.log.stop() {
            let failure = Failure::from_error(Code::Sink, &error);
            let lost = error.statistics().lost().total();
            complain(&format!("{}: {lost} events lost", failure.text()));
        }
    }

    /// Writes what a flight recorder holds, if there is one.
    fn keep_recording(&self, log: &EventLog) {
        let mut recording = Vec::new();
        if log.snapshot(&mut recording).is_err() {
            // The log has been redirected, and is elsewhere.
            return;
        }
        let kept = self.open_place().and_then(|sink| {
            let mut writer = sink.take_writer()?;
            let written = writer.write_all(&recording).and_then(|()| writer.flush());
            written.map_err(|error| Failure::from_error(Code::Io, &error))
        });
        if let Err(failure) = kept {
            complain(&failure.text());
        }
    }
}
