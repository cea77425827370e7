//! The life of an event log: how it is started, what it hands out, and how it ends.

use crate::buffers::Buffers;
use crate::capability::{CAPSETS, Capability};
use crate::clock::{Clock, LogTime};
use crate::collector::{Collector, Events};
use crate::collector_lock::{CollectorLock, Held};
use crate::error::{BufferError, CapabilityError, EmitError, ResizeError, StartError, StopError};
use crate::format::{CapsetType, Encode, Event, Header, Strings, UserEventType, ZStr};
use crate::intake::Intake;
use crate::marks::{Marks, StickyId};
use crate::outputs::Outputs;
use crate::policy::Policy;
use crate::registry::Registry;
use crate::relay::Mender;
use crate::relayed::Relayed;
use crate::signals::Signals;
use crate::sink::Sink;
use crate::sizes::Sizes;
use crate::source::Source;
use crate::statistics::Statistics;
use crate::sticky::Sticky;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of a buffer where nobody says otherwise.
const DEFAULT_BUFFER_SIZE: usize = 512 * 1024;

/// The budget of a relayed log where nobody says otherwise: eight buffers of GHC's run-time system.
const DEFAULT_RELAY_BUDGET: usize = 16 * 1024 * 1024;

/// How often the collector looks at the buffers where nobody says otherwise.
const DEFAULT_FLUSH_INTERVAL: Duration = Duration::from_millis(100);

/// Memory for sticky events where nobody says otherwise.
pub(crate) const DEFAULT_STICKY_LIMIT: usize = 64 * 1024 * 1024;

/// What is kept for a sink that refuses, where nobody says otherwise.
const DEFAULT_SINK_BACKLOG: usize = 8 * 1024 * 1024;

/// How an event log is to be; see [`EventLog::builder`].
///
/// # Examples
///
/// ```
/// use ghc_eventlog::EventLog;
/// use std::time::Duration;
///
/// let log = EventLog::builder()
///     .buffer_size(1024 * 1024)
///     .flush_interval(Duration::from_millis(20))
///     .arguments(["my-program", "--fast"])
///     .start(Vec::new())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    buffer_size: Option<usize>,
    flush_interval: Duration,
    arguments: Option<Vec<String>>,
    sticky_limit: usize,
    sink_backlog: usize,
    policy: Policy,
    types: Vec<UserEventType>,
}

impl Builder {
    /// Bytes of each capability's buffer, and of the shared one. At least 65,571 (the longest
    /// event and the marker of its block); 512 KiB where this is not called. All of it is allocated
    /// when the buffer is made. It can be [changed](EventLog::resize) while the log is written.
    ///
    /// A buffer is divided into chunks, four where the longest event allows, and room comes back a
    /// chunk at a time. A chunk takes 64 bytes more than its share. The shared buffer's chunks have
    /// lengths that are powers of two, 128 KiB at least and 16 MiB at most; there are two of them at least,
    /// and each takes twice its memory.
    ///
    /// A [relayed](Self::relayed) log has one budget instead.
    ///
    /// ```
    /// let builder = ghc_eventlog::EventLog::builder().buffer_size(2 * 1024 * 1024);
    /// ```
    #[must_use]
    pub fn buffer_size(mut self, bytes: usize) -> Self {
        self.buffer_size = Some(bytes);
        self
    }

    /// What becomes of an event that its buffer has no room for: [`Policy::DropNewest`] where this is
    /// not called. It can be [changed](EventLog::set_policy) while the log is written.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Policy};
    /// use std::time::Duration;
    ///
    /// let patient = Policy::Wait { limit: Duration::from_millis(50) };
    /// let builder = EventLog::builder().policy(patient);
    /// ```
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How long an event waits at most before the collector looks for it: 100 ms where this is not
    /// called, and never less than 1 ms. Threads that fill a good part of their buffer wake the
    /// collector earlier.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let live = ghc_eventlog::EventLog::builder().flush_interval(Duration::from_millis(5));
    /// ```
    #[must_use]
    pub fn flush_interval(mut self, interval: Duration) -> Self {
        self.flush_interval = interval.max(Duration::from_millis(1));
        self
    }

