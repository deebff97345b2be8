//! The Python surface: one file per owner, registered here.

mod blame;
mod calls;
mod decode;
mod events;
mod forest;
mod groups;
mod hlo;
mod kineto;
mod patterns;
mod protos;
mod replay;
mod snapshot;
mod steps;
mod system;
mod tf_data;
mod timeline;
mod times;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__doc__", "Native core of the Profile plugin; private, typed by _native.pyi.")?;
    module.add("DecodeError", module.py().get_type::<calls::DecodeError>())?;
    module.add("CoreFailed", module.py().get_type::<calls::CoreFailed>())?;
    // One line per file with bindings: `FILE::register(module)?;`
    blame::register(module)?;
    hlo::register(module)?;
    kineto::register(module)?;
    tf_data::register(module)?;
    decode::register(module)?;
    events::register(module)?;
    forest::register(module)?;
    groups::register(module)?;
    patterns::register(module)?;
    protos::register(module)?;
    replay::register(module)?;
    snapshot::register(module)?;
    system::register(module)?;
    steps::register(module)?;
    timeline::register(module)?;
    times::register(module)?;
    // PyO3 collects `__all__`; a private module needs none, and the stub would have to repeat it.
    module.delattr("__all__")
}
