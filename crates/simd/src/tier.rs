//! Which instruction set the kernels run on.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};

/// An instruction set that the kernels are compiled for, slowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// What every CPU of the target has.
    Portable,
    /// AVX2 and FMA (x86-64-v3).
    Avx2,
    /// AVX2 and the int8 products of AVX-VNNI.
    AvxVnni,
    /// AVX-512 F, BW, CD, DQ and VL (x86-64-v4).
    Avx512,
    /// AVX-512 and its int8 products.
    Avx512Vnni,
    /// AVX-512 and the matrix products of AMX in int8 and bf16.
    Amx,
}

impl Tier {
    /// Every tier, slowest first.
    pub const ALL: [Self; 6] = [Self::Portable, Self::Avx2, Self::AvxVnni, Self::Avx512, Self::Avx512Vnni, Self::Amx];

    /// The name that [`FromStr`] reads back.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::AvxVnni => "avxvnni",
            Self::Avx512 => "avx512",
            Self::Avx512Vnni => "avx512vnni",
            Self::Amx => "amx",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tier {
    type Err = UnavailableTier;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|t| t.name() == name).ok_or_else(|| UnavailableTier::Unknown(name.to_owned()))
    }
}

/// Why a tier cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnavailableTier {
    /// No tier has this name.
    #[error("unknown SIMD tier '{0}': expected portable, avx2, avxvnni, avx512, avx512vnni or amx")]
    Unknown(String),
    /// The CPU, or the target this was compiled for, lacks the instructions.
    #[error("this CPU cannot run the SIMD tier '{0}'")]
    Unsupported(Tier),
}

/// The kernels of one [`Tier`], and the proof that this CPU can run them.
#[derive(Clone, Copy, Debug)]
pub struct Kernels(Backend);

/// A tier with the token of the vector instructions it has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(V3),
    #[cfg(target_arch = "x86_64")]
    AvxVnni(V3),
    #[cfg(target_arch = "x86_64")]
    Avx512(V4),
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni(V4),
    #[cfg(target_arch = "x86_64")]
    Amx(V4),
}

impl Kernels {
    /// The kernels that the environment variable `MNNO_SIMD` names, or else the fastest that this CPU can run. Found out
    /// once per process. A name that cannot be followed is passed over here; [`Kernels::from_environment`] tells of it.
    pub fn detect() -> Self {
        Self::from_environment().unwrap_or_else(|_| Self::fastest())
    }

    /// As [`Kernels::detect`].
    ///
    /// # Errors
    /// [`UnavailableTier`] if `MNNO_SIMD` names no tier, or one that this CPU cannot run.
    pub fn from_environment() -> Result<Self, UnavailableTier> {
        static KERNELS: OnceLock<Result<Kernels, UnavailableTier>> = OnceLock::new();
        let kernels = KERNELS.get_or_init(|| match std::env::var_os("MNNO_SIMD") {
            None => Ok(Self::fastest()),
            Some(name) => name.to_string_lossy().parse().and_then(Self::with_tier),
        });
        kernels.clone()
    }

    fn fastest() -> Self {
        Tier::ALL.into_iter().rev().find_map(|tier| Self::with_tier(tier).ok()).unwrap_or(Self(Backend::Portable))
    }

    /// The kernels of a stated tier.
    ///
    /// # Errors
    /// [`UnavailableTier::Unsupported`] if this CPU lacks the instructions.
    pub fn with_tier(tier: Tier) -> Result<Self, UnavailableTier> {
        let backend = match tier {
            Tier::Portable => Some(Backend::Portable),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => V3::try_new().map(Backend::Avx2),
            #[cfg(target_arch = "x86_64")]
            Tier::AvxVnni => V3::try_new().filter(|_| is_x86_feature_detected!("avxvnni")).map(Backend::AvxVnni),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => V4::try_new().map(Backend::Avx512),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512Vnni => {
                V4::try_new().filter(|_| is_x86_feature_detected!("avx512vnni")).map(Backend::Avx512Vnni)
            }
            #[cfg(target_arch = "x86_64")]
            Tier::Amx => V4::try_new()
                .filter(|_| is_x86_feature_detected!("avx512vnni") && crate::cpu::has_amx())
                .map(Backend::Amx),
            #[cfg(not(target_arch = "x86_64"))]
            _ => None,
        };
        backend.map(Self).ok_or(UnavailableTier::Unsupported(tier))
    }

    /// The kernels of every tier that this CPU can run, slowest first.
    pub fn available() -> Vec<Self> {
        Tier::ALL.into_iter().filter_map(|tier| Self::with_tier(tier).ok()).collect()
    }

    /// The tier of these kernels.
    pub fn tier(self) -> Tier {
        match self.0 {
            Backend::Portable => Tier::Portable,
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(_) => Tier::Avx2,
            #[cfg(target_arch = "x86_64")]
            Backend::AvxVnni(_) => Tier::AvxVnni,
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(_) => Tier::Avx512,
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512Vnni(_) => Tier::Avx512Vnni,
            #[cfg(target_arch = "x86_64")]
            Backend::Amx(_) => Tier::Amx,
        }
    }

    pub(crate) fn backend(self) -> Backend {
        self.0
    }

    /// Runs `kernel` compiled for this tier: a plain loop then uses its vectors. The closure, and what it calls, must be
    /// `#[inline(always)]`, or it is compiled without the tier's instructions (slower, with the same result).
    ///
    /// # Examples
    /// ```
    /// let (kernels, mut x) = (mnno_simd::Kernels::detect(), [1.0_f32, 4.0]);
    /// kernels.run(
    ///     #[inline(always)]
    ///     || x.iter_mut().for_each(|x| *x = x.sqrt()),
    /// );
    /// assert_eq!(x, [1.0, 2.0]);
    /// ```
    #[inline(always)]
    pub fn run<T>(self, kernel: impl FnOnce() -> T) -> T {
        match self.0 {
            Backend::Portable => kernel(),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(simd) | Backend::AvxVnni(simd) => simd.vectorize(kernel),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(simd) | Backend::Avx512Vnni(simd) | Backend::Amx(simd) => simd.vectorize(kernel),
        }
    }
}
