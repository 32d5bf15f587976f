//! The program from outside: what it prints, writes and refuses.

mod bad_input;
mod cases;
mod compare;
#[cfg(target_os = "linux")]
mod faults;
mod inspect;
mod knn;
mod real_data;
mod run;
