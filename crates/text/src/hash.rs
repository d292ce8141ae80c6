//! A hash of short texts that is the same in every process and on every machine.

/// The hash of a text: eight bytes at a time, multiplied and folded.
pub fn hash_text(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let seed = (text.len() as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
    words.iter().chain([&last]).fold(seed, |hash, word| mix(hash, u64::from_le_bytes(*word)))
}

/// The hash of what has this hash, followed by eight more bytes.
pub(crate) fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ ((product >> 64) as u64)
}
