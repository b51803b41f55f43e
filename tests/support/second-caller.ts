import type { SecondUser } from "./second-user.ts";

export interface Asked {
  status: number;
  body: string;
}

const ask = `
const [url, method, body, token] = process.argv.slice(2);
const headers = { ...(body ? { "content-type": "application/json" } : {}), ...(token ? { authorization: "Bearer " + token } : {}) };
const reply = await fetch(url, { method, headers, ...(body ? { body } : {}), proxy: false });
console.log(JSON.stringify({ status: reply.status, body: await reply.text() }));
`;

/** One HTTP request by the second user. */
export async function askAs(
  other: SecondUser,
  url: string,
  options: { method?: string; body?: object; token?: string } = {},
): Promise<Asked> {
  const { method = options.body ? "POST" : "GET", body, token = "" } = options;
  const words = [url, method, body === undefined ? "" : JSON.stringify(body), token];
  const run = await other.run(other.script(ask, ...words));
  if (run.exitCode !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout) as Asked;
}

const line = `
const { connect } = require("node:net");
const [host, port, localPort, text, ending] = process.argv.slice(2);
const socket = connect({ host, port: Number(port), ...(localPort === "0" ? {} : { localPort: Number(localPort), localAddress: host }) });
let heard = "";
socket.on("data", (part) => { heard += part; if (ending === "answer") socket.end(); });
socket.on("error", (error) => { console.log("error " + error.code); process.exit(); });
socket.on("close", () => { console.log(JSON.stringify(heard)); process.exit(); });
socket.on("connect", () => socket.write(text, () => { if (ending === "leave") { socket.destroy(); } }));
`;

/**
 * The second user sends `text` over one connection, from `localPort` (0: any). `answer`: it waits for the
 * first part of the answer, which is returned. `leave`: it closes as soon as the text is written.
 */
export async function sendAs(
  other: SecondUser,
  to: { host: string; port: number; localPort?: number },
  text: string,
  ending: "answer" | "leave",
): Promise<string> {
  const words = [to.host, String(to.port), String(to.localPort ?? 0), text, ending];
  const run = await other.run(other.script(line, ...words));
  if (run.exitCode !== 0) throw new Error(run.stderr);
  return run.stdout.trim();
}