    /// The program's name and arguments, as the log is to show them. Where this is not called, they
    /// are those of the process; say so here where they are nobody's business. A NUL ends an
    /// argument.
    ///
    /// ```
    /// let builder = ghc_eventlog::EventLog::builder().arguments(["my-program"]);
    /// ```
    #[must_use]
    pub fn arguments<A: Into<String>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments = Some(arguments.into_iter().map(Into::into).collect());
        self
    }

    /// Memory that the [sticky events](EventLog::emit_sticky) may take, in bytes, roughly: 64 MiB
    /// where this is not called. Events beyond it are in the log, but are not replayed;
    /// [`Statistics::sticky_refused`](crate::Statistics::sticky_refused) counts them. 128 bytes and
    /// its text for each thread alive and each definition will do.
    ///
    /// ```
    /// let builder = ghc_eventlog::EventLog::builder().sticky_limit(1024 * 1024);
    /// ```
    #[must_use]
    pub fn sticky_limit(mut self, bytes: usize) -> Self {
        self.sticky_limit = bytes;
        self
    }

    /// Declares an event type of the program's own. The header of the log says so, wherever and however
    /// often it begins, and events of the type can be [emitted](Capability::emit) like any other.
    /// Declaring the same type twice is declaring it once; two types of one number or one name are
    /// refused when the log is started.
    ///
    /// ```
    /// use ghc_eventlog::EventLog;
    /// use ghc_eventlog::format::{FieldType, UserEventType, Value};
    ///
    /// let request = UserEventType::builder(0, "request")
    ///     .field("bytes", FieldType::U64)
    ///     .field("path", FieldType::Str)
    ///     .build()?;
    /// let log = EventLog::builder().declare(&request).start(Vec::new())?;
    /// let mut capability = log.capability()?;
    /// let values = [Value::U64(512), Value::Str("/index")];
    /// capability.try_emit(&request.event(&values)?)?;
    ///
    /// let undeclared = UserEventType::builder(1, "response").build()?;
    /// assert!(log.try_emit(&undeclared.event(&[])?).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn declare(mut self, ty: &UserEventType) -> Self {
        self.types.push(ty.clone());
        self
    }

    /// Memory that is kept for a sink that refuses blocks while others go on, in bytes: 8 MiB where this is
    /// not called. As long as the log has no [attached](EventLog::attach) readers a refused block is all
    /// that is kept, and the rest waits in the buffers. Readers do not wait, so what they are given is kept
    /// for the sink meanwhile. Blocks beyond this are dropped for the sink alone: they are counted in
    /// [`Lost::sink`](crate::Lost::sink) at once, and the sink is told by an
    /// [`EventsLost`](crate::format::Event::EventsLost) event for each capability when it has taken what
    /// was kept. As for a reader, sticky events in a dropped block are missing.
    ///
    /// A call that cuts the log (to redirect it, or to attach or detach a reader) hands over all that the
    /// buffers hold, and comes on top once, where less than this is kept.
    ///
    /// ```
    /// let builder = ghc_eventlog::EventLog::builder().sink_backlog(64 * 1024 * 1024);
    /// ```
    #[must_use]
    pub fn sink_backlog(mut self, bytes: usize) -> Self {
        self.sink_backlog = bytes;
        self
    }

    /// Starts a log that is written to a new file at `path`, replacing one that is there.
    ///
    /// # Errors
    /// As for [`start`](Self::start), or [`StartError::File`] where the file cannot be made.
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let log = ghc_eventlog::EventLog::builder().file(directory.path().join("my.eventlog"))?;
    /// log.stop()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file(self, path: impl AsRef<Path>) -> Result<EventLog, StartError> {
        let path = path.as_ref();
        self.sink_with(|| match File::create(path) {
            Ok(file) => Ok(Sink::writer(file)),
            Err(source) => Err(StartError::File {
                path: path.to_owned(),
                source,
            }),
        })
    }

    /// Starts a log that is written to `writer`, as [`sink`](Self::sink) does.
    ///
    /// # Errors
    /// As for [`sink`](Self::sink).
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(std::io::sink())?;
    /// log.message("for nobody");
    /// # Ok::<(), ghc_eventlog::StartError>(())
    /// ```
    pub fn start(self, writer: impl Write + Send + 'static) -> Result<EventLog, StartError> {
        self.sink(Sink::writer(writer))
    }

    /// Starts a log that is written to `sink`: writes the header, and starts the collector's thread.
    ///
    /// A sink may call the log that it belongs to, or drop its last handle. What would have to wait
    /// for the sink itself does not: [`flush`](EventLog::flush) is an error then,
    /// [`statistics`](EventLog::statistics) panics, and [`stop`](EventLog::stop) is an error that
    /// tells no statistics, while the log ends as soon as the sink has returned. A sink that owns a
    /// handle keeps the log alive until it is stopped or lets go of the handle. A sink that waits
    /// for another thread to do any of this waits for ever.
    ///
    /// # Errors
    /// [`StartError`] where the buffer size is out of bounds, memory or a thread cannot be had, the
    /// sink does not take the header, or has begun a log or been closed before.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Sink};
    ///
    /// let (sink, content) = Sink::memory();
    /// let log = EventLog::builder().sink(sink)?;
    /// log.stop()?;
    /// assert!(content.bytes().starts_with(b"hdrb"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sink(self, sink: Sink) -> Result<EventLog, StartError> {
        self.sink_with(|| Ok(sink))
    }

    /// As [`sink`](Self::sink), with one that is opened only when the buffers have been made.
    fn sink_with(
        self,
        open: impl FnOnce() -> Result<Sink, StartError>,
    ) -> Result<EventLog, StartError> {
        let buffer_size = self.buffer_size.unwrap_or(DEFAULT_BUFFER_SIZE);
        check(buffer_size)?;
        let header = Arc::new(self.declaring(Header::standard())?);
        let clock = Clock::new();
        let signals = Arc::new(Signals::default());
        let sizes = Sizes::new(
            buffer_size,
            self.policy,
            clock.clone(),
            Arc::clone(&signals),
            Arc::clone(&header),
        );
        let (shared, reader) = sizes.shared_buffer().map_err(StartError::Buffer)?;
        let shared = Arc::new(shared);
        let buffers = Buffers::new(clock.clone(), Arc::clone(&shared), reader);
        let source = Source::Emitted { sizes, shared };
        let time = LogTime::Clock(clock.clone());
        let arguments = self.arguments.clone();
        self.launch(
            open,
            Parts {
                header,
                clock,
                time,
                signals,
                events: Events::Emitted(buffers),
                source,
            },
            |core| core.describe_process(arguments),
        )
    }

    /// Starts a log whose blocks come from another writer, which has that header.
    pub(crate) fn start_relayed(
        self,
        sink: Sink,
        other: &Header,
    ) -> Result<(EventLog, Arc<Intake>), StartError> {
        let budget = self.buffer_size.unwrap_or(DEFAULT_RELAY_BUDGET);
        check(budget)?;
        let header = other.telling_losses().map_err(StartError::Types)?;
        let header = Arc::new(self.declaring(&header)?);
        let signals = Arc::new(Signals::default());
        let mender = Mender::under(other.clone());
        let intake = Intake::new(
            budget,
            self.policy,
            Arc::clone(&signals),
            mender.clone(),
            Arc::clone(&header),
        );
        let relayed = Relayed::new(Arc::clone(&intake), mender);
        let log = self.launch(
            || Ok(sink),
            Parts {
                header,
                clock: Clock::new(),
                time: LogTime::Latest(0),
                signals,
                events: Events::Relayed(relayed),
                source: Source::Relayed(Arc::clone(&intake)),
            },
            |_| {},
        )?;
        Ok((log, intake))
    }

    /// Starts a log that is made of these parts: writes its header, has it described, and starts the collector.
    fn launch(
        self,
        open: impl FnOnce() -> Result<Sink, StartError>,
        parts: Parts,
        describe: impl FnOnce(&Core),
    ) -> Result<EventLog, StartError> {
        let Parts {
            header,
            clock,
            time,
            signals,
            events,
            source,
        } = parts;
        let sink = open()?;
        let mut delivery = sink.take().map_err(|_| StartError::SinkUsed)?;
        if delivery.has_begun() {
            sink.put_back(delivery);
            return Err(StartError::SinkUsed);
        }
        if let Err(error) = delivery.begin(&header, &header.encode()) {
            sink.put_back_closed();
            return Err(StartError::Io(error));
        }
        let marks = Arc::<Mutex<Marks>>::default();
        let sticky = Sticky::new(self.sticky_limit, Arc::clone(&header));
        let outputs = Outputs::new(
            time,
            Arc::clone(&signals),
            sink.clone(),
            delivery,
            sticky,
            Arc::clone(&marks),
            header,
        )
        .with_backlog(self.sink_backlog);
        let collector = Collector::new(clock.clone(), outputs, events);
        let core = Arc::new(Core {
            collector: CollectorLock::new(collector, Arc::clone(&signals)),
            source,
            signals,
            registry: Mutex::new(Registry::default()),
            sink: Mutex::new(sink),
            marks,
            clock,
        });
        describe(&core);
        let thread = thread::Builder::new()
            .name("eventlog".into())
            .spawn({
                let core = Arc::clone(&core);
                move || core.collect(self.flush_interval)
            })
            .map_err(StartError::Io)?;
        core.signals.set_collector(thread.thread().clone());
        Ok(EventLog(Arc::new(Handle {
            core,
            thread: Mutex::new(Some(thread)),
        })))
    }

    /// What a log declares that declares this besides.
    fn declaring(&self, header: &Header) -> Result<Header, StartError> {
        for (index, ty) in self.types.iter().enumerate() {
            for earlier in &self.types[..index] {
                if earlier == ty {
                    continue;
                }
                if earlier.id() == ty.id() {
                    let names = [earlier, ty].map(|ty| ty.name().to_owned());
                    return Err(StartError::TypeIdTwice { id: ty.id(), names });
                }
                if earlier.name() == ty.name() {
                    return Err(StartError::TypeNameTwice {
                        name: ty.name().to_owned(),
                        ids: [earlier.id(), ty.id()],
                    });
                }
            }
        }
        header.declaring(&self.types).map_err(StartError::Types)
    }
}

