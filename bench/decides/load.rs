//! The experiment file of a timed load whose two cells are compared.

pub(crate) struct Load<'l> {
    /// The sections that define the two cells, a and b.
    pub cells: String,
    /// What the cells are levels of: `server` or `variant`.
    pub of: &'static str,
    pub operations: &'l str,
    pub rows: u32,
    pub clients: u32,
}

impl Load<'_> {
    /// Of two builds.
    pub(crate) fn of_servers<'l>(a: &str, b: &str) -> Load<'l> {
        Load {
            cells: format!("[server.a]\nbuild = \"{a}\"\n[server.b]\nbuild = \"{b}\""),
            of: "server",
            operations: "point-select",
            rows: 100_000,
            clients: 8,
        }
    }

    /// Of two sets of MariaDB's settings, beside those of both.
    pub(crate) fn of_settings<'l>(both: &str, a: &str, b: &str) -> Load<'l> {
        let variant = |name, settings| format!("[variant.{name}]\nsettings = {{ {settings} }}\n");
        Load {
            cells: format!(
                "[server.mariadb]\nbuild = \"mariadb\"\n[settings]\n{both}\n{}{}",
                variant("a", a),
                variant("b", b)
            ),
            of: "variant",
            ..Load::of_servers("", "")
        }
    }

    /// The file. `protocol` has the time and the blocks.
    pub(crate) fn text(&self, protocol: &str) -> String {
        let Load {
            cells,
            of,
            operations,
            rows,
            clients,
        } = self;
        format!(
            "title = \"a against b: {operations}\"\nquestion = \"Does prony see what differs between a and b?\"\n{cells}\n
[workload.oltp]\noperations = \"{operations}\"\ntables = 1\nrows = {rows}\n
[load.closed]\nclients = [{clients}]\n
[protocol]\nshort = true # Many short runs show how often prony decides.\ncontrol = false\n{protocol}\n
[[claim]]\nsays = \"a has a higher throughput than b\"\nvalue = \"throughput\"\nof = {{ {of} = \"a\" }}\nto = {{ {of} = \"b\" }}\nat_least = 1.05\n"
        )
    }
}

/// The measured time, the warm-up, and how many blocks, as flags say or by default.
pub(crate) struct Times {
    keys: String,
    /// What a run of two cells takes, without loading the data.
    pub expected_s: f64,
}

impl Times {
    pub(crate) fn new(options: &super::runs::Options, time: &str, blocks: &str) -> Times {
        let [time, warmup, blocks] = [("--time", time), ("--warmup", "3s"), ("--blocks", blocks)]
            .map(|(name, default)| options.flag(name, default));
        let seconds = |text: &str| {
            text.trim_end_matches('s')
                .parse::<f64>()
                .expect("seconds, such as 10s")
        };
        let number: f64 = blocks.parse().expect("--blocks is a number");
        Times {
            keys: format!("time = \"{time}\"\nwarmup = \"{warmup}\"\nblocks = {blocks}"),
            // A server starts and stops within about 4 s.
            expected_s: 2.0 * number * (seconds(time) + seconds(warmup) + 4.0),
        }
    }

    /// Keys of the protocol. `slices` is a length, or `off`.
    pub(crate) fn keys(&self, slices: &str) -> String {
        format!("{}\nslices = \"{slices}\"", self.keys)
    }
}
