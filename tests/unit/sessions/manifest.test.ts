import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { Manifest } from "../../../src/protocol/files.ts";
import { parseManifest } from "../../../src/services/sessions/manifest.ts";
import { sampleManifest } from "../../support/session-samples.ts";

describe("a manifest we build", () => {
  test("fits the schema of version 4", () => {
    expect([...Value.Errors(Manifest, sampleManifest())]).toEqual([]);
  });

  test("is read back as it was", () => {
    const manifest = sampleManifest();
    expect(parseManifest(JSON.stringify(manifest), "m.json")).toEqual(manifest);
  });

  test("names variables, never their values", () => {
    const manifest = sampleManifest({ envVarNames: ["B_KEY", "A_KEY"] });
    expect(manifest.launch_plan.env_var_names).toEqual(["A_KEY", "B_KEY"]);
    expect(manifest.agent_launch_authority.launch_env).toEqual([
      { mode: "inherit", name: "A_KEY" },
      { mode: "inherit", name: "B_KEY" },
    ]);
  });

  test("says when flags were added that skip permissions", () => {
    expect(sampleManifest({ unattendedArgs: ["--yolo"] }).launch_policy_provenance).toEqual({
      operator_prompt_mode: "unattended",
      unattended_args: ["--yolo"],
    });
    expect(sampleManifest().launch_policy_provenance).toEqual({
      operator_prompt_mode: "as_is",
      unattended_args: [],
    });
  });

  test("names a tmux server only when it is not the person's own", () => {
    const tmux = { sessionName: "S", windowName: "agent", windowId: "@0", paneId: "%0" };
    expect(sampleManifest({ tmux: { ...tmux, socket: null } }).tmux).not.toHaveProperty("socket");
    expect(sampleManifest({ tmux: { ...tmux, socket: "/tmp/s" } }).tmux.socket).toBe("/tmp/s");
  });

  test("keeps no live host or port", () => {
    expect(JSON.stringify(sampleManifest())).not.toMatch(/gateway_(host|port)|"port"|"host"/);
  });
});

describe("an unusable manifest is refused with the problem", () => {
  test.each([
    { id: "not JSON", text: "{", want: "not valid JSON" },
    { id: "an older version", text: '{"schema_version":3}', want: "schema_version 3 is not supported" },
    { id: "a newer version", text: '{"schema_version":5}', want: "schema_version 5 is not supported" },
    { id: "no version", text: "{}", want: "schema_version missing" },
    { id: "no object", text: "null", want: "schema_version missing" },
    { id: "a version as text", text: '{"schema_version":"4"}', want: 'schema_version "4"' },
    { id: "a missing field, by its place", text: '{"schema_version":4}', want: "/backend" },
  ])("$id", ({ text, want }) => {
    expect(() => parseManifest(text, "/s/manifest.json")).toThrow(want);
    expect(() => parseManifest(text, "/s/manifest.json")).toThrow("/s/manifest.json");
  });

  test("unknown keys are no reason: a later version of us wrote them", () => {
    const text = JSON.stringify({ ...sampleManifest(), later: { x: 1 } });
    expect(parseManifest(text, "m")).toHaveProperty("later");
  });
});
