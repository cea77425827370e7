//! Judges an object by its file, before the dynamic linker sees it. No code of the object runs.

use super::elf::{Asked, Dynamic, File, MACHINE, NoFile};
use super::unload::PinReason;
use ghc_eventlog_object::{
    ABI_MAJOR, ABI_MINOR, CostCentre, FINGERPRINT, NOTE_NAME, NOTE_TYPE, NoteContent, Object,
    WAY_PROFILED,
};
use object::elf;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// What begins so is the host's, or nobody's.
const PREFIX: &[u8] = b"evl_";

/// The table that the host looks for.
const TABLE: &[u8] = b"evl_object_v1";

/// What makes thread-specific keys in the C library.
const KEY_FUNCTIONS: [&str; 3] = ["pthread_key_create", "__pthread_key_create", "tss_create"];

/// The symbols that a host exports for objects.
///
/// ```
/// use ghc_eventlog::objects::HostExports;
///
/// assert!(HostExports::complete().has("evl_object_attach"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostExports {
    names: Vec<Cow<'static, str>>,
}

impl HostExports {
    /// All that this version of the crate has.
    ///
    /// ```
    /// let exports = ghc_eventlog::objects::HostExports::complete();
    /// assert!(!exports.has("evl_way_prof_abi9"));
    /// ```
    #[must_use]
    pub fn complete() -> Self {
        HostExports {
            names: super::exports::names().map(Cow::Borrowed).to_vec(),
        }
    }

    /// The same, and these: what the program exports for its objects besides.
    ///
    /// ```
    /// use ghc_eventlog::objects::HostExports;
    ///
    /// assert!(HostExports::complete().with(["evl_my_own"]).has("evl_my_own"));
    /// ```
    #[must_use]
    pub fn with(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.names
            .extend(names.into_iter().map(|name| Cow::Owned(name.into())));
        self
    }

