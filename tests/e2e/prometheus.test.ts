import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { type CoordServer, startCoordinator } from "../support/coord-server.ts";
import { installPackages } from "../support/debian-packages.ts";
import { until } from "../support/until.ts";

/** The real Prometheus, as Debian has it, scrapes a gateway and the coordination server. */

const program = "/usr/bin/prometheus";
const examples = join(import.meta.dir, "../../examples");
const dashboard = JSON.parse(readFileSync(join(examples, "grafana-svc.json"), "utf8")) as {
  panels: { title: string; targets: { expr: string }[] }[];
};

interface Sample {
  metric: Record<string, string>;
  value: [number, string];
}

let fixture: CliFixture;
let coordinator: CoordServer;
let gateway: string;
let prometheus: { baseUrl: string; stop(): Promise<void> };

beforeAll(async () => {
  await installPackages({
    purpose: "Prometheus, which scrapes in the tests, is not installed",
    packages: ["prometheus"],
    isThere: () => existsSync(program),
  });
  fixture = createCliFixture();
  const name = ["--agent-name", "counted"];
  const launched = await fixture.mgr("agents", "launch", "--tool", "demo", ...name, "--json");
  expect(launched.exitCode).toBe(0);
  const single = ["agents", "single", ...name];
  gateway = `127.0.0.1:${(await fixture.mgr(...single, "gateway", "status", "--json")).json()["gateway_port"]}`;
  coordinator = await startCoordinator(fixture);
  prometheus = await startPrometheus(fixture, [gateway, new URL(coordinator.baseUrl).host]);
}, 240_000);

afterAll(async () => {
  await prometheus?.stop();
  await coordinator?.[Symbol.asyncDispose]();
  await fixture?.[Symbol.asyncDispose]();
});

async function startPrometheus(of: CliFixture, targets: string[]) {
  const config = join(of.workdir, "prometheus.yml");
  const scrape = { job_name: "svc", static_configs: [{ targets }] };
  // JSON is YAML too.
  await Bun.write(config, JSON.stringify({ global: { scrape_interval: "1s" }, scrape_configs: [scrape] }));
  const child = Bun.spawn(
    [
      program,
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(of.workdir, "series")}`,
      "--web.listen-address=127.0.0.1:0",
    ],
    { stdin: "ignore", stdout: "ignore", stderr: "pipe", env: { PATH: "/usr/bin:/bin" } },
  );
  let log = "";
  const listening = Promise.withResolvers<string>();
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const part of child.stderr) {
      log += decoder.decode(part, { stream: true });
      const address = /Listening on" address=(127\.0\.0\.1:\d+)/.exec(log)?.[1];
      if (address !== undefined) listening.resolve(address);
    }
    listening.reject(new Error(log));
  })();
  const baseUrl = `http://${await listening.promise}`;
  // It listens before it has opened its series.
  await until("Prometheus is ready", async () => {
    return (await fetch(`${baseUrl}/-/ready`, { proxy: false } as RequestInit)).ok;
  });
  return {
    baseUrl,
    async stop() {
      child.kill();
      await child.exited;
      await reading;
    },
  };
}

async function query(expression: string): Promise<Sample[]> {
  const url = `${prometheus.baseUrl}/api/v1/query?query=${encodeURIComponent(expression)}`;
  const answer = await (await fetch(url, { proxy: false } as RequestInit)).json();
  const { status, error, data } = answer as { status: string; error?: string; data: { result: Sample[] } };
  if (status !== "success") throw new Error(`${expression}: ${error}`);
  return data.result;
}

const numberOf = async (expression: string) => Number((await query(expression))[0]?.value[1] ?? Number.NaN);

test("both are up, and Prometheus refuses no line", async () => {
  await until("both targets are up", async () => (await numberOf('sum(up{job="svc"})')) === 2);
  expect(await query('up{job="svc"} == 0')).toEqual([]);
  expect(await numberOf('svc_agents{liveness="alive"}')).toBe(1);
}, 60_000);

test("a prompt is counted from its acceptance to its end", async () => {
  const prompt = ["agents", "single", "--agent-name", "counted", "prompt", "--prompt", "hello", "--wait"];
  expect((await fixture.mgr(...prompt)).exitCode).toBe(0);
  const kind = 'kind="submit_prompt"';
  await until("the prompt is counted", async () => {
    return (await numberOf(`svc_requests_total{${kind},result="completed"}`)) === 1;
  });
  expect(await numberOf(`svc_requests_total{${kind},result="accepted"}`)).toBe(1);
  expect(await numberOf(`svc_request_wait_seconds_count{${kind}}`)).toBe(1);
  expect(await numberOf("svc_prompt_delivery_seconds_count")).toBe(1);
  const delivered = await numberOf("svc_prompt_delivery_seconds_sum");
  expect(delivered).toBeGreaterThan(0);
  expect(await numberOf(`svc_request_run_seconds_sum{${kind}}`)).toBeGreaterThanOrEqual(delivered);
  expect(await numberOf("svc_queue_depth")).toBe(0);
}, 120_000);

test("each query of the Grafana dashboard is one, and asks for metrics that svc writes", async () => {
  const scraped = async (baseUrl: string) =>
    (await fetch(`${baseUrl}/metrics`, { proxy: false } as RequestInit)).text();
  const both = (await scraped(`http://${gateway}`)) + (await scraped(coordinator.baseUrl));
  const known = new Set(Array.from(both.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name));
  // Only while something waits, or with other hosts.
  const sometimes = ["svc_waiting", "svc_awaiting_decision"];
  for (const { title, targets } of dashboard.panels) {
    for (const { expr } of targets) {
      await query(expr.replaceAll("$__rate_interval", "1m"));
      const names = expr.match(/svc_[a-z_]+/g) ?? [];
      expect(names, title).not.toEqual([]);
      for (const name of names.map((one) => one.replace(/_bucket$/, ""))) {
        if (!sometimes.includes(name)) expect([...known], title).toContain(name);
      }
    }
  }
}, 60_000);

test("the example of a Prometheus configuration is one", async () => {
  const child = Bun.spawn(["/usr/bin/promtool", "check", "config", join(examples, "prometheus.yml")], {
    stdout: "pipe",
    stderr: "pipe",
    env: { PATH: "/usr/bin:/bin" },
  });
  const said = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  expect([await child.exited, said]).toEqual([0, expect.stringContaining("SUCCESS")]);
});
