use super::*;
use proptest::prelude::*;

/// A reply that a server could send.
#[derive(Clone, Debug)]
struct Reply {
    results: Vec<SentResult>,
    ends_by_ok: bool,
}

#[derive(Clone, Debug)]
enum SentResult {
    Ok { affected: u8 },
    Rows { columns: u8, rows: Vec<Vec<u8>> },
    Error,
}

impl Reply {
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut number = 1;
        for (place, result) in self.results.iter().enumerate() {
            let more = u8::from(place + 1 < self.results.len()) * MORE_RESULTS as u8;
            let mut put = |payload: &[u8]| {
                let start = packet::begin(&mut out);
                out.extend_from_slice(payload);
                number = packet::finish(&mut out, start, number);
            };
            match result {
                SentResult::Ok { affected } => put(&[0, *affected, 7, 2 | more, 0, 0, 0]),
                SentResult::Error => {
                    put(b"\xff\x26\x04#23000Duplicate entry");
                    return out;
                }
                SentResult::Rows { columns, rows } => {
                    put(&[*columns]);
                    (0..*columns).for_each(|_| put(b"\x03def and so on"));
                    if !self.ends_by_ok {
                        put(b"\xfe\0\0\x02\0");
                    }
                    rows.iter().for_each(|row| put(row));
                    if self.ends_by_ok {
                        put(&[0xfe, 0, 0, 2 | more, 0, 0, 0])
                    } else {
                        put(&[0xfe, 0, 0, 2 | more, 0])
                    }
                }
            }
        }
        out
    }

    fn rows(&self) -> u64 {
        let rows = |result: &SentResult| match result {
            SentResult::Rows { rows, .. } => rows.len() as u64,
            _ => 0,
        };
        self.results.iter().map(rows).sum()
    }

    fn is_plain(&self) -> bool {
        self.results.len() == 1 && !matches!(self.results[0], SentResult::Error)
    }
}

