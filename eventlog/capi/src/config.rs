//! How a log is to be: `evl_config` and `evl_policy`.

use crate::code::{Code, Failure, Outcome, entry};
use crate::object::Id;
use crate::sized::{Filled, Versioned, get};
use crate::text;
use crate::user_type::array;
use ghc_eventlog::format::{Header, UserEventType};
use ghc_eventlog::{Builder, EventLog, Policy};
use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// `evl_policy`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CPolicy {
    pub(crate) kind: i32,
    pub(crate) reserved: u32,
    pub(crate) value: u64,
}

/// `evl_config`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Config {
    pub(crate) size: u64,
    pub(crate) buffer_bytes: u64,
    pub(crate) flush_interval_ns: u64,
    pub(crate) policy: CPolicy,
    pub(crate) sticky_bytes: u64,
    pub(crate) sink_backlog_bytes: u64,
    // Side by side, so that there is no padding where pointers have four bytes.
    pub(crate) arguments: *const *const c_char,
    pub(crate) types: *const Id<Arc<UserEventType>>,
    pub(crate) arguments_len: u64,
    pub(crate) types_len: u64,
}

// SAFETY: numbers and pointers without padding.
unsafe impl Versioned for Config {
    const NAME: &'static str = "evl_config";
}

/// What is in force where nobody says otherwise.
const DEFAULT: Config = Config {
    size: size_of::<Config>() as u64,
    buffer_bytes: 512 << 10,
    flush_interval_ns: 100_000_000,
    policy: CPolicy {
        kind: 0,
        reserved: 0,
        value: 0,
    },
    sticky_bytes: 64 << 20,
    sink_backlog_bytes: 8 << 20,
    arguments: ptr::null(),
    types: ptr::null(),
    arguments_len: 0,
    types_len: 0,
};

/// The shortest flush interval.
const SHORTEST: u64 = 1_000_000;

/// The least that memory for a sink or for sticky events may be said to be, in bytes.
fn bytes(bytes: u64, name: &str) -> Outcome<usize> {
    usize::try_from(bytes).map_err(|_| {
        let text = format!("{name} is {bytes}: at most {} are possible", usize::MAX);
        Failure::new(Code::Argument, text)
    })
}

impl CPolicy {
    pub(crate) fn read(self) -> Outcome<Policy> {
        let CPolicy { kind, value, .. } = self;
        match kind {
            0 => Ok(Policy::DropNewest),
            1 => Ok(Policy::OverwriteOldest),
            2 if value == 0 => Err(Failure::new(
                Code::Argument,
                "buffers cannot grow to 0 bytes: put the most bytes of each into the value of EVL_GROW",
            )),
            2 => Ok(Policy::Grow {
                max_bytes: bytes(value, "the value of EVL_GROW")?,
            }),
            3 => Ok(Policy::Wait {
                limit: Duration::from_nanos(value),
            }),
            other => {
                let text = format!("{other} is no policy: 0 (EVL_DROP_NEWEST) to 3 (EVL_WAIT)");
                Err(Failure::new(Code::Argument, text))
            }
        }
    }

    pub(crate) fn of(policy: Policy) -> Self {
        let (kind, value) = match policy {
            Policy::OverwriteOldest => (1, 0),
            Policy::Grow { max_bytes } => (2, max_bytes as u64),
            Policy::Wait { limit } => (3, u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)),
            // There is no other.
            _ => (0, 0),
        };
        CPolicy {
            kind,
            reserved: 0,
            value,
        }
    }
}

/// Describes a log as the caller wants it, and tells what it declares.
///
/// # Errors
/// Where a value is not allowed.
///
/// # Safety
/// What is not null points to an `evl_config` that keeps to the header.
pub(crate) unsafe fn builder(config: *const Config) -> Outcome<(Builder, Header)> {
    // SAFETY: as the caller says.
    let config = unsafe { get(config, DEFAULT) }?;
    if config.flush_interval_ns < SHORTEST {
        let text = format!(
            "flush_interval_ns is {}: at least {SHORTEST} (1 ms) is needed",
            config.flush_interval_ns
        );
        return Err(Failure::new(Code::Argument, text));
    }
    let mut builder = EventLog::builder()
        .buffer_size(bytes(config.buffer_bytes, "buffer_bytes")?)
        .flush_interval(Duration::from_nanos(config.flush_interval_ns))
        .policy(config.policy.read()?)
        .sticky_limit(bytes(config.sticky_bytes, "sticky_bytes")?)
        .sink_backlog(bytes(config.sink_backlog_bytes, "sink_backlog_bytes")?);
    if !config.arguments.is_null() {
        let len = bytes(config.arguments_len, "arguments_len")?;
        // SAFETY: as the caller says.
        let arguments = unsafe { array(config.arguments, len, "arguments") }?;
        let arguments: Outcome<Vec<_>> = arguments
            .iter()
            // SAFETY: as the caller says.
            .map(|text| unsafe { text::nul_ended(*text, "an argument") })
            .map(|text| Ok(text?.to_string_lossy().into_owned()))
            .collect();
        builder = builder.arguments(arguments?);
    }
    let len = bytes(config.types_len, "types_len")?;
    // SAFETY: as the caller says.
    let types = unsafe { array(config.types, len, "types") }?;
    let types: Outcome<Vec<_>> = types.iter().map(|ty| ty.get()).collect();
    let types = types?;
    for ty in &types {
        builder = builder.declare(ty);
    }
    // What cannot be declared the builder tells better.
    let header = Header::standard().declaring(types.iter().map(|ty| &**ty));
    Ok((
        builder,
        header.unwrap_or_else(|_| Header::standard().clone()),
    ))
}

/// `evl_config_init`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_config_init(config: *mut Config, size: u64) -> c_int {
    entry(|| {
        // SAFETY: the header asks for so many bytes.
        unsafe { Filled::with_size(config, size) }?.put(&DEFAULT);
        Ok(())
    })
}
