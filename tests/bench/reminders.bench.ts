import { type Bench, durationRows, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";
import { createBenchFixture, type ServedGateway } from "./fixture.ts";

/** All that a gateway holds but one, which comes and goes. */
const count = effort(4_999, 499);
const definition = { mode: "one_off", title: "look", prompt: "Look at the tests.", ranking: 5 };

/** A change of one among 5,000 reminders, over HTTP; of a durable one, on disk when it is answered. */
const bench: Bench = {
  name: "reminders",
  async run() {
    await using fixture = await createBenchFixture();
    const gateway = await (await fixture.launch("reminded")).serve();
    await gateway.whenReady();
    const ids = await fill(gateway);
    let turn = 0;
    const next = () => ids[(turn++ * 7) % ids.length] ?? "";
    const body = (durable: boolean) => ({ ...definition, start_after_seconds: 90_000, durable });
    const durations = await takeTurns(
      [
        { name: "nothing", run: () => call(gateway, "GET", "/health") },
        { name: "change", run: () => call(gateway, "PUT", `/v1/reminders/${next()}`, body(false)) },
        { name: "change_durable", run: () => call(gateway, "PUT", `/v1/reminders/${next()}`, body(true)) },
        { name: "create_and_delete", run: () => createAndDelete(gateway, body(false)) },
        { name: "list", run: () => call(gateway, "GET", "/v1/reminders") },
      ],
      { rounds: effort(100, 5), warmUp: 5 },
    );
    return [
      { metric: "reminders", value: ids.length, unit: "" },
      ...["change", "change_durable", "create_and_delete", "list"].flatMap((name) =>
        durationRows(name, durations[name] ?? [], durations["nothing"]),
      ),
    ];
  },
};

export default bench;

async function fill(gateway: ServedGateway): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const reminders = Array.from({ length: Math.min(100, count - ids.length) }, () => ({
      ...definition,
      start_after_seconds: 80_000,
    }));
    const made = await call(gateway, "POST", "/v1/reminders", { schema_version: 1, reminders });
    ids.push(...made.reminders.map(({ reminder_id }) => reminder_id));
  }
  return ids;
}

async function createAndDelete(gateway: ServedGateway, reminder: object): Promise<void> {
  const made = await call(gateway, "POST", "/v1/reminders", { schema_version: 1, reminders: [reminder] });
  await call(gateway, "DELETE", `/v1/reminders/${made.reminders[0]?.reminder_id}`);
}

async function call(gateway: ServedGateway, method: string, path: string, body?: object) {
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method,
    proxy: false,
    ...(body ? { headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {}),
  } as RequestInit);
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as { reminders: { reminder_id: string }[] };
}
