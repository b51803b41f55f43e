import { Value } from "@sinclair/typebox/value";
import { ServiceError } from "../../../system/errors.ts";
import { isLoopbackHost } from "../../../system/network.ts";
import { JmapSessionBody } from "./wire.ts";

/** What a server says of itself and of the account that a login has there. Source: RFC 8620 section 2. */
export interface JmapSession {
  apiUrl: string;
  /** With the account filled in. */
  uploadUrl: string;
  /** A template with `{types}`, `{closeafter}` and `{ping}`, or null where nothing is pushed. */
  eventSourceUrl: string | null;
  accountId: string;
  /** The account may send mail. */
  submits: boolean;
  /** Messages of the same time can be put in an order by their ids. */
  sortsById: boolean;
  /** Most messages in one call. */
  maxObjects: number;
  maxUploadBytes: number;
  state: string;
}

export const capability = {
  core: "urn:ietf:params:jmap:core",
  mail: "urn:ietf:params:jmap:mail",
  submission: "urn:ietf:params:jmap:submission",
} as const;

/** A server must allow at least so much (RFC 8620 2). */
const leastObjects = 500;
const leastUploadBytes = 50_000_000;

/**
 * Pure. `url`: where the answer came from, after redirects: relative addresses in it count from there. Throws
 * `transport_failed` for what is no session, has no mail account, or leads from TLS to where there is none.
 */
export function parseSession(body: unknown, url: string): JmapSession {
  if (!Value.Check(JmapSessionBody, body)) throw failed(`${url} does not answer as a JMAP server does`);
  const { primaryAccounts, accounts, capabilities } = body;
  const accountId = primaryAccounts[capability.mail];
  const account = accountId === undefined ? undefined : accounts[accountId];
  if (accountId === undefined || !account) throw failed("the login has no mail account on the JMAP server");
  const resolved = (template: string) => resolveUrl(template, url);
  const core = capabilities[capability.core];
  return {
    apiUrl: resolved(body.apiUrl),
    uploadUrl: resolved(body.uploadUrl).replaceAll("{accountId}", encodeURIComponent(accountId)),
    eventSourceUrl: body.eventSourceUrl ? resolved(body.eventSourceUrl) : null,
    accountId,
    submits: capability.submission in account.accountCapabilities,
    sortsById: sortOptions(account.accountCapabilities[capability.mail]).includes("id"),
    maxObjects: Math.min(
      numberAt(core, "maxObjectsInGet") ?? leastObjects,
      numberAt(core, "maxObjectsInSet") ?? leastObjects,
    ),
    maxUploadBytes: numberAt(core, "maxSizeUpload") ?? leastUploadBytes,
    state: body.state,
  };
}

/**
 * Where mail and password may go: over TLS, or to this machine itself. Throws `invalid_request`. Pure.
 */
export function parseJmapUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.username !== "" || url.password !== "" || !["http:", "https:"].includes(url.protocol)) {
    throw new ServiceError("invalid_request", "the JMAP URL is not an http or https address without a login");
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    throw new ServiceError(
      "invalid_request",
      "the JMAP URL must begin with https: a password goes there (http is for this machine only)",
    );
  }
  return url.href;
}

/** A template's braces are left as they are: they occur in the path and the query only. */
function resolveUrl(template: string, base: string): string {
  const marked = template.replaceAll("{", "__OPEN__").replaceAll("}", "__CLOSE__");
  if (!URL.canParse(marked, base)) throw failed("the JMAP server names an address that is none");
  const url = new URL(marked, base);
  if (
    url.protocol !== "https:" &&
    !(url.protocol === "http:" && isLoopbackHost(url.hostname) && isLoopbackHost(new URL(base).hostname))
  ) {
    throw failed(`the JMAP server leads to ${url.origin}, where no TLS is`);
  }
  return url.href.replaceAll("__OPEN__", "{").replaceAll("__CLOSE__", "}");
}

function sortOptions(mail: unknown): unknown[] {
  const found = (mail as Record<string, unknown> | null | undefined)?.["emailsListSortOptions"];
  return Array.isArray(found) ? found : [];
}

function numberAt(value: unknown, key: string): number | null {
  const found = (value as Record<string, unknown> | null | undefined)?.[key];
  return typeof found === "number" && found > 0 ? found : null;
}

function failed(message: string): ServiceError {
  return new ServiceError("transport_failed", message);
}
