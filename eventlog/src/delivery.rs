//! A writer that takes whole blocks in order. What it refuses is kept, and offered again before
//! anything else.

use crate::buffer::count_events;
use crate::format::{BlockMarker, CapNo, END_MARKER};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A writer, and what it is still to take.
pub(crate) struct Delivery {
    writer: Box<dyn Write + Send>,
    /// While the log runs at most one block; once it has ended, all that is left of it.
    pending: VecDeque<Pending>,
    bytes: u64,
    blocks: u64,
    errors: u64,
}

/// A block that the writer has refused, or one behind such a block.
struct Pending {
    owner: Option<CapNo>,
    bytes: Vec<u8>,
    /// Bytes of it that the writer has taken.
    taken: usize,
}

impl Delivery {
    pub(crate) fn new(writer: impl Write + Send + 'static) -> Self {
        Delivery {
            writer: Box::new(writer),
            pending: VecDeque::new(),
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

    /// Writes a log's header.
    pub(crate) fn write_header(&mut self, header: &[u8]) -> io::Result<()> {
        self.write_parts(header, &[], &mut 0)
    }

    /// Writes one block, behind those that are pending. Whatever the outcome, the block has
    /// been handed over: where the writer refuses, it is kept, and [`retry`](Self::retry) offers the rest
    /// again.
    ///
    /// # Errors
    /// The writer's. None where the block was put behind others and not offered.
    pub(crate) fn write_block(&mut self, marker: &BlockMarker, body: &[u8]) -> io::Result<()> {
        let owner = marker.cap;
        let marker = marker.encode();
        let mut taken = 0;
        let mut outcome = Ok(());
        if self.pending.is_empty() {
            outcome = self.write_parts(&marker, body, &mut taken);
            if outcome.is_ok() {
                self.blocks += 1;
                return Ok(());
            }
        }
        self.pending.push_back(Pending {
            owner,
            bytes: [&marker, body].concat(),
            taken,
        });
        outcome
    }

    /// Puts the end marker behind everything else.
    pub(crate) fn end(&mut self) {
        self.pending.push_back(Pending {
            owner: None,
            bytes: END_MARKER.to_vec(),
            taken: 0,
        });
    }

    /// Offers what is pending.
    pub(crate) fn retry(&mut self) -> io::Result<()> {
        while let Some(mut pending) = self.pending.pop_front() {
            let outcome = self.write_parts(&pending.bytes, &[], &mut pending.taken);
            if outcome.is_err() {
                self.pending.push_front(pending);
                return outcome;
            }
            self.blocks += u64::from(pending.bytes.len() >= BlockMarker::LEN);
        }
        Ok(())
    }

    /// Events that the writer has not wholly taken of the blocks that are pending, and whose they
    /// are.
    pub(crate) fn undelivered(&self) -> impl Iterator<Item = (Option<CapNo>, u64)> {
        self.pending.iter().map(
            |Pending {
                 owner,
                 bytes,
                 taken,
             }| {
                let body = bytes.get(BlockMarker::LEN..).unwrap_or_default();
                // Taken bytes may end within an event, of which a reader makes nothing.
                let taken = taken.saturating_sub(BlockMarker::LEN).min(body.len());
                (*owner, count_events(body) - count_events(&body[..taken]))
            },
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

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
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
