//! An ELF file as the dynamic linker will see it: by its segments, not by its sections, which are looked at
//! only for what is nice to know. Nothing here trusts a number of the file.

use object::elf::{
    self, DT_GNU_HASH, DT_HASH, DT_JMPREL, DT_NULL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, DT_STRSZ,
    DT_STRTAB, DT_SYMTAB, Dyn64, DynamicTag, FileHeader64, PT_DYNAMIC, PT_LOAD, PT_NOTE,
    ProgramHeader64, Rela64, Sym64,
};
use object::read::elf::{FileHeader, GnuHashTable, HashTable, NoteIterator, SectionHeader};
use object::read::{ReadRef, StringTable};
use object::{LittleEndian, pod};
use std::collections::BTreeMap;

const LE: LittleEndian = LittleEndian;

type Header = FileHeader64<LittleEndian>;
type Segment = ProgramHeader64<LittleEndian>;
pub(super) type Symbol = Sym64<LittleEndian>;

/// The processor that this program is built for.
pub(super) const MACHINE: elf::Machine = if cfg!(target_arch = "x86_64") {
    elf::EM_X86_64
} else if cfg!(target_arch = "aarch64") {
    elf::EM_AARCH64
} else if cfg!(target_arch = "riscv64") {
    elf::EM_RISCV
} else {
    elf::EM_NONE
};

/// Types of relocations: one that adds the address of the library, and one that asks a function of the library.
const RELOCATIONS: (u32, u32) = if cfg!(target_arch = "x86_64") {
    (elf::R_X86_64_RELATIVE.0, elf::R_X86_64_IRELATIVE.0)
} else if cfg!(target_arch = "aarch64") {
    (elf::R_AARCH64_RELATIVE.0, elf::R_AARCH64_IRELATIVE.0)
} else {
    (elf::R_RISCV_RELATIVE.0, elf::R_RISCV_IRELATIVE.0)
};

/// Why a file is none that could be looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoFile {
    NotElf,
    /// Class, byte order and machine.
    Foreign(u8, u8, u16),
    /// Type.
    NotShared(u16),
    /// Bytes that there would have to be.
    Truncated(u64),
    /// What is broken.
    Malformed(&'static str),
}

/// An ELF file of this machine.
#[derive(Debug)]
pub(super) struct File<'a> {
    bytes: &'a [u8],
    header: &'a Header,
    segments: &'a [Segment],
}

