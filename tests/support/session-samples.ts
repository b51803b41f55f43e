import type { Manifest, RegistryRecord } from "../../src/protocol/files.ts";
import { buildManifest, type ManifestFacts } from "../../src/services/sessions/manifest.ts";
import { buildRecord } from "../../src/services/sessions/record.ts";

/** A session as `launch` would describe it; any fact may be replaced. */
export function sampleManifest(facts: Partial<ManifestFacts> = {}): Manifest {
  return buildManifest({
    createdAtUtc: "2026-11-21T04:47:00.000+00:00",
    tool: "demo",
    agentName: "worker",
    agentId: "id-worker",
    sessionId: "local_interactive-20261121-044700Z-0a1b2c3d",
    generationId: "generation-1",
    workdir: "/home/user/project",
    executable: "/bin/demo",
    args: ["--flag", "value"],
    home: null,
    envVarNames: [],
    unattendedArgs: null,
    tmux: { sessionName: "SVC-worker-1", windowName: "agent", windowId: "@0", paneId: "%0", socket: null },
    agent: { pid: 42, startToken: "1" },
    ...facts,
  });
}

export function sampleRecord(facts: Partial<ManifestFacts> = {}, nowMs = 1_000_000_000_000): RegistryRecord {
  return buildRecord({
    manifest: sampleManifest(facts),
    manifestPath: "/sessions/one/manifest.json",
    sessionRoot: "/sessions/one",
    nowMs,
  });
}