/// What is different in logs of different sources.
struct Parts {
    header: Arc<Header>,
    clock: Clock,
    time: LogTime,
    signals: Arc<Signals>,
    events: Events,
    source: Source,
}

/// Whether the buffers' size is within its bounds.
fn check(buffer_size: usize) -> Result<(), StartError> {
    Sizes::check(buffer_size).map_err(|refused| match refused {
        ResizeError::TooSmall { bytes, minimum } => StartError::BufferTooSmall { bytes, minimum },
        ResizeError::TooLarge { bytes, maximum } => StartError::BufferTooLarge { bytes, maximum },
        ResizeError::Buffer { bytes, source } => StartError::Buffer(BufferError { bytes, source }),
    })
}

/// A log that is being written. Clones are the same log.
///
/// Threads write with a [`Capability`] each; what belongs to none of them is emitted here. A thread
/// of the log's own, the collector, gathers all of it into blocks and writes them to the sink.
///
/// Dropping the last clone [stops](Self::stop) the log, as far as the sink allows. What becomes of a
/// log that ends otherwise stands [here](crate#how-a-log-ends).
///
/// # Examples
///
/// ```
/// use ghc_eventlog::EventLog;
///
/// let directory = tempfile::tempdir()?;
/// let log = EventLog::builder().file(directory.path().join("my.eventlog"))?;
/// // Both at first: the number of one that is gone is given out again.
/// let capabilities = [log.capability()?, log.capability()?];
/// std::thread::scope(|scope| {
///     for (worker, mut capability) in capabilities.into_iter().enumerate() {
///         scope.spawn(move || capability.message(&format!("worker {worker} was here")));
///     }
/// });
/// let statistics = log.stop()?;
/// assert_eq!(statistics.capabilities.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "the log is stopped when its last handle is dropped"]
pub struct EventLog(Arc<Handle>);

