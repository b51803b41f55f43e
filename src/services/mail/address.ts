import { hostNamePattern } from "../../protocol/wire.ts";
import { sha256 } from "../../system/digest.ts";
import { ServiceError } from "../../system/errors.ts";

/** Mailbox addresses. Case counts. Source: contract 2.5; spec/mailbox-agui.md A2, E 4. Pure. */

const mailDomain = "svc.localhost";

/** The mailbox from which notes of the operator come; every root has it. */
export const operator = {
  address: `SVC-operator@${mailDomain}`,
  principalId: "SVC-operator",
  role: "system_operator",
} as const;

/** A mailbox that is registered with this role belongs to a person; so does the operator's. */
export const personRole = "person";

const reservedPrefix = "SVC-";
const local = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;
const domain = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/;
/** The name of a stashed mailbox: such an address would be taken for one. */
const stashed = /--[0-9a-f]{32}$/i;
/** A folder name, with room for the mark of a stashed mailbox. */
const maxLength = 200;

/** The address without the space around it. Throws `invalid_request` for what cannot name a mailbox. */
export function parseAddress(text: string): string {
  const address = text.trim();
  const at = address.indexOf("@");
  const valid =
    at > 0 &&
    address.length <= maxLength &&
    local.test(address.slice(0, at)) &&
    domain.test(address.slice(at + 1)) &&
    !address.includes("..") &&
    !stashed.test(address);
  if (!valid) throw new ServiceError("invalid_request", "not a mailbox address");
  return address;
}

/** Whether only the system may have this address. `address`: as `parseAddress` gives it. */
export function isReserved(address: string): boolean {
  return address.startsWith(reservedPrefix) && address.endsWith(`@${mailDomain}`);
}

const hostName = new RegExp(hostNamePattern);

/**
 * The parts of `name@host`, the address of a mailbox on another host of the fleet; null for any other
 * address. A host is one label, so that no domain of a mail server is taken for one. Pure.
 */
export function splitHostAddress(address: string): { name: string; host: string } | null {
  const [name = "", host = "", ...rest] = address.trim().split("@");
  if (rest.length > 0 || !local.test(name) || !hostName.test(host) || host === "localhost") return null;
  return { name, host };
}

/** The address of a local mailbox by its local part. Pure. */
export const localAddress = (name: string) => `${name}@${mailDomain}`;

/** An address of the host `host` as other hosts read it: that of a local mailbox is `name@host`. Pure. */
export function toFleetAddress(address: string, host: string): string {
  const name = localPart(address);
  return address === localAddress(name) ? `${name}@${host}` : address;
}

/**
 * Another id for a message whose own is that of a message from elsewhere: a host that got a message of a
 * third one may send its id to keep that one out.
 */
export function idBesideForeign(messageId: string, fromHost: string): string {
  return `${messageId.slice(0, -32)}${sha256(`${fromHost} ${messageId}`).slice(0, 32)}`;
}

/** The local part of an address. Pure. */
export const localPart = (address: string): string => address.split("@", 1)[0] ?? "";

/**
 * The mailbox of an agent without a chosen one. Throws `invalid_request` when the name has no usable
 * character.
 */
export function defaultMailbox(agentName: string): { address: string; principalId: string } {
  const name = agentName.startsWith(reservedPrefix) ? agentName.slice(reservedPrefix.length) : agentName;
  const word = name
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/-{2,}/g, "-")
    .replace(/^[-_]+|-+$/g, "");
  if (word === "") {
    throw new ServiceError(
      "invalid_request",
      `no mailbox address can be made of the name ${shown(agentName)}`,
    );
  }
  return { address: parseAddress(`${word}@${mailDomain}`), principalId: `${reservedPrefix}${word}` };
}

/** The mailbox of a person at an address. `name`: of the person. Pure. */
export function personMailbox(address: string, name = localPart(address)) {
  const principalId = `${reservedPrefix}${name}`;
  // A person may be called as the operator's mailbox is.
  const isTaken = principalId === operator.principalId;
  return { address, principalId: isTaken ? `${principalId}-person` : principalId, role: personRole };
}

/**
 * The address of the person who has this name in the system. Throws `invalid_request` when the name has no
 * usable character. Pure.
 */
export function personAddress(user: string): string {
  const isUsable = local.test(user) && !user.startsWith(reservedPrefix);
  return isUsable ? parseAddress(localAddress(user)) : defaultMailbox(user).address;
}

/** User input for a message: on one line, quoted, cut to 80 characters. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}

/**
 * The address that the caller probably wanted: the nearest in spelling, else the only one with the same local
 * part, or null when none is near. `typed` may lack the `@` and what follows. Pure.
 */
export function nearestAddress(typed: string, addresses: readonly string[]): string | null {
  const name = localPart(typed);
  const sameName = addresses.filter((address) => localPart(address) === name);
  if (!typed.includes("@") && sameName.length > 1) return null;
  const compared = typed.includes("@") ? (address: string) => address : localPart;
  const limit = name.length < 2 ? 0 : Math.max(1, Math.floor(name.length / 3));
  const near = addresses
    .map((address) => ({ address, edits: edits(typed.toLowerCase(), compared(address).toLowerCase()) }))
    .filter((one) => one.edits <= limit)
    .sort((left, right) => left.edits - right.edits || (left.address < right.address ? -1 : 1));
  return near[0]?.address ?? (sameName.length === 1 ? (sameName[0] ?? null) : null);
}

/** Characters to insert, delete or replace between `a` and `b`. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let line = 1; line <= a.length; line++) {
    const next = [line];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (a[line - 1] === b[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
