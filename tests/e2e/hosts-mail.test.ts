import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { type Bus, type JoinedHost, joinHost, startBus } from "../support/bus.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { type CoordServer, startCoordinator } from "../support/coord-server.ts";
import { until } from "../support/until.ts";

/** Mail between agents of two hosts that share nothing but a NATS server. */

interface Host {
  name: string;
  fixture: CliFixture;
  joined: JoinedHost;
}

let bus: Bus;
let hosts: Record<"one" | "two", Host>;
let server: CoordServer;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  const operator = stack.use(createCliFixture());
  bus = stack.use(await startBus(join(operator.folder, "bus"), ["build-1", "build-2"]));
  server = stack.use(
    await startCoordinator(operator, { flags: ["--nats", bus.url, "--creds", bus.operatorKey] }),
  );
  const host = async (name: string, agent: string): Promise<Host> => {
    const fixture = stack.use(createCliFixture());
    const words = ["agents", "launch", "--tool", "demo", "--agent-name", agent, "--mailbox"];
    expect((await fixture.mgr(...words, "--mailbox-root", join(fixture.folder, "mail"))).exitCode).toBe(0);
    return { name, fixture, joined: stack.use(await joinHost(fixture, bus, name)) };
  };
  hosts = { one: await host("build-1", "ann"), two: await host("build-2", "bob") };
}, 120_000);
afterAll(() => stack.disposeAsync());

type Json = Record<string, unknown>;
const of = (agent: string) => ["agents", "single", "--agent-name", agent, "mail"];

async function mail(host: Host, agent: string, ...words: string[]): Promise<Json> {
  const run = await host.fixture.mgr(...of(agent), ...words, "--json");
  if (run.exitCode !== 0) throw new Error(run.stderr);
  return run.json() as Json;
}

const send = (host: Host, agent: string, to: string, subject: string) =>
  mail(host, agent, "send", "--to", to, "--subject", subject, "--body-content", `text of ${subject}`);

async function subjects(host: Host, agent: string): Promise<string[]> {
  const { messages } = await mail(host, agent, "list");
  return (messages as { subject: string }[]).map(({ subject }) => subject).reverse();
}

test("a message and its answer cross, with their thread", async () => {
  const { one, two } = hosts;
  await until("ann to know of the fleet", async () => {
    const run = await one.fixture.mgr(...of("ann"), "send", "--to", "bob@build-2", ...plain("Which branch?"));
    return run.exitCode === 0;
  });
  await until("the message to arrive", async () => (await subjects(two, "bob")).includes("Which branch?"));
  const [asked] = (await mail(two, "bob", "list"))["messages"] as Json[];
  expect(asked).toMatchObject({
    sender: { address: "ann@build-1", principal_id: "ann@build-1" },
    to: [{ address: "bob@svc.localhost" }],
    attestation: "verified",
  });
  const answer = ["--message-ref", String(asked?.["message_ref"]), "--body-content", "The **main** one"];
  await mail(two, "bob", "reply", ...answer);
  await until("the answer to arrive", async () => (await subjects(one, "ann")).includes("Re: Which branch?"));
  const [answered] = (await mail(one, "ann", "list", "--include-body"))["messages"] as Json[];
  expect(answered).toMatchObject({
    body_text: "The **main** one",
    hops: 1,
    thread_ref: asked?.["thread_ref"],
    sender: { address: "bob@build-2" },
    to: [{ address: "ann@svc.localhost" }],
    attestation: "verified",
  });
  const root = ["--mailbox-root", join(two.fixture.folder, "mail")];
  const { keys } = (await two.fixture.mgr("mailbox", "keys", "list", ...root, "--json")).json();
  expect(keys).toContainEqual(expect.objectContaining({ address: "ann@build-1", registration_id: null }));
  // The next message brings a key again.
  const forget = () => two.fixture.mgr("mailbox", "keys", "forget", "--address", "ann@build-1", ...root);
  expect((await forget()).stdout).toBe("forgot the key of ann@build-1\n");
  const again = await forget();
  expect([again.exitCode, again.stderr]).toEqual([
    1,
    expect.stringContaining("mailbox keys list names them"),
  ]);
  await send(one, "ann", "bob@build-2", "With its key");
  await until("the key", async () => (await subjects(two, "bob")).includes("With its key"));
  expect(((await mail(two, "bob", "list"))["messages"] as Json[])[0]).toMatchObject({
    attestation: "verified",
  });
}, 120_000);

const plain = (subject: string) => ["--subject", subject, "--body-content", "text"];

