import { openRawQueue } from "./raw-queue.ts";

// Bun.serve with nothing of ours: POST /v1/requests stores one row in one transaction.
// `raw-server.ts PORT FILE`.

const [port = "0", path = ":memory:"] = process.argv.slice(2);
const queue = openRawQueue(path);
let count = 0;

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  routes: {
    "/v1/requests": {
      async POST(request) {
        const { payload } = (await request.json()) as { payload: { prompt: string } };
        const request_id = `raw-${process.pid}-${count++}`;
        queue.insert(request_id, payload.prompt);
        return Response.json({ request_id, state: "accepted" }, { status: 202 });
      },
    },
  },
});
process.send?.("ready");
