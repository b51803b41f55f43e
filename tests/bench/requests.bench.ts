import { Database } from "bun:sqlite";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { type Bench, durationRows, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";
import { ask, createBenchFixture } from "./fixture.ts";

const requests = effort(100_000, 5_000);
const failures = 20;

/** Lists of the requests of a gateway that has had 100,000: the oldest 20 failed, all others completed. */
const bench: Bench = {
  name: "requests",
  async run() {
    await using fixture = await createBenchFixture();
    const agent = await fixture.launch("worked");
    const first = await agent.serve();
    await first.whenReady();
    await first.stop();
    fill(sessionPaths(agent.sessionRoot).queue);
    const gateway = await agent.serve();
    const list = (query: string) => () => ask(`${gateway.baseUrl}/v1/requests?limit=50${query}`);
    const durations = await takeTurns(
      [
        { name: "nothing", run: () => ask(`${gateway.baseUrl}/health`) },
        { name: "newest_50", run: list("") },
        { name: "failed", run: list("&state=failed") },
        { name: "coalesced", run: list("&state=coalesced") },
      ],
      { rounds: effort(100, 5), warmUp: 5 },
    );
    return ["newest_50", "failed", "coalesced"].flatMap((name) =>
      durationRows(name, durations[name] ?? [], durations["nothing"]),
    );
  },
};

export default bench;

function fill(path: string): void {
  const queue = new Database(path);
  const insert = queue.prepare(
    `INSERT INTO gateway_requests (request_id, request_kind, lane, payload_json, state, accepted_at_utc, started_at_utc,
       finished_at_utc, managed_agent_instance_epoch)
     VALUES (?, 'submit_prompt', 'turn_boundary', '{"prompt":"Look at the failing test."}', ?, ?, ?, ?, 1)`,
  );
  const at = "2026-11-21T04:47:00+00:00";
  queue.transaction(() => {
    for (let n = 0; n < requests; n++)
      insert.run(`request-${n}`, n < failures ? "failed" : "completed", at, at, at);
  })();
  queue.close();
}
