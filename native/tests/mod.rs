//! Tests of several modules, compiled with the unit tests of `src/`.

mod decode;
mod fuzz;
mod torn;
