//! Benchmark without an experiment file: turns flags into the text of an equivalent file.
//!
//! Purpose: the record of such a run holds a file that anybody can run again, and the file reader reports wrong values.
//! Boundaries: `cli` parses the flags.

use crate::check::timed::is_short;
use crate::file::mistake::SpecError;
use crate::server::build::{BuildSpec, split_name};
use crate::text::unit;
use toml::{Table, Value};

/// The flags of `prony bench`. Missing values take the defaults of the file format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BenchRequest {
    /// A workload such as `oltp`, or a workload and its operations such as `oltp-update-index`.
    pub workload: String,
    /// Builds or DSNs, each as `BUILD` or `NAME=BUILD`. Empty for a workload without a server.
    pub servers: Vec<String>,
    pub clients: Vec<u32>,
    /// As written: `500`, `60% of max`.
    pub rate: Vec<String>,
    pub workers: Vec<u32>,
    /// As written: `30s`. None: ten seconds, what `within` chooses, or rounds if the workload has queries.
    pub time: Option<String>,
    /// `cold`, `hot`; empty: the default of `prony bench`.
    pub rounds: Vec<String>,
    pub warmup: Option<String>,
    /// As written: `auto`, `1s`, `off`.
    pub slices: Option<String>,
    /// As written: `10m`. It chooses the time or the blocks that no flag gives.
    pub within: Option<String>,
    /// As written: `2`, `0.1`.
    pub scale: Option<String>,
    pub tables: Option<u64>,
    pub rows: Option<u64>,
    pub engine: Option<String>,
    pub blocks: Option<u32>,
    pub settings: Vec<(String, String)>,
    pub sql: SqlRequest,
    pub fileio: FileioRequest,
    /// Whether the workload has queries for rounds, whatever its flags.
    pub has_queries: bool,
    /// Whether its operations change what the next trial would measure.
    pub changes_its_data: bool,
}

/// The flags of the workload `sql`. Paths are relative to the current folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SqlRequest {
    /// Files with statements: of rounds, of a timed load, and those that create the tables.
    pub queries: Option<String>,
    pub operations: Option<String>,
    pub setup: Option<String>,
    pub dump: Option<String>,
    pub schema: Option<String>,
    /// The character set of prony's schema.
    pub charset: Option<String>,
    /// Files by table, several for one.
    pub load: Vec<(String, String)>,
    /// Texts of the dump and what replaces them.
    pub replace: Vec<(String, String)>,
    pub accept_warnings: bool,
}

/// The flags of the workload `fileio`, as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileioRequest {
    /// The folder in which the files are made.
    pub directory: Option<String>,
    pub preset: Option<String>,
    pub pattern: Option<String>,
    pub io_size: Option<String>,
    pub size: Option<String>,
    pub files: Option<u64>,
    pub direct: Option<bool>,
    /// `never`, `each`, `end`, `100`.
    pub fsync: Option<String>,
    /// Operations in flight per client.
    pub depth: Option<u64>,
}

impl FileioRequest {
    /// The keys of the section.
    fn section(&self) -> Table {
        let texts = [
            ("preset", &self.preset),
            ("pattern", &self.pattern),
            ("io_size", &self.io_size),
            ("size", &self.size),
        ];
        let texts = texts.map(|(key, text)| (key, text.clone().map(Value::from)));
        let others = [
            ("files", self.files.map(whole)),
            ("direct", self.direct.map(Value::from)),
            ("fsync", self.fsync.as_deref().map(number)),
            ("depth", self.depth.map(whole)),
        ];
        let given = texts.into_iter().chain(others);
        given
            .filter_map(|(key, value)| Some((key.to_string(), value?)))
            .collect()
    }
}

impl SqlRequest {
    /// The keys of the section.
    fn section(&self) -> Table {
        let texts = [
            ("queries_file", &self.queries),
            ("operations_file", &self.operations),
            ("setup_file", &self.setup),
            ("dump", &self.dump),
            ("schema", &self.schema),
            ("charset", &self.charset),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(key, text)| Some((key.to_string(), Value::from(text.clone()?))));
        let tables = [("load", &self.load), ("replace", &self.replace)];
        let tables = tables.into_iter().filter(|(_, pairs)| !pairs.is_empty());
        let tables = tables.map(|(key, pairs)| {
            let named = |name: &String| {
                let own = pairs.iter().filter(|(other, _)| other == name);
                let mut texts: Vec<Value> = own.map(|(_, text)| text.clone().into()).collect();
                match texts.len() {
                    1 => texts.remove(0),
                    _ => Value::from(texts),
                }
            };
            let names = pairs.iter().map(|(name, _)| (name.clone(), named(name)));
            (key.to_string(), Value::from(names.collect::<Table>()))
        });
        let accepts = self.accept_warnings.then_some(true);
        let accepts = accepts.map(|accepts| ("accept_warnings".to_string(), accepts.into()));
        texts.chain(tables).chain(accepts).collect()
    }
}