impl EventLog {
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0.core
    }

    /// Describes a log to be started.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// # Ok::<(), ghc_eventlog::StartError>(())
    /// ```
    pub fn builder() -> Builder {
        Builder {
            buffer_size: None,
            flush_interval: DEFAULT_FLUSH_INTERVAL,
            arguments: None,
            sticky_limit: DEFAULT_STICKY_LIMIT,
            sink_backlog: DEFAULT_SINK_BACKLOG,
            policy: Policy::default(),
            types: Vec::new(),
        }
    }

    pub(crate) fn source(&self) -> &Source {
        &self.0.core.source
    }

    /// This log, without keeping it from being stopped.
    #[cfg(all(feature = "objects", target_os = "linux"))]
    pub(crate) fn downgrade(&self) -> WeakLog {
        WeakLog(Arc::downgrade(&self.0))
    }

    /// Emits an event that the log should not be without, as [`Core::define`] does.
    #[cfg(all(feature = "objects", target_os = "linux"))]
    pub(crate) fn define(&self, event: &Event<'_>) -> Result<(), EmitError> {
        if self.0.core.is_forked() {
            return Err(EmitError::Stopped);
        }
        self.0.core.define(event)
    }

    /// A capability for a thread to write its events with. Allocates its buffer, and says in the log
    /// that the capability is there. Waits for the sink where the shared buffer, which takes that,
    /// is half full.
    ///
    /// # Errors
    /// [`CapabilityError`] where 65,535 capabilities are in use, memory cannot be had, the log
    /// has been stopped, or [another writer](Builder::relayed) writes to it.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// let mut capability = log.capability()?;
    /// capability.message("hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn capability(&self) -> Result<Capability, CapabilityError> {
        self.0.core.capability()
    }

    /// Emits `event` to the shared buffer, stamped with the time now: an [`Event`], or one of a type of
    /// the program's own that the log [declares](Builder::declare). An event that cannot be taken in is
    /// counted as [lost](crate::Lost).
    ///
    /// Waits for no other thread, but for room where the [`Policy`] says so. (On processors without
    /// atomic words of 64 bits, threads that do this wait for each other.) Allocates only where more
    /// threads than ever before are in the middle of this. A thread that emits often does better with a
    /// [`capability`](Self::capability). Readers expect events about threads and garbage collections
    /// from a capability.
    ///
    /// ```
    /// use ghc_eventlog::format::Event;
    ///
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// log.emit(&Event::UserMarker { name: "configuration read" });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn emit(&self, event: &(impl Encode + ?Sized)) {
        // Counted by the buffer, by cause.
        let _ = self.try_emit(event);
    }

    /// Emits `event` to the shared buffer, and says whether it was taken in.
    ///
    /// # Errors
    /// [`EmitError`] tells why not; the loss has been counted.
    ///
    /// ```
    /// use ghc_eventlog::format::Event;
    ///
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// log.try_emit(&Event::UserMessage { text: "hello" })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_emit(&self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        self.source().emit(event)
    }

    /// Emits a user message to the shared buffer. What exceeds 65,535 bytes is cut off, between two
    /// characters.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// log.message("hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn message(&self, text: &str) {
        self.emit(&Event::UserMessage { text });
    }

    /// Emits a user marker to the shared buffer: a named moment that viewers draw over the whole
    /// timeline. Text is cut as in [`message`](Self::message).
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// log.marker("phase 2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn marker(&self, text: &str) {
        self.emit(&Event::UserMarker { name: text });
    }

    /// Emits `event` to the shared buffer, and has it replayed after the header of every log that
    /// begins later: in a [sink](Self::set_sink) that is set with a header, or for a reader that is
    /// attached. It is replayed with its own time stamp, until it is
    /// [removed](Self::remove_sticky). Takes a lock, and allocates; never waits for room, whatever the
    /// [policy](Policy). An event that is overwritten in its buffer is not replayed.
    ///
    /// What readers of any log need the log replays by itself, as it is at that moment: capability
    /// sets and capabilities, the process with its arguments and numbers, the wall clock, threads
    /// that live with their state and label, the beginnings of profiles, and the definitions of cost
    /// centres, info tables and ticky counters. For such events this is the same as
    /// [`emit`](Self::emit); the id stands for nothing.
    ///
    /// Threads are alive until they finish, or the capability is gone that they run on.
    ///
    /// # Errors
    /// [`EmitError`] where it was not taken in; the loss has been counted.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Previous, Sink, Start, format::Event};
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let id = log.emit_sticky(&Event::UserMessage { text: "version 7" })?;
    /// let (late, content) = Sink::memory();
    /// log.set_sink(late, Previous::Close, Start::Header)?;
    /// assert!(content.bytes().ends_with(b"version 7"));
    /// log.remove_sticky(id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn emit_sticky(&self, event: &(impl Encode + ?Sized)) -> Result<StickyId, EmitError> {
        let core = self.core();
        if core.is_forked() {
            return Err(EmitError::Stopped);
        }
        core.source.emit_sticky(event, || core.marks())
    }

    /// Has an event replayed no more. It stays where it has been written. Does nothing where that has
    /// been done.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, format::Event};
    ///
    /// let log = EventLog::builder().start(Vec::new())?;
    /// let phase = log.emit_sticky(&Event::UserMarker { name: "warming up" })?;
    /// log.remove_sticky(phase);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_sticky(&self, id: StickyId) {
        let core = self.core();
        if !core.is_forked() {
            core.marks().remove(id);
        }
    }

    /// The clock that the log's time stamps are from; but of a [relayed](Builder::relayed) log, whose stamps are the
    /// other writer's, one that counts from its start.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// let nanoseconds = log.clock().now();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clock(&self) -> &Clock {
        &self.0.core.clock
    }

    /// Writes to the sink, and flushes it, every event that was emitted before the call, by this
    /// thread or in a way that this thread knows of. Waits for the sink. When the log has been [stopped](Self::stop)
    /// there is nothing more to write: this offers the sink again what it has refused of the log's end, and is fine
    /// where it has all.
    ///
    /// # Errors
    /// The sink's. Nothing is lost by it: what the sink did not take is offered again later. Also
    /// where the sink itself calls this, see [`Builder::start`].
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// log.message("hello");
    /// log.flush()?;
    /// assert!(log.statistics().bytes_written > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&self) -> io::Result<()> {
        let core = &self.0.core;
        let mut collector = core.collector()?;
        collector.flush(&core.registry)
    }

    /// What has become of the log's events so far. Waits for the collector where it is writing. All
    /// zero in a forked child, which has no collector.
    ///
    /// # Panics
    /// Where the sink calls it: what becomes of the events that it has just been given is not known
    /// yet.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// log.message("hello");
    /// assert!(log.statistics().shared.events > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statistics(&self) -> Statistics {
        let core = &self.0.core;
        if core.is_forked() {
            return Statistics::default();
        }
        let mut collector = core.collector.lock().expect("not called by the log's sink");
        collector.statistics(&core.registry)
    }

    /// Ends the log: refuses further events, writes every event that was emitted before, and the
    /// end marker, and flushes the sink. Waits for the sink.
    ///
    /// Capabilities that are still there take no more events. An event that another thread emits
    /// while this runs is either in the log or counted as lost. Stopping a log that has been stopped
    /// does nothing but to tell the statistics.
    ///
    /// # Errors
    /// [`StopError`] where the sink did not take all of it. What it did not take is counted as lost
    /// to it, and kept: stopping once more, or flushing, offers it again. Dropping the log gives it
    /// up. Also where the sink itself calls this, see [`Builder::start`].
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// let mut capability = log.capability()?;
    /// capability.message("hello");
    /// let statistics = log.stop()?;
    /// assert_eq!(statistics.capabilities[0].events, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stop(&self) -> Result<Statistics, StopError> {
        self.0.stop()
    }
}

