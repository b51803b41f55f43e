import { describe, expect, test } from "bun:test";
import { parseBrainManifest } from "../../../src/services/fleet/fleet-launch.ts";

const whole = `
schema_version: 3
inputs: {tool: codex, role_prompt_text: "Review."}
launch_policy: {operator_prompt_mode: unattended}
runtime:
  launch_home_selector: {env_var: CODEX_HOME, value: /homes/one}
  launch_contract: {adapter_defaults: {args: ["--flag"], tool_params: {}}}
credentials: {}
`;

describe("a brain manifest", () => {
  test.each([
    {
      id: "in YAML, whole",
      text: whole,
      want: { tool: "codex", rolePrompt: "Review.", unattended: true, home: "/homes/one", args: ["--flag"] },
    },
    {
      id: "in JSON, the least: nothing skips a permission unless it is said",
      text: '{"schema_version": 3, "inputs": {"tool": "demo"}}',
      want: { tool: "demo", rolePrompt: null, unattended: false, home: null, args: [] },
    },
  ])("$id", ({ text, want }) => {
    expect<object>(parseBrainManifest(text)).toEqual(want);
  });

  test.each([
    {
      id: "another schema",
      text: '{"schema_version": 2, "inputs": {"tool": "demo"}}',
      at: "/schema_version",
    },
    { id: "no tool", text: '{"schema_version": 3, "inputs": {}}', at: "/inputs/tool" },
    { id: "no object", text: "[]", at: "/" },
    { id: "no YAML", text: "a: [", at: "brain_manifest_path" },
  ])("$id is refused with the place", ({ text, at }) => {
    expect(() => parseBrainManifest(text)).toThrow(at);
  });
});