/// The measured time of a load without `--time`.
const TIME: &str = "10s";
/// The rounds without `--rounds`. A server that prony does not restart has no cold ones.
const ROUNDS: [&str; 4] = ["cold", "hot", "hot", "hot"];

impl BenchRequest {
    /// The workload's name and its operations, if the flag names them.
    pub fn named(&self) -> (&str, Option<&str>) {
        match self.workload.split_once('-') {
            Some((name, operations)) => (name, Some(operations)),
            None => (&self.workload, None),
        }
    }

    /// The schema of a DSN, which queries measure if the flags name no other tables.
    pub fn schema_of_a_dsn(&self) -> Option<String> {
        let SqlRequest {
            setup, dump, load, ..
        } = &self.sql;
        let has_tables = setup.is_some() || dump.is_some() || !load.is_empty();
        let builds = self.servers.iter().map(|text| split_name(text).1.parse());
        let mut schemas = builds.filter_map(|build| match build {
            Ok(BuildSpec::External(dsn)) => dsn.schema,
            _ => None,
        });
        let is_wanted = self.sql.queries.is_some() && !has_tables;
        schemas.next().filter(|_| is_wanted)
    }

    /// Whether it runs rounds of queries rather than a timed load.
    fn is_in_rounds(&self) -> bool {
        self.time.is_none() && (self.has_queries || self.sql.queries.is_some())
    }
}

/// Returns an experiment file equivalent to the flags. It contains the passwords of DSNs; `spec::parse` keeps them out
/// of the record.
pub fn bench(request: &BenchRequest) -> String {
    let mut file = Table::new();
    file.insert("title".into(), title(request).into());
    if !request.servers.is_empty() {
        file.insert("server".into(), servers(request).into());
    }
    if let Some(directory) = &request.fileio.directory {
        let host = Table::from_iter([("directory".to_string(), directory.clone().into())]);
        file.insert("host".into(), host.into());
    }
    if !request.settings.is_empty() {
        let settings = request.settings.iter();
        let settings: Table = settings
            .map(|(name, value)| (name.clone(), setting(value)))
            .collect();
        file.insert("settings".into(), settings.into());
    }
    file.insert("workload".into(), workload(request).into());
    file.insert("load".into(), load(request).into());
    file.insert("protocol".into(), protocol(request).into());
    file.to_string()
}

/// The flag, and what it runs on if that is the user's own: `sql: q.sql on shop.sql`.
fn title(request: &BenchRequest) -> String {
    let sql = &request.sql;
    let runs = sql.queries.as_ref().or(sql.operations.as_ref());
    let tables = sql.dump.as_ref().or(sql.setup.as_ref());
    let named = [runs, tables.or(sql.schema.as_ref())];
    let named: Vec<&str> = named.into_iter().flatten().map(String::as_str).collect();
    match named.is_empty() {
        true => request.workload.clone(),
        false => format!("{}: {}", request.workload, named.join(" on ")),
    }
}

fn servers(request: &BenchRequest) -> Table {
    let mut servers = Table::new();
    for text in &request.servers {
        let (name, build) = named(text);
        let mut free = name.clone();
        let mut count = 1;
        while servers.contains_key(&free) {
            count += 1;
            free = format!("{name} ({count})");
        }
        let server = Table::from_iter([("build".to_string(), build.into())]);
        servers.insert(free, server.into());
    }
    servers
}

/// The name and the build of a server. An unnamed server is named after its build, a running one after its address.
fn named(text: &str) -> (String, String) {
    if let (Some(name), build) = split_name(text) {
        return (name.to_string(), build.to_string());
    }
    let name = match text.parse() {
        Ok(BuildSpec::External(dsn)) => dsn
            .socket
            .map_or(format!("{}:{}", dsn.host, dsn.port), |socket| {
                socket.display().to_string()
            }),
        // A malformed DSN may contain a password; the build key reports the mistake.
        Err(_) => "server".to_string(),
        Ok(_) => text.to_string(),
    };
    (name, text.to_string())
}

/// `oltp-update-index` is `[workload.oltp]` with `operations = "update-index"`. Tables that change are loaded anew on a running
/// server, where prony has no snapshot.
fn workload(request: &BenchRequest) -> Table {
    let (name, operations) = request.named();
    let mut section = Table::new();
    let mut add = |key: &str, value: Option<Value>| {
        section.extend(value.map(|value| (key.to_string(), value)));
    };
    add("operations", operations.map(Value::from));
    add("scale", request.scale.as_deref().map(number));
    add("tables", request.tables.map(whole));
    add("rows", request.rows.map(whole));
    add("engine", request.engine.clone().map(Value::from));
    add("reload", request.changes_its_data.then(|| true.into()));
    section.extend(request.sql.section());
    section.extend(request.fileio.section());
    Table::from_iter([(name.to_string(), section.into())])
}

