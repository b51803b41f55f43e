/** A process for client tests, since proxy variables are read when a process starts: asks for health once. */
import { createGatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { createClock } from "../../src/system/clock.ts";

const [baseUrl = "", respect] = process.argv.slice(2);
const client = createGatewayClient({
  clock: createClock(),
  baseUrl,
  token: null,
  respectProxyEnvironment: respect === "true",
});
console.log(JSON.stringify(await client.call("health", {})));
