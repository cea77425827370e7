//! Readers beside the sink, and sockets at which they come: `evl_reader`, `evl_listener` and their
//! functions.

use crate::code::{Code, Failure, Outcome, entry};
use crate::log::{LogObject, failure, not_in_sink};
use crate::object::{Id, Out, null};
use crate::signals::{AllBlocked, PipeBlocked};
use crate::sink::SinkObject;
use crate::sized::{Filled, Versioned, get};
use crate::statistics::{self, CReaderStatistics};
use crate::text;
use ghc_eventlog::{Address, AttachError, AttachOptions, ListenError, Listener, ReaderId};
use std::ffi::{c_char, c_int};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

/// `EVL_ANYWHERE`
const ANYWHERE: c_int = 2;

/// What `evl_reader` stands for.
pub(crate) struct ReaderObject {
    pub(crate) log: Id<Arc<LogObject>>,
    id: ReaderId,
}

/// What `evl_listener` stands for.
pub(crate) struct ListenerObject {
    pub(crate) log: Id<Arc<LogObject>>,
    listener: Listener,
}

/// `evl_attach_options`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Options {
    pub(crate) size: u64,
    pub(crate) queue_bytes: u64,
    pub(crate) linger_ns: u64,
    pub(crate) readers: u64,
}

// SAFETY: numbers without padding.
unsafe impl Versioned for Options {
    const NAME: &'static str = "evl_attach_options";
}

const DEFAULT: Options = Options {
    size: size_of::<Options>() as u64,
    queue_bytes: 8 << 20,
    linger_ns: 1_000_000_000,
    readers: 64,
};

/// How a reader, those of a listener, or a sink with a queue are served.
///
/// # Errors
/// Where a value is not allowed.
///
/// # Safety
/// What is not null points to an `evl_attach_options` that keeps to the header.
pub(crate) unsafe fn options(from: *const Options) -> Outcome<AttachOptions> {
    // SAFETY: as the caller says.
    let from = unsafe { get(from, DEFAULT) }?;
    let least_one = |value: u64, name: &str| match usize::try_from(value) {
        Ok(value @ 1..) => Ok(value),
        _ => {
            let text = format!("{name} is {value}: 1 to {} are possible", usize::MAX);
            Err(Failure::new(Code::Argument, text))
        }
    };
    Ok(AttachOptions::default()
        .queue(least_one(from.queue_bytes, "queue_bytes")?)
        .linger(Duration::from_nanos(from.linger_ns))
        .readers(least_one(from.readers, "readers")?))
}

/// `evl_attach_options_init`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_attach_options_init(to: *mut Options, size: u64) -> c_int {
    entry(|| {
        // SAFETY: the header asks for so many bytes.
        unsafe { Filled::with_size(to, size) }?.put(&DEFAULT);
        Ok(())
    })
}

/// `evl_attach`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_attach(
    log: Id<Arc<LogObject>>,
    sink: Id<Arc<SinkObject>>,
    from: *const Options,
    out: *mut Id<ReaderObject>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "reader") }?;
        // SAFETY: the header asks for it.
        let options = unsafe { options(from) }?;
        let object = log.get()?;
        let writer = sink.get()?.take_writer()?;
        let _blocked = AllBlocked::new();
        let id = object.log.attach(writer, options).map_err(|error| {
            let code = match &error {
                AttachError::Stopped => Code::Stopped,
                AttachError::Thread(_) => Code::Io,
                _ => Code::Sink,
            };
            failure(code, &error)
        })?;
        out.put(Id::new(ReaderObject { log, id })?);
        Ok(())
    })
}

/// `evl_detach`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_detach(reader: Id<ReaderObject>, out: *mut CReaderStatistics) -> c_int {
    entry(|| {
        // SAFETY: the header asks for null or a structure with its size.
        let out = (!out.is_null()).then(|| unsafe { Filled::new(out) });
        let out = out.transpose()?;
        // The handle stays good where a sink calls this.
        not_in_sink()?;
        let ReaderObject { log, id } = reader.take()?;
        let object = log.get()?;
        let _blocked = PipeBlocked::new();
        let detached = object.log.detach(id);
        let detached = detached.map_err(|error| Failure::from_io(Code::Sink, &error, &error))?;
        let statistics = detached.ok_or_else(|| Failure::of(Code::Detached))?;
        if let Some(mut out) = out {
            out.put(&statistics::of_reader(&statistics));
        }
        Ok(())
    })
}

