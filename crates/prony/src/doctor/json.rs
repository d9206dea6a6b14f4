//! The findings for scripts: `prony doctor DIR --format json`.

use super::probes::{Probe, Unit};
use super::{Direct, Findings, Measured};
use host::machine;
use host::storage::Disk;
use record::Percentile::{Max, P50, P99};
use serde_json::{Value, json};

pub(crate) fn json(findings: &Findings) -> String {
    let (storage, mount) = (&findings.storage, &findings.storage.mount);
    let probes = findings.measured.iter();
    let (direct, resident_bytes) = match findings.direct {
        Direct::Works => ("works", Some(0)),
        Direct::Ignored { resident_bytes } => ("ignored", Some(resident_bytes)),
        Direct::Refused => ("refused", None),
        Direct::Unknown => ("unknown", None),
    };
    let atomic = findings.atomic_writes.map(|writes| {
        json!({ "unit_min_bytes": writes.unit_min_bytes, "unit_max_bytes": writes.unit_max_bytes })
    });
    let value = json!({
        "prony_version": machine::VERSION,
        "directory": findings.directory.display().to_string(),
        "elapsed_s": findings.elapsed.as_secs_f64(),
        "data_bytes": findings.data_bytes,
        "memory_bytes": findings.memory_bytes,
        "probes": probes.map(|(probe, measured)| of_probe(probe, measured)).collect::<Vec<_>>(),
        "file_system": {
            "kind": mount.kind,
            "source": mount.source,
            "options": mount.all_options(),
            "free_bytes": storage.free_bytes,
        },
        "disk": storage.disk.as_ref().map(of_disk),
        "direct": {
            "verdict": direct,
            "resident_bytes": resident_bytes,
            "alignment_bytes": findings.direct_alignment,
        },
        "flushes": { "verdict": findings.flushes.verdict.text(), "why": findings.flushes.why },
        "atomic_writes": atomic,
    });
    serde_json::to_string_pretty(&value).expect("a value is JSON")
}

fn of_probe(probe: &Probe, measured: &Measured) -> Value {
    let bytes = match probe.unit {
        Unit::Operations => None,
        Unit::Bandwidth(bytes) => Some(measured.operations_per_s() * bytes as f64),
    };
    json!({
        "name": probe.name,
        "clients": probe.clients,
        "operations": measured.operations,
        "operations_per_s": measured.operations_per_s(),
        "bytes_per_s": bytes,
        "latency_ms": { "p50": measured.ms(P50), "p99": measured.ms(P99), "max": measured.ms(Max) },
    })
}

fn of_disk(disk: &Disk) -> Value {
    json!({
        "name": disk.name,
        "model": disk.model,
        "kind": disk.kind.text(),
        "bytes": disk.bytes,
        "write_cache": disk.write_cache.map(|cache| cache.text()),
        "scheduler": disk.scheduler,
        "requests": disk.requests,
        "logical_block_bytes": disk.logical_block_bytes,
        "physical_block_bytes": disk.physical_block_bytes,
    })
}
