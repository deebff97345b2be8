//! Signatures of the event forest and its links: argument checks, NumPy hand-over, GIL release.

use std::collections::HashMap;

use numpy::IntoPyArray;
use pyo3::prelude::*;

use crate::grouping::contexts::{self, Side};
use crate::grouping::forest;
use crate::grouping::links;
use crate::grouping::nodes::{Lines, Regions};
use crate::kernels::gather::Stats;
use crate::python::calls::without_gil;
use crate::python::groups::{Array, Column, check};

fn check_nodes(nodes: &[u32], count: usize) -> PyResult<()> {
    check(nodes.iter().all(|&node| (node as usize) < count), "node number")
}

fn zip<T: Copy>(nodes: &[u32], values: &[T], count: usize) -> PyResult<Vec<(u32, T)>> {
    check(nodes.len() == values.len(), "columns of different length")?;
    check_nodes(nodes, count)?;
    Ok(nodes.iter().copied().zip(values.iter().copied()).collect())
}

fn side<'a>(node: &'a [u32], key: &'a [u64], count: usize) -> PyResult<Side<'a>> {
    check(node.len() == key.len(), "columns of different length")?;
    check_nodes(node, count)?;
    Ok(Side { node, key })
}

type ThreeColumns<'py> = (Array<'py, i64>, Array<'py, i64>, Array<'py, i64>);

#[pyfunction]
fn event_contexts<'py>(
    py: Python<'py>,
    start: Column<'py, u32>,
    key: Column<'py, u32>,
    kind: Column<'py, u8>,
    value: Column<'py, u64>,
    role_of_key: Column<'py, u8>,
) -> PyResult<(ThreeColumns<'py>, ThreeColumns<'py>)> {
    let stats =
        Stats { start: start.as_slice()?, key: key.as_slice()?, kind: kind.as_slice()?, value: value.as_slice()? };
    let role_of_key = role_of_key.as_slice()?;
    check(stats.kind.len() == stats.key.len() && stats.value.len() == stats.key.len(), "columns of different length")?;
    let [produced, consumed] = without_gil(py, || Ok(links::contexts(stats, role_of_key)))?;
    let columns =
        |found: links::Found| (found.event.into_pyarray(py), found.kind.into_pyarray(py), found.id.into_pyarray(py));
    Ok((columns(produced), columns(consumed)))
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "columns of two tables")]
fn threadpool_regions<'py>(
    py: Python<'py>,
    line_start: Column<'py, i64>,
    metadata: Column<'py, u32>,
    begin: Column<'py, i64>,
    edge_of_row: Column<'py, u8>,
    start: Column<'py, u32>,
    key: Column<'py, u32>,
    role_of_key: Column<'py, u8>,
) -> PyResult<ThreeColumns<'py>> {
    let (line_start, metadata, begin) = (line_start.as_slice()?, metadata.as_slice()?, begin.as_slice()?);
    let (edge_of_row, role_of_key) = (edge_of_row.as_slice()?, role_of_key.as_slice()?);
    let stats = Stats { start: start.as_slice()?, key: key.as_slice()?, kind: &[], value: &[] };
    check(metadata.len() == begin.len() && stats.start.len() == begin.len() + 1, "columns of different length")?;
    check_lines(line_start, begin.len())?;
    let found = without_gil(py, || Ok(links::regions(line_start, metadata, begin, edge_of_row, stats, role_of_key)))?;
    Ok((found.line.into_pyarray(py), found.begin.into_pyarray(py), found.duration.into_pyarray(py)))
}

fn check_lines(line_start: &[i64], events: usize) -> PyResult<()> {
    let inside =
        line_start.first().is_none_or(|&at| at >= 0) && line_start.last().is_none_or(|&at| at as usize <= events);
    check(line_start.is_sorted() && inside, "line starts")
}

/// Links between producers and consumers, until a forest takes them over.
#[pyclass(module = "tpu_profile_plugin._native")]
struct Contexts {
    nodes: usize,
    contexts: Option<contexts::Contexts>,
}

#[pymethods]
impl Contexts {
    #[new]
    fn new(
        py: Python<'_>,
        nodes: usize,
        producer: Column<'_, u32>,
        producer_key: Column<'_, u64>,
        consumer: Column<'_, u32>,
        consumer_key: Column<'_, u64>,
    ) -> PyResult<Self> {
        check(nodes < u32::MAX as usize, "too many nodes")?;
        let producers = side(producer.as_slice()?, producer_key.as_slice()?, nodes)?;
        let consumers = side(consumer.as_slice()?, consumer_key.as_slice()?, nodes)?;
        let contexts = without_gil(py, || Ok(contexts::Contexts::new(nodes, producers, consumers)))?;
        Ok(Contexts { nodes, contexts: Some(contexts) })
    }
}

/// The event forest of one host; see the stub for the meaning of each method.
#[pyclass(module = "tpu_profile_plugin._native")]
#[derive(Default)]
struct Forest {
    forest: forest::Forest,
}

type RegionColumns<'py> = (Column<'py, i64>, Column<'py, i64>, Column<'py, i64>);
type GroupColumns<'py> = (Array<'py, i64>, Array<'py, u32>, Array<'py, i64>, Array<'py, i64>);