/// A log that may have been dropped.
#[cfg(all(feature = "objects", target_os = "linux"))]
#[derive(Debug)]
pub(crate) struct WeakLog(std::sync::Weak<Handle>);

#[cfg(all(feature = "objects", target_os = "linux"))]
impl WeakLog {
    /// The log, unless its last handle has been dropped.
    pub(crate) fn upgrade(&self) -> Option<EventLog> {
        self.0.upgrade().map(EventLog)
    }

    /// Whether it has handles, and has not been stopped.
    pub(crate) fn is_alive(&self) -> bool {
        self.0.upgrade().is_some_and(|log| !log.core.is_stopped())
    }

    /// Whether that is the log.
    pub(crate) fn is(&self, log: &EventLog) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(&log.0))
    }
}

/// What all clones of a log share; the last one's drop stops it.
#[derive(Debug)]
struct Handle {
    core: Arc<Core>,
    /// The collector's, until the log is stopped.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Handle {
    fn stop(&self) -> Result<Statistics, StopError> {
        let core = &self.core;
        let refused = |source| {
            Err(StopError {
                source,
                statistics: Box::default(),
            })
        };
        if core.is_forked() {
            return refused(in_a_child());
        }
        core.signals.stop();
        // The collector's thread, which may be this one, ends the log when the sink has returned.
        if core.collector.is_held_here() {
            return refused(within_sink());
        }
        // Held all the while: a second caller finds the log stopped and not half way.
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // The thread runs no code that panics but the sink's, which is guarded.
            let _ = thread.join();
        }
        // The thread has tried it. Here the outcome is told, and what was refused offered again.
        let Some(mut collector) = core.collector.lock() else {
            return refused(within_sink());
        };
        let outcome = collector.finish(&core.registry);
        let waiters = collector.waiters();
        // Without the collector: other calls go on.
        drop(collector);
        for waiter in waiters {
            waiter.wait();
        }
        let Some(mut collector) = core.collector.lock() else {
            return refused(within_sink());
        };
        let queue = collector.part_from_waited();
        let outcome = outcome.and(queue);
        let statistics = collector.statistics(&core.registry);
        match outcome {
            Ok(()) => Ok(statistics),
            Err(source) => Err(StopError {
                source,
                statistics: Box::new(statistics),
            }),
        }
    }
}

