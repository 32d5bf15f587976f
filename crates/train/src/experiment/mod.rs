//! The experiments of Collell & Moens (2018).

mod cross_modal;
mod untrained;

pub use cross_modal::{Cell, Curve, CurvePoint, Measured, Overlaps, Plan, Run, Scheme, measure, train};
pub use untrained::{Agreement, Change, Untrained, untrained};
