//! A chunk that has left its ring.

use crate::chunk::Form;
use crate::pool::Pool;
use crate::primitive::Slot;
use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;

/// A whole chunk, taken out of a ring; see [`Consumer::take_chunk`](crate::spsc::Consumer::take_chunk).
/// A slice of its items by `Deref`; iterating over it by value moves them out.
///
/// It may outlive the ring, and may be sent to another thread. Dropping it drops the items that are
/// left and gives the memory back to the ring's [pool](crate::Pool).
///
/// # Examples
///
/// ```
/// let (mut producer, mut consumer) = chunkring::Builder::new(2, 2).spsc()?;
/// producer.push("a".to_owned()).unwrap();
/// producer.push("b".to_owned()).unwrap();
/// let chunk = consumer.take_chunk()?;
/// drop((producer, consumer));
/// assert_eq!(chunk.len(), 2);
/// assert_eq!(chunk.into_iter().collect::<Vec<_>>(), ["a", "b"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OwnedChunk<T> {
    first: NonNull<Slot<T>>,
    len: usize,
    /// The slots that hold items.
    items: Range<usize>,
    form: Form<T>,
    pool: Pool,
}

// SAFETY: the chunk owns its items, and nobody else can reach its memory.
unsafe impl<T: Send> Send for OwnedChunk<T> {}
// SAFETY: a shared chunk gives shared references to its items, and nothing else.
unsafe impl<T: Sync> Sync for OwnedChunk<T> {}

impl<T> OwnedChunk<T> {
    /// # Safety
    /// `first` must come from `form` and `pool`, with `len` slots, and belong to the caller; the
    /// slots `items` must hold items, which are the caller's, too.
    pub(crate) unsafe fn new(
        first: NonNull<Slot<T>>,
        len: usize,
        items: Range<usize>,
        form: Form<T>,
        pool: Pool,
    ) -> Self {
        OwnedChunk {
            first,
            len,
            items,
            form,
            pool,
        }
    }

    /// Items that are in it.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(2, 2).spsc()?;
    /// producer.push(1).unwrap();
    /// producer.seal();
    /// assert_eq!(consumer.take_chunk()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no item is left in it.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(1, 2).spsc()?;
    /// producer.push(1).unwrap();
    /// assert!(!consumer.take_chunk()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Bytes before the first slot that are the owner's, as [the builder](crate::Builder::headroom)
    /// was told; uninitialised at first, and afterwards as the chunk's last owner has left them.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).headroom(3).spsc()?;
    /// producer.push(7_u32).unwrap();
    /// producer.seal();
    /// let mut chunk = consumer.take_chunk()?;
    /// assert_eq!(chunk.headroom_mut().len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn headroom_mut(&mut self) -> &mut [core::mem::MaybeUninit<u8>] {
        let headroom = self.form.headroom();
        // SAFETY: the block has that many bytes before the first slot, which nothing else uses.
        unsafe {
            let start = self.first.cast::<u8>().sub(headroom);
            core::slice::from_raw_parts_mut(start.as_ptr().cast(), headroom)
        }
    }

    /// Moves the first item out.
    fn pop(&mut self) -> Option<T> {
        let index = self.items.next()?;
        // SAFETY: the slot held an item, and `items` no longer counts it.
        Some(unsafe { self.first.add(index).as_ref().read() })
    }
}

impl OwnedChunk<u8> {
    /// The bytes with `header` before them, in one slice: the header is written into the end of the
    /// headroom, so nothing is moved.
    ///
    /// # Panics
    /// Where the header is longer than the [headroom](crate::Builder::headroom), or bytes at the
    /// chunk's start have been taken out, so that the header would not adjoin.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(16, 2).headroom(8).spsc()?;
    /// let mut grant = producer.reserve(4)?;
    /// grant.extend_from_slice(b"body");
    /// grant.commit_all();
    /// producer.seal();
    /// let mut chunk = consumer.take_chunk()?;
    /// assert_eq!(chunk.with_header(b"head "), b"head body");
    /// assert_eq!(*chunk, *b"body");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(not(loom))]
    pub fn with_header(&mut self, header: &[u8]) -> &[u8] {
        let headroom = self.form.headroom();
        assert!(
            header.len() <= headroom,
            "a header of {} bytes does not fit into a headroom of {headroom}",
            header.len()
        );
        assert!(
            self.items.start == 0,
            "bytes at the chunk's start have been taken out"
        );
        // SAFETY: the block has `headroom` bytes before the first slot, which nothing else uses, and
        // the items begin at that slot; a slot is laid out as the byte in it.
        unsafe {
            let start = self.first.cast::<u8>().sub(header.len());
            start.copy_from_nonoverlapping(NonNull::from(header).cast(), header.len());
            core::slice::from_raw_parts(start.as_ptr(), header.len() + self.items.len())
        }
    }
}

// A slot is not laid out as the item alone under loom, so there are no slices of them there.
#[cfg(not(loom))]
impl<T> core::ops::Deref for OwnedChunk<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: these slots lie side by side and hold items, which are the chunk's; a slot is laid
        // out as the item it holds.
        unsafe {
            let first = self.first.add(self.items.start).cast::<T>();
            core::slice::from_raw_parts(first.as_ptr(), self.items.len())
        }
    }
}

#[cfg(not(loom))]
impl<T> core::ops::DerefMut for OwnedChunk<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and the chunk is borrowed mutably.
        unsafe {
            let first = self.first.add(self.items.start).cast::<T>();
            core::slice::from_raw_parts_mut(first.as_ptr(), self.items.len())
        }
    }
}

impl<T> Drop for OwnedChunk<T> {
    fn drop(&mut self) {
        // Gives the memory back also when dropping an item panics.
        let memory = Memory {
            first: self.first,
            len: self.len,
            form: self.form,
            pool: &self.pool,
        };
        let items = core::mem::replace(&mut self.items, 0..0);
        // SAFETY: these slots hold items, which `items` no longer counts.
        unsafe { Slot::drop_range(memory.first.as_ptr().wrapping_add(items.start), items.len()) };
    }
}

/// The chunk's memory, given back at the end of the scope.
struct Memory<'a, T> {
    first: NonNull<Slot<T>>,
    len: usize,
    form: Form<T>,
    pool: &'a Pool,
}

impl<T> Drop for Memory<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the chunk belonged to its owner, who is gone, and its items are, too.
        unsafe { self.form.put(self.first, self.len, self.pool) };
    }
}

impl<T> IntoIterator for OwnedChunk<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

impl<T> fmt::Debug for OwnedChunk<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedChunk")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// The items of an [`OwnedChunk`], moved out one by one. Dropping it drops the others.
///
/// ```
/// let (mut producer, mut consumer) = chunkring::Builder::new(2, 2).spsc()?;
/// producer.push(1).unwrap();
/// producer.push(2).unwrap();
/// let mut items = consumer.take_chunk()?.into_iter();
/// assert_eq!(items.next(), Some(1));
/// assert_eq!(items.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IntoIter<T>(OwnedChunk<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl<T> ExactSizeIterator for IntoIter<T> {}
impl<T> core::iter::FusedIterator for IntoIter<T> {}
