//! What a call of the C interface returns: a code with a stable number, and a text that says more.

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

macro_rules! codes {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// The codes of `eventlog.h`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub(crate) enum Code {
            $($name = $number,)*
        }

        impl Code {
            /// Their names and numbers.
            #[cfg(test)]
            pub(crate) const ALL: &'static [(&'static str, c_int)] = &[
                $((stringify!($name), $number),)*
            ];

            /// What a number means; `None` where it is no code's.
            fn text_of(number: c_int) -> Option<&'static CStr> {
                match number {
                    $($number => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    Ok = 0, c"no error";
    Empty = 1, c"no chunk of the event log is complete";
    Finished = 2, c"the event log has ended, and all chunks are taken";
    Null = 16, c"a null pointer or handle, where there must be one";
    Handle = 17, c"no handle of that kind";
    Stale = 18, c"the handle has been given back";
    Forked = 19, c"the handle belongs to the process that this one was forked from";
    Busy = 20, c"another call uses this at the moment";
    Size = 21, c"no size of that structure";
    Argument = 22, c"a value that is not allowed";
    Text = 23, c"the text is not UTF-8";
    Memory = 24, c"no memory";
    Limit = 25, c"there cannot be more of these";
    TooLarge = 26, c"the payload is too large for an event";
    Payload = 27, c"the payload is not that of an event of this type";
    Undeclared = 28, c"the event log does not declare this event type";
    Full = 29, c"the event buffer is full";
    Stopped = 30, c"the event log has been stopped";
    Used = 31, c"that sink is in use, or has been used up";
    Sink = 32, c"the sink did not take it";
    InSink = 33, c"called by a sink of an event log, which it would wait for";
    Io = 34, c"the system refused it";
    NotRecording = 35, c"the event log has no flight recorder";
    Detached = 36, c"the reader is not attached any more";
    PreviousSink = 37, c"the log was redirected, but its previous sink did not take the end";
    Relayed = 38, c"the event log takes nothing but what the run-time system writes";
    ObjectNotElf = 48, c"the object is no ELF file";
    ObjectMachine = 49, c"the object is for another machine";
    ObjectTruncated = 50, c"the object's file is cut";
    ObjectMalformed = 51, c"the object's file contradicts itself";
    ObjectNotShared = 52, c"the object is no shared library";
    ObjectNoNote = 53, c"the library is no profiled object: it has no note of one";
    ObjectBadNote = 54, c"the object's note is too short";
    ObjectAbi = 55, c"the object's tables are of another version";
    ObjectWay = 56, c"the object is built without cost centres";
    ObjectSize = 57, c"the object's tables have other sizes";
    ObjectFingerprint = 58, c"the object's tables are laid out otherwise";
    ObjectSymbols = 59, c"the object needs symbols that this host does not have";
    ObjectNoTable = 60, c"the object does not export its table";
    ObjectResolvers = 61, c"the object has functions that would run while it is loaded";
    ObjectSharedStd = 62, c"the object shares a standard library that cannot be unloaded";
    ObjectLinker = 63, c"the dynamic linker refuses the object";
    ObjectTable = 64, c"the object's table is not what its note promises";
    ObjectLoaded = 65, c"the object is loaded from that path already";
    ObjectInit = 66, c"the object's init has refused";
    ObjectWithin = 67, c"called by a constructor or destructor of a library that is being loaded or unloaded";
    ObjectInUse = 68, c"the object is in use, and stays loaded";
    ObjectUnloaded = 69, c"the object is being unloaded, or has been";
    ObjectSymbol = 70, c"the object does not export that";
    Panic = 99, c"an internal error";
}

/// Why a call did not do what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    text: Text,
}

#[derive(Debug)]
enum Text {
    /// Costs nothing: for what may happen at every event.
    Fixed(&'static CStr),
    Owned(CString),
}

impl Failure {
    /// A failure of which the code says all.
    pub(crate) fn of(code: Code) -> Self {
        let text = Code::text_of(code as c_int).unwrap_or_default();
        Failure {
            code,
            text: Text::Fixed(text),
        }
    }

    /// A failure with its text, which names the value and the limit.
    pub(crate) fn new(code: Code, text: impl Into<Vec<u8>>) -> Self {
        let mut text = text.into();
        // File names have none; nothing else is passed on as it came.
        text.retain(|byte| *byte != 0);
        Failure {
            code,
            text: Text::Owned(CString::new(text).unwrap_or_default()),
        }
    }

    /// What it says.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match &self.text {
            Text::Fixed(text) => text.to_string_lossy(),
            Text::Owned(text) => text.to_string_lossy(),
        }
    }

    /// A failure whose text is that of an error and of its causes.
    pub(crate) fn from_error(code: Code, error: &dyn Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        Failure::new(code, text)
    }

    /// As [`from_error`](Self::from_error), where the cause may be that the caller is a sink's callback.
    pub(crate) fn from_io(code: Code, cause: &io::Error, error: &dyn Error) -> Self {
        let code = match cause.kind() {
            // The library's own; the system has one, too.
            io::ErrorKind::Deadlock if cause.raw_os_error().is_none() => Code::InSink,
            _ => code,
        };
        Failure::from_error(code, error)
    }
}

/// What a call comes to.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

thread_local! {
    /// The text of this thread's last failure.
    static LAST: RefCell<Text> = const { RefCell::new(Text::Fixed(c"")) };
}

/// Runs a call of the interface: the number of its code. A panic ends here.
pub(crate) fn entry(call: impl FnOnce() -> Outcome) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(call));
    let failure = match outcome {
        Ok(Ok(())) => return Code::Ok as c_int,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::new(Code::Panic, format!("internal error: {}", said(&*panic))),
    };
    let code = failure.code as c_int;
    // A thread that is ending has no place for it any more.
    let _ = LAST.try_with(|last| last.replace(failure.text));
    code
}

/// What a panic says.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a text")
}

/// `evl_error_text`
#[unsafe(no_mangle)]
extern "C" fn evl_error_text(code: c_int) -> *const c_char {
    Code::text_of(code)
        .unwrap_or(c"no code of this library")
        .as_ptr()
}

/// `evl_last_error`
#[unsafe(no_mangle)]
extern "C" fn evl_last_error() -> *const c_char {
    LAST.try_with(|last| match &*last.borrow() {
        Text::Fixed(text) => text.as_ptr(),
        Text::Owned(text) => text.as_ptr(),
    })
    .unwrap_or(c"".as_ptr())
}
