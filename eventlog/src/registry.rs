//! Which capability numbers are in use, and the buffers that the collector has not taken over yet.

use crate::buffer_reader::BufferReader;
use crate::error::{CapabilityError, MAX_CAPABILITIES};
use crate::format::CapNo;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// Numbers below this one have been used.
    used: usize,
    /// Those of them that are free again, the lowest first.
    free: BinaryHeap<Reverse<CapNo>>,
    new_readers: Vec<BufferReader>,
    /// Whether the log has ended: whoever comes now is not in it.
    ended: bool,
}

impl Registry {
    /// Takes the lowest free number.
    pub(crate) fn take_number(&mut self) -> Result<CapNo, CapabilityError> {
        if let Some(Reverse(number)) = self.free.pop() {
            return Ok(number);
        }
        let exhausted = CapabilityError::Exhausted {
            limit: MAX_CAPABILITIES,
        };
        let number = u16::try_from(self.used)
            .ok()
            .and_then(CapNo::new)
            .ok_or(exhausted)?;
        self.used += 1;
        Ok(number)
    }

    /// Makes `number` free again.
    pub(crate) fn give_back(&mut self, number: CapNo) {
        self.free.push(Reverse(number));
    }

    /// Says that the log has ended. Whoever holds the registry and finds that it has not is still in it.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Leaves a buffer for the collector.
    pub(crate) fn add(&mut self, reader: BufferReader) {
        self.new_readers.push(reader);
    }

    /// The buffers that have been added; whoever asks takes them out.
    pub(crate) fn new_readers(&mut self) -> &mut Vec<BufferReader> {
        &mut self.new_readers
    }
}
