//! Loads objects: checks the file, has the dynamic linker open it, and takes its cost centres into the list.
//!
//! One lock is held around the calls of the dynamic linker and what must be one step with them: of two who load
//! one path directly, one finds the object taken. Nothing that the object runs by itself takes this lock.

use super::check::{CheckError, HostExports, inspect};
use super::error::LoadError;
use super::image::Image;
use super::linker::Library;
use super::object::{Inner, Object};
use super::records::Table;
use super::registry::{CostCentres, registry};
use super::{attach, exports};
use crate::EventLog;
use ghc_eventlog_object::Object as ObjectTable;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The objects that are loaded, in the order in which they were.
static LOADED: Mutex<Vec<Object>> = Mutex::new(Vec::new());

/// The loader's lock.
pub(super) struct Held(MutexGuard<'static, Vec<Object>>);

/// Waits until no other thread loads or unloads.
pub(super) fn hold() -> Held {
    // Each change is one call.
    Held(LOADED.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Held {
    /// Takes an object out of those that are loaded.
    pub(super) fn forget(&mut self, object: &Object) {
        self.0.retain(|loaded| loaded.id() != object.id());
    }
}

/// How an object is loaded.
///
/// ```
/// use ghc_eventlog::objects::LoadOptions;
///
/// let options = LoadOptions::new().direct(true);
/// ```
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    direct: bool,
    exports: Vec<String>,
}

impl LoadOptions {
    /// A private copy of the file is loaded, which takes its size in memory while the object is loaded, and a file
    /// descriptor.
    ///
    /// ```
    /// let options = ghc_eventlog::objects::LoadOptions::new();
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the file itself is loaded, so that debuggers and `perf` find it. Then it must not be overwritten
    /// while it is loaded (a new file that is renamed to its name does no harm), nor between the check and the
    /// loading, and it cannot be loaded twice.
    ///
    /// ```
    /// let for_a_debugger = ghc_eventlog::objects::LoadOptions::new().direct(true);
    /// ```
    #[must_use]
    pub fn direct(mut self, direct: bool) -> Self {
        self.direct = direct;
        self
    }

    /// Symbols that this program exports for its objects besides those of this crate, by names that begin with
    /// `evl_`. Those that begin otherwise are left to the dynamic linker.
    ///
    /// ```
    /// let options = ghc_eventlog::objects::LoadOptions::new().exports(["evl_my_program"]);
    /// ```
    #[must_use]
    pub fn exports(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.exports.extend(names.into_iter().map(Into::into));
        self
    }
}

/// The objects of this process.
///
/// ```
/// use ghc_eventlog::{EventLog, objects::Objects};
///
/// let log = EventLog::builder().start(Vec::new())?;
/// let objects = Objects::with_log(&log);
/// assert!(objects.loaded().is_empty());
/// # Ok::<(), ghc_eventlog::StartError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Objects(());

impl Objects {
    /// Whoever makes this sees the same objects.
    ///
    /// ```
    /// let objects = ghc_eventlog::objects::Objects::new();
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Objects(())
    }

    /// The same, with all cost centres [defined](super::Registry::define_in) in that log from now on.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, objects::Objects};
    ///
    /// let log = EventLog::builder().start(Vec::new())?;
    /// let objects = Objects::with_log(&log);
    /// # Ok::<(), ghc_eventlog::StartError>(())
    /// ```
    #[must_use]
    pub fn with_log(log: &EventLog) -> Self {
        registry().define_in(log);
        Objects(())
    }

    /// Every cost centre, as the list is now.
    ///
    /// ```
    /// let list = ghc_eventlog::objects::Objects::new().cost_centres();
    /// assert_eq!(list.len(), list.iter().count());
    /// ```
    #[must_use]
    pub fn cost_centres(&self) -> Arc<CostCentres> {
        registry().cost_centres()
    }

    /// The objects that a loader has loaded and nobody has unloaded, in the order in which they came. Waits
    /// while one is being loaded or unloaded.
    ///
    /// ```
    /// for object in ghc_eventlog::objects::Objects::new().loaded() {
    ///     println!("{}", object.name());
    /// }
    /// ```
    #[must_use]
    pub fn loaded(&self) -> Vec<Object> {
        hold().0.clone()
    }

    /// Loads an object: reads the file, [inspects](inspect) it, has the dynamic linker open a copy of it with
    /// all symbols resolved and none of its own offered to others, takes its cost centres into the list,
    /// defines them in the logs, and calls its `init`. Others find it in the list before `init` has returned;
    /// until then it cannot be unloaded, as within a call.
    ///
    /// Waits for the file, for others who load or unload, and for the logs as
    /// [`Registry::define_in`](super::Registry::define_in) says.
    ///
    /// # Errors
    /// [`LoadError`] says why it was not loaded; it is not mapped then, nor in the list. Up to
    /// [`LoadError::Check`] no code of it has run; behind that its constructors may have, and its destructors
    /// have, too.
    ///
    /// # Safety
    /// The object's code runs in this process. So its constructors, its `init` and `fini` and its destructors
    /// are sound, and load and unload no object. When its `fini` has returned,
    ///
    /// - no thread runs code of it, but within a call;
    /// - nothing outside of it calls it later, but for what unloading looks for: destructors of thread locals,
    ///   thread-specific keys, signal handlers and what it has registered with `atexit`;
    /// - no thread that has used it ends just then.
    ///
    /// ```no_run
    /// use ghc_eventlog::objects::{LoadOptions, Objects};
    ///
    /// // SAFETY: the object is one of ours.
    /// let object = unsafe { Objects::new().load("target/release/libgreeter.so", LoadOptions::new()) }?;
    /// println!("{} has {} cost centres", object.name(), object.cost_centres().cost_centres().len());
    /// # Ok::<(), ghc_eventlog::objects::LoadError>(())
    /// ```
    pub unsafe fn load(
        &self,
        path: impl AsRef<Path>,
        options: LoadOptions,
    ) -> Result<Object, LoadError> {
        let path = path.as_ref().to_owned();
        if attach::is_loading() {
            return Err(LoadError::WithinConstructor { path });
        }
        let io = |path: &PathBuf| {
            let path = path.clone();
            move |source: io::Error| LoadError::Io { path, source }
        };
        let bytes = fs::read(&path).map_err(io(&path))?;
        let exports = HostExports::complete().with(options.exports);
        let info = match inspect(&bytes, &exports) {
            Ok(info) => info,
            Err(source) => return Err(LoadError::Check { path, source }),
        };
        let (image, name) = if options.direct {
            // A name without a slash would be looked for elsewhere.
            let whole = fs::canonicalize(&path).map_err(io(&path))?;
            let name = CString::new(whole.into_os_string().as_bytes());
            (None, name.map_err(io::Error::from).map_err(io(&path))?)
        } else {
            let shown = path.file_name().unwrap_or(OsStr::new("object"));
            let image = Image::new(shown, &bytes).map_err(io(&path))?;
            let name = image.path();
            (Some(image), name)
        };
        drop(bytes);

        let mut held = hold();
        if let Err(names) = exports::offer() {
            let source = CheckError::MissingHostSymbols { names };
            return Err(LoadError::Check { path, source });
        }
        // SAFETY: the caller's.
        let (opened, attached) = attach::while_loading(|| unsafe { Library::open(&name) });
        let library = match opened {
            Ok(library) => library,
            Err(failure) => {
                let message = failure.0;
                return Err(LoadError::Linker { path, message });
            }
        };
        let refuse = |library: Library, error| {
            // SAFETY: nobody has got to know of it, but for its own constructors.
            attach::while_loading(|| unsafe { library.close() });
            Err(error)
        };
        let table = library.symbol(c"evl_object_v1");
        let (Some(at), Some(place)) = (table, library.place()) else {
            let what = "the dynamic linker does not find it";
            return refuse(library, LoadError::Table { path, what });
        };
        let at = at.cast::<ObjectTable>();
        let here = place.range();
        let behind = at.addr().get().checked_add(size_of::<ObjectTable>());
        if !at.is_aligned()
            || at.addr().get() < here.start
            || behind.is_none_or(|end| end > here.end)
        {
            let what = "it does not lie in its own data";
            return refuse(library, LoadError::Table { path, what });
        }
        // SAFETY: in the library's own data, where it stays until the library is closed, which needs the last
        // `Inner` that has the table. It is made as it must be, as its note says.
        let table = match unsafe { Table::new(at.as_ptr(), Some(here)) } {
            Ok(table) => table,
            Err(bad) => {
                let what = bad.reason();
                return refuse(library, LoadError::Table { path, what });
            }
        };
        if table.is_taken() {
            return refuse(library, LoadError::AlreadyLoaded { path });
        }
        let Some(numbered) = registry().add(&table.name(), table.definitions()) else {
            return refuse(library, LoadError::NumbersSpent { path });
        };
        table.take(&numbered);
        // Libraries that it needs may have come with it; those are nobody's but their own. What its own
        // constructor has said is done.
        for other in attached {
            // SAFETY: its constructor has just said so, and it stays for as long as this library at least.
            unsafe { attach::attach(std::ptr::with_exposed_provenance(other)) };
        }
        let inner = Inner::new(path, info, numbered, place, table, library, image);
        let object = Object(Arc::new(inner));
        // Whoever finds it in the list could unload it: `init` is a call like any other.
        let call = object.enter();
        held.0.push(object.clone());
        drop(held);

        // SAFETY: the caller's.
        let code = unsafe { table.init() };
        if code != 0 {
            object.refuse();
        }
        drop(call);
        match code {
            0 => Ok(object),
            code => {
                let path = object.path().to_owned();
                object.give_up();
                Err(LoadError::Init { path, code })
            }
        }
    }
}