/// `evl_get_reader_statistics`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_get_reader_statistics(
    reader: Id<ReaderObject>,
    out: *mut CReaderStatistics,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a structure with its size.
        let mut out = unsafe { Filled::new(out) }?;
        not_in_sink()?;
        let (log, id) = reader.read(|reader| (reader.log, reader.id))?;
        let all = log.get()?.log.statistics();
        let mut readers = all.readers.iter();
        let found = readers.find(|statistics| statistics.id == Some(id));
        let found = found.ok_or_else(|| Failure::of(Code::Detached))?;
        out.put(&statistics::of_reader(found));
        Ok(())
    })
}

/// Serves a log at an address.
///
/// # Safety
/// `from` and `out` keep to the header.
unsafe fn listen(
    log: Id<Arc<LogObject>>,
    address: Address,
    from: *const Options,
    out: *mut Id<ListenerObject>,
) -> Outcome {
    // SAFETY: as the caller says.
    let mut out = unsafe { Out::new(out, "listener") }?;
    // SAFETY: as the caller says.
    let options = unsafe { options(from) }?;
    let object = log.get()?;
    let _blocked = AllBlocked::new();
    let listener = object.log.listen(address, options).map_err(|error| {
        let code = match &error {
            ListenError::NotLoopback { .. } => Code::Argument,
            ListenError::Stopped => Code::Stopped,
            _ => Code::Io,
        };
        failure(code, &error)
    })?;
    out.put(Id::new(ListenerObject { log, listener })?);
    Ok(())
}

/// `evl_listen_unix`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_listen_unix(
    log: Id<Arc<LogObject>>,
    path: *const c_char,
    from: *const Options,
    out: *mut Id<ListenerObject>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a text that ends with a NUL.
        let path = unsafe { text::path(path, "path") }?;
        // SAFETY: the header asks for it.
        unsafe { listen(log, Address::Unix(path.to_owned()), from, out) }
    })
}

/// `evl_listen_tcp`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_listen_tcp(
    log: Id<Arc<LogObject>>,
    address: *const c_char,
    flags: c_int,
    from: *const Options,
    out: *mut Id<ListenerObject>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a text that ends with a NUL.
        let text = unsafe { text::utf8_z(address, "address") }?;
        let address: SocketAddr = text.parse().map_err(|_| {
            let text =
                format!("{text:?} is no address: 127.0.0.1:4711, or [::1]:0 for any free port");
            Failure::new(Code::Argument, text)
        })?;
        let address = match flags {
            0 if !address.ip().is_loopback() => {
                let text = format!(
                    "{address} is no loopback address: EVL_ANYWHERE ({ANYWHERE:#x}) serves other machines"
                );
                return Err(Failure::new(Code::Argument, text));
            }
            0 => Address::Tcp(address),
            ANYWHERE => Address::TcpAnywhere(address),
            other => {
                let text = format!("flags {other:#x}: 0, or EVL_ANYWHERE ({ANYWHERE:#x})");
                return Err(Failure::new(Code::Argument, text));
            }
        };
        // SAFETY: the header asks for it.
        unsafe { listen(log, address, from, out) }
    })
}

/// `evl_listener_address`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_listener_address(
    listener: Id<ListenerObject>,
    out: *mut c_char,
    len: usize,
) -> c_int {
    entry(|| {
        if out.is_null() {
            return Err(null("address"));
        }
        let address = listener.read(|object| match object.listener.address() {
            Address::Unix(path) => path.as_os_str().as_bytes().to_owned(),
            Address::Tcp(address) | Address::TcpAnywhere(address) => {
                address.to_string().into_bytes()
            }
            _ => Vec::new(),
        })?;
        if address.len() >= len {
            let text = format!(
                "room for {len} bytes: the address takes {} with its NUL",
                address.len() + 1
            );
            return Err(Failure::new(Code::TooLarge, text));
        }
        // SAFETY: the header asks for room for `len` bytes, which is more than there are.
        unsafe {
            out.cast::<u8>()
                .copy_from_nonoverlapping(address.as_ptr(), address.len());
            out.add(address.len()).write(0);
        }
        Ok(())
    })
}

/// `evl_listener_refused`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_listener_refused(listener: Id<ListenerObject>, out: *mut u64) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "refused") }?;
        out.put(listener.read(|object| object.listener.refused() as u64)?);
        Ok(())
    })
}

/// `evl_listener_close`
#[unsafe(no_mangle)]
extern "C" fn evl_listener_close(listener: Id<ListenerObject>) -> c_int {
    entry(|| listener.take().map(drop))
}
