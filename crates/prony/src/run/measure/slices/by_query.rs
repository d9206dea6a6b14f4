//! Cells that take turns query by query. Processes that sleep are their servers.

use super::tests::{is_stopped, process, sleeper};
use super::*;
use crate::run::tests::read_on_server;
use server::ServerError;
use std::process::Child;
use std::sync::Mutex;

fn protocol() -> Protocol {
    let text = "title = \"t\"\n[server.s]\nbuild = \"mariadb\"\n[workload.ssb]\n[protocol]\nrounds = [\"hot\"]\nslices = \"query\"\n";
    read_on_server(text).protocol
}

/// A turn of a cell with its query, and which servers were stopped meanwhile.
#[derive(Debug)]
struct Taken {
    cell: usize,
    query: usize,
    stopped: Vec<bool>,
}

/// Runs cells with so many queries each, whose servers have these processes; cells with one process share a server. Returns the turns in
/// order, and how each cell ended.
fn in_turns(queries: &[usize], pids: &[u32]) -> (Vec<Taken>, Vec<Result<(), ServerError>>) {
    let (tell, news) = channel();
    let (protocol, taken) = (protocol(), Mutex::new(Vec::new()));
    let ended = std::thread::scope(|scope| {
        let (taken, mut cells, mut threads) = (&taken, Vec::new(), Vec::new());
        for (cell, queries) in queries.iter().copied().enumerate() {
            let (seat, go) = Seat::new(cell, tell.clone(), Arc::default());
            let host = pids.iter().position(|pid| *pid == pids[cell]).unwrap();
            cells.push(Cell::new(host, go));
            threads.push(scope.spawn(move || {
                seat.wait();
                for query in 0..queries {
                    seat.turn(Some(process(pids[cell])))?;
                    let stopped = pids.iter().map(|pid| *pid < u32::MAX && is_stopped(*pid));
                    let stopped = stopped.collect();
                    taken.lock().unwrap().push(Taken {
                        cell,
                        query,
                        stopped,
                    });
                }
                Ok(())
            }));
        }
        drop(tell);
        let group = Group {
            protocol: &protocol,
            laps: Laps::new(Duration::ZERO, 0, 7),
            cells,
            news,
        };
        group.run();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap());
        ended.collect()
    });
    (taken.into_inner().unwrap(), ended)
}

#[test]
fn servers_run_query_by_query_in_turn_while_the_others_are_stopped() {
    let mut servers = [sleeper(), sleeper(), sleeper()];
    let pids: Vec<u32> = servers.iter().map(Child::id).collect();
    let (taken, ended) = in_turns(&[6, 6, 4], &pids);
    let left_stopped = pids.iter().any(|pid| is_stopped(*pid));
    for server in &mut servers {
        server.kill().unwrap();
        server.wait().unwrap();
    }
    assert!(!left_stopped, "no server stays stopped");
    assert!(ended.iter().all(Result::is_ok));
    assert_eq!(taken.len(), 16);
    let of = |query: usize| -> Vec<usize> {
        let turns = taken.iter().filter(|turn| turn.query == query);
        turns.map(|turn| turn.cell).collect()
    };
    // Laps are in order, and the second of each two reverses the first.
    assert!(taken.is_sorted_by_key(|turn| turn.query), "{taken:?}");
    for query in [0, 2] {
        let reversed: Vec<usize> = of(query + 1).into_iter().rev().collect();
        assert_eq!((of(query).len(), of(query)), (3, reversed));
    }
    assert_eq!(of(4), of(5).into_iter().rev().collect::<Vec<usize>>());
    for (place, turn) in taken.iter().enumerate() {
        for (other, is_stopped) in turn.stopped.iter().enumerate() {
            let goes_on = taken[place..].iter().any(|later| later.cell == other);
            let rests = other != turn.cell && goes_on;
            assert!(*is_stopped == rests || !goes_on, "{turn:?}");
        }
    }
}

#[test]
fn a_server_that_cannot_be_stopped_ends_its_trial_and_the_others_go_on() {
    let mut server = sleeper();
    let (taken, ended) = in_turns(&[3, 3], &[server.id(), u32::MAX]);
    server.kill().unwrap();
    server.wait().unwrap();
    let says = ended[1].as_ref().unwrap_err().to_string();
    assert!(says.contains("could not be stopped"), "{says}");
    assert!(ended[0].is_ok() && taken.iter().all(|turn| turn.cell == 0));
    assert_eq!(taken.len(), 3);
}

#[test]
fn cells_on_one_server_do_not_stop_it_for_each_other() {
    let mut servers = [sleeper(), sleeper()];
    let (shared, own) = (servers[0].id(), servers[1].id());
    let (taken, ended) = in_turns(&[3, 3, 3], &[shared, shared, own]);
    let left_stopped = [shared, own].into_iter().any(is_stopped);
    for server in &mut servers {
        server.kill().unwrap();
        server.wait().unwrap();
    }
    assert!(!left_stopped && ended.iter().all(Result::is_ok));
    assert!(taken.is_sorted_by_key(|turn| turn.query), "{taken:?}");
    assert_eq!(taken.len(), 9);
    for (place, turn) in taken.iter().enumerate() {
        let goes_on = |cells: &[usize]| {
            taken[place..]
                .iter()
                .any(|later| cells.contains(&later.cell))
        };
        let [shared, _, own] = turn.stopped[..] else {
            panic!("{turn:?}");
        };
        match turn.cell {
            2 => assert!(!own && (shared || !goes_on(&[0, 1])), "{turn:?}"),
            _ => assert!(!shared && (own || !goes_on(&[2])), "{turn:?}"),
        }
    }
}
