//! Longhaul's command line.
