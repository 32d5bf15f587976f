//! The experiments of Collell & Moens (2018).

mod cross_modal;

pub use cross_modal::{Cell, Curve, CurvePoint, Measured, Plan, Run, Scheme, measure, train};
