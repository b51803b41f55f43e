/** What a new root says to whoever looks into its `rules` folder. By path. */
export const rules: Readonly<Record<string, string>> = {
  "README.md": `# Rules of this mailbox root

Texts that the agents and people who share this root agree on. svc writes these files once and never reads them.

- \`protocols/\`: message families and what they ask of who receives them
- \`scripts/\`: small programs that belong to a protocol
- \`skills/\`: skills that handle mail

Mail itself: one file per message below \`messages/\`; each mailbox below \`mailboxes/\` links to its own.
`,
  "protocols/README.md": "One file per message family.\n",
  "scripts/README.md": "Programs that belong to a protocol.\n",
  "skills/README.md": "Skills that handle mail.\n",
};
