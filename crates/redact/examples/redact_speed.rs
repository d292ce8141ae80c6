//! Says how fast files are searched for secrets: `cargo run --release -p longhaul-redact --example redact_speed -- FILE…`.

use std::time::Instant;

use longhaul_redact::find_secrets;

fn main() -> std::io::Result<()> {
    let mut bytes = 0;
    let mut seconds = 0.0;
    let mut found = 0;
    find_secrets("");
    for path in std::env::args().skip(1) {
        let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
        let started = Instant::now();
        found += find_secrets(&text).len();
        seconds += started.elapsed().as_secs_f64();
        bytes += text.len();
    }
    let megabytes = bytes as f64 / 1e6;
    println!("{found} findings in {megabytes:.1} MB, {:.0} MB/s", megabytes / seconds.max(1e-9));
    Ok(())
}
