//! Planes of what Kineto repeats beside streams.

use super::trace::Trace;
use super::write::{Line, Out, Plane, Start, tell};

/// What Kineto repeats beside streams: ranges that the program marked, synchronisation. Planes of their own, because
/// these events overlap the kernels.
pub fn planes(trace: &mut Trace, start: Start, (out, times): Out) {
    let notes = std::mem::take(&mut trace.notes);
    let named = trace.places.lines(notes.keys());
    let mut notes = notes.into_iter().peekable();
    while let Some(&((device, _), _)) = notes.peek() {
        let plane_name = format!("/device:CUSTOM:GPU {device} annotations");
        let mut plane = Plane::new(device, &plane_name);
        while let Some(((_, stream), mut track)) = notes.next_if(|((own, _), _)| *own == device) {
            track.records.sort_by_key(|record| (record.begin, std::cmp::Reverse(record.duration)));
            let (id, name) = named.get(&stream).cloned().unwrap_or_else(|| (stream, format!("#{stream}")));
            let name = format!("Annotations {name}");
            tell(times, &plane_name, &name, &track);
            let mut line = Line::new(id, &name, start.timestamp_ns, start.base);
            for record in &track.records {
                let name = record.name;
                let metadata = plane.event((0, name), || (trace.texts.get(name).to_string(), String::new()));
                line.begin(record, metadata);
                line.end();
            }
            plane.line(line.bytes());
        }
        plane.finish(&trace.texts, out);
    }
}
