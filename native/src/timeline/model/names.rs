//! Texts by number, as they are and as JSON strings.

use crate::json::text::quote;

/// Strings kept in one piece.
#[derive(Default)]
pub struct Names {
    text: Vec<u8>,
    text_start: Vec<usize>,
    quoted: Vec<u8>,
    quoted_start: Vec<usize>,
}

impl Names {
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Names { text_start: vec![0], quoted_start: vec![0], ..Names::default() };
        for name in names {
            all.text.extend_from_slice(name.as_bytes());
            all.text_start.push(all.text.len());
            quote(&mut all.quoted, name.as_bytes());
            all.quoted_start.push(all.quoted.len());
        }
        all
    }

    pub fn len(&self) -> usize {
        self.text_start.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn bytes(&self) -> usize {
        self.text.len() + self.quoted.len() + 8 * (self.text_start.len() + self.quoted_start.len())
    }

    /// The name as UTF-8, empty for an id that does not exist.
    pub fn text(&self, id: u32) -> &[u8] {
        slice(&self.text, &self.text_start, id)
    }

    /// The name as a JSON string.
    #[inline]
    pub fn quoted(&self, id: u32) -> &[u8] {
        slice(&self.quoted, &self.quoted_start, id)
    }
}

#[inline]
fn slice<'a>(bytes: &'a [u8], start: &[usize], id: u32) -> &'a [u8] {
    let i = id as usize;
    match (start.get(i), start.get(i + 1)) {
        (Some(&a), Some(&b)) => &bytes[a..b],
        _ => &[],
    }
}
