//! Groups of fields of the profiler's events.

use super::error::EventErrorKind;
use super::text::ZStr;
use super::wire::{Reader, Sink, Wire};

/// What a heap profile is limited to. An empty text is no limit.
///
/// ```
/// use ghc_eventlog::format::{HeapProfFilter, ZStr};
///
/// let filter = HeapProfFilter { module: ZStr::new("Main")?, ..HeapProfFilter::default() };
/// assert_eq!(filter.retainer.as_str(), "");
/// # Ok::<(), ghc_eventlog::format::NulError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapProfFilter<'a> {
    /// Modules (`-hm`).
    pub module: ZStr<'a>,
    /// Closure descriptions (`-hd`).
    pub closure_description: ZStr<'a>,
    /// Types (`-hy`).
    pub type_description: ZStr<'a>,
    /// Cost centres at the top of the stack (`-hc`).
    pub cost_centre: ZStr<'a>,
    /// Cost centres anywhere in the stack (`-hC`).
    pub cost_centre_stack: ZStr<'a>,
    /// Retainers (`-hr`).
    pub retainer: ZStr<'a>,
    /// Biographies (`-hb`).
    pub biography: ZStr<'a>,
}

impl<'a> HeapProfFilter<'a> {
    fn texts(self) -> [ZStr<'a>; 7] {
        [
            self.module,
            self.closure_description,
            self.type_description,
            self.cost_centre,
            self.cost_centre_stack,
            self.retainer,
            self.biography,
        ]
    }

    fn from_texts(texts: [ZStr<'a>; 7]) -> Self {
        let [
            module,
            closure_description,
            type_description,
            cost_centre,
            cost_centre_stack,
            retainer,
            biography,
        ] = texts;
        Self {
            module,
            closure_description,
            type_description,
            cost_centre,
            cost_centre_stack,
            retainer,
            biography,
        }
    }
}

impl<'a> Wire<'a> for HeapProfFilter<'a> {
    const MIN: usize = 7;

    fn wire_len(self) -> usize {
        self.texts().into_iter().map(Wire::wire_len).sum()
    }

    fn cut(self, mut spare: usize) -> Self {
        Self::from_texts(self.texts().map(|text| {
            let text = text.cut(spare);
            spare -= text.as_str().len();
            text
        }))
    }

    fn put<S: Sink>(self, out: &mut S) {
        self.texts().into_iter().for_each(|text| text.put(out));
    }

    fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
        let mut texts = [ZStr::default(); 7];
        for text in &mut texts {
            *text = Wire::get(input)?;
        }
        Ok(Self::from_texts(texts))
    }
}

/// What newer GHCs tell of a ticky counter beyond its name.
///
/// ```
/// use ghc_eventlog::format::{TickyInfo, ZStr};
///
/// let info = TickyInfo { info_table: 0x40_1000, json: Some(ZStr::new("{}")?) };
/// assert_eq!(info.json.unwrap().as_str(), "{}");
/// # Ok::<(), ghc_eventlog::format::NulError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TickyInfo<'a> {
    /// Address of the function's info table.
    pub info_table: u64,
    /// Free variables and arguments, as JSON. Some versions write it in the place of the argument
    /// kinds.
    pub json: Option<ZStr<'a>>,
}

impl<'a> Wire<'a> for Option<TickyInfo<'a>> {
    const MIN: usize = 0;

    fn wire_len(self) -> usize {
        self.map_or(0, |info| 8 + info.json.map_or(0, Wire::wire_len))
    }

    fn cut(self, spare: usize) -> Self {
        let info = self?;
        let spare = spare.checked_sub(8)?;
        let json = info
            .json
            .and_then(|json| Some(json.cut(spare.checked_sub(1)?)));
        Some(TickyInfo { json, ..info })
    }

    fn put<S: Sink>(self, out: &mut S) {
        if let Some(info) = self {
            info.info_table.put(out);
            if let Some(json) = info.json {
                json.put(out);
            }
        }
    }

    fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
        if input.rest().is_empty() {
            return Ok(None);
        }
        let info_table = Wire::get(input)?;
        let json = if input.rest().is_empty() {
            None
        } else {
            Some(Wire::get(input)?)
        };
        Ok(Some(TickyInfo { info_table, json }))
    }
}