impl<'a> File<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, NoFile> {
        let ident = bytes
            .get(..16)
            .filter(|ident| ident.starts_with(b"\x7fELF"));
        let ident = ident.ok_or(NoFile::NotElf)?;
        let header: &Header = bytes.read_at(0).map_err(|()| NoFile::Truncated(64))?;
        let machine = header.e_machine.get(LE);
        // The linker of a big-endian machine would read it otherwise.
        let little = cfg!(target_endian = "little");
        if ident[4] != elf::ELFCLASS64.0
            || ident[5] != elf::ELFDATA2LSB.0
            || !little
            || machine != MACHINE
        {
            return Err(NoFile::Foreign(ident[4], ident[5], machine.0));
        }
        if header.e_type.get(LE) != elf::ET_DYN {
            return Err(NoFile::NotShared(header.e_type.get(LE).0));
        }
        if header.e_phentsize.get(LE) as usize != size_of::<Segment>() {
            return Err(NoFile::Malformed(
                "the size of its program headers is wrong",
            ));
        }
        let (at, count) = (header.e_phoff.get(LE), header.e_phnum.get(LE));
        let end = at.checked_add(u64::from(count) * size_of::<Segment>() as u64);
        let end = end.ok_or(NoFile::Malformed("its program headers lie nowhere"))?;
        let segments: &[Segment] = bytes
            .read_slice_at(at, count.into())
            .map_err(|()| NoFile::Truncated(end))?;
        // What is mapped and not in the file is a SIGBUS when it is touched.
        let mut needed = 0;
        for segment in segments
            .iter()
            .filter(|segment| segment.p_type.get(LE) == PT_LOAD)
        {
            let end = segment
                .p_offset
                .get(LE)
                .checked_add(segment.p_filesz.get(LE));
            needed = needed.max(end.ok_or(NoFile::Malformed("a segment of it lies nowhere"))?);
        }
        if needed > bytes.len() as u64 {
            return Err(NoFile::Truncated(needed));
        }
        Ok(File {
            bytes,
            header,
            segments,
        })
    }

    /// Bytes of memory that it takes when it is loaded, as its segments say.
    pub(super) fn memory(&self) -> u64 {
        self.loaded().fold(0, |sum: u64, segment| {
            sum.saturating_add(segment.p_memsz.get(LE))
        })
    }

    fn loaded(&self) -> impl Iterator<Item = &'a Segment> + use<'a> {
        self.segments
            .iter()
            .filter(|segment| segment.p_type.get(LE) == PT_LOAD)
    }

    /// What the file holds from an address of memory on, to the end of its segment.
    pub(super) fn at(&self, address: u64) -> Option<&'a [u8]> {
        self.loaded().find_map(|segment| {
            let into = address.checked_sub(segment.p_vaddr.get(LE))?;
            let left = segment
                .p_filesz
                .get(LE)
                .checked_sub(into)
                .filter(|left| *left > 0)?;
            self.bytes
                .read_bytes_at(segment.p_offset.get(LE) + into, left)
                .ok()
        })
    }

    /// The text with a NUL behind it at an address.
    pub(super) fn text_at(&self, address: u64) -> Option<String> {
        // Longer than an event takes it would be cut anyway.
        let bytes = self.at(address)?;
        let bytes = &bytes[..bytes.len().min(1 << 16)];
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// The content of the first note of that owner and type, and whether one of its segments is broken.
    pub(super) fn note(&self, owner: &[u8], kind: u32) -> (Option<&'a [u8]>, bool) {
        let mut broken = false;
        for segment in self
            .segments
            .iter()
            .filter(|segment| segment.p_type.get(LE) == PT_NOTE)
        {
            let bytes = self
                .bytes
                .read_bytes_at(segment.p_offset.get(LE), segment.p_filesz.get(LE));
            let notes = bytes.ok().and_then(|bytes| {
                NoteIterator::<Header>::new(LE, segment.p_align.get(LE), bytes).ok()
            });
            let Some(mut notes) = notes else {
                broken = true;
                continue;
            };
            loop {
                match notes.next() {
                    Ok(None) => break,
                    Ok(Some(note)) if note.name() == owner && note.n_type(LE).0 == kind => {
                        return (Some(note.desc()), broken);
                    }
                    Ok(Some(_)) => {}
                    Err(_) => {
                        broken = true;
                        break;
                    }
                }
            }
        }
        (None, broken)
    }

    /// What it tells the dynamic linker.
    pub(super) fn dynamic(&self) -> Option<Dynamic<'a>> {
        let segment = self
            .segments
            .iter()
            .find(|segment| segment.p_type.get(LE) == PT_DYNAMIC)?;
        let bytes = self
            .bytes
            .read_bytes_at(segment.p_offset.get(LE), segment.p_filesz.get(LE))
            .ok()?;
        let entries: &[Dyn64<LittleEndian>] = pod::slice_from_all_bytes(bytes).ok()?;
        let end = entries
            .iter()
            .position(|entry| entry.d_tag.get(LE) == DT_NULL)?;
        let mut dynamic = Dynamic {
            entries: &entries[..end],
            strings: StringTable::default(),
            symbols: &[],
        };
        let strings = self.at(dynamic.value(DT_STRTAB)?)?;
        let size = usize::try_from(dynamic.value(DT_STRSZ)?).ok()?;
        let strings = strings.get(..size)?;
        dynamic.strings = StringTable::new(strings, 0, size as u64);
        let symbols = self.at(dynamic.value(DT_SYMTAB)?)?;
        let count = self.symbol_count(&dynamic)?;
        dynamic.symbols = pod::slice_from_bytes(symbols, count as usize).ok()?.0;
        Some(dynamic)
    }

    /// Nothing but the hash tables tells how many symbols there are.
    fn symbol_count(&self, dynamic: &Dynamic<'a>) -> Option<u32> {
        if let Some(address) = dynamic.value(DT_HASH) {
            let table = HashTable::<Header>::parse(LE, self.at(address)?).ok()?;
            return Some(table.symbol_table_length());
        }
        let table =
            GnuHashTable::<Header>::parse(LE, self.at(dynamic.value(DT_GNU_HASH)?)?).ok()?;
        // Without defined symbols the table has no chain to count.
        Some(table.symbol_table_length(LE).unwrap_or(table.symbol_base()))
    }

    /// The relocations with an addend.
    fn relocations(&self, dynamic: &Dynamic<'a>) -> impl Iterator<Item = &'a Rela64<LittleEndian>> {
        let table = |address, size| {
            let bytes = self.at(dynamic.value(address)?)?;
            let bytes = bytes.get(..usize::try_from(dynamic.value(size)?).ok()?)?;
            pod::slice_from_all_bytes::<Rela64<LittleEndian>>(bytes).ok()
        };
        let tables = [table(DT_RELA, DT_RELASZ), table(DT_JMPREL, DT_PLTRELSZ)];
        tables.into_iter().flatten().flatten()
    }

    /// Relocations for which the dynamic linker would call a function of the library.
    pub(super) fn resolvers(&self, dynamic: &Dynamic<'a>) -> usize {
        let asks =
            |relocation: &&Rela64<LittleEndian>| relocation.r_type(LE, false).0 == RELOCATIONS.1;
        self.relocations(dynamic).filter(asks).count()
    }

    /// Pointers within an address range, by where they are: the addresses that they point to.
    pub(super) fn pointers(&self, dynamic: &Dynamic<'a>, from: u64, to: u64) -> BTreeMap<u64, u64> {
        let points = |relocation: &Rela64<LittleEndian>| {
            let at = relocation.r_offset.get(LE);
            let relative = relocation.r_type(LE, false).0 == RELOCATIONS.0;
            (relative && (from..to).contains(&at)).then(|| (at, relocation.r_addend.get(LE) as u64))
        };
        let mut found: BTreeMap<u64, u64> = self.relocations(dynamic).filter_map(points).collect();
        // Packed relocations have the addend where the pointer will be; others leave 0 there.
        for at in (from..to).step_by(8) {
            let value = self.at(at).and_then(|bytes| bytes.first_chunk::<8>());
            if let Some(value) = value
                .map(|bytes| u64::from_le_bytes(*bytes))
                .filter(|value| *value != 0)
            {
                found.entry(at).or_insert(value);
            }
        }
        found
    }

    /// Where a section lies in memory, and its size, if the file has sections.
    pub(super) fn section(&self, name: &[u8]) -> Option<(u64, u64)> {
        let sections = self.header.sections(LE, self.bytes).ok()?;
        let (_, section) = sections.section_by_name(LE, name)?;
        Some((section.sh_addr(LE), section.sh_size(LE)))
    }
}

