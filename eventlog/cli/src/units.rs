//! Numbers for people: sizes, durations, shares.

/// Bytes, as in "9.3 KiB".
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // What would be rounded to 1024 is 1.0 of the next unit.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Nanoseconds, as in "10.4 ms".
pub(crate) fn duration(ns: u64) -> String {
    let value = ns as f64;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..999_950 => format!("{:.1} us", value / 1e3),
        999_950..999_950_000 => format!("{:.1} ms", value / 1e6),
        999_950_000..600_000_000_000 => format!("{:.1} s", value / 1e9),
        600_000_000_000..36_000_000_000_000 => format!("{:.1} min", value / 60e9),
        _ => format!("{:.1} h", value / 3600e9),
    }
}

/// A point in time, in seconds.
pub(crate) fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// A part of a whole, in percent.
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1}%", part as f64 * 100.0 / whole as f64)
}

/// A count with its noun: "1 event", "1,234 events".
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(n), if n == 1 { one } else { many })
}

/// A number with its thousands set off.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_to_the_unit_that_fits() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (9523, "9.3 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn durations_are_rounded_to_the_unit_that_fits() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (999_949, "999.9 us"),
            (999_951, "1.0 ms"),
            (10_412_353, "10.4 ms"),
            (1_500_000_000, "1.5 s"),
            (3_600_000_000_000, "60.0 min"),
            (72_000_000_000_000, "20.0 h"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn thousands_are_set_off() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1234567, "1,234,567"),
        ];
        for (n, text) in cases {
            assert_eq!(thousands(n), text);
        }
        assert_eq!(counted(1, "event", "events"), "1 event");
        assert_eq!(share(1, 0), "-");
        assert_eq!(share(1, 3), "33.3%");
    }
}
