//! Boxes of rows whose events pass by in the order of time.

use crate::timeline::query::lod::{Pixel, Shares};

/// An event, or several of a row that are drawn as one box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub row: u16,
    pub begin: i64,
    /// At least 0 in a box.
    pub duration: i64,
    pub name: u32,
    pub count: u32,
    /// Number of the first event within its track.
    pub number: u32,
}

/// Boxes of each row of a track.
pub type Rows = Vec<Vec<Event>>;

/// Short neighbours that begin in one pixel column.
struct Block {
    event: Event,
    /// Where the next column begins.
    edge: i64,
    shares: Shares,
}

/// Merges short neighbours that begin in one pixel column, by the rule of `lod::boxes`.
pub struct Merger {
    pixel: Pixel,
    open: Vec<Option<Block>>,
    rows: Rows,
}

impl Merger {
    pub fn new(pixel: Pixel, rows: usize) -> Self {
        Merger { pixel, open: (0..rows).map(|_| None).collect(), rows: vec![Vec::new(); rows] }
    }

    /// Adds the next event of a row; those of rows that were not announced are left out.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let row = usize::from(event.row);
        let (Some(open), Some(done)) = (self.open.get_mut(row), self.rows.get_mut(row)) else { return };
        let event = Event { duration: event.duration.max(0), ..event };
        let short = (event.duration as f64) < self.pixel.width;
        if let Some(block) = open {
            if short && event.begin < block.edge {
                block.event.duration = event.begin.saturating_add(event.duration).saturating_sub(block.event.begin);
                block.event.count = block.event.count.saturating_add(event.count);
                block.shares.add(event.name, event.duration);
                return;
            }
            done.push(block.closed());
        }
        if !short {
            *open = None;
            done.push(event);
            return;
        }
        let edge = self.pixel.next(event.begin);
        match open {
            Some(block) => {
                block.shares.clear();
                (block.event, block.edge) = (event, edge);
            }
            None => *open = Some(Block { event, edge, shares: Shares::default() }),
        }
        if let Some(block) = open {
            block.shares.add(event.name, event.duration);
        }
    }

    pub fn finish(mut self) -> Rows {
        for (open, done) in self.open.iter().zip(&mut self.rows) {
            done.extend(open.as_ref().map(Block::closed));
        }
        self.rows
    }
}

impl Block {
    fn closed(&self) -> Event {
        Event { name: self.shares.largest(), ..self.event }
    }
}
