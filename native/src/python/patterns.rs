//! Regular expressions of a request. Their time is linear in the text, and their compiled size is bounded.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use regex::{Regex, RegexBuilder};

const MOST_BYTES: usize = 1 << 20;

#[pyclass(frozen, module = "tpu_profile_plugin._native")]
struct Pattern(Regex);

#[pymethods]
impl Pattern {
    #[new]
    fn new(pattern: &str, ignore_case: bool) -> PyResult<Pattern> {
        let built = RegexBuilder::new(pattern).case_insensitive(ignore_case).size_limit(MOST_BYTES).build();
        built.map(Pattern).map_err(|error| PyValueError::new_err(reason(&error)))
    }

    fn search(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// The last line of a syntax error has the reason; the lines before it draw the pattern.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        other => {
            let told = other.to_string();
            let last = told.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Pattern>()
}
