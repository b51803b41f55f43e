import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { type CurrentInstance, GatewayManifest } from "../../../src/protocol/files.ts";
import { backendFacts } from "../../../src/services/agent/backends.ts";
import { wishedByCaller } from "../../../src/services/sessions/announcement.ts";
import { parseExecutionVariables, toExecutionVariables } from "../../../src/services/sessions/environment.ts";
import { toGatewayManifest } from "../../../src/services/sessions/session-folder.ts";

import { parseResume, type Resume, resumeArguments } from "../../../src/services/sessions/tool-arguments.ts";
import { sampleManifest } from "../../support/session-samples.ts";

describe("the execution mode of a gateway", () => {
  const window = {
    executionMode: "tmux_auxiliary_window",
    auxiliaryWindow: { windowId: "@3", windowIndex: "1", paneId: "%4" },
  } as const;

  test("comes through the environment unchanged", () => {
    expect(parseExecutionVariables(toExecutionVariables(window))).toEqual(window);
    const alone = { executionMode: "detached_process" } as const;
    expect(parseExecutionVariables(toExecutionVariables(alone))).toEqual(alone);
    expect(parseExecutionVariables({})).toEqual(alone);
  });

  test.each([
    { id: "window 0", change: { SVC_GATEWAY_TMUX_WINDOW_INDEX: "0" } },
    { id: "a missing handle", change: { SVC_GATEWAY_TMUX_PANE_ID: "" } },
    { id: "a handle of another kind", change: { SVC_GATEWAY_TMUX_WINDOW_ID: "%3" } },
    { id: "an unknown mode", change: { SVC_GATEWAY_EXECUTION_MODE: "container" } },
  ])("$id is refused", ({ change }) => {
    expect(() => parseExecutionVariables({ ...toExecutionVariables(window), ...change })).toThrow();
  });
});

describe("gateway_manifest.json", () => {
  const alone: CurrentInstance = {
    schema_version: 1,
    protocol_version: "v1",
    pid: 7,
    host: "127.0.0.1",
    port: 4100,
    execution_mode: "detached_process",
    managed_agent_instance_epoch: 1,
  };
  const window = { tmux_window_id: "@3", tmux_window_index: "1", tmux_pane_id: "%4" };
  const live = (instance: CurrentInstance | null) =>
    Object.keys(toGatewayManifest(sampleManifest(), "/s/manifest.json", instance)).filter((key) =>
      key.startsWith("gateway_"),
    );
  const five = ["pid", "host", "port", "protocol_version", "execution_mode"].map((key) => `gateway_${key}`);

  test("has the live fields all or none, and the handles with a window only", () => {
    expect(live(null)).toEqual([]);
    expect(live(alone)).toEqual(five);
    expect(live({ ...alone, ...window, execution_mode: "tmux_auxiliary_window" })).toEqual([
      ...five,
      "gateway_tmux_window_id",
      "gateway_tmux_window_index",
      "gateway_tmux_pane_id",
    ]);
    expect(
      Value.Check(
        GatewayManifest,
        toGatewayManifest(sampleManifest(), "/s/manifest.json", { ...alone, ...window }),
      ),
    ).toBe(true);
  });
});

describe("the listener a caller wishes for", () => {
  const asked = { SVC_AGENT_GATEWAY_HOST: "::1", SVC_AGENT_GATEWAY_PORT: "4100" };
  test.each([
    { id: "is what its environment says", env: asked, want: { host: "::1", port: "4100" } },
    { id: "is not an empty variable", env: { SVC_AGENT_GATEWAY_HOST: "" }, want: {} },
    {
      id: "is not the live binding of a session it stands in",
      env: { ...asked, SVC_GATEWAY_STATE_PATH: "/other/state.json" },
      want: {},
    },
    { id: "nor half of one", env: { ...asked, SVC_GATEWAY_PROTOCOL_VERSION: "v1" }, want: {} },
  ])("$id", ({ env, want }) => {
    expect(wishedByCaller(env)).toEqual(want);
  });
});

describe("resuming a conversation", () => {
  test.each<{ tool: string; resume: Resume; want: string[] }>([
    { tool: "claude", resume: { mode: "new" }, want: [] },
    { tool: "claude", resume: { mode: "tool_last_or_new" }, want: ["--continue"] },
    { tool: "claude", resume: { mode: "exact", id: "x" }, want: ["--resume", "x"] },
    { tool: "codex", resume: { mode: "tool_last_or_new" }, want: ["resume", "--last"] },
    { tool: "codex", resume: { mode: "exact", id: "x" }, want: ["resume", "x"] },
    { tool: "gemini", resume: { mode: "tool_last_or_new" }, want: ["--resume", "latest"] },
    { tool: "gemini", resume: { mode: "exact", id: "x" }, want: ["--resume", "x"] },
    { tool: "kimi", resume: { mode: "exact", id: "x" }, want: ["--session", "x"] },
    { tool: "opencode", resume: { mode: "tool_last_or_new" }, want: ["--continue"] },
    { tool: "opencode", resume: { mode: "exact", id: "x" }, want: ["--session", "x"] },
    { tool: "anything", resume: { mode: "new" }, want: [] },
  ])("$tool, $resume.mode", ({ tool, resume, want }) => {
    expect(resumeArguments(tool, resume)).toEqual(want);
  });

  test("is refused for a tool that is not known to do it", () => {
    expect(() => resumeArguments("demo", { mode: "tool_last_or_new" })).toThrow("not known to resume");
  });

  test.each(["-x", "a b", ""])("an id cannot be %j", (id) => {
    expect(() => parseResume("exact", id)).toThrow("needs the id");
  });
});

describe("a backend", () => {
  test.each([
    { backend: "local_interactive", served: true, directPrompt: true, exactKeys: true },
    { backend: "codex_app_server", served: false, directPrompt: false, exactKeys: false },
    { backend: "cao_rest", served: false, directPrompt: true, exactKeys: false },
    { backend: "svc_server_rest", served: false, directPrompt: true, exactKeys: false },
    { backend: "claude_headless", served: true, directPrompt: true, exactKeys: false },
    { backend: "toString", served: false, directPrompt: false, exactKeys: false },
  ])("$backend", ({ backend, served, directPrompt, exactKeys }) => {
    const facts = backendFacts(backend);
    expect(facts.refusal === null).toBe(served);
    expect(facts).toMatchObject({ directPrompt, exactKeys });
  });
});
