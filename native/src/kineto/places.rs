//! Processes and threads, devices and streams whose numbers are texts: `[TP01] 83`, `stream 7 (rank 1)`, `GPU 0`.
//!
//! A text gets a number that no event has; what it says of itself is its rank and its own number.

use std::collections::{BTreeMap, BTreeSet};

use ahash::AHashMap;

/// Numbers of texts count up from here, those of devices from `FIRST_DEVICE`.
const FIRST_TEXT: i64 = -(1 << 50);
const FIRST_DEVICE: i64 = -(1 << 60);
/// Ids of lines of streams that are texts without a number.
const FIRST_LINE: i64 = 1 << 20;
/// The kinds of parallelism by which ranks are named.
const PARALLEL: [&str; 8] = ["TP", "DP", "PP", "EP", "CP", "SP", "MP", "DCP"];

/// A text in the place of a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    pub text: String,
    /// The rank that it names.
    pub rank: Option<String>,
    /// The number that it holds besides.
    pub number: Option<i64>,
}

impl Named {
    fn of(text: &str) -> Named {
        let (rank, rest) = match rank_in(text) {
            Some((begin, end, rank)) => (Some(rank), format!("{} {}", &text[..begin], &text[end..])),
            None => (None, text.to_string()),
        };
        Named { text: text.to_string(), rank, number: last_number(&rest) }
    }

    /// The text without its number.
    pub fn stem(&self) -> &str {
        self.text.trim_end_matches(|one: char| one.is_ascii_digit())
    }
}

/// A device as events name it: their process, the device among their arguments, and the rank that their thread names.
pub type Device = (i64, Option<i64>, Option<u32>);

#[derive(Debug, Default)]
pub struct Places {
    numbers: AHashMap<String, i64>,
    named: Vec<Named>,
    /// The first text that names each rank.
    ranks: AHashMap<String, u32>,
    devices: AHashMap<Device, i64>,
    listed: Vec<Device>,
}

impl Places {
    /// The number of a text.
    pub fn number(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let number = FIRST_TEXT + self.named.len() as i64;
        let named = Named::of(text);
        if let Some(rank) = &named.rank {
            self.ranks.entry(rank.clone()).or_insert(self.named.len() as u32);
        }
        self.named.push(named);
        self.numbers.insert(text.to_string(), number);
        number
    }

    pub fn named(&self, number: i64) -> Option<&Named> {
        self.named.get(place_from(FIRST_TEXT, number)?)
    }

    /// The rank that a number's text names.
    pub fn rank(&self, number: i64) -> Option<&str> {
        self.named(number)?.rank.as_deref()
    }

    /// The number to show for one: its own, or that which its text holds.
    pub fn shown(&self, number: i64) -> Option<i64> {
        match self.named(number) {
            Some(named) => named.number,
            None => Some(number),
        }
    }

    /// Ids and names for the lines of streams that are texts without a number.
    pub fn lines<'p>(&self, places: impl Iterator<Item = &'p (i64, i64)>) -> BTreeMap<i64, (i64, String)> {
        let streams: BTreeSet<i64> =
            places.map(|place| place.1).filter(|stream| self.named(*stream).is_some()).collect();
        let named = streams.into_iter().zip(FIRST_LINE..);
        named.filter_map(|(stream, id)| Some((stream, (id, self.named(stream)?.text.clone())))).collect()
    }

    /// What stands for a device: its number, unless its process has another one.
    pub fn device(&mut self, pid: i64, device: Option<i64>, tid: i64) -> i64 {
        let rank = self.rank(tid).and_then(|rank| self.ranks.get(rank)).copied();
        if rank.is_none() && self.named(pid).is_none() && device.is_none_or(|device| device == pid) {
            return pid;
        }
        let next = FIRST_DEVICE + self.listed.len() as i64;
        let listed = &mut self.listed;
        *self.devices.entry((pid, device, rank)).or_insert_with(|| {
            listed.push((pid, device, rank));
            next
        })
    }

    /// What events say of a device.
    pub fn described(&self, device: i64) -> Device {
        let listed = place_from(FIRST_DEVICE, device).and_then(|place| self.listed.get(place));
        listed.copied().unwrap_or((device, Some(device), None))
    }

    /// The rank by the thread of a device's events.
    pub fn rank_of(&self, device: Device) -> Option<&str> {
        device.2.and_then(|named| self.named.get(named as usize)?.rank.as_deref()).or_else(|| self.rank(device.0))
    }
}

/// The place in a list whose items are numbered from `first` on.
fn place_from(first: i64, number: i64) -> Option<usize> {
    usize::try_from(number.checked_sub(first)?).ok()
}

