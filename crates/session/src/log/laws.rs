//! Checks what must always hold of a log.