/// The error of a call that would wait for the sink, within the sink.
fn within_sink() -> io::Error {
    let message = "called by the event log's own sink";
    io::Error::new(io::ErrorKind::Deadlock, message)
}

/// The error of a call in a forked child.
fn in_a_child() -> io::Error {
    io::Error::other("the event log belongs to the process that this one was forked from")
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.core.is_forked() {
            // Kept for ever: the sink's drop could write what its buffer held when the process was
            // forked, and the thread is not there to be let go.
            std::mem::forget(Arc::clone(&self.core));
            if let Ok(thread) = self.thread.get_mut() {
                std::mem::forget(thread.take());
            }
            return;
        }
        // Whoever wants to know of a failure calls `stop`.
        let _ = self.stop();
    }
}

/// What the log and its collector's thread share.
#[derive(Debug)]
pub(crate) struct Core {
    source: Source,
    clock: Clock,
    signals: Arc<Signals>,
    pub(crate) registry: Mutex<Registry>,
    collector: CollectorLock,
    /// A handle of the sink that the collector writes to. Changed while the collector is held.
    pub(crate) sink: Mutex<Sink>,
    marks: Arc<Mutex<Marks>>,
}

impl Core {
    /// Whether this is a child of the process that the log is of. A system call.
    fn is_forked(&self) -> bool {
        self.signals.is_forked()
    }

