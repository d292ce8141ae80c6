//! Memory as models read it.