    /// Whether that is one of them.
    ///
    /// ```
    /// assert!(ghc_eventlog::objects::HostExports::complete().has("evl_way_prof_abi1"));
    /// ```
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

/// What the file of an object tells.
///
/// ```
/// use ghc_eventlog::objects::{CheckError, HostExports, inspect};
///
/// match inspect(b"text", &HostExports::complete()) {
///     Ok(info) => println!("{}: {} cost centres", info.name, info.cost_centres.len()),
///     Err(error) => assert_eq!(error, CheckError::NotElf),
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectInfo {
    /// What the object calls itself; empty where the file does not tell.
    pub name: String,
    /// The versions of the tables, major and minor.
    pub abi: (u16, u16),
    /// Its cost centres. None where the file has lost its section headers: the loader finds them all the same.
    pub cost_centres: Vec<FileCostCentre>,
    /// Names of the libraries that it needs.
    pub needed: Vec<String>,
    /// The linker's number of this very build, if it has one.
    pub build_id: Option<Vec<u8>>,
    /// Functions that run when it is loaded, besides its `init`.
    pub constructors: u64,
    /// Bytes of memory that it takes when it is loaded.
    pub memory: u64,
    /// Whether it registers itself where no loader does.
    pub registers_itself: bool,
    /// What may keep it mapped when it is unloaded, as far as the file tells.
    pub pins: Vec<PinReason>,
}

/// A cost centre in the file of an object.
///
/// ```
/// fn line(cost_centre: &ghc_eventlog::objects::FileCostCentre) -> String {
///     format!("{}.{} ({})", cost_centre.module, cost_centre.label, cost_centre.srcloc)
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileCostCentre {
    /// Its name.
    pub label: String,
    /// The module that it is in.
    pub module: String,
    /// Where it is in the source.
    pub srcloc: String,
}

/// Why an object is refused. Nothing of it has run.
///
/// ```
/// use ghc_eventlog::objects::{CheckError, HostExports, inspect};
///
/// let error = inspect(b"\x7fELF", &HostExports::complete()).unwrap_err();
/// assert_eq!(error, CheckError::NotElf);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// It is no ELF file.
    NotElf,
    /// It is for another kind of processor.
    Machine {
        /// Bits of an address, as the file says: 1 for 32, 2 for 64.
        class: u8,
        /// Its byte order: 1 for little-endian, 2 for big-endian.
        byte_order: u8,
        /// ELF's number of its processor.
        machine: u16,
        /// That of this one.
        host: u16,
    },
    /// It ends too early.
    Truncated {
        /// Bytes that its segments need.
        needed: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// It contradicts itself.
    Malformed {
        /// How.
        what: &'static str,
    },
    /// It is no shared library.
    NotShared {
        /// ELF's number of what it is.
        kind: u16,
    },
    /// It has no note of an object: it is some other library, or built without `object!` and `EVL_OBJECT`.
    NoNote,
    /// Its note is shorter than any version's.
    BadNote {
        /// Bytes of its content.
        found: usize,
        /// The least.
        minimum: usize,
    },
    /// Its tables are of another version, or a later one.
    Abi {
        /// Its version, major and minor.
        found: (u16, u16),
        /// This host's.
        host: (u16, u16),
    },
    /// It is built another way: without cost centres.
    Way {
        /// Its way.
        found: u32,
        /// This host's.
        host: u32,
    },
    /// Its tables have other sizes.
    Size {
        /// Which table.
        table: &'static str,
        /// Its bytes in the object.
        found: u32,
        /// Its bytes here.
        host: u32,
    },
    /// Its tables are laid out otherwise.
    Fingerprint {
        /// The fingerprint of its layout.
        found: u64,
        /// That of this host's.
        host: u64,
    },
    /// It wants symbols of the host that this one does not have, or cannot offer.
    MissingHostSymbols {
        /// Their names.
        names: Vec<String>,
    },
    /// It has the note, but does not export its table.
    NoTable,
    /// The dynamic linker would call functions of it while it loads it, even if it fails then.
    Resolvers {
        /// How many.
        count: usize,
    },
    /// It shares a copy of Rust's standard library (`-C prefer-dynamic`), which cannot be unloaded.
    SharedStd {
        /// The library's name.
        name: String,
    },
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::NotElf => f.write_str("it is no ELF file"),
            CheckError::Machine {
                class,
                byte_order,
                machine,
                host,
            } => write!(
                f,
                "it is for another machine: class {class}, byte order {byte_order}, machine {machine}, where this \
                 program has class 2, byte order 1, machine {host}"
            ),
            CheckError::Truncated { needed, found } => {
                write!(f, "it is cut: it needs {needed} bytes, and has {found}")
            }
            CheckError::Malformed { what } => write!(f, "it is malformed: {what}"),
            CheckError::NotShared { kind } => {
                write!(f, "it is no shared library: its ELF type is {kind}, not 3")
            }
            CheckError::NoNote => f.write_str(
                "it has no note of an object: it was built without `object!` or EVL_OBJECT",
            ),
            CheckError::BadNote { found, minimum } => write!(
                f,
                "its note has {found} bytes, where {minimum} are the least"
            ),
            CheckError::Abi {
                found: (major, minor),
                host,
            } => write!(
                f,
                "its tables are of version {major}.{minor}, those of this host of version {}.{}",
                host.0, host.1
            ),
            CheckError::Way { found, host } => write!(
                f,
                "it is built in way {found}, this host in way {host} (1 is with cost centres, 0 without)"
            ),
            CheckError::Size { table, found, host } => {
                write!(f, "its {table} has {found} bytes, that of this host {host}")
            }
            CheckError::Fingerprint { found, host } => write!(
                f,
                "its tables have the fingerprint {found:016x}, those of this host {host:016x}"
            ),
            CheckError::MissingHostSymbols { names } => write!(
                f,
                "it needs {}, which this host does not have",
                names.join(", ")
            ),
            CheckError::NoTable => f.write_str("it does not export evl_object_v1"),
            CheckError::Resolvers { count } => write!(
                f,
                "the dynamic linker would call {count} functions of it before it is loaded (ifunc)"
            ),
            CheckError::SharedStd { name } => {
                write!(f, "it needs {name}: build it without -C prefer-dynamic")
            }
        }
    }
}