fn result() -> impl Strategy<Value = SentResult> {
    // A binary row begins with 0, a text row with a length or 0xfb.
    let row =
        (0..0xfc_u8, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(first, mut row)| {
            row.insert(0, first);
            row
        });
    prop_oneof![
        (0..0xfb_u8).prop_map(|affected| SentResult::Ok { affected }),
        (1..5_u8, prop::collection::vec(row, 0..30))
            .prop_map(|(columns, rows)| SentResult::Rows { columns, rows }),
        Just(SentResult::Error),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    (prop::collection::vec(result(), 1..4), any::<bool>()).prop_map(|(results, ends_by_ok)| Reply {
        results,
        ends_by_ok,
    })
}

/// The result of parsing bytes that arrive in parts of `part` bytes, and how many bytes were parsed.
fn walked(bytes: &[u8], part: usize, ends_by_ok: bool) -> (Result<Done, String>, usize) {
    let mut walk = Walk::new(1, ends_by_ok);
    let (mut from, mut to) = (0, 0);
    while to < bytes.len() {
        to = (to + part).min(bytes.len());
        let mut at = 0;
        let ended = walk.walk(&bytes[from..to], &mut at);
        from += at;
        match ended {
            Ok(true) => return (Ok(walk.done), from),
            Ok(false) => {}
            Err(error) => return (Err(error.to_string()), from),
        }
    }
    (Err("incomplete".into()), from)
}

proptest! {
    #[test]
    fn a_reply_parses_the_same_however_it_is_split(reply in reply(), part in 1_usize..200) {
        let bytes = reply.bytes();
        let at_once = walked(&bytes, bytes.len(), reply.ends_by_ok);
        prop_assert_eq!(at_once.1, bytes.len());
        if let Ok(done) = &at_once.0 {
            prop_assert_eq!(done.rows, reply.rows());
        }
        prop_assert_eq!(walked(&bytes, part, reply.ends_by_ok), at_once);
    }

    #[test]
    fn the_fast_path_agrees_with_the_walk_and_covers_every_plain_reply(reply in reply(), place: prop::sample::Index, byte: Option<u8>, ends_by_ok: bool) {
        let mut bytes = reply.bytes();
        if let Some(byte) = byte {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let is_damaged = byte.is_some() || ends_by_ok != reply.ends_by_ok;
        let short = whole(&bytes, 1, ends_by_ok);
        if let Some(done) = short {
            prop_assert_eq!(walked(&bytes, bytes.len(), ends_by_ok), (Ok(done), bytes.len()));
        }
        prop_assert_eq!(short.is_some() || is_damaged, is_damaged || reply.is_plain());
    }

    #[test]
    fn rows_are_returned_as_sent(reply in reply()) {
        let bytes = reply.bytes();
        let (mut walk, mut at, mut seen) = (Walk::new(1, reply.ends_by_ok), 0, Vec::new());
        while let Ok(Step::Row(_) | Step::Column(..)) = walk.step(&bytes, &mut at, &mut Vec::new(), 1 << 20).inspect(|step| if let Step::Row(row) = step { seen.push(row.to_vec()) }) {}
        let sent = reply.results.iter().take_while(|result| !matches!(result, SentResult::Error)).flat_map(|result| match result {
            SentResult::Rows { rows, .. } => rows.clone(),
            _ => Vec::new(),
        });
        prop_assert_eq!(seen, sent.collect::<Vec<_>>());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic_the_walk(bytes: Vec<u8>, part in 1_usize..50, ends_by_ok: bool) {
        let (_, taken) = walked(&bytes, part, ends_by_ok);
        prop_assert!(taken <= bytes.len());
        let _ = whole(&bytes, 1, ends_by_ok);
    }
}

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let start = packet::begin(&mut out);
    out.extend_from_slice(payload);
    packet::finish(&mut out, start, number);
    out
}

fn error_of(bytes: &[u8]) -> String {
    walked(bytes, bytes.len(), true).0.unwrap_err()
}

#[test]
fn an_error_before_closing_is_reported_whatever_its_sequence_number() {
    let error = error_of(&packet(0, b"\xff\xbf\x0f#HY000The client was disconnected"));
    assert_eq!(error, "error 4031 (HY000): The client was disconnected");
}

#[test]
fn a_packet_out_of_order_is_reported() {
    assert!(
        error_of(&packet(3, b"\0\0\0\x02\0\0\0"))
            .ends_with("packet 3 is out of order, expected packet 1")
    );
}

#[test]
fn a_request_for_a_local_file_is_refused() {
    assert!(error_of(&packet(1, b"\xfb/etc/passwd")).contains("local file"));
}

#[test]
fn a_row_above_the_limit_is_an_error_before_it_is_buffered() {
    let mut bytes = packet(1, &[1]);
    bytes.extend(packet(2, b"\x03def"));
    bytes.extend([0x40, 0x42, 0x0f, 3, 0]);
    let (mut walk, mut at) = (Walk::new(1, true), 0);
    let mut step = || {
        walk.step(&bytes, &mut at, &mut Vec::new(), 1000)
            .map(|step| matches!(step, Step::Column(..)))
    };
    assert!(step().unwrap());
    assert_eq!(step().unwrap_err().code(), 2020);
}

#[test]
fn warnings_and_the_state_of_the_session_are_read_from_every_form_of_reply() {
    let ok = packet(1, b"\0\x03\x09\x02\0\x05\0");
    let rows_by_ok = [
        packet(1, b"\x01"),
        packet(2, b"\x03def"),
        packet(3, b"\x01x"),
        packet(4, b"\xfe\0\0\x01\0\x05\0"),
    ];
    let rows_by_eof = [
        packet(1, b"\x01"),
        packet(2, b"\x03def"),
        packet(3, b"\xfe\0\0\x02\0"),
        packet(4, b"\x01x"),
        packet(5, b"\xfe\x05\0\x03\0"),
    ];
    for (bytes, ends_by_ok, autocommits, in_transaction) in [
        (ok, true, true, false),
        (rows_by_ok.concat(), true, false, true),
        (rows_by_eof.concat(), false, true, true),
    ] {
        let fast = whole(&bytes, 1, ends_by_ok).unwrap();
        for done in [fast, walked(&bytes, 1, ends_by_ok).0.unwrap()] {
            assert_eq!(done.warnings, 5);
            let state = (done.autocommits(), done.in_transaction());
            assert_eq!(state, (autocommits, in_transaction));
        }
    }
}
