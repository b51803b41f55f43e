import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createFleetLaunch, type FleetLaunchDeps } from "../../../src/services/fleet/fleet-launch.ts";
import { createFakeDirectory } from "../../support/fleet-fakes.ts";
import { createScratch } from "../../support/scratch.ts";

/** A definition, a brain manifest and a folder that fit; whatever would make an agent is not there. */
function setup() {
  const scratch = createScratch();
  mkdirSync(scratch.path("definition/roles/reviewer"), { recursive: true });
  mkdirSync(scratch.path("definition/roles/folder/system-prompt.md"), { recursive: true });
  writeFileSync(scratch.path("definition/roles/reviewer/system-prompt.md"), "You review.\n");
  writeFileSync(scratch.path("brain.yaml"), "schema_version: 3\ninputs:\n  tool: demo\n");
  symlinkSync(scratch.path("brain.yaml"), scratch.path("link.yaml"));
  writeFileSync(scratch.path("huge.yaml"), "#".repeat(1024 * 1024 + 1));
  Bun.spawnSync(["mkfifo", scratch.path("pipe.yaml")]);
  const launches = createFleetLaunch({
    directory: createFakeDirectory([]),
    tools: [],
    files: scratch.files,
    ids: { hex: () => "abcdef", uuid: () => "u" },
    apiBaseUrl: () => "http://127.0.0.1:9891",
    giveMailbox: async () => {},
  } as unknown as FleetLaunchDeps);
  const good = {
    tool: "demo",
    working_directory: scratch.folder,
    agent_def_dir: scratch.path("definition"),
    brain_manifest_path: scratch.path("brain.yaml"),
    role_name: "reviewer",
  };
  return { scratch, launches, good };
}

const tooLong = `/${"a".repeat(5000)}`;

describe("a headless launch is refused, before anything is made, for", () => {
  test.each([
    {
      id: "a brain manifest that is a folder",
      change: { brain_manifest_path: "" },
      field: "brain_manifest_path",
    },
    { id: "one that is a pipe", change: { brain_manifest_path: "pipe.yaml" }, field: "brain_manifest_path" },
    { id: "one that is huge", change: { brain_manifest_path: "huge.yaml" }, field: "brain_manifest_path" },
    { id: "a path with a NUL", change: { brain_manifest_path: "a\0b" }, field: "brain_manifest_path" },
    { id: "a folder with a NUL", change: { working_directory: "a\0b" }, field: "working_directory" },
    { id: "a path that is too long", change: { brain_manifest_path: tooLong }, field: "brain_manifest_path" },
    { id: "a folder whose path is too long", change: { agent_def_dir: tooLong }, field: "agent_def_dir" },
    { id: "a role whose name is too long", change: { role_name: "a".repeat(300) }, field: "role_name" },
    { id: "a role whose prompt is a folder", change: { role_name: "folder" }, field: "role_name" },
    {
      id: "a mailbox root that is relative to wherever the server runs",
      change: { mailbox: { filesystem_root: "mail" } },
      field: "mailbox.filesystem_root",
    },
  ])("$id", async ({ change, field }) => {
    const { scratch, launches, good } = setup();
    using _ = scratch;
    const paths = ["brain_manifest_path", "working_directory", "agent_def_dir"];
    const placed = Object.fromEntries(
      Object.entries(change).map(([key, value]) => [
        key,
        paths.includes(key) && value !== tooLong ? scratch.path(String(value)) : value,
      ]),
    );
    await expect(launches.launch({ ...good, ...placed })).rejects.toMatchObject({
      reason: "invalid_request",
      message: expect.stringMatching(new RegExp(`^${field}: `)),
    });
  });

  test("no fault of a brain manifest behind a symbolic link: the tool is what is looked at next", async () => {
    const { scratch, launches, good } = setup();
    using _ = scratch;
    await expect(
      launches.launch({ ...good, brain_manifest_path: scratch.path("link.yaml") }),
    ).rejects.toMatchObject({ message: expect.stringContaining('unknown tool "demo"') });
  });
});
