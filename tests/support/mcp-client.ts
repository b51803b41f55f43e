import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { CliFixture } from "./cli-fixture.ts";

export type Answer = Record<string, unknown>;

/** A client of the official library beside a server of its own, as an agent's CLI starts one. */
export async function connect(command: readonly string[], env: Record<string, string>, cwd: string) {
  const [program = "", ...args] = command;
  const transport = new StdioClientTransport({ command: program, args, env, cwd, stderr: "pipe" });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const call = async (name: string, args: Answer = {}) => {
    const result = await client.callTool({ name, arguments: args });
    const [first] = result.content as { text: string }[];
    return { failed: result.isError === true, answer: JSON.parse(first?.text ?? "") as Answer };
  };
  const ask = async (name: string, args: Answer = {}) => {
    const { failed, answer } = await call(name, args);
    expect([name, failed, answer]).toEqual([name, false, answer]);
    return answer;
  };
  return { client, ask, call, pid: transport.pid ?? 0 };
}

/** Two agents with mailboxes, which no mail wakes. */
export async function launchTwo(fixture: CliFixture): Promise<void> {
  for (const name of ["lead", "worker"]) {
    const { stdout, stderr, exitCode } = await fixture.run("svc", ["new", name, "demo", "-m", "-w"]);
    expect({ name, stdout, stderr, exitCode }).toMatchObject({ stderr: "", exitCode: 0 });
    const notifier = ["agents", "single", "--agent-name", name, "gateway", "mail-notifier"];
    expect((await fixture.mgr(...notifier, "disable")).exitCode).toBe(0);
  }
}

interface Listed {
  agent_name: string;
  manifest_path: string;
  gateway_base_url: string;
}

export async function listed(fixture: CliFixture, name: string): Promise<Listed> {
  const { agents } = (await fixture.mgr("agents", "list", "--json")).json() as unknown as {
    agents: Listed[];
  };
  const found = agents.find(({ agent_name }) => agent_name === name);
  if (!found) throw new Error(`${name} is not listed`);
  return found;
}

/** The environment inside the session of an agent. */
export async function envOf(fixture: CliFixture, name: string): Promise<Record<string, string>> {
  return { ...fixture.env, SVC_MANIFEST_PATH: (await listed(fixture, name)).manifest_path };
}

export async function gatewayPid(fixture: CliFixture, name: string): Promise<number> {
  const path = join(
    dirname((await listed(fixture, name)).manifest_path),
    "gateway/run/current-instance.json",
  );
  return (JSON.parse(readFileSync(path, "utf8")) as { pid: number }).pid;
}
