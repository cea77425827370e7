//! Whether a thread is within a sink: a function of the program's, or whatever a stream of it calls, may
//! call the library, which would then wait for itself.

use std::cell::Cell;
use std::io::{self, IoSlice, Write};

thread_local! {
    /// Calls of sinks that this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread is in a call of a log's sink.
pub(crate) fn is_within_sink() -> bool {
    DEPTH.try_with(|depth| depth.get() != 0).unwrap_or(false)
}

/// While it is there this thread is in a call of a sink.
struct Within;

impl Within {
    fn new() -> Self {
        // A thread that is ending has no place for it any more.
        let _ = DEPTH.try_with(|depth| depth.set(depth.get() + 1));
        Within
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        let _ = DEPTH.try_with(|depth| depth.set(depth.get() - 1));
    }
}

/// The writer of a log's sink. (A reader's is not one: no log waits for it.)
pub(crate) struct SinkWriter(Option<Box<dyn Write + Send>>);

impl SinkWriter {
    pub(crate) fn new(writer: Box<dyn Write + Send>) -> Self {
        SinkWriter(Some(writer))
    }

    fn call<T>(&mut self, run: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        let _within = Within::new();
        match &mut self.0 {
            Some(writer) => run(writer),
            // It is there until it is dropped.
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Write for SinkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call(|writer| writer.write(bytes))
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.call(|writer| writer.write_vectored(parts))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call(|writer| writer.flush())
    }
}

impl Drop for SinkWriter {
    fn drop(&mut self) {
        let _within = Within::new();
        drop(self.0.take());
    }
}
