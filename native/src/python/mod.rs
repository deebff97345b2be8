//! The Python surface: signatures, NumPy hand-over, GIL release and the one place where errors become exceptions.

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__doc__", "Native core of the Profile plugin; private, typed by _native.pyi.")?;
    Ok(())
}
