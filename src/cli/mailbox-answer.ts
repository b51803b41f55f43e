import type { MailboxBinding, Manifest } from "../protocol/files.ts";
import { renderPairs } from "./format.ts";

/** What is told of an agent's mailbox (contract 4.5; spec/mailbox-agui.md A10). `obstacle`: why it cannot be used. Pure. */
export function describeMailbox(manifest: Manifest, binding: MailboxBinding | null, obstacle: string | null) {
  const active = binding !== null && obstacle === null;
  const authority = manifest.agent_launch_authority;
  const json = {
    schema_version: 1 as const,
    tracked_agent_id: manifest.agent_id,
    agent_name: manifest.agent_name,
    agent_id: manifest.agent_id,
    backend: manifest.backend,
    joined_session: authority.session_origin === "joined_tmux",
    posture_kind: authority.posture_kind,
    registered: binding !== null,
    activation_state: active ? ("active" as const) : null,
    runtime_mailbox_enabled: active,
    ...(binding && {
      transport: binding.transport,
      principal_id: binding.principal_id,
      address: binding.address,
      mailbox_root: binding.filesystem_root ?? null,
      bindings_version: binding.bindings_version,
      ...(binding.jmap_url !== undefined && {
        jmap_url: binding.jmap_url,
        login_identity: binding.login_identity,
        credential_ref: binding.credential_ref,
      }),
    }),
    ...(obstacle === null ? {} : { error: obstacle }),
  };
  const text = renderPairs([
    ["agent", manifest.agent_name],
    ["mailbox", binding === null ? "none" : binding.address],
    ["principal", binding?.principal_id],
    ["state", binding && (active ? "active" : `cannot be used: ${obstacle}`)],
    ["root", binding?.filesystem_root],
    ["server", binding?.jmap_url],
    ["login", binding?.login_identity],
    ["bound", binding?.bindings_version],
  ]);
  return { json, text };
}
