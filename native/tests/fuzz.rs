//! The checks of the fuzz targets (fuzz/checks) on a few hundred inputs each, so that they compile and hold at any time.

#[path = "../fuzz/checks/decode.rs"]
mod decode;
#[path = "../fuzz/checks/hlo.rs"]
mod hlo;
#[path = "../fuzz/checks/kernels.rs"]
mod kernels;
#[path = "../fuzz/checks/kineto.rs"]
mod kineto;
#[path = "../fuzz/checks/peek.rs"]
mod peek;
#[path = "../fuzz/checks/records.rs"]
mod records;
#[path = "../fuzz/checks/snapshot.rs"]
mod snapshot;
#[path = "../fuzz/checks/timeline.rs"]
mod timeline;
#[path = "../fuzz/checks/trace_events.rs"]
mod trace_events;

/// A field of fewer than 128 bytes.
fn bytes(field: u8, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    [vec![field << 3 | 2, body.len() as u8], body].concat()
}

/// A plane with a line, an event with a stat, and both maps.
fn profile() -> Vec<u8> {
    let event = bytes(4, &[&[8, 7, 16, 5, 24, 6], &bytes(4, &[&[8, 1, 32, 9]])]);
    let line = bytes(3, &[&[8, 1], &bytes(2, &[b"line"]), &event]);
    let events = bytes(4, &[&[8, 7], &bytes(2, &[&bytes(2, &[b"event"])])]);
    let stats = bytes(5, &[&[8, 1], &bytes(2, &[&bytes(2, &[b"stat"])])]);
    bytes(1, &[&[8, 11], &bytes(2, &[b"plane"]), &line, &events, &stats])
}

const TRACE: &[u8] = br#"{"traceEvents":[{"ph":"M","pid":7,"name":"process_name","args":{"name":"p"}},
    {"ph":"X","pid":7,"tid":1,"ts":1.5,"dur":2e-3,"name":"a\u00e9","args":{"x":"12","y":[1,{"z":null}]}},{"ph":"E"}]}"#;

const PYTORCH: &[u8] = br#"{"schemaVersion":1,"distributedInfo":{"rank":1},"traceEvents":[
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":2,"ts":1,"dur":9},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":2,"dur":4,"args":{"Sequence number":3,
    "Input Dims":[[2,3],[3,5]],"Input type":["float","float"]}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":3,"dur":1,"args":{"correlation":9}},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":4,"dur":2.5,"args":{"correlation":9,"grid":[1,2,3]}},
    {"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":2,"ts":5,"args":{"Bytes":-8,"Device Type":1}}]}"#;

/// A replay, and behind it its capture.
const GRAPH: &[u8] = br#"{"traceEvents":[
    {"ph":"X","cat":"cuda_runtime","name":"hipGraphLaunch","pid":1,"tid":2,"ts":3,"dur":1,"args":{"correlation":9}},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":4,"dur":2.5,"args":{"correlation":9,"grid":[1,2,3]}}]}
    {"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"hipStreamBeginCapture","pid":1,"tid":2,"ts":1,"args":{"correlation":1}},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":2,"dur":4,"args":{"Input Dims":[[2,3],[3,5]]}},
    {"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":1,"tid":2,"ts":3,"args":{"correlation":2,"kernel":"gemm"}},
    {"ph":"X","cat":"cuda_runtime","name":"hipStreamEndCapture","pid":1,"tid":2,"ts":7,"args":{"correlation":3}}]}"#;

/// Random bytes, and the seed cut and with some bytes changed.
fn each(seed: &[u8], check: fn(&[u8])) {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    check(&[]);
    check(seed);
    for round in 0..400 {
        let mut input: Vec<u8> = if round % 2 == 0 || seed.is_empty() {
            let small = 1 << (1 + random(8));
            (0..random(600)).map(|_| random(small) as u8).collect()
        } else {
            seed[..seed.len() - if random(4) == 0 { random(seed.len()) } else { 0 }].to_vec()
        };
        for _ in 0..random(4) {
            if !input.is_empty() {
                let at = random(input.len());
                input[at] = random(256) as u8;
            }
        }
        check(&input);
    }
}

#[test]
fn profiles_decode_or_are_refused() {
    each(&profile(), decode::check);
    each(&profile(), peek::check);
}

#[test]
fn programs_decode_or_are_refused() {
    each(b"\x0a\x10\x0a\x01m\x1a\x0b\x0a\x01c\x12\x06\x0a\x01i\x90\x02\x05", hlo::check);
}

#[test]
fn trace_events_become_a_profile_or_are_refused() {
    each(TRACE, trace_events::check);
}

#[test]
fn pytorch_traces_become_a_profile_or_are_refused() {
    each(PYTORCH, kineto::check);
    each(GRAPH, kineto::check);
}

/// A dict with a segment, its block, and a history of one allocation.
const SNAPSHOT: &[u8] =
    b"\x80\x04}(X\x08\0\0\0segments](}(X\x07\0\0\0addressK\0X\x0a\0\0\0total_sizeM\0\x10X\x06\0\0\0blocks](\
}(X\x04\0\0\0sizeM\0\x02X\x05\0\0\0stateX\x10\0\0\0active_allocateduueueX\x0d\0\0\0device_traces](](\
}(X\x06\0\0\0actionX\x05\0\0\0allocX\x04\0\0\0sizeM\0\x02X\x04\0\0\0addrK\0ueeu.";

#[test]
fn snapshots_become_a_profile_or_are_refused() {
    each(SNAPSHOT, snapshot::check);
}

#[test]
fn timelines_are_built_cut_and_written() {
    each(&[], timeline::check);
}

#[test]
fn kernels_take_any_intervals() {
    each(&[], kernels::check);
}

#[test]
fn record_files_are_read_as_far_as_they_are_intact() {
    let plane = profile();
    let parts = [&[0, 0, 5, 0, 0, 1, plane.len() as u8][..], &plane].concat();
    each(&parts, records::check);
    each(&plane, records::check);
}
