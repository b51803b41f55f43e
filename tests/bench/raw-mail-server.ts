import { Database } from "bun:sqlite";

// Bun.serve with nothing of ours: POST /v1/mail/list answers the newest rows of an inbox.
// `raw-mail-server.ts FILE`. Tells its port.

const [path = ""] = process.argv.slice(2);
const state = new Database(path);
const list = state.query(
  "SELECT * FROM message_state WHERE box_name = 'inbox' ORDER BY created_at_utc DESC, message_id DESC LIMIT ?",
);
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  routes: {
    "/v1/mail/list": {
      async POST(request) {
        const { limit } = (await request.json()) as { limit: number };
        return Response.json(list.all(limit));
      },
    },
  },
});
process.send?.({ port: server.port });