test("what cannot be delivered comes back as a note; what does not travel is refused", async () => {
  const { one } = hosts;
  await send(one, "ann", "nobody@build-2", "To nobody");
  await until("the note", async () => (await subjects(one, "ann")).includes("Not delivered: To nobody"));
  const [note] = (await mail(one, "ann", "list", "--include-body"))["messages"] as Json[];
  expect(note?.["body_text"]).toContain(
    'nobody@build-2: the host build-2 says: "no mailbox of build-2 has the name nobody"',
  );
  const file = join(one.fixture.workdir, "plan.md");
  await Bun.write(file, "plan");
  const words = [...of("ann"), "send", "--to", "bob@build-2", ...plain("With a file")];
  const refused = await one.fixture.mgr(...words, "--attach", file);
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining("attachments stay on this host"),
  ]);
}, 120_000);

test("each message arrives once and in order, whatever is killed meanwhile", async () => {
  const { one, two } = hosts;
  const sent = Array.from({ length: 24 }, (_, number) => `number ${number}`);
  for (const [number, subject] of sent.entries()) {
    await send(one, "ann", "bob@build-2", subject);
    if (number === 5) await restart(two);
    if (number === 11) await bus.restart();
    if (number === 17) await restart(one);
  }
  const arrived = async () => (await subjects(two, "bob")).filter((subject) => subject.startsWith("number "));
  await until("all of them", async () => (await arrived()).length >= sent.length, 60_000);
  expect(await arrived()).toEqual(sent);
  // Nothing waits for a confirmation any more, so nothing is sent again.
  const index = new Database(join(one.fixture.folder, "mail", "index.sqlite"), { readonly: true });
  const waiting = () => index.query("SELECT message_id FROM host_outbox").all();
  await until("every confirmation", () => waiting().length === 0, 60_000);
  index.close();
  expect(await arrived()).toEqual(sent);
}, 180_000);

async function restart(host: Host): Promise<void> {
  host.joined.signal("SIGKILL");
  await host.joined.exited;
  host.joined = stack.use(await joinHost(host.fixture, bus, host.name));
}

test("a server that lost all it kept loses no message", async () => {
  const { one, two } = hosts;
  two.joined.signal("SIGKILL");
  await two.joined.exited;
  await send(one, "ann", "bob@build-2", "kept by its sender");
  await bus.lose();
  expect((await server.ask("/svc/agents")).status).toBe(200);
  two.joined = stack.use(await joinHost(two.fixture, bus, two.name));
  await until("it", async () => (await subjects(two, "bob")).includes("kept by its sender"), 60_000);
}, 120_000);

test("a scrape counts agents, hosts, operations and mail, for callers with the token only", async () => {
  const operator = stack.use(createCliFixture());
  const token = "a".repeat(32);
  const scraped = stack.use(
    await startCoordinator(operator, {
      flags: ["--nats", bus.url, "--creds", bus.operatorKey, "--host-name", "desk"],
      env: { SVC_COORD_TOKEN: token },
    }),
  );
  expect((await scraped.request("/metrics")).status).toBe(401);
  // As Prometheus reads it from its credentials_file.
  const credentials = await Bun.file(join(scraped.ready["server_root"] ?? "", "run", "token")).text();
  const headers = { authorization: `Bearer ${credentials.trim()}` };
  const samples = async () => toSamples(await (await scraped.request("/metrics", { headers })).text());
  const up = (host: string) => `svc_host_up{host="${host}",via="nats"}`;
  await until("both hosts", async () => {
    const now = await samples();
    return [up("build-1"), up("build-2")].every((name) => now.get(name) === 1);
  });
  await scraped.request("/svc/agents/bob@build-2/state", { headers });
  const secret = "a subject that no scrape shows";
  await send(hosts.one, "ann", "bob@build-2", secret);
  await send(hosts.one, "ann", "nobody@build-2", secret);
  const ofMail = (name: string) => `svc_host_mail_${name}{host="build-2",via="nats"}`;
  await until("the mail to be counted", async () => {
    const now = await samples();
    return (now.get(ofMail("delivered_total")) ?? 0) >= 1 && (now.get(ofMail("refused_total")) ?? 0) >= 1;
  });
  const reply = await scraped.request("/metrics", { headers });
  expect(reply.headers.get("content-type")).toContain("version=0.0.4");
  const text = await reply.text();
  const now = toSamples(text);
  expect(now.get('svc_host_operation_seconds_count{result="ok"}')).toBe(1);
  expect(now.get('svc_agents{host="build-2",state="active",liveness="alive"}')).toBe(1);
  expect(now.get('svc_carrier_connected{via="nats",host=""}')).toBe(1);
  expect(now.get('svc_host_heartbeat_age_seconds{host="build-1",via="nats"}')).toBeLessThan(10);
  for (const hidden of [secret, token, operator.folder, hosts.one.fixture.folder, "bob"]) {
    expect(text).not.toContain(hidden);
  }
}, 120_000);

/** The value of each series. */
function toSamples(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(" ")),
      Number(line.slice(line.lastIndexOf(" ") + 1)),
    ]),
  );
}