fn group_columns<'py>(py: Python<'py>, found: forest::Grouping) -> GroupColumns<'py> {
    let (above, below): (Vec<i64>, Vec<i64>) = found.relation.into_iter().unzip();
    (found.group.into_pyarray(py), found.root.into_pyarray(py), above.into_pyarray(py), below.into_pyarray(py))
}

#[pymethods]
impl Forest {
    #[new]
    fn new() -> Self {
        Forest::default()
    }

    #[pyo3(signature = (line_start, begin, duration, skip=None, regions=None))]
    fn add_lines(
        &mut self,
        py: Python<'_>,
        line_start: Column<'_, i64>,
        begin: Column<'_, i64>,
        duration: Column<'_, i64>,
        skip: Option<Column<'_, bool>>,
        regions: Option<RegionColumns<'_>>,
    ) -> PyResult<usize> {
        let (line_start, begin, duration) = (line_start.as_slice()?, begin.as_slice()?, duration.as_slice()?);
        let skip = skip.as_ref().map(|marks| marks.as_slice()).transpose()?;
        let inserted = match &regions {
            Some((line, begin, duration)) => {
                Regions { line: line.as_slice()?, begin: begin.as_slice()?, duration: duration.as_slice()? }
            }
            None => Regions::default(),
        };
        let (count, more) = (begin.len(), inserted.begin.len());
        check(duration.len() == count && skip.is_none_or(|marks| marks.len() == count), "columns of different length")?;
        check(inserted.line.len() == more && inserted.duration.len() == more, "columns of different length")?;
        check_lines(line_start, count)?;
        check(self.forest.nodes() + count + more < u32::MAX as usize, "too many nodes")?;
        check(inserted.line.is_sorted(), "lines of regions")?;
        let forest = &mut self.forest;
        without_gil(py, || Ok(forest.add_lines(Lines { line_start, begin, duration, skip }, inserted)))
    }

    fn add_points(&mut self, count: usize) -> PyResult<usize> {
        check(count < u32::MAX as usize && self.forest.nodes() + count < u32::MAX as usize, "too many nodes")?;
        Ok(self.forest.add_points(count))
    }

    fn link(&mut self, py: Python<'_>, parent: Column<'_, u32>, child: Column<'_, u32>) -> PyResult<()> {
        let pairs = zip(parent.as_slice()?, child.as_slice()?, self.forest.nodes())?;
        check_nodes(child.as_slice()?, self.forest.nodes())?;
        let forest = &mut self.forest;
        without_gil(py, || {
            forest.link(&pairs);
            Ok(())
        })
    }

    fn connect(&mut self, contexts: &mut Contexts) -> PyResult<()> {
        check(contexts.nodes == self.forest.nodes(), "contexts of other nodes")?;
        self.forest.connect(contexts.contexts.take().unwrap_or_default());
        Ok(())
    }

    #[pyo3(signature = (roots, levels=None))]
    fn group<'py>(
        &self,
        py: Python<'py>,
        roots: Column<'py, u32>,
        levels: Option<(Column<'py, u32>, Column<'py, i64>)>,
    ) -> PyResult<GroupColumns<'py>> {
        let roots = roots.as_slice()?;
        check_nodes(roots, self.forest.nodes())?;
        let levels: Option<HashMap<u32, i64>> = match &levels {
            Some((node, level)) => {
                Some(zip(node.as_slice()?, level.as_slice()?, self.forest.nodes())?.into_iter().collect())
            }
            None => None,
        };
        let forest = &self.forest;
        Ok(group_columns(py, without_gil(py, || Ok(forest.group(roots, levels.as_ref())))?))
    }

    fn count_cores<'py>(
        &self,
        py: Python<'py>,
        cores: Vec<(u32, u32)>,
        first: i64,
        group: Column<'py, i64>,
    ) -> PyResult<GroupColumns<'py>> {
        let (forest, group) = (&self.forest, group.as_slice()?);
        check(cores.iter().all(|&(from, to)| from <= to && to as usize <= forest.nodes()), "node number")?;
        check(group.len() == forest.nodes(), "columns of different length")?;
        let grouping = without_gil(py, || Ok(forest.count_cores(&cores, first, group.to_vec())))?;
        Ok(group_columns(py, grouping))
    }

    fn nearest<'py>(
        &self,
        py: Python<'py>,
        nodes: Column<'py, u32>,
        marked: Column<'py, u32>,
    ) -> PyResult<Array<'py, u32>> {
        let (nodes, marked) = (nodes.as_slice()?, marked.as_slice()?);
        check_nodes(nodes, self.forest.nodes())?;
        check_nodes(marked, self.forest.nodes())?;
        let forest = &self.forest;
        Ok(without_gil(py, || Ok(forest.nearest(nodes, marked)))?.into_pyarray(py))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(event_contexts, module)?)?;
    module.add_function(wrap_pyfunction!(threadpool_regions, module)?)?;
    module.add_class::<Contexts>()?;
    module.add_class::<Forest>()
}
