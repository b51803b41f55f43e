import { Database } from "bun:sqlite";

/**
 * Copies the database at `from` to the new file `to`, consistently even while others write to it.
 * `withSecrets: false` removes the notifier's shared tokens from the copy. Throws for a damaged file.
 */
export function copyDatabase(from: string, to: string, { withSecrets }: { withSecrets: boolean }): void {
  const source = new Database(from, { readonly: true, strict: true });
  try {
    source.run("PRAGMA busy_timeout=5000");
    source.query("VACUUM INTO ?").run(to);
  } finally {
    source.close();
  }
  if (!withSecrets) removeTokens(to);
}

function removeTokens(path: string): void {
  const copy = new Database(path, { readwrite: true, strict: true });
  try {
    const table = copy.query("SELECT 1 FROM sqlite_schema WHERE name = 'gateway_mail_notifier'").get();
    if (table === null) return;
    copy.run(
      `UPDATE gateway_mail_notifier SET config_json = json_set(config_json, '$.notify_block_shared_tokens', json('[]'))`,
    );
    // Otherwise the replaced text stays in a free page of the file.
    copy.run("VACUUM");
  } finally {
    copy.close();
  }
}
