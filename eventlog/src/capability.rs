//! What a thread writes its events with.

use crate::buffer::BufferWriter;
use crate::error::EmitError;
use crate::format::{CapNo, CapsetId, Encode, Event};
use crate::marks::{Marks, StickyId};
use std::sync::{Arc, Mutex, PoisonError};

/// The sets that every capability belongs to: the process, and the clock of its time stamps.
pub(crate) const CAPSETS: [CapsetId; 2] = [CapsetId::OS_PROCESS, CapsetId::CLOCK_DOMAIN];

/// A buffer for the events of one thread at a time; see [`EventLog::capability`].
///
/// GHC's runtime calls each of its virtual processors a capability, and readers draw one row for
/// each; a Rust program does well to take one for each thread. It may be sent to another thread, and
/// is not shared.
///
/// Emitting an event takes no lock, makes no system call but to wake the collector now and then, and
/// allocates nothing: it reads the clock, encodes the event into the buffer, and publishes it. What
/// happens where the buffer is full is up to the log's [`Policy`](crate::Policy). Events arrive in the
/// log in the order in which they were emitted.
///
/// Once it has been dropped and its last event has been written, the collector says in the log that
/// the capability is gone, and gives its number back.
///
/// [`EventLog::capability`]: crate::EventLog::capability
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EventLog, format::{Event, ThreadId}};
///
/// let log = EventLog::builder().start(Vec::new())?;
/// let mut capability = log.capability()?;
/// let worker = std::thread::spawn(move || {
///     capability.emit(&Event::CreateThread { thread: ThreadId(1) });
///     capability.marker("warmed up");
///     capability.message("item 1 done");
/// });
/// worker.join().unwrap();
/// assert_eq!(log.stop()?.capabilities[0].events, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Capability {
    number: CapNo,
    writer: BufferWriter,
    marks: Arc<Mutex<Marks>>,
}

impl Capability {
    pub(crate) fn new(number: CapNo, writer: BufferWriter, marks: Arc<Mutex<Marks>>) -> Self {
        Capability {
            number,
            writer,
            marks,
        }
    }

    /// The number under which readers know this capability: the lowest that was free.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// assert_eq!(log.capability()?.number().get(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn number(&self) -> CapNo {
        self.number
    }

    /// Emits `event`, stamped with the time now: an [`Event`], or one of a type of the program's own
    /// that the log [declares](crate::Builder::declare). An event that cannot be taken in is counted
    /// as [lost](crate::Lost).
    ///
    /// ```
    /// use ghc_eventlog::format::Event;
    ///
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// let mut capability = log.capability()?;
    /// capability.emit(&Event::GcStart);
    /// capability.emit(&Event::GcEnd);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn emit(&mut self, event: &(impl Encode + ?Sized)) {
        // Counted by the buffer, by cause.
        let _ = self.try_emit(event);
    }

    /// Emits `event`, stamped with the time now, and says whether it was taken in.
    ///
    /// # Errors
    /// [`EmitError`] tells why not; the loss has been counted.
    ///
    /// ```
    /// use ghc_eventlog::format::Event;
    ///
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// let mut capability = log.capability()?;
    /// capability.try_emit(&Event::UserMessage { text: "hello" })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_emit(&mut self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        self.writer.emit(event)
    }

    /// Emits a user message, as Haskell's `traceEvent` does. What exceeds 65,535 bytes is cut off,
    /// between two characters.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// log.capability()?.message("parsed 17 files");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn message(&mut self, text: &str) {
        self.emit(&Event::UserMessage { text });
    }

    /// Emits a user marker, as Haskell's `traceMarker` does: a named moment that viewers draw over
    /// the whole timeline. Text is cut as in [`message`](Self::message).
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
    /// log.capability()?.marker("phase 2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn marker(&mut self, text: &str) {
        self.emit(&Event::UserMarker { name: text });
    }

    /// Emits `event`, and has it replayed after the header of every log that begins later, until it
    /// is [removed](crate::EventLog::remove_sticky); see [`EventLog::emit_sticky`]. Takes a lock, and
    /// allocates.
    ///
    /// # Errors
    /// [`EmitError`] where it was not taken in; the loss has been counted.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, format::Event};
    ///
    /// let log = EventLog::builder().start(Vec::new())?;
    /// let mut capability = log.capability()?;
    /// let id = capability.emit_sticky(&Event::UserMessage { text: "worker of the pool" })?;
    /// log.remove_sticky(id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`EventLog::emit_sticky`]: crate::EventLog::emit_sticky
    pub fn emit_sticky(&mut self, event: &(impl Encode + ?Sized)) -> Result<StickyId, EmitError> {
        self.writer.check_process()?;
        // Before the marks are taken, which the collector waits for.
        self.writer.make_room(event)?;
        // Whole whatever a thread that panicked has done with them.
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.writer.emit_sticky(self.number, event, &mut marks))
    }
}
