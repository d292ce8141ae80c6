//! Measures how fast streams are taken apart: `cargo run --release -p longhaul-wire --example sse_throughput`.

use std::time::Instant;

use longhaul_wire::{SseDecoder, StreamDecoder, WireFormat};

/// What is wanted, in MB/s.
const LIMIT: f64 = 500.0;
/// The shortest chunks that the limit is for.
const SHORTEST: usize = 1 << 10;

fn main() {
    let text = "The folder holds three files; the second one is what you asked for. ".repeat(3);
    let event = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"role\":\"model\",\"parts\":[{{\"text\":\"{text}\"}}]}},\"index\":0}}]}}\r\n\r\n"
    );
    let stream = event.repeat((1 << 20) / event.len()).into_bytes();
    for size in [64 << 10, 16 << 10, 1 << 10, 64, 1] {
        let rate = best_rate(stream.len(), || {
            let mut decoder = SseDecoder::default();
            let mut bytes = 0;
            for chunk in stream.chunks(size) {
                decoder.feed(chunk, |event| bytes += event.data.len()).expect("events are short");
            }
            bytes
        });
        // Nobody sends a byte at a time, but a chunk may be as short as an event.
        let against = if size >= SHORTEST {
            format!("; ratio {:.2} (limit 1.00)", LIMIT / rate)
        } else {
            String::new()
        };
        println!("server-sent events, in chunks of {size} bytes: {rate:.0} MB/s{against}");
    }
    let rate = best_rate(stream.len(), || {
        let mut decoder = StreamDecoder::new(WireFormat::Gemini, "1");
        let mut events = Vec::new();
        let mut count = 0;
        for chunk in stream.chunks(16 << 10) {
            decoder.feed(chunk, &mut events).expect("a good stream");
            count += events.len();
            events.clear();
        }
        count
    });
    println!("Gemini's answers, their JSON included, in chunks of 16384 bytes: {rate:.0} MB/s");
}

fn best_rate(bytes: usize, mut work: impl FnMut() -> usize) -> f64 {
    // Short runs and many of them, so that some are not disturbed by what else the machine does.
    let times = (0..200).map(|_| {
        let start = Instant::now();
        std::hint::black_box(work());
        start.elapsed().as_secs_f64()
    });
    bytes as f64 / 1e6 / times.fold(f64::INFINITY, f64::min)
}