impl Error for CheckError {}

/// Looks into the file of an object, and tells whether a host with these exports would load it. Reads the bytes
/// alone: no code of the object runs, and nothing is mapped. Allocates for what it tells. Any bytes will do.
///
/// # Errors
/// [`CheckError`] says why not. The first reason that applies counts, in the order of its variants, roughly.
///
/// ```
/// use ghc_eventlog::objects::{CheckError, HostExports, inspect};
///
/// let this_program = std::fs::read(std::env::current_exe()?)?;
/// let refused = inspect(&this_program, &HostExports::complete()).unwrap_err();
/// assert_eq!(refused, CheckError::NoNote);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn inspect(bytes: &[u8], host: &HostExports) -> Result<ObjectInfo, CheckError> {
    let file = File::parse(bytes).map_err(|no_file| match no_file {
        NoFile::NotElf => CheckError::NotElf,
        NoFile::Foreign(class, byte_order, machine) => CheckError::Machine {
            class,
            byte_order,
            machine,
            host: MACHINE.0,
        },
        NoFile::NotShared(kind) => CheckError::NotShared { kind },
        NoFile::Truncated(needed) => CheckError::Truncated {
            needed,
            found: bytes.len() as u64,
        },
        NoFile::Malformed(what) => CheckError::Malformed { what },
    })?;
    let owner = &NOTE_NAME[..NOTE_NAME.len() - 1];
    let note = match file.note(owner, NOTE_TYPE) {
        (Some(note), _) => note,
        (None, true) => {
            return Err(CheckError::Malformed {
                what: "its notes are broken",
            });
        }
        (None, false) => return Err(CheckError::NoNote),
    };
    let content = NoteContent::from_little_endian(note).ok_or(CheckError::BadNote {
        found: note.len(),
        minimum: size_of::<NoteContent>(),
    })?;
    check_note(&content)?;
    let dynamic = file.dynamic().ok_or(CheckError::Malformed {
        what: "its dynamic section is broken",
    })?;
    let table = check_symbols(&file, &dynamic, host)?;
    Ok(describe(&file, &dynamic, &content, table))
}

fn check_note(content: &NoteContent) -> Result<(), CheckError> {
    if content.abi_major != ABI_MAJOR || content.abi_minor > ABI_MINOR {
        return Err(CheckError::Abi {
            found: (content.abi_major, content.abi_minor),
            host: (ABI_MAJOR, ABI_MINOR),
        });
    }
    if content.way != WAY_PROFILED {
        return Err(CheckError::Way {
            found: content.way,
            host: WAY_PROFILED,
        });
    }
    if content.fingerprint() != FINGERPRINT {
        return Err(CheckError::Fingerprint {
            found: content.fingerprint(),
            host: FINGERPRINT,
        });
    }
    let sizes = [
        (
            "cost centre",
            content.cost_centre_size,
            size_of::<CostCentre>(),
        ),
        ("object table", content.object_size, size_of::<Object>()),
    ];
    for (table, found, host) in sizes {
        let host = host as u32;
        if found != host {
            return Err(CheckError::Size { table, found, host });
        }
    }
    Ok(())
}

/// Where the object's table will be, if nothing about its symbols stands against it.
fn check_symbols(
    file: &File<'_>,
    dynamic: &Dynamic<'_>,
    host: &HostExports,
) -> Result<u64, CheckError> {
    let mut missing = Vec::new();
    let mut table = None;
    let mut resolvers = file.resolvers(dynamic);
    for (name, symbol) in dynamic.symbols() {
        if symbol.is_wanted() {
            let text = String::from_utf8_lossy(name);
            if name.starts_with(PREFIX) && !symbol.is_weak() && !host.has(&text) {
                missing.push(text.into_owned());
            }
        } else {
            resolvers += usize::from(symbol.is_resolved_by_call());
            if name == TABLE {
                table = Some(symbol.address());
            }
        }
    }
    if !missing.is_empty() {
        missing.sort_unstable();
        return Err(CheckError::MissingHostSymbols { names: missing });
    }
    let table = table.ok_or(CheckError::NoTable)?;
    if resolvers > 0 {
        return Err(CheckError::Resolvers { count: resolvers });
    }
    let shared_std = |name: &String| name.starts_with("libstd-") && name.ends_with(".so");
    match dynamic.needed().into_iter().find(shared_std) {
        Some(name) => Err(CheckError::SharedStd { name }),
        None => Ok(table),
    }
}

