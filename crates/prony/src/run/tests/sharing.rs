//! Cells of a group that take turns on one server.

use super::*;
use std::sync::Mutex;

/// Two variants that differ in what each session sets.
fn in_turns(blocks: u32) -> Experiment {
    experiment(&format!(
        "[variant.x]\nsession = {{ sort_buffer_size = 1111111 }}\n[variant.y]\nsession = {{ sort_buffer_size = 2222222 }}\n[protocol]\nrounds = ['hot']\nslices = 'query'\nblocks = {blocks}\n"
    ))
}

/// Five of them, of which a group holds four.
fn five() -> Experiment {
    let variant =
        |size: u32| format!("[variant.v{size}]\nsession = {{ sort_buffer_size = {size}111111 }}\n");
    let variants: String = (1..=5).map(variant).collect();
    experiment(&format!(
        "{variants}[protocol]\nrounds = ['hot']\nslices = 'query'\n"
    ))
}

/// A server that answers everything, and what it was asked.
fn listening(dies_at: Option<u64>) -> (Setup, Arc<Mutex<Vec<String>>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = asked.clone();
    let mut node = Fake::new("fake", move |sql| {
        heard.lock().unwrap().push(sql.to_string());
        Ok(Reply::default())
    });
    node.dies_at = dies_at;
    (Setup::with(node), asked)
}

#[test]
fn session_variants_and_the_control_take_turns_on_one_server() {
    let (setup, asked) = listening(None);
    let conducted = setup.run(in_turns(2), Toy::rounds);
    assert!(conducted.valid(), "{:?}", conducted.trials);
    // Two starts make the snapshot, and one is for all cells of a block.
    assert_eq!(setup.node.starts(), 2 + 2);
    for trial in &conducted.trials {
        let says = flags(trial);
        for part in [
            "took_turns: 3 cells took turns query by query on one server",
            "shared_server: 3 cells took turns on one server and its one start",
        ] {
            assert!(says.contains(part), "{says}");
        }
    }
    let asked = asked.lock().unwrap();
    for value in ["1111111", "2222222"] {
        let own = format!("SET SESSION sort_buffer_size = {value}");
        assert!(asked.contains(&own), "each cell sets its own: {asked:?}");
    }
    assert_eq!(setup.left_behind(), Vec::<String>::new());
}

#[test]
fn a_cell_that_no_other_joins_has_the_same_passes_as_the_cells_of_a_group() {
    let (setup, asked) = listening(None);
    let conducted = setup.run(five(), Toy::rounds);
    assert!(conducted.valid(), "{:?}", conducted.trials);
    let shared = conducted.trials.iter().filter(|one| one.shares_server());
    assert_eq!(shared.count(), 4);
    // Each has a pass that does not count, and one hot round.
    let asked = asked.lock().unwrap();
    let is_query = |sql: &&String| **sql == toy::sql("Q2");
    assert_eq!(asked.iter().filter(is_query).count(), 2 * 5);
}

#[test]
fn a_server_that_dies_in_a_turn_fails_all_cells_on_it_and_each_says_so() {
    let (first, asked) = listening(None);
    first.run(in_turns(1), Toy::rounds);
    let asked = asked.lock().unwrap();
    let is_query = |sql: &String| *sql == toy::sql("Q2");
    let at = asked.iter().position(is_query).unwrap() as u64 + 1;
    let (setup, _) = listening(Some(at));
    let conducted = setup.run(in_turns(1), Toy::rounds);
    assert_eq!(states(&conducted), [TrialState::Failed; 2]);
    for trial in &conducted.trials {
        let says = flags(trial);
        assert!(
            says.contains("the server ended: it died as configured"),
            "{says}"
        );
    }
    assert_eq!(setup.left_behind(), Vec::<String>::new());
}
