//! The numbers that maps are made of: f32 to train, f64 to check gradients, through the same code.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub};

/// `f32` or `f64`.
pub trait Real:
    faer::traits::ComplexField
    + Copy
    + Debug
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + MulAssign
    + Send
    + Sync
    + 'static
{
    /// The nearest number of the type.
    fn of(x: f64) -> Self;

    /// The number as f64.
    fn wide(self) -> f64;

    /// Its square root.
    #[must_use]
    fn root(self) -> Self;

    /// Its hyperbolic tangent.
    #[must_use]
    fn tanh(self) -> Self;

    /// `1 / (1 + e^-x)`.
    #[must_use]
    fn sigmoid(self) -> Self;
}

macro_rules! real {
    ($type:ty) => {
        impl Real for $type {
            #[inline(always)]
            fn of(x: f64) -> Self {
                #[allow(clippy::cast_possible_truncation)]
                {
                    x as $type
                }
            }

            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }

            fn tanh(self) -> Self {
                <$type>::tanh(self)
            }

            fn sigmoid(self) -> Self {
                1.0 / (1.0 + (-self).exp())
            }
        }
    };
}

real!(f32);
real!(f64);
