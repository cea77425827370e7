//! A table by thread. The threads that come again and again are found without hashing; what is kept of
//! each is no concern of this file.

use crate::format::ThreadId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Threads that are found at once, as long as no two of them have the same number modulo this.
const NEAR: usize = 64;

/// What is known of each thread.
#[derive(Debug)]
pub(crate) struct ThreadTable<T> {
    slots: Vec<Option<(ThreadId, T)>>,
    places: HashMap<ThreadId, usize, BuildHasherDefault<Spread>>,
    /// Slots that nobody has.
    free: Vec<usize>,
    /// Where a thread was found last, by its number. A hint: the slot says whose it is.
    near: [usize; NEAR],
}

impl<T> ThreadTable<T> {
    pub(crate) fn new() -> Self {
        ThreadTable {
            slots: Vec::new(),
            places: HashMap::default(),
            free: Vec::new(),
            near: [0; NEAR],
        }
    }

    pub(crate) fn get(&self, id: ThreadId) -> Option<&T> {
        let place = *self.places.get(&id)?;
        self.slots[place].as_ref().map(|(_, thread)| thread)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, id: ThreadId) -> Option<&mut T> {
        let near = self.near[id.0 as usize % NEAR];
        let place = match self.slots.get(near) {
            Some(Some((of, _))) if *of == id => near,
            _ => self.look_up(id)?,
        };
        let (_, thread) = self.slots.get_mut(place)?.as_mut()?;
        Some(thread)
    }

    #[cold]
    fn look_up(&mut self, id: ThreadId) -> Option<usize> {
        let place = *self.places.get(&id)?;
        self.near[id.0 as usize % NEAR] = place;
        Some(place)
    }

    /// Puts a thread in, in the place of one that has the same number.
    pub(crate) fn insert(&mut self, id: ThreadId, thread: T) {
        if let Some(known) = self.get_mut(id) {
            *known = thread;
            return;
        }
        let slot = Some((id, thread));
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place] = slot;
                place
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.places.insert(id, place);
    }

    pub(crate) fn remove(&mut self, id: ThreadId) {
        if let Some(place) = self.places.remove(&id) {
            self.slots[place] = None;
            self.free.push(place);
        }
    }

    /// All of them, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ThreadId, &T)> {
        let taken = self.slots.iter().flatten();
        taken.map(|(id, thread)| (*id, thread))
    }

    /// Removes those that are not wanted.
    pub(crate) fn retain(&mut self, mut wanted: impl FnMut(&T) -> bool) {
        for (place, slot) in self.slots.iter_mut().enumerate() {
            if let Some((id, _)) = slot.take_if(|(_, thread)| !wanted(thread)) {
                self.places.remove(&id);
                self.free.push(place);
            }
        }
    }
}

/// Hashes the number of a thread: a program numbers them one after the other, and nobody else does.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // Fibonacci hashing. The table wants both ends of the number to differ.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_share_a_hint_or_a_used_slot_are_told_apart() {
        let mut table = ThreadTable::new();
        let numbers = [1, 1 + NEAR as u32, 1 + 2 * NEAR as u32, 2];
        for number in numbers {
            table.insert(ThreadId(number), number);
        }
        for _ in 0..2 {
            for number in numbers {
                assert_eq!(table.get_mut(ThreadId(number)), Some(&mut number.clone()));
            }
        }
        table.remove(ThreadId(1));
        table.retain(|number| *number != 2);
        assert_eq!(table.get_mut(ThreadId(1)), None);
        assert_eq!(table.get(ThreadId(2)), None);
        // In the slots of those two.
        table.insert(ThreadId(3), 3);
        table.insert(ThreadId(4), 4);
        table.insert(ThreadId(4), 5);
        assert_eq!(table.get_mut(ThreadId(1)), None);
        assert_eq!(table.get_mut(ThreadId(2)), None);
        let mut left: Vec<_> = table.iter().map(|(id, of)| (id.0, *of)).collect();
        left.sort_unstable();
        assert_eq!(left, [(3, 3), (4, 5), (65, 65), (129, 129)]);
        assert_eq!(table.slots.len(), 4);
    }
}
