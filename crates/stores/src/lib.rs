//! Finds the sessions of coding agents.
