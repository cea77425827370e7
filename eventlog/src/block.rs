//! One block that has left the buffers and is kept in memory: its marker and its events side by side, and
//! the memory that it is counted for.

use crate::buffer_reader::TakenChunk;
use crate::format::BlockMarker;
use crate::intake::Write;
use crate::signals::Signals;
use chunkring::OwnedChunk;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that a block is counted for besides its memory: its entry in lists, and the allocator's own.
pub(crate) const OVERHEAD: usize = 128;

/// Whole events of one capability with their marker, or several such runs. It never changes.
pub(crate) struct Block {
    memory: Memory,
    /// When it was made, on the log's clock.
    end: u64,
    charge: Charge,
}

enum Memory {
    /// A chunk of a buffer. The marker was written over what came before the events.
    Taken {
        chunk: OwnedChunk<u8>,
        bytes: Range<usize>,
    },
    Copied(Box<[u8]>),
    /// What another writer has handed over.
    Handed(Write),
}

impl Block {
    /// A copy of some events of a buffer.
    pub(crate) fn copied(marker: &BlockMarker, body: &[u8], account: &Account) -> Self {
        let bytes = [&marker.encode(), body].concat();
        Block::written(bytes, marker.end, account)
    }

    /// Whole blocks that have been written for the purpose.
    pub(crate) fn written(bytes: Vec<u8>, end: u64, account: &Account) -> Self {
        let memory = bytes.into_boxed_slice();
        Block {
            charge: account.charge(memory.len() + OVERHEAD),
            memory: Memory::Copied(memory),
            end,
        }
    }

    /// A whole chunk. It is copied where it would be mostly empty, or where there is no room before its
    /// events.
    pub(crate) fn taken(marker: &BlockMarker, taken: TakenChunk, account: &Account) -> Self {
        let TakenChunk {
            mut chunk,
            events,
            memory,
            ..
        } = taken;
        let start = events.start.checked_sub(BlockMarker::LEN);
        let Some(start) = start.filter(|_| events.len() >= memory / 4) else {
            return Block::copied(marker, &chunk[events], account);
        };
        chunk[start..events.start].copy_from_slice(&marker.encode());
        Block {
            memory: Memory::Taken {
                chunk,
                bytes: start..events.end,
            },
            end: marker.end,
            charge: account.charge(memory + OVERHEAD),
        }
    }

    /// Another writer's block. It is copied where its memory would be mostly empty.
    pub(crate) fn handed(mut write: Write, end: u64, account: &Account) -> Self {
        let memory = write.memory();
        if write.len() < memory / 4 {
            return Block::written(write.to_vec(), end, account);
        }
        write.leave();
        Block {
            charge: account.charge(memory + OVERHEAD),
            memory: Memory::Handed(write),
            end,
        }
    }

    /// Whole blocks, as they lie in a log.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Taken { chunk, bytes } => &chunk[bytes.clone()],
            Memory::Copied(bytes) => bytes,
            Memory::Handed(write) => write,
        }
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes that it is counted for.
    pub(crate) fn size(&self) -> usize {
        self.charge.bytes
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("len", &self.bytes().len())
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

/// What all blocks of one store are counted for together, as long as anybody has them. Clones are the same
/// account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account(Arc<Mutex<Books>>);

#[derive(Debug, Default)]
struct Books {
    used: usize,
    /// Something was refused since there was no room.
    refused: bool,
    /// Whom to wake when there is.
    signals: Option<Arc<Signals>>,
}

impl Account {
    pub(crate) fn used(&self) -> usize {
        self.books().used
    }

    /// Makes the collector of that log look again when memory comes back after a refusal.
    pub(crate) fn serve(&self, signals: &Arc<Signals>) {
        self.books().signals = Some(Arc::clone(signals));
    }

    /// Whether `bytes` more are within `budget` once `can_go` of those used are gone, or nothing is left
    /// then. Where they are not, the collector is woken when there is room again.
    pub(crate) fn admits(&self, bytes: usize, budget: usize, can_go: usize) -> bool {
        let mut books = self.books();
        let used = books.used.saturating_sub(can_go);
        let admitted = used == 0 || used.saturating_add(bytes) <= budget;
        books.refused |= !admitted;
        admitted
    }

    fn charge(&self, bytes: usize) -> Charge {
        self.books().used += bytes;
        Charge {
            bytes,
            account: self.clone(),
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Nothing that panics is done under it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that are counted until this is dropped.
struct Charge {
    bytes: usize,
    account: Account,
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut books = self.account.books();
        books.used -= self.bytes;
        if std::mem::take(&mut books.refused) {
            if let Some(signals) = &books.signals {
                signals.wake_collector();
            }
        }
    }
}
