import type { MailboxBinding, Manifest } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { type Clock, toTimestamp } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { FoundAgent } from "../sessions/find.ts";
import type { ManifestStore } from "../sessions/manifest.ts";
import type { Registry } from "../sessions/registry.ts";
import { defaultMailbox, nearestAddress, parseAddress, personMailbox, shown } from "./address.ts";
import { bindingOf } from "./binding.ts";
import type {
  DeregisterResult,
  RegisterResult,
  Registration,
  Registrations,
} from "./filesystem/registration/registrations.ts";

export interface RegisterDeps {
  clock: Clock;
  manifests: ManifestStore;
  registry: Pick<Registry, "setMailbox">;
}

/** An open root of the filesystem transport. */
interface OpenRoot {
  readonly root: string;
  readonly registrations: Registrations;
}

export interface RegisterWish {
  address?: string | undefined;
  principalId?: string | undefined;
  mode: "safe" | "force" | "stash";
}

/** The agent's manifest as written, and what happened below the root. */
export interface Registered {
  manifest: Manifest;
  binding: MailboxBinding;
  shared: RegisterResult;
}

/**
 * Gives an agent a mailbox, also one that runs: registered below the root, then in the manifest, which a
 * running gateway reads at its next call, then in the registry. Throws as `Registrations.register`. Source:
 * contract 4.5; spec/mailbox-agui.md A2, A7, A10.
 */
export async function registerMailbox(
  deps: RegisterDeps,
  agent: Pick<FoundAgent, "manifest" | "manifestPath">,
  at: OpenRoot,
  wish: RegisterWish,
): Promise<Registered> {
  const { agent_name: name } = agent.manifest;
  const usual = defaultMailbox(name);
  const address = wish.address ?? usual.address;
  const principalId = wish.principalId ?? usual.principalId;
  const shared = at.registrations.register({
    address,
    principalId,
    mode: wish.mode,
    displayName: name,
    manifestPathHint: agent.manifestPath,
  });
  const active = at.registrations.active(address);
  if (!active) throw new ServiceError("conflict", `${address} was deregistered while it was being bound`);
  const binding = toBinding(at.root, active, newBindingsVersion(deps.clock));
  const manifest = await rebind(deps, agent, binding);
  return { manifest, binding, shared };
}

/**
 * Takes an agent's mailbox from it: `deactivate` keeps its mail for a later registration, `purge` does not.
 * Throws `unsupported` for an agent without one, else as `Registrations.deregister`.
 */
export async function unregisterMailbox(
  deps: RegisterDeps,
  agent: Pick<FoundAgent, "manifest" | "manifestPath">,
  openRoot: (root: string) => OpenRoot,
  mode: "deactivate" | "purge",
): Promise<{ manifest: Manifest; binding: MailboxBinding; shared: DeregisterResult | null }> {
  const binding = bindingOf(() => agent.manifest);
  if (binding.transport !== "filesystem" || binding.filesystem_root === undefined) {
    throw new ServiceError(
      "unsupported",
      `a mailbox of the transport "${binding.transport}" is not registered here`,
    );
  }
  const open = () => openRoot(binding.filesystem_root ?? "");
  const shared = deregister(binding, agent.manifestPath, open, mode);
  const manifest = await rebind(deps, agent, null);
  return { manifest, binding, shared };
}

/** The binding of a registered address, for who works in a mailbox without an agent. Throws `not_found`. */
export function bindingOfAddress(at: OpenRoot, address: string): MailboxBinding {
  const wanted = parseAddress(address);
  const active = at.registrations.active(wanted);
  if (active) return toBinding(at.root, active, active.created_at_utc);
  const known = at.registrations.list({ status: "active" }).map((one) => one.address);
  const near = nearestAddress(address, known);
  const { principalId } = personMailbox(wanted);
  const remedy: Remedy = { code: "register_address", address: wanted, principal_id: principalId };
  throw new ServiceError(
    "not_found",
    `no mailbox of ${at.root} has the address ${shown(address)}${near === null ? "" : `. Did you mean ${near}?`}`,
    { data: { remedy } },
  );
}

/** Pure. */
function toBinding(root: string, registration: Registration, bindingsVersion: string): MailboxBinding {
  return {
    transport: "filesystem",
    principal_id: registration.owner_principal_id,
    address: registration.address,
    bindings_version: bindingsVersion,
    filesystem_root: root,
    mailbox_kind: registration.mailbox_kind,
    mailbox_path: registration.mailbox_path,
  };
}

/**
 * Null where nothing is left to deregister; the agent must be rid of its mailbox all the same. A manifest can
 * be changed to name the mailbox of another: only one that was registered for this manifest is ended with it.
 */
function deregister(
  { address, principal_id: principal }: MailboxBinding,
  manifestPath: string,
  open: () => OpenRoot,
  mode: "deactivate" | "purge",
): DeregisterResult | null {
  try {
    const { registrations } = open();
    const active = registrations.active(address);
    const owned = active?.owner_principal_id === principal && active.manifest_path_hint === manifestPath;
    return owned ? registrations.deregister({ address, mode }) : null;
  } catch (error) {
    if (error instanceof ServiceError && error.reason === "precondition_failed") return null;
    throw error;
  }
}

/** Puts a binding, or none, into the manifest and then into the registry. */
export async function rebind(
  deps: RegisterDeps,
  { manifest: { agent_id: agentId }, manifestPath }: Pick<FoundAgent, "manifest" | "manifestPath">,
  binding: MailboxBinding | null,
): Promise<Manifest> {
  const written = await deps.manifests.update(manifestPath, (manifest) => withMailbox(manifest, binding));
  await deps.registry.setMailbox(agentId, written.registry_generation_id, binding);
  return written;
}

/** Pure. */
function withMailbox(manifest: Manifest, binding: MailboxBinding | null): Manifest {
  const { mailbox: _previous, ...plan } = manifest.launch_plan;
  return { ...manifest, launch_plan: binding ? { ...plan, mailbox: binding } : plan };
}

/** A timestamp with microseconds, so that registrations in quick succession differ. */
export function newBindingsVersion(clock: Clock): string {
  const micros = Math.floor((clock.monotonicMs() % 1) * 1000);
  return toTimestamp(clock.nowMs()).replace("+00:00", `${String(micros).padStart(3, "0")}+00:00`);
}
