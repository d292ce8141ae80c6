//! Longhaul's context engine.
