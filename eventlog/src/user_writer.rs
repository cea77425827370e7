//! A writer of the program's, whose panics are errors: when it is called, and when it is let go.

use std::io::{self, IoSlice, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A writer that never panics, whatever the one inside does. It may be dropped by a log's last handle, while a
/// panic unwinds already: one more that came out of its drop would abort the process.
pub(crate) struct UserWriter(Option<Box<dyn Write + Send>>);

impl UserWriter {
    pub(crate) fn new(writer: impl Write + Send + 'static) -> Self {
        UserWriter(Some(Box::new(writer)))
    }

    /// Drops the writer.
    ///
    /// # Errors
    /// Where its drop panics.
    pub(crate) fn let_go(mut self) -> io::Result<()> {
        self.drop_writer()
    }

    fn drop_writer(&mut self) -> io::Result<()> {
        let writer = self.0.take();
        guarded(|| {
            drop(writer);
            Ok(())
        })
    }

    fn call<T>(&mut self, run: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        match &mut self.0 {
            Some(writer) => guarded(|| run(&mut **writer)),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Write for UserWriter {
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

impl Drop for UserWriter {
    fn drop(&mut self) {
        // Nobody is there to be told. Who wants to know closes the sink.
        let _ = self.drop_writer();
    }
}

/// Runs the program's code. A panic there is an error like any other: it must not end the collector.
fn guarded<T>(run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(io::Error::other("the sink panicked")))
}