/// Where a rank is named, and its name: `[TP01]`, `rank 3`, `TP-0-DP-1`.
fn rank_in(text: &str) -> Option<(usize, usize, String)> {
    if let Some(end) = text.strip_prefix('[').and_then(|rest| rest.find(']')) {
        let inner = text[1..=end].trim();
        let plain = by_word(inner).map_or_else(|| inner.to_string(), |(_, _, rank)| rank);
        return (!plain.is_empty()).then_some((0, end + 2, plain));
    }
    by_word(text).or_else(|| by_parallelism(text))
}

/// `rank 3`, also as `rank3`, `Rank_3` or `rank: 3`.
fn by_word(text: &str) -> Option<(usize, usize, String)> {
    let small = text.to_ascii_lowercase();
    small.match_indices("rank").find_map(|(begin, word)| {
        let rest = &small[begin + word.len()..];
        let digits = rest.trim_start_matches([' ', '_', '-', ':', '=', '#', '.']);
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        let rank: u64 = digits[..length].parse().ok()?;
        Some((begin, text.len() - digits.len() + length, format!("rank {rank}")))
    })
}

/// `TP0`, `TP-0-DP-1` at the begin of a word.
fn by_parallelism(text: &str) -> Option<(usize, usize, String)> {
    let starts = text.char_indices().filter(|&(at, _)| at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric());
    starts.into_iter().find_map(|(begin, _)| {
        let length = parallel(&text[begin..])?;
        Some((begin, begin + length, text[begin..begin + length].to_string()))
    })
}

/// The length of the names of parallelisms with their numbers at the begin of a text.
fn parallel(text: &str) -> Option<usize> {
    let rest = PARALLEL.iter().find_map(|name| text.strip_prefix(name))?.trim_start_matches(['-', '_', ' ']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let length = text.len() - rest.len() + digits;
    let more = text[length..].strip_prefix(['-', '_', ' ']).and_then(parallel);
    Some(length + more.map_or(0, |more| more + 1))
}

/// The last number in a text.
pub fn last_number(text: &str) -> Option<i64> {
    let mut numbers = text.split(|one: char| !one.is_ascii_digit()).filter(|digits| !digits.is_empty());
    numbers.next_back()?.parse().ok()
}

/// A text's parts for an order in which `rank 2` comes before `rank 10`.
pub fn natural(text: &str) -> Vec<(u64, String)> {
    let mut parts = vec![(0u64, String::new())];
    for one in text.chars() {
        let last = parts.len() - 1;
        match (one.to_digit(10), parts[last].1.is_empty()) {
            (Some(digit), true) => parts[last].0 = parts[last].0.saturating_mul(10).saturating_add(digit.into()),
            (Some(digit), false) => parts.push((digit.into(), String::new())),
            (None, _) => parts[last].1.push(one),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_tell_their_rank_and_number() {
        for (text, rank, number) in [
            ("[TP00] 83", Some("TP00"), Some(83)),
            ("[TP01-DP00] 0", Some("TP01-DP00"), Some(0)),
            ("[rank 3] 1234", Some("rank 3"), Some(1234)),
            ("rank_0_83", Some("rank 0"), Some(83)),
            ("Rank 10", Some("rank 10"), None),
            ("stream 7 (rank 1)", Some("rank 1"), Some(7)),
            ("TP-0-DP-1 GPU 2", Some("TP-0-DP-1"), Some(2)),
            ("GPU 0", None, Some(0)),
            ("host1", None, Some(1)),
            ("Spans", None, None),
            ("HTTP0", None, Some(0)),
        ] {
            let named = Named::of(text);
            assert_eq!((named.rank.as_deref(), named.number), (rank, number), "{text}");
        }
        let mut ranks = vec!["rank 10", "rank 2", "TP01", "TP00"];
        ranks.sort_by_key(|rank| natural(rank));
        assert_eq!(ranks, ["TP00", "TP01", "rank 2", "rank 10"]);
    }

    #[test]
    fn a_device_is_what_process_and_arguments_say() {
        let mut places = Places::default();
        let [first, second] = ["[TP00] 0", "[TP01] 0"].map(|text| places.number(text));
        assert_eq!(places.device(3, Some(3), 7), 3);
        assert_eq!(places.device(3, None, 7), 3);
        let [one, other] = [first, second].map(|pid| places.device(pid, Some(0), 7));
        assert_ne!(one, other);
        assert_eq!((places.rank(second), places.described(one)), (Some("TP01"), (first, Some(0), None)));
        let [left, right] = ["stream 7 (rank 0)", "stream 8 (rank 0)"].map(|text| places.number(text));
        assert_eq!(places.device(0, Some(0), left), places.device(0, Some(0), right));
        assert_eq!(places.shown(left), Some(7));
    }
}
