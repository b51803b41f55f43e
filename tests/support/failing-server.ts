import { createClock } from "../../src/system/clock.ts";
import { listen } from "../../src/system/http-server.ts";

// Serves with a handler that fails, calls itself and says what came: such a failure ends a test that has it
// in its process.
const handler = () => Promise.reject(new Error("a secret"));
const server = listen({ fetch: handler, host: "127.0.0.1", port: 0, clock: createClock() });
const reply = await fetch(`http://127.0.0.1:${server.port}/`);
console.log(JSON.stringify({ status: reply.status, told: await reply.text() }));
await server.stop(0);
