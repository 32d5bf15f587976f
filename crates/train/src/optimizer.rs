//! Rules that change weights by their gradient.

use mnno_simd::Kernels;

use crate::Real;

/// An update rule. `g` is the gradient, `lr` the learning rate; every operation is on one number at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Optimizer {
    /// `v <- 0.9 v + 0.1 g^2; w -= lr g / (sqrt(v) + 1e-8)` (Tieleman and Hinton 2012), the paper's.
    #[default]
    RmsProp,
    /// `w -= lr m^ / (sqrt(v^) + 1e-8)` with the bias-corrected means `m^` of `g` (0.9) and `v^` of `g^2` (0.999) (Kingma and Ba
    /// 2015).
    Adam,
    /// `v += g^2; w -= lr g / (sqrt(v) + 1e-10)` (Duchi et al. 2011).
    AdaGrad,
    /// `w -= lr g`.
    Sgd,
}

impl Optimizer {
    /// Every optimizer, with its name.
    pub const ALL: [(Self, &str); 4] =
        [(Self::RmsProp, "rmsprop"), (Self::Adam, "adam"), (Self::AdaGrad, "adagrad"), (Self::Sgd, "sgd")];

    /// The rule of step `step`, counted from 1.
    pub(crate) fn rule<T: Real>(self, learning_rate: f64, step: u64) -> Rule<T> {
        let (of_mean, of_square) = (1.0 - 0.9_f64.powf(step as f64), 1.0 - 0.999_f64.powf(step as f64));
        let adam = self == Self::Adam;
        Rule {
            optimizer: self,
            rate: T::of(if adam { learning_rate / of_mean } else { learning_rate }),
            correction: T::of(if adam { 1.0 / of_square } else { 1.0 }),
        }
    }

    /// What it remembers of `weights` weights.
    pub(crate) fn memory<T: Real>(self, weights: usize) -> Memory<T> {
        let zeros = |needed| if needed { vec![T::default(); weights] } else { Vec::new() };
        Memory { mean: zeros(self == Self::Adam), square: zeros(self != Self::Sgd) }
    }
}

/// What an optimizer remembers of each weight; empty where it needs it not.
#[derive(Clone, Debug)]
pub(crate) struct Memory<T> {
    /// Of the gradient.
    pub(crate) mean: Vec<T>,
    /// Of its square.
    pub(crate) square: Vec<T>,
}

/// One step of an optimizer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule<T> {
    optimizer: Optimizer,
    rate: T,
    correction: T,
}

impl<T: Real> Rule<T> {
    /// Changes weights by their gradient.
    pub(crate) fn update(self, kernels: Kernels, weights: &mut [T], gradient: &[T], mean: &mut [T], square: &mut [T]) {
        kernels.run(
            #[inline(always)]
            || match self.optimizer {
                Optimizer::RmsProp => self.rms_prop(weights, gradient, square),
                Optimizer::Adam => self.adam(weights, gradient, mean, square),
                Optimizer::AdaGrad => self.ada_grad(weights, gradient, square),
                Optimizer::Sgd => self.sgd(weights, gradient),
            },
        );
    }

    #[inline(always)]
    fn rms_prop(self, weights: &mut [T], gradient: &[T], square: &mut [T]) {
        let (keep, take, tiny) = (T::of(0.9), T::of(0.1), T::of(1e-8));
        for ((w, &g), v) in weights.iter_mut().zip(gradient).zip(square) {
            *v = keep * *v + take * (g * g);
            *w -= self.rate * g / (v.root() + tiny);
        }
    }

    #[inline(always)]
    fn adam(self, weights: &mut [T], gradient: &[T], mean: &mut [T], square: &mut [T]) {
        let tiny = T::of(1e-8);
        for (((w, &g), m), v) in weights.iter_mut().zip(gradient).zip(mean).zip(square) {
            *m = T::of(0.9) * *m + T::of(0.1) * g;
            *v = T::of(0.999) * *v + T::of(0.001) * (g * g);
            *w -= self.rate * *m / ((*v * self.correction).root() + tiny);
        }
    }

    #[inline(always)]
    fn ada_grad(self, weights: &mut [T], gradient: &[T], square: &mut [T]) {
        let tiny = T::of(1e-10);
        for ((w, &g), v) in weights.iter_mut().zip(gradient).zip(square) {
            *v += g * g;
            *w -= self.rate * g / (v.root() + tiny);
        }
    }

    #[inline(always)]
    fn sgd(self, weights: &mut [T], gradient: &[T]) {
        for (w, &g) in weights.iter_mut().zip(gradient) {
            *w -= self.rate * g;
        }
    }
}
