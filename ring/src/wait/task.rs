//! Waiting as a task: futures, a stream and a sink.
//!
//! Each half has one place among those who wait, so the task that polled last is the one that is woken.

use super::consumer::{Consumer, looked, telling};
use super::error::Closed;
use super::halves::{Pop, Push};
use super::link::{Link, Look};
use super::producer::Producer;
use crate::error::PushError;
use crate::event::Wakes;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use futures_core::Stream;
use futures_sink::Sink;

impl<T> Link<T> {
    /// Looks, and leaves the task's waker where that was too early.
    fn poll<R>(
        &mut self,
        context: &mut Context<'_>,
        mut look: impl FnMut(&Self) -> Look<R>,
    ) -> Poll<R> {
        if let Look::Done(done) = look(self) {
            self.cancel();
            return Poll::Ready(done);
        }
        let registered = self.register(Wakes::Task(context.waker().clone()));
        if let Look::Done(done) = look(self) {
            self.cancel();
            return Poll::Ready(done);
        }
        if !registered {
            // Nobody else will.
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl<P: Push> Producer<P> {
    /// Puts `item` in as soon as there is room.
    ///
    /// A future that is dropped before it is done drops its item, which is then not in the ring.
    ///
    /// # Errors
    /// [`Closed`] gives the item back where the consumer is gone.
    ///
    /// # Panics
    /// The future, where it is polled again after it was done.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    /// use futures_executor::block_on;
    ///
    /// let (producer, consumer) = Builder::new(1, 1).spsc()?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// let sender = std::thread::spawn(move || block_on(async {
    ///     producer.push_async(1).await?;
    ///     producer.push_async(2).await
    /// }));
    /// assert_eq!(block_on(consumer.pop_async())?, 1);
    /// assert_eq!(block_on(consumer.pop_async())?, 2);
    /// sender.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_async(&mut self, item: P::Item) -> PushFuture<'_, P> {
        PushFuture {
            producer: self,
            item: Some(item),
        }
    }

    /// Pushes what was accepted before.
    fn poll_kept(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Closed<P::Item>>> {
        let Producer { inlet, link } = self;
        link.poll(context, |link| match inlet.settle(link) {
            Ok(()) => Look::Done(Ok(())),
            Err(PushError::Full(())) => inlet.not_yet(),
            Err(PushError::Closed(())) => Look::Done(match inlet.kept.take() {
                Some(kept) => Err(Closed(kept)),
                None => Ok(()),
            }),
        })
    }
}

/// Pushes an item as soon as there is room; see [`Producer::push_async`].
///
/// ```
/// use chunkring::{spsc, wait};
///
/// let (producer, consumer) = spsc::bounded(8)?;
/// let (mut producer, consumer) = wait::pair(producer, consumer)?;
/// let push: wait::PushFuture<'_, _> = producer.push_async(1);
/// futures_executor::block_on(push)?;
/// assert_eq!(consumer.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a future does nothing unless it is polled"]
pub struct PushFuture<'a, P: Push> {
    producer: &'a mut Producer<P>,
    item: Option<P::Item>,
}

// The item is moved when it goes in.
impl<P: Push> Unpin for PushFuture<'_, P> {}

impl<P: Push> Future for PushFuture<'_, P> {
    type Output = Result<(), Closed<P::Item>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let PushFuture { producer, item } = &mut *self;
        assert!(item.is_some(), "the future was done before");
        let Producer { inlet, link } = &mut **producer;
        link.poll(context, |link| inlet.look(item, link))
    }
}

impl<P: Push> Drop for PushFuture<'_, P> {
    fn drop(&mut self) {
        self.producer.link.cancel();
    }
}

impl<P: Push> fmt::Debug for PushFuture<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushFuture")
            .field("done", &self.item.is_none())
            .finish_non_exhaustive()
    }
}

impl<C: Pop> Consumer<C> {
    /// Takes the oldest item out as soon as there is one.
    ///
    /// A future that is dropped before it is done has taken nothing.
    ///
    /// # Errors
    /// [`Closed`] where every item has been taken and the producer is gone.
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    /// use futures_executor::block_on;
    ///
    /// let (producer, consumer) = spsc::bounded(8)?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// let sender = std::thread::spawn(move || producer.push("hello"));
    /// assert_eq!(block_on(consumer.pop_async()), Ok("hello"));
    /// assert_eq!(block_on(consumer.pop_async()), Err(wait::Closed(())));
    /// sender.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_async(&mut self) -> PopFuture<'_, C> {
        PopFuture { consumer: self }
    }

    fn poll_pop(&mut self, context: &mut Context<'_>) -> Poll<Result<C::Item, Closed>> {
        let Consumer { half, link } = self;
        link.poll(context, |link| {
            looked(telling(half, link, |half| Ok(half.pop()?)))
        })
    }
}

