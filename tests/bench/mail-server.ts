import { defaultMailbox } from "../../src/services/mail/address.ts";
import { openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { createClock } from "../../src/system/clock.ts";
import { listen } from "../../src/system/http-server.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { mailRootDeps } from "../support/mail-root.ts";

// A gateway's app on a listener, with the mailbox `worker` of the root that is the argument:
// `mail-server.ts ROOT`. Tells its port, and its memory whenever it is asked for.

const [path = ""] = process.argv.slice(2);
const root = openMailRoot(mailRootDeps(), path);
const mailbox = root.openMailbox(defaultMailbox("worker"));
const bundle = createGatewayBundle({ opener: { open: () => mailbox }, start: false });
const server = listen({
  fetch: bundle.app.fetch,
  host: "127.0.0.1",
  port: 0,
  clock: createClock(),
});
process.on("message", () => {
  Bun.gc(true);
  process.send?.({ rssMb: process.memoryUsage().rss / 1024 / 1024 });
});
process.send?.({ port: server.port });
