import type { DeliveryBody, NtfyTarget, WebhookTarget } from "../../../protocol/delivery.ts";
import type { Clock } from "../../../system/clock.ts";
import { hmacSha256Base64 } from "../../../system/digest.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Network } from "../../../system/network.ts";
import { isLoopbackHost } from "../../../system/network.ts";
import { visibleLine } from "../../../system/visible.ts";
import { defaultTimeoutSeconds, type SendResult, toLine } from "./message.ts";
import { topicOf } from "./rules.ts";

/** More of an answer is not read. */
const maxAnswerBytes = 16 * 1024;
/** The service reads the whole document of a message. */
const maxNtfyChars = 3500;

interface HttpDeps {
  clock: Clock;
  network: Pick<Network, "fetch">;
}

/**
 * POST of the delivery, signed by the convention Standard Webhooks: https://www.standardwebhooks.com. Never
 * throws.
 */
export function sendWebhook(
  deps: HttpDeps,
  { url, timeout_seconds }: Pick<WebhookTarget, "url" | "timeout_seconds">,
  secret: string,
  body: DeliveryBody,
): Promise<SendResult> {
  const id = body.data.delivery_id;
  const text = JSON.stringify(body);
  const timestamp = Math.floor(deps.clock.nowMs() / 1000);
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${hmacSha256Base64(webhookKey(secret), `${id}.${timestamp}.${text}`)}`,
  };
  return post(deps, { url, headers, body: text, timeoutSeconds: timeout_seconds });
}

/** The bytes of a secret: base64 after `whsec_`. Throws `precondition_failed`, without the secret. Pure. */
function webhookKey(secret: string): Uint8Array {
  const encoded = secret.startsWith("whsec_") ? secret.slice("whsec_".length) : secret;
  const key = Buffer.from(encoded, "base64");
  const plain = (text: string) => text.replace(/=+$/, "");
  if (plain(key.toString("base64")) === plain(encoded) && key.length >= 24 && key.length <= 64) return key;
  throw new ServiceError(
    "precondition_failed",
    "the webhook's secret file must hold base64 of 24 to 64 bytes, with or without `whsec_` before it; make one with: echo whsec_$(openssl rand -base64 32)",
  );
}

/** As a JSON document: no text of agents becomes a header. Never throws. */
export function sendNtfy(
  deps: HttpDeps,
  { url, title, priority, tags, timeout_seconds }: NtfyTarget,
  token: string | null,
  body: DeliveryBody,
): Promise<SendResult> {
  const { server, topic } = topicOf(url) ?? { server: url, topic: "" };
  const lines = body.data.items.map((item) => toLine(item));
  const [first = ""] = lines;
  const message = {
    topic,
    title:
      title ??
      (lines.length === 1 ? visibleLine(first).slice(0, 200) : `${lines.length} things wait for you`),
    message: lines.join("\n").slice(0, maxNtfyChars),
    ...(priority === undefined ? {} : { priority }),
    ...(tags === undefined ? {} : { tags }),
  };
  const headers = {
    "content-type": "application/json",
    "webhook-id": body.data.delivery_id,
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
  return post(deps, { url: server, headers, body: JSON.stringify(message), timeoutSeconds: timeout_seconds });
}

async function post(
  { clock, network }: HttpDeps,
  given: {
    url: string;
    headers: Record<string, string>;
    body: string;
    timeoutSeconds: number | undefined;
  },
): Promise<SendResult> {
  const seconds = given.timeoutSeconds ?? defaultTimeoutSeconds;
  const abort = new AbortController();
  const cancel = clock.after(seconds * 1000, () => abort.abort());
  try {
    const direct = isLoopbackHost(new URL(given.url).hostname) ? { proxy: false } : {};
    const response = await network.fetch(given.url, {
      method: "POST",
      headers: given.headers,
      body: given.body,
      redirect: "manual",
      signal: abort.signal,
      ...direct,
    } as RequestInit);
    // A redirect would take the signed text, and a token, to an address that nobody configured.
    const answer = await readAnswer(response);
    return judge(response, answer);
  } catch (error) {
    const late = abort.signal.aborted;
    // The words of the error may hold the address, which can be a secret.
    const code = String((error as { code?: unknown }).code ?? "no reason known").slice(0, 60);
    const why = late ? `no answer within ${seconds} s` : `no connection (${code})`;
    return { ok: false, error: why, askedMs: null, forGood: false, answer: "" };
  } finally {
    cancel();
    abort.abort();
  }
}

const redirects = "3";
const gone = "410";

/** By the first digit of the status, which is the protocol's own. Pure. */
function judge(response: Response, answer: string): SendResult {
  const status = String(response.status);
  if (response.ok) return { ok: true, detail: `status ${status}`, answer };
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const refused = { ok: false, askedMs: null, forGood: status === gone, answer } as const;
  if (status.startsWith(redirects)) {
    return { ...refused, error: `status ${status}: redirects are refused; give the final address` };
  }
  return {
    ...refused,
    error: `status ${status}`,
    askedMs: Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter * 1000 : null,
  };
}

/** The beginning of an answer; the rest of it is left. */
async function readAnswer(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const parts: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < maxAnswerBytes) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    bytes += value.byteLength;
  }
  if (bytes >= maxAnswerBytes) reader.cancel().catch(() => {});
  return new TextDecoder().decode(Buffer.concat(parts).subarray(0, maxAnswerBytes));
}
