import type { MailboxBinding, Manifest } from "../../protocol/files.ts";
import { type Remedy, remedyOf } from "../../protocol/remedy.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf, ServiceError, wrapRefusal } from "../../system/errors.ts";
import type { Mailbox } from "./mailbox.ts";

/** Opens mailboxes of one transport. Makes nothing that is not there. */
export interface MailboxOpener {
  /** Throws ServiceError when the binding's fields do not name a mailbox that can be opened. */
  open(binding: MailboxBinding): Mailbox;
  /**
   * Why the binding cannot be acted on now (its registration is not active, ...), or null. Asked at every
   * call. Throws when it is unknown, since the mailbox cannot be reached from here; `transport_failed` when
   * it is there and failed.
   */
  obstacle(binding: MailboxBinding): string | null;
  close(): void;
}

/** By the value of a binding's `transport`. */
export type MailboxOpeners = Readonly<Record<string, MailboxOpener>>;

/** `error`: why a session has no usable mailbox; `remedy`: what can be done, where it is known. */
export interface MailSupport {
  supported: boolean;
  error: string | null;
  remedy: Remedy | null;
}

export interface BoundMailbox {
  mailbox: Mailbox;
  bindingsVersion: string;
}

/**
 * The mailbox that a session's manifest names at this moment. The manifest is read at every call, so that an
 * agent registered late has mail at once; the open mailbox is kept as long as `bindings_version` stays.
 * Source: contract 4.1 mail rule 3; spec/mailbox-agui.md A9, A10.
 */
export type MailBinding = ReturnType<typeof createMailBinding>;

/** What is under way in a mailbox that was replaced by a new registration may still end there. */
const retireMs = 60_000;

export function createMailBinding(deps: {
  /** Asked at every call; see `bindingOf`. */
  readBinding: () => MailboxBinding;
  openers: MailboxOpeners;
  clock: Clock;
  /**
   * Calls back when `readBinding` may answer otherwise, so that a change of mailbox reaches the listeners at
   * once; without it they do at the next call. Returns the function that ends it.
   */
  watchBinding?: (listener: () => void) => () => void;
}) {
  const { openers, clock } = deps;
  const listeners = new Set<() => void>();
  const retired = new Map<Mailbox, () => void>();
  let kept: (BoundMailbox & { key: string; endArrival: () => void }) | null = null;

  function notify(): void {
    for (const listener of [...listeners]) listener();
  }

  function retire(): void {
    if (!kept) return;
    const { mailbox, endArrival } = kept;
    kept = null;
    endArrival();
    const cancel = clock.after(retireMs, () => {
      retired.delete(mailbox);
      mailbox.close();
    });
    retired.set(mailbox, cancel);
  }

  function open(opener: MailboxOpener, binding: MailboxBinding) {
    try {
      const mailbox = opener.open(binding);
      return { mailbox, endArrival: mailbox.onArrival(notify) };
    } catch (error) {
      if (isTransportFault(error)) throw error;
      throw asUnusable(error, (why) => `its mailbox ${binding.address} cannot be opened: ${why}`);
    }
  }

  function obstacleOf(opener: MailboxOpener, binding: MailboxBinding): string | null {
    try {
      return opener.obstacle(binding);
    } catch (error) {
      if (isTransportFault(error)) throw error;
      throw asUnusable(error, (why) => why, { out_of_reach: true });
    }
  }

  function bound(): BoundMailbox {
    const binding = deps.readBinding();
    const opener = Object.hasOwn(openers, binding.transport) ? openers[binding.transport] : undefined;
    if (!opener) throw unusable(`no mailbox of the transport "${binding.transport}" can be opened here`);
    const obstacle = obstacleOf(opener, binding);
    if (obstacle !== null) throw unusable(obstacle);
    const key = JSON.stringify(binding);
    if (kept?.key === key) return kept;
    const replaces = kept !== null;
    retire();
    kept = { key, ...open(opener, binding), bindingsVersion: binding.bindings_version };
    // Nothing was heard of the mail that lies in this one already.
    if (replaces) notify();
    return kept;
  }

  function supported(): MailSupport {
    try {
      bound();
      return { supported: true, error: null, remedy: null };
    } catch (error) {
      return { supported: false, error: messageOf(error), remedy: remedyOf(error) };
    }
  }

  const endWatch = deps.watchBinding?.(() => {
    if (listeners.size === 0) return;
    const first = kept === null;
    supported();
    if (first && kept) notify();
  });

  return {
    /**
     * Throws ServiceError `unsupported` for a session without a usable binding: no readable manifest, no
     * mailbox in its launch plan, a transport that is not known here, or a mailbox that cannot be acted on;
     * `transport_failed` when its carrier failed.
     */
    bound,
    /** The same, only the mailbox. */
    current: (): Mailbox => bound().mailbox,
    /** Whether `bound` would resolve, and if not why. Never throws. */
    supported,
    /**
     * Called after mail may have come to the bound mailbox, also because another one was bound; a hint. Returns
     * the function that ends it.
     */
    onArrival(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Closes its openers too. */
    close(): void {
      endWatch?.();
      retire();
      for (const [mailbox, cancel] of retired) {
        cancel();
        mailbox.close();
      }
      retired.clear();
      for (const opener of Object.values(openers)) opener.close();
    },
  };
}

/**
 * The binding in a manifest. Throws `unsupported` when it cannot be read or has none; says what to do then.
 */
export function bindingOf(readManifest: () => Manifest): MailboxBinding {
  let manifest: Manifest;
  try {
    manifest = readManifest();
  } catch (error) {
    throw asUnusable(error, (why) => `its manifest cannot be read: ${why}`);
  }
  const binding = manifest.launch_plan.mailbox;
  if (binding) return binding;
  const remedy: Remedy = { code: "register_mailbox", agent_name: manifest.agent_name };
  throw unusable("it has none", { remedy });
}

/**
 * Whether an error says that a mailbox is there and cannot be reached from here, so that somebody else may be
 * asked. Not one after which the thing may be done all the same. Pure.
 */
export function isOutOfReach(error: unknown): error is ServiceError {
  if (isTransportFault(error)) return (error as ServiceError).data?.["may_be_done"] !== true;
  return error instanceof ServiceError && error.data?.["out_of_reach"] === true;
}

/** The transport itself failed, whatever the binding says: reported as it is (502). */
function isTransportFault(error: unknown): boolean {
  return error instanceof ServiceError && error.reason === "transport_failed";
}

const unusableText = (why: string) => `this session has no usable mailbox: ${why}`;

function unusable(why: string, data: Record<string, unknown> = {}): ServiceError {
  return new ServiceError("unsupported", unusableText(why), { data });
}

function asUnusable(
  error: unknown,
  toText: (why: string) => string,
  data: Record<string, unknown> = {},
): ServiceError {
  return wrapRefusal(error, "unsupported", (why) => unusableText(toText(why)), data);
}
