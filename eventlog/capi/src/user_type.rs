//! Event types of the program's own, and the values of their events: `evl_type` and `evl_value`.

use crate::code::{Code, Failure, Outcome, entry};
use crate::fork;
use crate::object::{Id, Out, null};
use crate::text;
use ghc_eventlog::format::{FieldType, UserEventType, Value};
use std::ffi::{c_char, c_int};
use std::slice;
use std::sync::Arc;

/// `evl_field`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CField {
    pub(crate) name: *const c_char,
    pub(crate) ty: i32,
    pub(crate) reserved: u32,
}

/// `evl_value`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CValue {
    pub(crate) ty: i32,
    pub(crate) reserved: u32,
    pub(crate) of: Content,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union Content {
    pub(crate) unsigned: u64,
    pub(crate) signed: i64,
    pub(crate) float: f64,
    pub(crate) bytes: Bytes,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Bytes {
    pub(crate) data: *const u8,
    pub(crate) len: usize,
}

/// The types by their numbers in `eventlog.h`, from 1 on.
const FIELD_TYPES: [FieldType; 8] = [
    FieldType::U8,
    FieldType::U16,
    FieldType::U32,
    FieldType::U64,
    FieldType::I64,
    FieldType::F64,
    FieldType::Str,
    FieldType::Bytes,
];

fn field_type(number: i32) -> Outcome<FieldType> {
    let at = usize::try_from(number)
        .ok()
        .and_then(|at| at.checked_sub(1));
    let found = at.and_then(|at| FIELD_TYPES.get(at));
    found.copied().ok_or_else(|| {
        let text = format!("{number} is no type of a field: 1 (EVL_U8) to 8 (EVL_BYTES)");
        Failure::new(Code::Argument, text)
    })
}

/// Values that most events have no more of.
const FEW: usize = 16;

/// Runs `run` with values that come from C. Allocates where they are many.
///
/// # Errors
/// Where one is no value.
///
/// # Safety
/// What is not null points to so many values, and each of them to what it says, until this returns.
pub(crate) unsafe fn with_values<T>(
    from: *const CValue,
    len: usize,
    run: impl FnOnce(&[Value<'_>]) -> Outcome<T>,
) -> Outcome<T> {
    // SAFETY: as the caller says.
    let from = unsafe { array(from, len, "values") }?;
    if from.len() > FEW {
        let values: Outcome<Vec<_>> = from
            .iter()
            // SAFETY: as the caller says.
            .map(|value| unsafe { value.read() })
            .collect();
        return run(&values?);
    }
    let mut values = [Value::U8(0); FEW];
    for (value, from) in values.iter_mut().zip(from) {
        // SAFETY: as the caller says.
        *value = unsafe { from.read() }?;
    }
    run(&values[..from.len()])
}

/// The most elements of any array of the interface.
const MOST: usize = 65_536;

/// An array that comes from C. A null pointer will do for an empty one.
///
/// # Errors
/// Where it is null and should not be, or far too long.
///
/// # Safety
/// What is not null points to so many elements, which nobody changes for `'a`.
pub(crate) unsafe fn array<'a, T>(from: *const T, len: usize, name: &str) -> Outcome<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if from.is_null() {
        return Err(null(name));
    }
    if len > MOST {
        let text = format!("{len} {name}: at most {MOST} are possible");
        return Err(Failure::new(Code::Argument, text));
    }
    // SAFETY: there are so many elements, as the caller says.
    Ok(unsafe { slice::from_raw_parts(from, len) })
}

impl CValue {
    /// # Safety
    /// Text and bytes point to so many bytes, which nobody changes for `'a`.
    unsafe fn read<'a>(&self) -> Outcome<Value<'a>> {
        let ty = field_type(self.ty)?;
        // SAFETY: every member is as large as the type that it is read by, and any bytes are a number.
        let (unsigned, signed, float) =
            unsafe { (self.of.unsigned, self.of.signed, self.of.float) };
        let too_large = |_| {
            let text = format!("{unsigned} is no value of a field of type {ty}");
            Failure::new(Code::Argument, text)
        };
        let bytes = || {
            // SAFETY: the caller has said so by the type.
            let Bytes { data, len } = unsafe { self.of.bytes };
            // SAFETY: as the caller says.
            unsafe { text::bytes(data, len, "the data of a value") }
        };
        Ok(match ty {
            FieldType::U8 => Value::U8(u8::try_from(unsigned).map_err(too_large)?),
            FieldType::U16 => Value::U16(u16::try_from(unsigned).map_err(too_large)?),
            FieldType::U32 => Value::U32(u32::try_from(unsigned).map_err(too_large)?),
            FieldType::U64 => Value::U64(unsigned),
            FieldType::I64 => Value::I64(signed),
            FieldType::F64 => Value::F64(float),
            FieldType::Str => Value::Str(text::utf8(bytes()?, "the text of a value")?),
            _ => Value::Bytes(bytes()?),
        })
    }
}

/// `evl_type_new`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_type_new(
    number: u16,
    name: *const c_char,
    fields: *const CField,
    len: usize,
    out: *mut Id<Arc<UserEventType>>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "type") }?;
        fork::get_ready()?;
        // SAFETY: the header asks for texts that end with a NUL, and for so many fields.
        let name = unsafe { text::utf8_z(name, "name") }?.to_owned();
        // SAFETY: as above.
        let fields = unsafe { array(fields, len, "fields") }?;
        let mut builder = UserEventType::builder(number, name);
        for field in fields {
            // SAFETY: as above.
            let name = unsafe { text::utf8_z(field.name, "the name of a field") }?.to_owned();
            builder = builder.field(name, field_type(field.ty)?);
        }
        let built = builder.build();
        let ty = built.map_err(|error| Failure::from_error(Code::Argument, &error))?;
        out.put(Id::new(Arc::new(ty))?);
        Ok(())
    })
}

/// `evl_type_id`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_type_id(ty: Id<Arc<UserEventType>>, out: *mut u16) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "id") }?;
        out.put(ty.read(|ty| ty.id())?);
        Ok(())
    })
}

/// `evl_type_release`
#[unsafe(no_mangle)]
extern "C" fn evl_type_release(ty: Id<Arc<UserEventType>>) -> c_int {
    entry(|| ty.take().map(drop))
}
