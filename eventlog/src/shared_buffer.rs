//! The buffer of events that belong to no capability. Any thread may write to it, one at a time.

use crate::buffer::BufferWriter;
use crate::error::EmitError;
use crate::format::Event;
use crate::marks::{Marks, StickyId};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct SharedBuffer {
    writer: Mutex<BufferWriter>,
}

impl SharedBuffer {
    pub(crate) fn new(writer: BufferWriter) -> Self {
        SharedBuffer {
            writer: Mutex::new(writer),
        }
    }

    /// Waits for other writers, and for nothing else.
    pub(crate) fn emit(&self, event: &Event<'_>) -> Result<(), EmitError> {
        self.lock().emit(event)
    }

    /// As [`emit`](Self::emit), and marks the event as one to be replayed.
    pub(crate) fn emit_sticky(
        &self,
        event: &Event<'_>,
        marks: &mut Marks,
    ) -> Result<StickyId, EmitError> {
        self.lock().emit_sticky(None, event, marks)
    }

    /// As [`emit`](Self::emit), also after the log has been stopped.
    pub(crate) fn emit_last(&self, event: &Event<'_>) -> Result<(), EmitError> {
        self.lock().commit(event)
    }

    /// Waits until no writer that has begun is left. After the log has been stopped, none begins.
    pub(crate) fn wait_for_writers(&self) {
        drop(self.lock());
    }

    /// Whether the buffer ought to be drained before `len` bytes of events that should not be lost.
    pub(crate) fn wants_draining(&self, len: usize) -> bool {
        self.lock().wants_draining(len)
    }

    fn lock(&self) -> MutexGuard<'_, BufferWriter> {
        // A writer that panicked has committed its event or has not: the buffer is whole either way.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
