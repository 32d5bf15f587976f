//! The program from outside: what it prints, writes and refuses.

mod bad_input;
mod bench;
#[cfg(target_os = "linux")]
mod budget;
mod cases;
mod compare;
mod convert;
mod cross_modal;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod hardening;
mod index;
mod inspect;
mod join;
mod knn;
mod map;
mod real_data;
mod run;
mod untrained;
mod words;
