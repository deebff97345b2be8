//! Which events belong together across threads: the event forest of a host, and the calls of tf.data iterators.

pub mod contexts;
pub mod forest;
pub mod links;
pub mod nodes;
pub mod tf_data;