/// Takes an item out as soon as there is one; see [`Consumer::pop_async`].
///
/// ```
/// use chunkring::{spsc, wait};
///
/// let (producer, consumer) = spsc::bounded(8)?;
/// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
/// producer.push(1)?;
/// let pop: wait::PopFuture<'_, _> = consumer.pop_async();
/// assert_eq!(futures_executor::block_on(pop), Ok(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a future does nothing unless it is polled"]
pub struct PopFuture<'a, C: Pop> {
    consumer: &'a mut Consumer<C>,
}

impl<C: Pop> Future for PopFuture<'_, C> {
    type Output = Result<C::Item, Closed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.consumer.poll_pop(context)
    }
}

impl<C: Pop> Drop for PopFuture<'_, C> {
    fn drop(&mut self) {
        self.consumer.link.cancel();
    }
}

impl<C: Pop> fmt::Debug for PopFuture<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PopFuture").finish_non_exhaustive()
    }
}

// Nothing in a half is pinned: items are moved.
impl<C: Pop> Unpin for Consumer<C> {}
impl<P: Push> Unpin for Producer<P> {}

/// The items in their order. It ends when the ring is closed and empty.
///
/// ```
/// use chunkring::{spsc, wait};
/// use futures_util::StreamExt;
///
/// let (producer, consumer) = spsc::bounded(8)?;
/// let (mut producer, consumer) = wait::pair(producer, consumer)?;
/// producer.push(1)?;
/// producer.push(2)?;
/// drop(producer);
/// assert_eq!(futures_executor::block_on(consumer.collect::<Vec<_>>()), [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<C: Pop> Stream for Consumer<C> {
    type Item = C::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<C::Item>> {
        self.poll_pop(context).map(Result::ok)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // More may come.
        (self.half.items(), None)
    }
}

/// Items go in in their order, each visible to the consumer as soon as it is in the ring.
///
/// A sink must accept an item whenever it was ready for one, and nothing is reserved for it meanwhile.
/// So where the ring is full by then, the producer *keeps* the item, one at most, and is not ready for
/// another before that one is in the ring. Flushing waits for this; it does not wait for the consumer to
/// take anything. Closing flushes, and no more: the ring is closed when the producer is dropped.
///
/// Whatever else puts items in (`push`, `reserve`, ...) puts the kept one in first, and says `Full` where
/// that does not fit. A producer that is dropped, or [unpaired](super::unpair), while it keeps an item
/// drops that item: flush before.
///
/// The error gives an item back, since the consumer is gone: the one that was sent, or the one that was
/// kept.
///
/// ```
/// use chunkring::{Builder, wait};
/// use futures_util::{SinkExt, StreamExt, future, stream};
///
/// let (producer, consumer) = Builder::new(1, 2).spsc()?;
/// let (mut producer, consumer) = wait::pair(producer, consumer)?;
/// let send = async {
///     producer.send_all(&mut stream::iter((0..100).map(Ok))).await?;
///     drop(producer);
///     Ok::<_, wait::Closed<_>>(())
/// };
/// let (sent, items) = futures_executor::block_on(future::join(send, consumer.collect::<Vec<_>>()));
/// sent?;
/// assert!(items.into_iter().eq(0..100));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<P: Push> Sink<P::Item> for Producer<P> {
    type Error = Closed<P::Item>;

    fn poll_ready(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Self::Error>> {
        // Where the consumer is gone and nothing is kept, there is no item for an error to give back: the
        // one that comes is refused.
        self.poll_kept(context)
    }

    /// # Panics
    /// Where the sink was not ready, and the item that it keeps still does not fit.
    fn start_send(mut self: Pin<&mut Self>, item: P::Item) -> Result<(), Self::Error> {
        let Producer { inlet, link } = &mut *self;
        match inlet.push(item, link) {
            Ok(()) => Ok(()),
            Err(PushError::Closed(item)) => Err(Closed(item)),
            Err(PushError::Full(item)) => {
                assert!(inlet.kept.is_none(), "the sink was not ready for an item");
                inlet.kept = Some(item);
                Ok(())
            }
        }
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Self::Error>> {
        self.poll_kept(context)
    }

    fn poll_close(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Self::Error>> {
        self.poll_kept(context)
    }
}