fn describe(
    file: &File<'_>,
    dynamic: &Dynamic<'_>,
    content: &NoteContent,
    table: u64,
) -> ObjectInfo {
    let name = std::mem::offset_of!(Object, name) as u64;
    let name_of = |table: u64| {
        let at = table.checked_add(name)?;
        let pointers = file.pointers(dynamic, at, at.checked_add(8)?);
        file.text_at(*pointers.get(&at)?)
    };
    let pointers = size_of::<usize>() as u64;
    let array = dynamic.value(elf::DT_INIT_ARRAYSZ).unwrap_or(0) / pointers;
    let build_id = file.note(b"GNU", elf::NT_GNU_BUILD_ID.0).0;
    let wanted = |wanted: &str| {
        dynamic
            .symbols()
            .any(|(name, symbol)| symbol.is_wanted() && name == wanted.as_bytes())
    };
    ObjectInfo {
        name: name_of(table).unwrap_or_default(),
        abi: (content.abi_major, content.abi_minor),
        cost_centres: cost_centres(file, dynamic),
        needed: dynamic.needed(),
        build_id: build_id.map(<[u8]>::to_vec),
        constructors: array + u64::from(dynamic.value(elf::DT_INIT).is_some()),
        memory: file.memory(),
        registers_itself: wanted("evl_object_attach"),
        pins: pins(dynamic, wanted),
    }
}

fn pins(dynamic: &Dynamic<'_>, wanted: impl Fn(&str) -> bool) -> Vec<PinReason> {
    let mut pins = Vec::new();
    let flags = dynamic.value(elf::DT_FLAGS_1).unwrap_or(0);
    if flags & elf::DF_1_NODELETE.0 != 0 {
        pins.push(PinReason::NoDelete);
    }
    let unique = dynamic.symbols().find(|(_, symbol)| symbol.is_unique());
    if let Some((name, _)) = unique {
        pins.push(PinReason::UniqueSymbol(
            String::from_utf8_lossy(name).into_owned(),
        ));
    }
    if wanted("__cxa_thread_atexit_impl") || wanted("__cxa_thread_atexit") {
        pins.push(PinReason::ThreadLocals);
    }
    let keys = KEY_FUNCTIONS.into_iter().filter(|name| wanted(name));
    pins.extend(keys.map(|name| PinReason::ThreadKeys(name.to_owned())));
    pins
}

/// The cost centres, by their section and what the dynamic linker would write into it.
fn cost_centres(file: &File<'_>, dynamic: &Dynamic<'_>) -> Vec<FileCostCentre> {
    let size = size_of::<CostCentre>() as u64;
    let section = file.section(b"evl_cc");
    // The file has the bytes, so a size that is made up ends here, and so does an address.
    let section =
        section.filter(|(at, len)| file.at(*at).is_some_and(|bytes| bytes.len() as u64 >= *len));
    let section = section.and_then(|(at, len)| Some((at, len, at.checked_add(len)?)));
    let Some((begin, len, end)) = section else {
        return Vec::new();
    };
    let pointers = file.pointers(dynamic, begin, end);
    let text = |at: u64| {
        let text = pointers.get(&at).and_then(|address| file.text_at(*address));
        text.unwrap_or_default()
    };
    let label = std::mem::offset_of!(CostCentre, label) as u64;
    let module = std::mem::offset_of!(CostCentre, module) as u64;
    let srcloc = std::mem::offset_of!(CostCentre, srcloc) as u64;
    let records = (0..len / size).map(|index| begin + index * size);
    let describe = |at: u64| FileCostCentre {
        label: text(at + label),
        module: text(at + module),
        srcloc: text(at + srcloc),
    };
    records.map(describe).collect()
}
