//! Writing the tables of an XPlane: names of events and of stats.

use super::tags::xplane::{XEventMetadata, XPlane, XStatMetadata};
use super::write::{message, number};

/// The name of the events with this id; without `display`, what people read is the name.
pub fn event_metadata(plane: &mut Vec<u8>, id: i64, name: &str, display: &str) {
    let mut entry = Vec::new();
    number(&mut entry, XEventMetadata::ID, id);
    message(&mut entry, XEventMetadata::NAME, name.as_bytes());
    if !display.is_empty() {
        message(&mut entry, XEventMetadata::DISPLAY_NAME, display.as_bytes());
    }
    map_entry(plane, XPlane::EVENT_METADATA, id, &entry);
}

/// The name of the stats with this id, or the text of stats that refer to it.
pub fn stat_metadata(plane: &mut Vec<u8>, id: i64, name: &str) {
    let mut entry = Vec::new();
    number(&mut entry, XStatMetadata::ID, id);
    message(&mut entry, XStatMetadata::NAME, name.as_bytes());
    map_entry(plane, XPlane::STAT_METADATA, id, &entry);
}

/// Both maps have entries of one form.
fn map_entry(plane: &mut Vec<u8>, tag: u32, key: i64, value: &[u8]) {
    let mut entry = Vec::new();
    number(&mut entry, XPlane::EventMetadataEntry::KEY, key);
    message(&mut entry, XPlane::EventMetadataEntry::VALUE, value);
    message(plane, tag, &entry);
}
