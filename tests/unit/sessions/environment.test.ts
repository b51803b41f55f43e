import { describe, expect, test } from "bun:test";
import { environmentWithout, planEnvironment } from "../../../src/services/sessions/environment.ts";

const person = {
  PATH: "/bin",
  HOME: "/home/ann",
  ANTHROPIC_API_KEY: "theirs",
  SVC_GATEWAY_TOKEN: "secret",
  SVC_COORD_TOKEN: "secret",
  SVC_MANIFEST_PATH: "/parent/manifest.json",
  SVC_AGENT_ID: "parent",
  SVC_AGENT_GATEWAY_PORT: "1234",
  SVC_GLOBAL_REGISTRY_DIR: "/registry",
  SVC_TMUX_SOCKET: "fixture",
  TMUX: "/tmp/tmux,1,0",
  TMUX_PANE: "%3",
  TERM: "dumb",
  PWD: "/elsewhere",
  "BASH_FUNC_x%%": "() { :; }",
  UNSET: undefined,
};
const published = { SVC_MANIFEST_PATH: "/own/manifest.json", SVC_AGENT_ID: "own" };

test("the agent runs with the person's own configuration", () => {
  const env = planEnvironment({ person, extra: {}, published });
  expect(env).toMatchObject({ PATH: "/bin", HOME: "/home/ann", ANTHROPIC_API_KEY: "theirs" });
});

test("no token of ours reaches the agent, also when the tmux server holds one", () => {
  const env = planEnvironment({ person, extra: {}, published });
  expect(env["SVC_GATEWAY_TOKEN"]).toBe("");
  expect(env["SVC_COORD_TOKEN"]).toBe("");
  expect(Object.values(env)).not.toContain("secret");
});

test("an agent launched by an agent knows itself, not its parent", () => {
  const env = planEnvironment({ person, extra: {}, published });
  expect(env).toMatchObject(published);
  expect(env).not.toHaveProperty("SVC_AGENT_GATEWAY_PORT");
});

describe("variables that make Bun's executables run other code", () => {
  const chosen = { ...person, BUN_OPTIONS: "--preload /tmp/x.ts", BUN_BE_BUN: "1" };

  test("reach no agent, also when the tmux server holds them, unless they were asked for", () => {
    const env = planEnvironment({ person: chosen, extra: {}, published });
    expect(env).toMatchObject({ BUN_OPTIONS: "", BUN_BE_BUN: "" });
    const asked = planEnvironment({ person: chosen, extra: { BUN_OPTIONS: "--smol" }, published });
    expect(asked).toMatchObject({ BUN_OPTIONS: "--smol", BUN_BE_BUN: "" });
  });

  test("reach no gateway or server of ours", () => {
    expect(environmentWithout({ ...chosen, UNSET: undefined }, ["TMUX"])).toEqual(
      environmentWithout(person, ["TMUX"]),
    );
    expect(environmentWithout({ ...chosen, TMUX: "x" }, ["TMUX"])).not.toHaveProperty("TMUX");
  });
});

test("it finds the same registry and tmux server", () => {
  const env = planEnvironment({ person, extra: {}, published });
  expect(env).toMatchObject({ SVC_GLOBAL_REGISTRY_DIR: "/registry", SVC_TMUX_SOCKET: "fixture" });
});

test("what belongs to the pane or cannot be exported is left to the pane", () => {
  const env = planEnvironment({ person, extra: {}, published });
  for (const name of ["TMUX", "TMUX_PANE", "TERM", "PWD", "BASH_FUNC_x%%", "UNSET"])
    expect(env).not.toHaveProperty(name);
});

test("asked-for variables win over the person's, what we publish wins over all", () => {
  const extra = { ANTHROPIC_API_KEY: "asked", SVC_AGENT_ID: "forged" };
  expect(planEnvironment({ person, extra, published })).toMatchObject({
    ANTHROPIC_API_KEY: "asked",
    SVC_AGENT_ID: "own",
  });
});

test.each([
  { id: "added when there is none", list: {}, want: "127.0.0.1,localhost,::1" },
  {
    id: "added to the person's",
    list: { NO_PROXY: "corp.example" },
    want: "corp.example,127.0.0.1,localhost,::1",
  },
  {
    id: "taken from the lower-case form too",
    list: { no_proxy: "corp.example" },
    want: "corp.example,127.0.0.1,localhost,::1",
  },
  { id: "not added twice", list: { NO_PROXY: "localhost, 127.0.0.1" }, want: "localhost,127.0.0.1,::1" },
  { id: "needless where everything is exempt", list: { NO_PROXY: "*" }, want: "*" },
])("loopback past proxies: $id", ({ list, want }) => {
  const env = planEnvironment({ person: list, extra: {}, published: {} });
  expect(env["NO_PROXY"]).toBe(want);
  expect(env["no_proxy"]).toBe(want);
});
