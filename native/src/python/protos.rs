//! `protos/` for Python: the compiled descriptor set, and the kinds of stat values.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::wire::number;
use crate::wire::tags::xplane::XStat;

static DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor_set.binpb"));

/// Field of XStat, and its number in the `kind` column of stats.
const STAT_KINDS: [(&str, u32); 7] = [
    ("double_value", number(XStat::DOUBLE_VALUE)),
    ("uint64_value", number(XStat::UINT64_VALUE)),
    ("int64_value", number(XStat::INT64_VALUE)),
    ("str_value", number(XStat::STR_VALUE)),
    ("bytes_value", number(XStat::BYTES_VALUE)),
    ("ref_value", number(XStat::REF_VALUE)),
    ("compressed_str_value", number(XStat::COMPRESSED_STR_VALUE)),
];

/// The messages and services of `protos/` as a serialized FileDescriptorSet, imported files before those that import.
#[pyfunction]
fn descriptor_set(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, DESCRIPTOR_SET)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let kinds = PyDict::new(module.py());
    for (field, kind) in STAT_KINDS {
        kinds.set_item(field, kind)?;
    }
    module.add("STAT_KINDS", kinds)?;
    module.add_function(wrap_pyfunction!(descriptor_set, module)?)
}