/// The dynamic linker's part of a file.
#[derive(Debug)]
pub(super) struct Dynamic<'a> {
    entries: &'a [Dyn64<LittleEndian>],
    strings: StringTable<'a>,
    symbols: &'a [Symbol],
}

impl<'a> Dynamic<'a> {
    /// The value of an entry.
    pub(super) fn value(&self, tag: DynamicTag) -> Option<u64> {
        self.values(tag).next()
    }

    fn values(&self, tag: DynamicTag) -> impl Iterator<Item = u64> {
        let entries = self
            .entries
            .iter()
            .filter(move |entry| entry.d_tag.get(LE) == tag);
        entries.map(|entry| entry.d_val.get(LE))
    }

    /// Names of the libraries that it needs.
    pub(super) fn needed(&self) -> Vec<String> {
        self.values(elf::DT_NEEDED)
            .filter_map(|offset| self.strings.get(u32::try_from(offset).ok()?).ok())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    }

    /// Its symbols with their names. The first is none, and one whose name is broken is left out.
    pub(super) fn symbols(&self) -> impl Iterator<Item = (&'a [u8], &'a Symbol)> {
        let strings = self.strings;
        self.symbols
            .iter()
            .skip(1)
            .filter_map(move |symbol| Some((strings.get(symbol.st_name.get(LE)).ok()?, symbol)))
    }
}

/// What is asked of a symbol.
pub(super) trait Asked {
    fn is_wanted(&self) -> bool;
    fn is_weak(&self) -> bool;
    fn is_unique(&self) -> bool;
    fn is_resolved_by_call(&self) -> bool;
    fn address(&self) -> u64;
}

impl Asked for Symbol {
    fn is_wanted(&self) -> bool {
        self.st_shndx.get(LE) == elf::SHN_UNDEF
    }

    fn is_weak(&self) -> bool {
        self.st_bind() == elf::STB_WEAK
    }

    fn is_unique(&self) -> bool {
        self.st_bind() == elf::STB_GNU_UNIQUE
    }

    fn is_resolved_by_call(&self) -> bool {
        self.st_type() == elf::STT_GNU_IFUNC
    }

    fn address(&self) -> u64 {
        self.st_value.get(LE)
    }
}
