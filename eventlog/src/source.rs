//! Where a log's events come from, as those see it who bring them: threads of this program emit, or another
//! writer hands over its blocks.

use crate::error::{EmitError, ResizeError};
use crate::format::Encode;
use crate::intake::Intake;
use crate::log::EventLog;
use crate::marks::{Marks, StickyId};
use crate::policy::Policy;
use crate::shared_buffer::SharedBuffer;
use crate::sizes::Sizes;
use std::sync::{Arc, MutexGuard};

#[derive(Debug)]
pub(crate) enum Source {
    Emitted {
        sizes: Sizes,
        shared: Arc<SharedBuffer>,
    },
    Relayed(Arc<Intake>),
}

impl Source {
    #[inline]
    pub(crate) fn emit(&self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        match self {
            Source::Emitted { shared, .. } => shared.emit(event),
            Source::Relayed(intake) => Err(intake.refuse_own()),
        }
    }

    /// As [`SharedBuffer::emit_sticky`].
    pub(crate) fn emit_sticky<'a>(
        &self,
        event: &(impl Encode + ?Sized),
        marks: impl FnOnce() -> MutexGuard<'a, Marks>,
    ) -> Result<StickyId, EmitError> {
        match self {
            Source::Emitted { shared, .. } => shared.emit_sticky(event, &mut marks()),
            Source::Relayed(intake) => Err(intake.refuse_own()),
        }
    }
}

/// The size of the buffers, and what they do when they are full.
impl EventLog {
    /// Changes the size of every buffer of the log, of idle ones and of those to come, too: bytes of
    /// each capability's buffer and of the shared one, as for
    /// [`Builder::buffer_size`](crate::Builder::buffer_size). Any thread may call it while all others
    /// emit; it waits for nobody but for another call of this kind, or for a capability that is being
    /// made.
    ///
    /// All or nothing: the memory for every buffer is allocated first. (Until the buffers have been
    /// drained, the old chunks that are not empty are there as well.)
    ///
    /// In force is the new size for each buffer from its next chunk on; nothing that is in the buffers is
    /// lost. Chunks of the old size are freed at once where they are idle, and else as soon as they have
    /// been read. Where a buffer has become smaller than what is in it, it is full until it has been
    /// drained.
    ///
    /// Of a [relayed](crate::Builder::relayed) log this is the budget for all writes, in force at once; memory that
    /// is kept beyond it is freed, and what is handed over already stays.
    ///
    /// When the log has been [stopped](Self::stop) no event goes into a buffer any more: this is fine then, and of no
    /// use.
    ///
    /// # Errors
    /// [`ResizeError`] where the size is out of bounds, which it names, or memory cannot be had. Nothing
    /// has been changed then.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, ResizeError};
    ///
    /// let log = EventLog::builder().start(std::io::sink())?;
    /// log.resize(2 * 1024 * 1024)?;
    /// assert!(matches!(log.resize(1), Err(ResizeError::TooSmall { bytes: 1, minimum: 65_571 })));
    /// assert_eq!(log.buffers_size(), 2 * 1024 * 1024);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize(&self, bytes: usize) -> Result<(), ResizeError> {
        match self.source() {
            Source::Emitted { sizes, .. } => sizes.resize(bytes),
            Source::Relayed(intake) => intake.resize(bytes),
        }
    }

    /// Bytes of each buffer, as last asked for. What is in force for each of them, the
    /// [statistics](crate::BufferStatistics::size) tell.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(std::io::sink())?;
    /// assert_eq!(log.buffers_size(), 512 * 1024);
    /// # Ok::<(), ghc_eventlog::StartError>(())
    /// ```
    pub fn buffers_size(&self) -> usize {
        match self.source() {
            Source::Emitted { sizes, .. } => sizes.bytes(),
            Source::Relayed(intake) => intake.budget(),
        }
    }

    /// Changes what becomes of events that do not fit, for every buffer of the log. Any thread may call
    /// it while all others emit. In force for each buffer from the next time that one of its chunks is
    /// used up; threads that wait for room look again at once. Waits as [`resize`](Self::resize) does,
    /// and allocates nothing.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Policy};
    ///
    /// let log = EventLog::builder().start(std::io::sink())?;
    /// log.set_policy(Policy::Grow { max_bytes: 8 * 1024 * 1024 });
    /// assert_eq!(log.policy(), Policy::Grow { max_bytes: 8 * 1024 * 1024 });
    /// # Ok::<(), ghc_eventlog::StartError>(())
    /// ```
    pub fn set_policy(&self, policy: Policy) {
        match self.source() {
            Source::Emitted { sizes, .. } => sizes.set_policy(policy),
            Source::Relayed(intake) => intake.set_policy(policy),
        }
    }

    /// What becomes of events that do not fit, as last set.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(std::io::sink())?;
    /// assert_eq!(log.policy(), ghc_eventlog::Policy::DropNewest);
    /// # Ok::<(), ghc_eventlog::StartError>(())
    /// ```
    pub fn policy(&self) -> Policy {
        match self.source() {
            Source::Emitted { sizes, .. } => sizes.policy(),
            Source::Relayed(intake) => intake.policy(),
        }
    }
}
