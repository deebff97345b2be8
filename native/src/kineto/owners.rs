//! What events belong to: modules, lines of Python and ops as trees and paths of names, by the launch or the replay of work.

use ahash::AHashMap;

use super::names::{Texts, begin_of};
use super::steps::Steps;
use super::trace::{Place, Record};

/// A tree of names; each node is reached by its parent and its name.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<(u32, u32)>,
    known: AHashMap<(u32, u32), u32>,
}

impl Tree {
    pub fn child(&mut self, parent: u32, name: u32) -> u32 {
        *self.known.entry((parent, name)).or_insert_with(|| {
            self.nodes.push((parent, name));
            self.nodes.len() as u32 - 1
        })
    }

    /// Names from a node to the root.
    pub fn up(&self, mut node: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::from_fn(move || {
            let &(parent, name) = self.nodes.get(node as usize)?;
            node = parent;
            Some(name)
        })
    }
}

/// An op in its place: its module, the node of the backward pass (0 for none), and its name (0 for none).
pub type Path = (u32, u32, u32);

/// What an event belongs to; `NONE` for what is not known.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    pub path: u32,
    pub stack: u32,
    pub step: u32,
    /// The op: its thread among the trace's, and its record.
    pub op: Option<(u32, u32)>,
    /// The correlation id of the launch of its graph; 0 for work that is no replay.
    pub replay: i64,
}

#[derive(Debug, Default)]
pub struct Owners {
    pub modules: Tree,
    pub stacks: Tree,
    pub paths: Vec<Path>,
    path_numbers: AHashMap<Path, u32>,
    /// By correlation id, and by external id where calls are missing.
    pub launches: AHashMap<i64, Owner>,
    pub externals: AHashMap<i64, Owner>,
    /// Per thread and record, the path of ops and of what happens in them.
    pub of_records: Vec<Vec<u32>>,
    pub steps: Steps,
    /// Owners of the work of replays, by stream and number of the record there.
    pub replayed: AHashMap<(Place, u32), Owner>,
}

/// Longest path of an op, in bytes: outer modules of a longer one are left out, so that deep ones do not fill memory.
const MOST_PATH: usize = 2 << 10;

impl Owners {
    /// Owner of work on a stream.
    pub fn of_work(&self, place: Place, number: u32, record: &Record, external: Option<i64>) -> Option<&Owner> {
        let replayed = self.replayed.get(&(place, number));
        replayed.or_else(|| self.launches.get(&record.link)).or_else(|| self.externals.get(&external?))
    }

    /// Owner of what a call launches.
    pub fn of_launch(&self, link: i64) -> Option<Owner> {
        self.launches.get(&link).copied()
    }

    /// The path of something within what launches it; instead of the call, if no op does.
    pub fn within(&mut self, path: u32, call: u32, name: u32) -> u32 {
        let (module, middle, op) = self.paths[path as usize];
        self.path((module, if op == call { middle } else { op }, name))
    }

    /// The number of a path.
    pub fn path(&mut self, path: Path) -> u32 {
        *self.path_numbers.entry(path).or_insert_with(|| {
            self.paths.push(path);
            self.paths.len() as u32 - 1
        })
    }

    /// The module's path and name of an op, as the framework's name of an op: `Net_0/Linear_1/aten::addmm:PyTorch`.
    pub fn path_text(&self, texts: &Texts, path: u32) -> String {
        let (module, middle, name) = self.paths[path as usize];
        let mut parts: Vec<&str> = Vec::new();
        let mut room = MOST_PATH;
        let own = [name, middle].into_iter().map(|part| texts.get(part)).filter(|part| !part.is_empty());
        for (number, part) in own.chain(self.modules.up(module).map(|name| texts.get(name))).enumerate() {
            if number > 0 && part.len() >= room {
                break;
            }
            let part = begin_of(part, MOST_PATH);
            room = room.saturating_sub(part.len() + 1);
            parts.push(part);
        }
        parts.reverse();
        parts.join("/") + ":PyTorch"
    }
}