    /// That this is the process that the log is of.
    ///
    /// # Errors
    /// Where it is a child of it.
    pub(crate) fn check_process(&self) -> io::Result<()> {
        match self.is_forked() {
            true => Err(in_a_child()),
            false => Ok(()),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.signals.is_stopped()
    }

    /// Whether this thread holds the collector, as a sink does that is being written to.
    #[cfg(all(feature = "objects", target_os = "linux"))]
    pub(crate) fn is_collector_held_here(&self) -> bool {
        self.collector.is_held_here()
    }

    /// The collector, for a call that waits for it.
    ///
    /// # Errors
    /// Where waiting would never end.
    pub(crate) fn collector(&self) -> io::Result<Held<'_>> {
        self.check_process()?;
        self.collector.lock().ok_or_else(within_sink)
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        // Whole whatever a thread that panicked has done with them.
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The collector's thread.
    fn collect(&self, interval: Duration) {
        while !self.signals.is_stopped() {
            self.pass();
            thread::park_timeout(interval);
        }
        if let Source::Emitted { shared, .. } = &self.source {
            shared.wait_for_writers();
        }
        if let Some(mut collector) = self.collector.lock() {
            // Whoever stopped the log tries again, and reports.
            let _ = collector.finish(&self.registry);
        }
    }

    /// Writes what is there now, unless it is the sink that has come here.
    fn pass(&self) {
        if let Some(mut collector) = self.collector.lock() {
            // The sink keeps what it refused, and counts the refusal; `flush` and `stop` report it.
            let _ = collector.pass(&self.registry);
        }
    }

    fn capability(&self) -> Result<Capability, CapabilityError> {
        if self.is_forked() {
            return Err(CapabilityError::Forked);
        }
        if self.signals.is_stopped() {
            return Err(CapabilityError::Stopped);
        }
        let Source::Emitted { sizes, shared } = &self.source else {
            return Err(CapabilityError::Relayed);
        };
        let number = self.registry().take_number()?;
        let (writer, reader) = sizes.buffer(number).map_err(|error| {
            self.registry().give_back(number);
            CapabilityError::Buffer(error)
        })?;
        let [process, clock] = CAPSETS.map(|capset| Event::CapsetAssignCap {
            capset,
            cap: number,
        });
        let introduction = [Event::CapCreate { cap: number }, process, clock];
        if shared.wants_draining() {
            self.pass();
        }
        // The log's end takes the registry, too. Whoever is before it is introduced by the log, and seen
        // off; whoever comes later is neither. The collector sees the buffer after the introduction.
        let mut registry = self.registry();
        if registry.has_ended() {
            return Err(CapabilityError::Stopped);
        }
        for event in &introduction {
            // Where other threads have taken the room, the loss is counted.
            let _ = shared.emit_last(event);
        }
        registry.add(reader);
        drop(registry);
        Ok(Capability::new(number, writer, Arc::clone(&self.marks)))
    }

    /// The events that every log begins with.
    fn describe_process(&self, arguments: Option<Vec<String>>) {
        // Where they are lost, the buffer counts them.
        let define = |event: &Event<'_>| {
            let _ = self.define(event);
        };
        let [process, clock] = CAPSETS;
        define(&Event::CapsetCreate {
            capset: process,
            kind: CapsetType::OsProcess,
        });
        define(&Event::CapsetCreate {
            capset: clock,
            kind: CapsetType::ClockDomain,
        });
        let name = concat!("ghc-eventlog-", env!("CARGO_PKG_VERSION"), " rust");
        define(&Event::RtsIdentifier {
            capset: process,
            name,
        });
        let arguments = arguments.unwrap_or_else(|| {
            std::env::args_os()
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect()
        });
        let arguments: Vec<_> = arguments.iter().map(|text| ZStr::up_to_nul(text)).collect();
        define(&Event::ProgramArgs {
            capset: process,
            args: Strings::new(&arguments),
        });
        define(&Event::OsProcessPid {
            capset: process,
            pid: std::process::id(),
        });
        #[cfg(unix)]
        define(&Event::OsProcessPpid {
            capset: process,
            ppid: std::os::unix::process::parent_id(),
        });
        // A clock that is set before 1970 says nothing useful.
        if let Ok(wall) = SystemTime::now().duration_since(UNIX_EPOCH) {
            define(&Event::WallClockTime {
                capset: clock,
                unix_seconds: wall.as_secs(),
                nanoseconds: wall.subsec_nanos(),
            });
        }
    }

    /// Emits an event that the log should not be without: where the shared buffer is getting full,
    /// this thread empties it first.
    pub(crate) fn define(&self, event: &Event<'_>) -> Result<(), EmitError> {
        if let Source::Emitted { shared, .. } = &self.source {
            if shared.wants_draining() {
                // Where the sink refuses, the event may be lost like any other, and is counted then.
                self.pass();
            }
        }
        self.source.emit(event)
    }
}
