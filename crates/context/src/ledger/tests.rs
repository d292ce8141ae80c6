//! Tests of the ledger as a whole: calls and results in, entries out.
use super::*;
