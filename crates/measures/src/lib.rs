//! measures.
