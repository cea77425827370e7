//! Where blocks go. A sink takes whole blocks in order, or keeps what it could not take and takes
//! that first next time.

use crate::buffer::count_events;
use crate::format::{BlockMarker, CapNo};
use std::fmt;
use std::io::{self, IoSlice, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A writer, and the rest of the block that it has begun to take.
pub(crate) struct Sink {
    writer: Box<dyn Write + Send>,
    /// The block that was refused; empty where none was.
    pending: Vec<u8>,
    /// Whose block that is.
    owner: Option<CapNo>,
    /// Bytes of it that the writer has taken.
    taken: usize,
    bytes: u64,
    blocks: u64,
    errors: u64,
}

impl Sink {
    pub(crate) fn new(writer: impl Write + Send + 'static) -> Self {
        Sink {
            writer: Box::new(writer),
            pending: Vec::new(),
            owner: None,
            taken: 0,
            bytes: 0,
            blocks: 0,
            errors: 0,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    pub(crate) fn errors(&self) -> u64 {
        self.errors
    }

    /// Writes what belongs to no block: a header, an end marker. Nothing may be pending.
    pub(crate) fn write_plain(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut taken = 0;
        self.write_parts(bytes, &[], &mut taken)
    }

    /// Writes one block. Nothing may be pending. Whatever the outcome, the block is the sink's: where
    /// the writer refuses, the rest is kept, and [`retry`](Self::retry) offers it again.
    pub(crate) fn write_block(&mut self, marker: &BlockMarker, body: &[u8]) -> io::Result<()> {
        let mut taken = 0;
        let owner = marker.cap;
        let marker = marker.encode();
        let outcome = self.write_parts(&marker, body, &mut taken);
        if outcome.is_err() {
            self.owner = owner;
            self.pending.extend_from_slice(&marker);
            self.pending.extend_from_slice(body);
            self.taken = taken;
        } else {
            self.blocks += 1;
        }
        outcome
    }

    /// Offers what was refused once more.
    pub(crate) fn retry(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        let mut taken = self.taken;
        let outcome = self.write_parts(&pending, &[], &mut taken);
        if outcome.is_err() {
            self.pending = pending;
            self.taken = taken;
        } else {
            self.taken = 0;
            self.blocks += 1;
        }
        outcome
    }

    /// Gives up on what was refused. Returns whose it was, and how many events of it the writer has
    /// not wholly taken.
    pub(crate) fn abandon(&mut self) -> (Option<CapNo>, u64) {
        let pending = std::mem::take(&mut self.pending);
        let body = pending.get(BlockMarker::LEN..).unwrap_or_default();
        // Taken bytes may end within an event, which is then lost.
        let taken = self.taken.saturating_sub(BlockMarker::LEN).min(body.len());
        self.taken = 0;
        (
            self.owner,
            count_events(body) - count_events(&body[..taken]),
        )
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let writer = &mut self.writer;
        let outcome = guarded(|| writer.flush());
        self.errors += u64::from(outcome.is_err());
        outcome
    }

    /// Writes `first` and then `second`, but for the first `taken` bytes of both together.
    fn write_parts(&mut self, first: &[u8], second: &[u8], taken: &mut usize) -> io::Result<()> {
        let all = first.len() + second.len();
        while *taken < all {
            let rest_of_first = &first[(*taken).min(first.len())..];
            let rest_of_second = &second[taken.saturating_sub(first.len())..];
            let parts = [IoSlice::new(rest_of_first), IoSlice::new(rest_of_second)];
            // Writers that know nothing of vectors take the first part that is not empty.
            let writer = &mut self.writer;
            let refused = match guarded(|| writer.write_vectored(&parts)) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(count) if count > all - *taken => {
                    io::Error::other("the sink says that it took more than it was given")
                }
                Ok(count) => {
                    *taken += count;
                    self.bytes += count as u64;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            self.errors += 1;
            return Err(refused);
        }
        Ok(())
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("bytes", &self.bytes)
            .field("blocks", &self.blocks)
            .field("errors", &self.errors)
            .finish_non_exhaustive()
    }
}

/// Runs the user's code. A panic there is an error like any other: it must not end the collector.
fn guarded<T>(run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(io::Error::other("the sink panicked")))
}
