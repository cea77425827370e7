//! What handles stand for, and the handles of each kind.

use crate::capability::CapabilityObject;
use crate::code::{Code, Failure, Outcome};
use crate::handle;
use crate::log::LogObject;
use crate::objects::{CallObject, CostCentreList, LoadedObject, ObjectFile, ProfilerObject};
use crate::reader::{ListenerObject, ReaderObject};
use crate::sink::SinkObject;
use crate::sticky::StickyObject;
use ghc_eventlog::Chunk;
use ghc_eventlog::format::UserEventType;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

/// A handle as C has it: a structure that holds a number.
#[repr(C)]
pub(crate) struct Id<T> {
    number: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.number)
    }
}

/// What may have a handle.
pub(crate) trait Stored: Sized {
    const KIND: Kind;

    fn to_object(self) -> Object;

    fn of(object: &mut Object) -> Option<&mut Self>;

    fn of_shared(object: &Object) -> Option<&Self>;

    fn from_object(object: Object) -> Option<Self>;
}

macro_rules! objects {
    ($($kind:ident = $number:literal, $object:ty, $name:literal;)*) => {
        /// What kind of object a handle is of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Kind {
            $($kind = $number,)*
        }

        impl Kind {
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            pub(crate) const fn of(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Kind::$kind),)*
                    _ => None,
                }
            }
        }

        /// An object that has a handle.
        pub(crate) enum Object {
            $($kind($object),)*
        }

        $(impl Stored for $object {
            const KIND: Kind = Kind::$kind;

            fn to_object(self) -> Object {
                Object::$kind(self)
            }

            fn of(object: &mut Object) -> Option<&mut Self> {
                match object {
                    Object::$kind(object) => Some(object),
                    _ => None,
                }
            }

            fn of_shared(object: &Object) -> Option<&Self> {
                match object {
                    Object::$kind(object) => Some(object),
                    _ => None,
                }
            }

            fn from_object(object: Object) -> Option<Self> {
                match object {
                    Object::$kind(object) => Some(object),
                    _ => None,
                }
            }
        })*
    };
}

objects! {
    Log = 1, Arc<LogObject>, "an event log";
    Capability = 2, Box<CapabilityObject>, "a capability";
    Sink = 3, Arc<SinkObject>, "a sink";
    Type = 4, Arc<UserEventType>, "an event type";
    Chunk = 5, Chunk, "a chunk";
    Reader = 6, ReaderObject, "a reader";
    Listener = 7, ListenerObject, "a listener";
    Sticky = 8, StickyObject, "a sticky event";
    Loaded = 9, Arc<LoadedObject>, "a loaded object";
    Call = 10, CallObject, "an open call";
    File = 11, Arc<ObjectFile>, "an object's file";
    CostCentres = 12, Arc<CostCentreList>, "a list of cost centres";
    Profiler = 13, Arc<ProfilerObject>, "a profiler";
}

impl Kind {
    /// Whether one thread has it at a time, for longer than a moment.
    pub(crate) const fn is_exclusive(self) -> bool {
        matches!(self, Kind::Capability)
    }

    /// Whether it can do nothing without its log.
    pub(crate) const fn is_owned(self) -> bool {
        matches!(
            self,
            Kind::Reader | Kind::Listener | Kind::Sticky | Kind::Profiler
        )
    }
}

impl Object {
    /// The log that it can do nothing without.
    pub(crate) fn owner(&self) -> Option<Id<Arc<LogObject>>> {
        match self {
            Object::Reader(reader) => Some(reader.log),
            Object::Listener(listener) => Some(listener.log),
            Object::Sticky(sticky) => Some(sticky.log),
            Object::Profiler(profiler) => Some(profiler.log),
            _ => None,
        }
    }
}

impl<T: Stored> Id<T> {
    pub(crate) const fn of(number: u64) -> Self {
        Id {
            number,
            of: PhantomData,
        }
    }

    pub(crate) const fn number(self) -> u64 {
        self.number
    }

    /// Puts an object where its handle finds it.
    pub(crate) fn new(object: T) -> Outcome<Self> {
        handle::insert(object.to_object(), T::KIND).map(Id::of)
    }

    /// As [`new`](Self::new), for an object that must not be made for nothing: it is made when there is a place for it.
    pub(crate) fn new_with(make: impl FnOnce() -> Outcome<T>) -> Outcome<Self> {
        handle::insert_with(T::KIND, || make().map(T::to_object)).map(Id::of)
    }

    /// The object; for one of those that are shared, an [`Arc`] or what is cheap to copy.
    ///
    /// # Errors
    /// Whatever is wrong with the handle.
    pub(crate) fn get(self) -> Outcome<T>
    where
        T: Clone,
    {
        self.read(T::clone)
    }

    /// Looks at the object, for a moment.
    ///
    /// # Errors
    /// Whatever is wrong with the handle.
    pub(crate) fn read<R>(self, look: impl FnOnce(&T) -> R) -> Outcome<R> {
        let found = handle::read(self.number, T::KIND, |object| {
            T::of_shared(object).map(look)
        })?;
        found.ok_or_else(|| handle::foreign(self.number, T::KIND))
    }

    /// Uses an object that is one thread's at a time.
    ///
    /// # Errors
    /// Whatever is wrong with the handle; [`Code::Busy`] where another thread uses it.
    pub(crate) fn exclusive<R>(self, run: impl FnOnce(&mut T) -> Outcome<R>) -> Outcome<R> {
        handle::exclusive(self.number, T::KIND, |object| match T::of(object) {
            Some(object) => run(object),
            None => Err(handle::foreign(self.number, T::KIND)),
        })
    }

    /// Takes the object; the handle is stale from then on.
    ///
    /// # Errors
    /// Whatever is wrong with the handle; [`Code::Busy`] where another thread uses an object that is one
    /// thread's at a time.
    pub(crate) fn take(self) -> Outcome<T> {
        let object = handle::remove(self.number, T::KIND)?;
        T::from_object(object).ok_or_else(|| handle::foreign(self.number, T::KIND))
    }
}

/// Where a call puts what it hands out.
pub(crate) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// # Errors
    /// Where it is null; `name` is what the parameter is called.
    ///
    /// # Safety
    /// What is not null must be valid for writes for as long as this is used.
    pub(crate) unsafe fn new(place: *mut T, name: &str) -> Outcome<Self> {
        NonNull::new(place).map(Out).ok_or_else(|| null(name))
    }

    pub(crate) fn put(&mut self, value: T) {
        // SAFETY: `new` was given a place that is valid for writes. What was there is C's, and is not dropped.
        unsafe { self.0.as_ptr().write(value) };
    }
}

/// A null pointer where there must be one.
pub(crate) fn null(name: &str) -> Failure {
    Failure::new(Code::Null, format!("{name} is a null pointer"))
}
