//! The addresses that a client may connect to: all, or only those of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses that a client may connect to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Every address.
    #[default]
    Anywhere,
    /// No address of this machine, of a private network or of one with a special purpose, whatever name leads to it.
    PublicInternet,
}

impl Reach {
    /// True if an address may be connected to.
    pub(crate) fn allows(self, address: IpAddr) -> bool {
        self == Self::Anywhere || is_public(address)
    }

    /// True if a host may be asked for that somebody else finds, such as a proxy.
    pub(crate) fn allows_name(self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_local = ["localhost", "local", "internal", "home.arpa"]
            .iter()
            .any(|name| host == *name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.')));
        match host.parse() {
            Ok(address) => self.allows(address),
            Err(_) => self == Self::Anywhere || !is_local,
        }
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19));
    !(is_special
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        // Nothing else outside of this is routed, and of it neither documentation nor tunnels.
        [first, second, ..] => {
            first & 0xe000 == 0x2000 && !(first == 0x2001 && (second == 0xdb8 || second < 0x200))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_of_private_networks_are_not_public() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001:0::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
        ] {
            let address: IpAddr = address.parse().expect("an address");
            assert!(!Reach::PublicInternet.allows(address), "{address}");
            assert!(Reach::Anywhere.allows(address));
        }
        for address in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(Reach::PublicInternet.allows(address.parse().expect("an address")), "{address}");
        }
    }

    #[test]
    fn names_that_mean_this_network_are_not_asked_for() {
        for host in
            ["localhost", "LOCALHOST.", "app.localhost", "printer.local", "db.internal", "10.0.0.1", "::1"]
        {
            assert!(!Reach::PublicInternet.allows_name(host), "{host}");
            assert!(Reach::Anywhere.allows_name(host));
        }
        for host in ["example.org", "mylocalhost.org", "local.example.org"] {
            assert!(Reach::PublicInternet.allows_name(host), "{host}");
        }
    }
}