/// Flags of both kinds produce both sections, which the file reader rejects with the reason.
fn load(request: &BenchRequest) -> Table {
    let mut load = Table::new();
    let counts = |counts: &[u32]| list(counts.iter().map(|count| Value::from(i64::from(*count))));
    let is_open = !request.rate.is_empty() || !request.workers.is_empty();
    if is_open {
        let mut open = Table::new();
        if !request.rate.is_empty() {
            let rates = request.rate.iter().map(|rate| number(rate));
            open.insert("rate".into(), list(rates));
        }
        if !request.workers.is_empty() {
            open.insert("workers".into(), counts(&request.workers));
        }
        load.insert("open".into(), open.into());
    }
    if !request.clients.is_empty() || !is_open {
        let clients = match request.clients.as_slice() {
            [] => &[1],
            clients => clients,
        };
        let closed = Table::from_iter([("clients".to_string(), counts(clients))]);
        load.insert("closed".into(), closed.into());
    }
    load
}

/// Several loads run as a series on one started server, as in other benchmark tools, unless each would leave other data to
/// the next.
fn protocol(request: &BenchRequest) -> Table {
    let mut protocol = Table::new();
    if request.is_in_rounds() || !request.rounds.is_empty() {
        protocol.insert("rounds".into(), rounds(request));
    } else if let Some(time) =
        (request.time.as_deref()).or(request.within.is_none().then_some(TIME))
    {
        protocol.insert("time".into(), time.into());
        if unit::duration(time).is_ok_and(is_short) {
            protocol.insert("short".into(), true.into());
        }
    }
    let texts = [
        ("warmup", &request.warmup),
        ("slices", &request.slices),
        ("within", &request.within),
    ];
    let given = texts.into_iter();
    protocol.extend(
        given.filter_map(|(key, text)| Some((key.to_string(), Value::from(text.clone()?)))),
    );
    let is_series =
        request.clients.len() > 1 || request.rate.len() > 1 || request.workers.len() > 1;
    let are_sliced = (request.slices.as_ref()).is_some_and(|slices| slices != "off");
    if is_series && !are_sliced && !request.changes_its_data && !request.is_in_rounds() {
        protocol.insert("series".into(), true.into());
    }
    if let Some(blocks) = request.blocks {
        protocol.insert("blocks".into(), i64::from(blocks).into());
    }
    if request.blocks.is_some() || request.within.is_some() {
        protocol.insert("control".into(), false.into());
    }
    protocol
}

fn rounds(request: &BenchRequest) -> Value {
    if !request.rounds.is_empty() {
        return list(request.rounds.iter().map(|round| round.as_str().into()));
    }
    let is_restarted = |round: &&str| request.sql.schema.is_none() || *round != "cold";
    let rounds = ROUNDS.into_iter().filter(is_restarted);
    list(rounds.map(Value::from))
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    Value::Array(values.collect())
}

fn whole(number: u64) -> Value {
    i64::try_from(number).map_or(Value::Float(number as f64), Value::from)
}

/// A number if the text is one, else a string.
fn number(text: &str) -> Value {
    let whole = text.parse::<i64>().map(Value::from);
    whole.unwrap_or_else(|_| {
        let fraction = text.parse::<f64>().ok().filter(|number| number.is_finite());
        fraction.map_or(text.into(), Value::from)
    })
}

/// An integer if the text is one, else a string.
fn setting(text: &str) -> Value {
    text.parse::<i64>().map_or(text.into(), Value::from)
}

impl SpecError {
    /// The message for a file that [`bench`] wrote: each mistake with its flag.
    pub fn text_of_flags(&self) -> String {
        self.text_without_lines(flag_at)
    }
}

/// The flag whose value is at this byte of a text of [`bench`]. None for what no single flag says.
fn flag_at(source: &str, at: usize) -> Option<String> {
    let start = source.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = source[start..].lines().next()?;
    let mut heads = source[..start].lines().filter(|line| line.starts_with('['));
    let head = heads.next_back().unwrap_or_default();
    let (key, _) = line.split_once('=').filter(|_| !line.starts_with('['))?;
    let key = key.trim();
    Some(match (head, key) {
        ("[settings]", _) => format!("--set {key}"),
        ("[workload.sql.load]", _) => format!("--load {key}"),
        ("[workload.sql.replace]", _) => format!("--replace {key}"),
        (_, "build") => "--server".to_string(),
        // They are in the name of the workload.
        (_, "title" | "operations") => return None,
        _ => format!("--{}", key.trim_end_matches("_file").replace('_', "-")),
    })
}

#[cfg(test)]
mod tests;
